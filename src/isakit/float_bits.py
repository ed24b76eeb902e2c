"""Numbers of floating point and their bits: f16, f32 and f64 of IEEE 754."""

from __future__ import annotations

import struct

_CODES = {"f16": ("<e", 2), "f32": ("<f", 4), "f64": ("<d", 8)}


def bits_of_float(value: float, type: str = "f32") -> int:
    """Return the bits of a number, rounded to nearest even. Raises OverflowError where it is too large for the type."""
    return int.from_bytes(struct.pack(_CODES[type][0], value), "little")


def float_of_bits(bits: int, type: str = "f32") -> float:
    """Return the number of a type whose bits are the lower ones of `bits`."""
    code, size = _CODES[type]
    return struct.unpack(code, (bits & (1 << 8 * size) - 1).to_bytes(size, "little"))[0]
