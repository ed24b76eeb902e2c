"""Types of a Python kernel's parameters and values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isakit.description import Param


@dataclass(frozen=True)
class Scalar:
    """A number: its name, how LLVM calls it, and its bytes."""

    name: str
    llvm: str
    size: int

    @property
    def is_float(self) -> bool:
        """f32 or f64."""
        return self.name[0] == "f"

    @property
    def signed(self) -> bool:
        """A signed integer."""
        return self.name[0] == "i"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pointer:
    """An array in global, shared or local memory."""

    of: Scalar
    space: int = 1

    @property
    def name(self) -> str:
        """`f32p` for a pointer to f32."""
        return self.of.name + "p"

    def __repr__(self) -> str:
        return self.name


i8, u8 = Scalar("i8", "i8", 1), Scalar("u8", "i8", 1)
i16, u16 = Scalar("i16", "i16", 2), Scalar("u16", "i16", 2)
i32, u32 = Scalar("i32", "i32", 4), Scalar("u32", "i32", 4)
i64, u64 = Scalar("i64", "i64", 8), Scalar("u64", "i64", 8)
f32, f64 = Scalar("f32", "float", 4), Scalar("f64", "double", 8)
boolean = Scalar("bool", "i1", 1)

SCALARS = {t.name: t for t in (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64)} | {"int": i32, "float": f32}
POINTERS = {f"{t.name}p": Pointer(t) for t in (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64)}
GLOBAL, SHARED, LOCAL = 1, 3, 5
"""Address spaces of LLVM's NVPTX."""


def parameters(given: Iterable[tuple[str, Scalar | Pointer]]) -> list[Param]:
    """The parameters of a kernel, each at the next offset that is a multiple of its size; addresses take 8 bytes."""
    out: list[Param] = []
    at = 0
    for name, kind in given:
        pointer = isinstance(kind, Pointer)
        size = 8 if pointer else kind.size
        at = -(-at // size) * size
        said = (kind.of if pointer else kind).name.replace("i", "s")
        out.append(Param(name, at, size, said + "*" * pointer))
        at += size
    return out
