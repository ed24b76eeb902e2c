"""Lanes as vectors of floating point numbers, split into pieces of one register each and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from isakit.engine.llvm.builder import Ref
from isakit.engine.llvm.values import ValueLowering

_WIDTHS = {"half": 16, "float": 32, "double": 64}


@cache
def _indices(first: int, count: int) -> str:
    return f"<{count} x i32> <" + ", ".join(f"i32 {first + j}" for j in range(count)) + ">"


def numbers_of(low: ValueLowering, r: Ref, element: str) -> str:
    """Return lane bits as numbers of a float type of the same width."""
    return low.bitcast(low.splat(r), f"<{low.module.lanes} x {element}>")


def bits_of(low: ValueLowering, vector: str, element: str) -> Ref:
    """Return numbers of a float type, one per lane, as lane bits."""
    n, width = low.module.lanes, _WIDTHS[element]
    return low.per_lane(low.body(f"bitcast <{n} x {element}> {vector} to <{n} x i{width}>"), width)


def compared(low: ValueLowering, relation: str, element: str, x: str, y: str) -> Ref:
    """Compare numbers of a float type by LLVM's name of the relation, lane by lane."""
    return low.per_lane(low.body(f"fcmp {relation} <{low.module.lanes} x {element}> {x}, {y}"), 1)


def pieces(low: ValueLowering, vector: str, element: str, length: int) -> list[str]:
    """Split a vector of one `element` per lane into vectors of `length` elements; return their names."""
    n = low.module.lanes
    ty = f"<{n} x {element}>"
    return [low.body(f"shufflevector {ty} {vector}, {ty} poison, {_indices(k, length)}") for k in range(0, n, length)]


def joined(low: ValueLowering, parts: Sequence[str], element: str, length: int) -> str:
    """Join vectors of `length` elements; their number is a power of two."""
    while len(parts) > 1:
        ty, index = f"<{length} x {element}>", _indices(0, 2 * length)
        parts = [
            low.body(f"shufflevector {ty} {a}, {ty} {b}, {index}") for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        length *= 2
    return parts[0]
