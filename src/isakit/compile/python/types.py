"""Types of a Python kernel's parameters and values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from isakit.description import Param


@dataclass(frozen=True)
class Scalar:
    """A scalar type: its name, its LLVM type, and its size in bytes."""

    name: str
    llvm: str
    size: int

    @property
    def is_float(self) -> bool:
        """True if it is f32 or f64."""
        return self.name[0] == "f"

    @property
    def signed(self) -> bool:
        """True if it is a signed integer."""
        return self.name[0] == "i"

    def __getitem__(self, index: slice | tuple[slice, ...]) -> Pointer:
        """Return the type of arrays of it: `float32[:, :]`."""
        return Pointer(self, dimensions=len(index) if isinstance(index, tuple) else 1)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pointer:
    """An array in global, shared or local memory.

    `dimensions`: of a parameter passed with its shape, 0 for an address alone. `constant`: it is captured from outside
    of the kernel, and no kernel writes to it.
    """

    of: Scalar
    space: int = 1
    dimensions: int = 0
    constant: bool = False

    @property
    def name(self) -> str:
        """The name of the type: `f32p` for a pointer to f32, `f32[:, :]` for an array of two dimensions."""
        return self.of.name + (f"[{', '.join(':' * self.dimensions)}]" if self.dimensions else "p")

    def __repr__(self) -> str:
        return self.name


i8, u8 = Scalar("i8", "i8", 1), Scalar("u8", "i8", 1)
i16, u16 = Scalar("i16", "i16", 2), Scalar("u16", "i16", 2)
i32, u32 = Scalar("i32", "i32", 4), Scalar("u32", "i32", 4)
i64, u64 = Scalar("i64", "i64", 8), Scalar("u64", "i64", 8)
f32, f64 = Scalar("f32", "float", 4), Scalar("f64", "double", 8)
boolean = Scalar("bool", "i1", 1)

SCALARS = {t.name: t for t in (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64)} | {"int": i32, "float": f32}
_LONG_NAMES = {
    "int8": i8, "uint8": u8, "int16": i16, "uint16": u16, "int32": i32, "uint32": u32, "int64": i64, "uint64": u64,
    "intp": i64, "uintp": u64, "float32": f32, "float64": f64,
}  # fmt: skip
"""Names that NumPy and numba have for them."""
POINTERS = {f"{t.name}p": Pointer(t) for t in (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64)}
_SHAPED = re.compile(r"(\w+)\[ *(:(?: *, *:)*) *\]")
_MOST_DIMENSIONS = 8


def type_named(name: str) -> Scalar | Pointer | None:
    """Return the type of a name: `f32`, `float32`, `f32p`, `f32[:]`, `float32[:, :]`; None for another name."""
    shaped = _SHAPED.fullmatch(name)
    if shaped is None:
        return SCALARS.get(name) or POINTERS.get(name) or _LONG_NAMES.get(name)
    of = SCALARS.get(shaped[1]) or _LONG_NAMES.get(shaped[1])
    dimensions = shaped[2].count(":")
    return Pointer(of, dimensions=dimensions) if of is not None and dimensions <= _MOST_DIMENSIONS else None


def wider_of(a: Scalar, b: Scalar) -> Scalar:
    """Return the type that holds the values of both types, as far as there is one."""
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return a if a.size >= b.size else b
        real, whole = (a, b) if a.is_float else (b, a)
        return f64 if whole.size >= 4 else real
    return a if a.size >= b.size else b


def scalar_named(name: str) -> Scalar | None:
    """Return the type of a number by its name, None for another name."""
    kind = type_named(name)
    return kind if isinstance(kind, Scalar) else None


GLOBAL, SHARED, CONSTANT, LOCAL = 1, 3, 4, 5
"""Address spaces of LLVM's NVPTX."""


def parameters(given: Iterable[tuple[str, Scalar | Pointer]]) -> list[Param]:
    """Return the parameters of a kernel, each at the next multiple of its size; addresses take 8 bytes.

    An array of known dimensions is followed by its shape, an i32 for each.
    """
    out: list[Param] = []
    at = 0
    for name, kind in given:
        pointer = isinstance(kind, Pointer)
        size = 8 if pointer else kind.size
        at = -(-at // size) * size
        said = (kind.of if pointer else kind).name.replace("i", "s")
        out.append(Param(name, at, size, said + "*" * pointer))
        at += size
        for k in range(kind.dimensions if pointer else 0):
            at = -(-at // 4) * 4
            out.append(Param(f"{name}.shape[{k}]", at, 4, "s32"))
            at += 4
    return out
