"""Functions on numbers that routines may call beside the operators."""

from __future__ import annotations

from collections.abc import Iterable


def lanes_equal(lanes: Iterable[int], number: int) -> int:
    """Return the mask of the lanes whose number is `number`."""
    return sum(1 << k for k, n in enumerate(lanes) if n == number)


def lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set, 32 if there is none (63 in 64 bits)."""
    return (mask & -mask).bit_length() - 1 if mask else 32


def highest(mask: int) -> int:
    """Return the number of the highest bit that is set, all ones if there is none."""
    return (mask.bit_length() - 1) & 0xFFFF_FFFF


def signed_less(a: int, b: int) -> bool:
    """Return true if a is less than b, both as signed numbers of 64 bits."""
    return a - (a >> 63 << 64) < b - (b >> 63 << 64)


def wide(number: int) -> int:
    """Return a number widened to 64 bits, so that sums do not overflow."""
    return number
