"""`--arg` of `isakit run`: texts to numbers and arrays, and the returned arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from isakit.description import MAX_SPACE
from isakit.lean import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from isakit.engine.protocol import Array
    from isakit.runtime import LoadedKernel

FORMS = (
    "i32:5 f32:2.5 in:x.npy out:f32:1024[:y.npy] inout:x.npy[:y.npy] zeros:f32:1024 ramp:i32:64 random:f32:64[:SEED]"
)
TYPES = {
    "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
    "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64",
    "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "b8": "uint8", "b16": "uint16", "b32": "uint32", "b64": "uint64",
}  # fmt: skip
_MAX_ELEMENTS = 1 << 30


@dataclass
class Argument:
    """An argument as given: `value` goes to the kernel.

    If `returned`, the array that the kernel wrote is shown or saved.
    """

    spec: str
    kind: str
    value: Any
    returned: bool = False
    path: Path | None = None


def parse(spec: str, shared: bool = False) -> Argument:
    """Parse an argument; with `shared`, `shared:BYTES` is one, see `place_shared`.

    Raises click.BadParameter for a wrong text, FormatError for a wrong file.
    """
    kind, _, rest = spec.partition(":")
    if kind in TYPES:
        return Argument(spec, kind, _number(spec, kind, rest))
    if kind in ("out", "zeros"):
        dtype, _, tail = rest.partition(":")
        shape, _, path = tail.partition(":")
        if kind == "zeros" and path:
            raise _bad(spec)
        return Argument(spec, kind, _zeros(spec, dtype, shape), kind == "out", _path(path))
    if kind in ("ramp", "random"):
        dtype, _, tail = rest.partition(":")
        shape, _, seed = tail.partition(":")
        if (seed and not seed.isdigit()) or (seed and kind == "ramp"):
            raise _bad(spec)
        array = _zeros(spec, dtype, shape)
        return Argument(spec, kind, _ramp(array) if kind == "ramp" else _random(array, int(seed or 0)))
    if shared and kind == "shared":
        return Argument(spec, kind, int(_number(spec, "i32", rest)))
    if kind == "in" and rest:
        return Argument(spec, kind, _load(rest))
    if kind == "inout" and rest:
        source, _, path = rest.partition(":")
        return Argument(spec, kind, _load(source), True, _path(path))
    raise _bad(spec)


def place_shared(kernel: LoadedKernel, arguments: Sequence[Argument], dynamic: int) -> int:
    """Turn `shared:BYTES` into addresses, after the `dynamic` bytes of a launch; return the bytes in total.

    Raises click.BadParameter for a parameter that is not an address in shared memory, or that is one but gets another
    value.
    """
    at = kernel.shared_bytes + dynamic
    if kernel.params is None:
        if (told := next((a for a in arguments if a.kind == "shared"), None)) is not None:
            raise _bad(told.spec, "the file does not say what its parameters are: give the address, as i32: or i64:")
        return dynamic
    for a, p in zip(arguments, kernel.params, strict=True):
        if p.is_shared and a.kind not in ("shared", "i64", "u64", "i32", "u32"):
            raise _bad(a.spec, f"{p.name} is an address in shared memory: shared:BYTES")
        if a.kind != "shared":
            continue
        if p.kind and not p.is_shared:
            raise _bad(a.spec, f"{p.name} is {p.kind}, not an address in shared memory")
        if a.value < 0:
            raise _bad(a.spec, f"{a.value} bytes")
        at = -(-at // 16) * 16
        at, a.value = at + a.value, at
    return at - kernel.shared_bytes


def _path(text: str) -> Path | None:
    from pathlib import Path

    return Path(text) if text else None


def _bad(spec: str, why: str = "") -> click.BadParameter:
    return click.BadParameter(f"{spec!r}: {why or f'the forms are {FORMS}'}", param_hint="--arg")


def _number(spec: str, kind: str, text: str) -> Any:
    import numpy as np

    dtype = np.dtype(TYPES[kind])
    try:
        if dtype.kind == "f":
            return dtype.type(float(text))
        value = int(text, 0)
    except ValueError:
        raise _bad(spec, f"{text!r} is not a number") from None
    bits = dtype.itemsize * 8
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise _bad(spec, f"{text} does not fit {bits} bits")
    return np.array(value & (1 << bits) - 1, np.dtype(f"uint{bits}")).view(dtype)[()]


def _zeros(spec: str, dtype: str, shape: str) -> Array:
    import numpy as np

    if dtype not in TYPES:
        raise _bad(spec, f"{dtype!r} is not a type; there are {' '.join(TYPES)}")
    try:
        sizes = [int(n, 0) for n in shape.replace(",", "x").split("x")] if shape else []
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 0 or math.prod(sizes) > _MAX_ELEMENTS:
        raise _bad(spec, f"{shape!r} is not a size such as 1024 or 32x32")
    needed = math.prod(sizes) * np.dtype(TYPES[dtype]).itemsize
    if needed >= MAX_SPACE:
        raise _bad(spec, f"{needed} bytes do not fit the 32-bit addresses of a device")
    if 2 * needed > _memory():
        raise _bad(spec, f"{needed} bytes, once here and once on the simulated device, are more than this machine has")
    return np.zeros(sizes, TYPES[dtype])


def _ramp(array: Array) -> Array:
    """Return 0, 1, 2 ... in the order of memory."""
    import numpy as np

    return np.arange(array.size).astype(array.dtype).reshape(array.shape)


def _random(array: Array, seed: int) -> Array:
    """Return floats from 0 to 1, integers of all values; the same for the same seed."""
    import numpy as np

    generator = np.random.default_rng(seed)
    if array.dtype.kind == "f":
        return generator.random(array.shape).astype(array.dtype)
    limits = np.iinfo(array.dtype)
    return generator.integers(limits.min, limits.max, array.shape, array.dtype, endpoint=True)


def _memory() -> int:
    """Return the memory of this machine in bytes; a number beyond any need if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def _load(path: str) -> Array:
    from isakit.runtime.npy import load_array

    return load_array(path)


def plain(array: Array) -> Any:
    """Return an array as nested lists for JSON; numbers that JSON does not have become texts."""
    if array.dtype.kind == "f":
        return _finite(array.tolist())
    return array.tolist()


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value if math.isfinite(value) else str(value)


def macros(given: Sequence[str]) -> dict[str, str]:
    """Return the macros of `-D NAME=TEXT` options; one without a text is 1. Raises click.BadParameter."""
    pairs = [text.partition("=") for text in given]
    for name, _, _ in pairs:
        if not name.partition("(")[0].isidentifier():
            raise click.BadParameter(f"{name!r} is not the name of a macro", param_hint="-D")
    return {name: value if mark else "1" for name, mark, value in pairs}
