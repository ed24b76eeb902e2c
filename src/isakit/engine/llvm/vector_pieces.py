"""Vectors of all lanes cut into pieces of one register each, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from isakit.engine.llvm.values import ValueLowering


@cache
def _indices(first: int, count: int) -> str:
    return f"<{count} x i32> <" + ", ".join(f"i32 {first + j}" for j in range(count)) + ">"


def pieces(low: ValueLowering, vector: str, element: str, length: int) -> list[str]:
    """Split a vector of one `element` per lane into vectors of `length` elements."""
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
