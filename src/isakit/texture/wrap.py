"""From coordinates to texel indices: wrap modes and the taps of nearest and linear filters on one axis.

Coordinates are f64 arrays that hold f32 values, in texels. Everything is exact: reductions by the remainder, indices
and 8-bit weights as integers. Source: [graphics] 1.2, 2.2, 2.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.lanes import everywhere, except_far, powers_of_two

REPEAT, MIRROR, EDGE, BORDER, CLAMP, MIRROR_EDGE, MIRROR_BORDER, MIRROR_CLAMP = range(8)
OUTSIDE = frozenset({BORDER, CLAMP, MIRROR_BORDER, MIRROR_CLAMP})
"""Modes that read the border colour."""
ONE = 256
"""A linear weight of 1."""
FAR = 2.0**40
"""Coordinates that repeat are reduced from here on, in texels; nearer ones are exact all the way."""


class Tap(NamedTuple):
    """One texel along an axis: `at` (int64), `inside` (False: the border; None: always inside), `weight` (of 256)."""

    at: Array
    inside: Array | None
    weight: Array | None


def tamed(u: Array, n: Array | int, mode: int) -> Array:
    """Return a coordinate that wraps to the same texel but is small and finite; NaN becomes 0."""
    finite = np.isfinite(u)
    if not everywhere(finite):
        ends: Array | float = 0.0 if mode in (REPEAT, MIRROR) else np.where(np.isnan(u), 0.0, u)
        u = np.where(finite, u, ends)
    if mode in (REPEAT, MIRROR):
        return except_far(u, FAR, lambda: np.fmod(u, n if mode == REPEAT else 2 * n))
    bound = 4.0 * n + 64.0
    u = np.clip(u, -bound, bound)
    return np.clip(np.abs(u) if mode == MIRROR_CLAMP else u, 0.0, n) if mode in (CLAMP, MIRROR_CLAMP) else u


def wrapped(i: Array, n: Array | int, mode: int) -> tuple[Array, Array | None]:
    """Return the texel of an index, and whether it is inside: (index, inside). Indices are int64."""
    if mode == REPEAT:
        return (i & (n - 1) if powers_of_two(n) else np.mod(i, n)), None
    if mode == MIRROR:
        m = np.mod(i, 2 * n)
        return np.minimum(m, 2 * n - 1 - m), None
    if mode >= MIRROR_EDGE:
        i, mode = np.where(i < 0, -1 - i, i), mode - MIRROR_EDGE + EDGE
    inside = None if mode == EDGE else (i >= 0) & (i < n)
    return np.clip(i, 0, n - 1), inside


def moved(u: Array, mode: int, offset: int) -> tuple[Array, int]:
    """Return a coordinate, and the remaining offset to add to the index.

    Modes that clamp the coordinate do so after the offset has been added, when the others wrap.
    """
    return (u + float(offset), 0) if offset and mode in (CLAMP, MIRROR_CLAMP) else (u, offset)


def nearest(u: Array, n: Array | int, mode: int, offset: int = 0) -> list[Tap]:
    """Return the tap of a point sample."""
    u, offset = moved(u, mode, offset)
    i = np.floor(tamed(u, n, mode)).astype(np.int64)
    if mode in (CLAMP, MIRROR_CLAMP):  # the far end belongs to the last texel
        i = np.minimum(i, n - 1)
    index, inside = wrapped(i + offset, n, mode)
    return [Tap(index, inside, None)]


def steps(u: Array, truncate: bool = False) -> tuple[Array, Array]:
    """Return (first texel, weight of the next one) of a linear filter, before wrapping."""
    q = np.floor(u * ONE - (128.0 if truncate else 127.5)).astype(np.int64)
    return q >> 8, q & 255


def linear(u: Array, n: Array | int, mode: int, offset: int = 0, truncate: bool = False) -> list[Tap]:
    """Return the two taps of a linear filter; their weights add up to 256."""
    u, offset = moved(u, mode, offset)
    i, a = steps(tamed(u, n, mode), truncate)
    i = i + offset
    return [Tap(*wrapped(i, n, mode), ONE - a), Tap(*wrapped(i + 1, n, mode), a)]
