"""Numbers as PTX writes them."""

from __future__ import annotations

from isakit.compile.ptx.syntax import Number
from isakit.float_bits import bits_of_float, float_of_bits


def integer(text: str) -> int:
    """Parse an integer literal, in 64 bits."""
    text = text.rstrip("U")
    if text[:2] in ("0x", "0X"):
        return int(text, 16) & (1 << 64) - 1
    if text[:2] in ("0b", "0B"):
        return int(text, 2) & (1 << 64) - 1
    if len(text) > 1 and text[0] == "0" and text.isdigit() and all(c < "8" for c in text):
        return int(text, 8) & (1 << 64) - 1
    return int(text[:30]) & (1 << 64) - 1


def wrapped(value: int) -> int:
    """Wrap a number into 64 bits; one too large for signed numbers stays unsigned."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    return value & (1 << 64) - 1


def float_bits(number: Number, size: int) -> int:
    """Parse a literal as the bits of a float of `size` bytes."""
    if number.real == 8 * size:
        return int(number.value)
    if number.real in (32, 64):
        value = float_of_bits(int(number.value), f"f{number.real}")
    else:
        value = float(number.value)
    try:
        return bits_of_float(value, f"f{8 * size}")
    except OverflowError:
        infinity = 0x7F80_0000 if size == 4 else 0x7C00
        return infinity | (value < 0) << 8 * size - 1
