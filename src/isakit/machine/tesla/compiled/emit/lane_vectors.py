"""Vectors with a number for each lane of a warp."""

from __future__ import annotations

from isakit.engine.llvm import Builder, Ref
from isakit.engine.llvm.builder import I16, numbers


def multiples(step: int) -> Ref:
    """Return the vector 0, step, 2 * step, ..., one element per lane."""
    return numbers(32, (step * j for j in range(32)))


WORDS = multiples(4)


def all_equal(b: Builder, x: Ref, y: Ref) -> Ref:
    """Return whether two numbers are the same in every lane, as i1.

    The differences of the halves are combined first: comparisons that set flags take three times as long.
    """
    other = b.xor(x, y)
    low, high = (b.shuffle(other, range(first, first + 16)) for first in (0, 16))
    return b.eq(b.bitcast(b.ne(b.or_(low, high), 0), I16), 0)
