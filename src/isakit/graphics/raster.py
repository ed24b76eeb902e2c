"""Rasterization: from triangles and points in the window to quads of pixels.

Positions are snapped to 1/256 pixel; coverage is decided by exact integer edge functions. Source: [graphics] 3.5, 3.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from isakit.engine.protocol import Array

SUBPIXEL = 256
_LIMIT = 1 << 24


@dataclass(frozen=True)
class Quads:
    """Aligned 2x2 pixels, in drawing order.

    Attributes: `x`, `y` [n]: the pixel with the lowest numbers; `covered` bool [n, 4]: lanes (x, y), (x+1, y),
    (x, y+1), (x+1, y+1); `primitive` [n].
    """

    x: Array
    y: Array
    covered: Array
    primitive: Array

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Setup:
    """Triangles ready to be rasterized: `window` f64 [n, 3, 2], `snapped` int64 [n, 3, 2], `front` bool [n]."""

    window: Array
    snapped: Array
    front: Array


def snapped(window: Array) -> Array:
    """Window positions in sub-pixel units."""
    bound = float(_LIMIT)
    return np.floor(np.clip(window, -bound, bound) * SUBPIXEL + 0.5).astype(np.int64)


def doubled_area(p: Array) -> Array:
    """Twice the signed area of triangles [n, 3, 2]; positive for counter-clockwise, y up."""
    ax, ay = p[:, 1, 0] - p[:, 0, 0], p[:, 1, 1] - p[:, 0, 1]
    bx, by = p[:, 2, 0] - p[:, 0, 0], p[:, 2, 1] - p[:, 0, 1]
    return ax * by - bx * ay


def _edge(a: Array, b: Array, fill: str) -> tuple[int, int, int]:
    """(step along x, step along y, value at pixel 0, 0) of an edge function that is >= 0 inside, in exact integers."""
    dx, dy = int(b[0] - a[0]), int(b[1] - a[1])
    half = SUBPIXEL // 2
    value = dx * (half - int(a[1])) - dy * (half - int(a[0]))
    horizontal = dx > 0 if fill == "lower" else dx < 0
    inclusive = dy < 0 or (dy == 0 and horizontal)
    return -dy * SUBPIXEL, dx * SUBPIXEL, value if inclusive else value - 1


def rasterize(
    setup: Setup, chosen: Array, bounds: tuple[int, int, int, int], fill: Literal["lower", "upper"] = "lower"
) -> Quads:
    """Quads of the triangles marked in `chosen`, inside `bounds` = (x0, y0, x1, y1), the last exclusive."""
    found: list[tuple[Array, Array, Array, int]] = []
    for n in np.flatnonzero(chosen).tolist():
        got = _triangle(setup.snapped[n], bounds, fill)
        if got is not None:
            found.append((*got, n))
    return collected(found)


def collected(found: list[tuple[Array, Array, Array, int]]) -> Quads:
    """Quads of several primitives, one after the other."""
    if not found:
        none = np.zeros(0, np.int64)
        return Quads(none, none, np.zeros((0, 4), bool), none)
    return Quads(
        np.concatenate([f[0] for f in found]),
        np.concatenate([f[1] for f in found]),
        np.concatenate([f[2] for f in found]),
        np.repeat([f[3] for f in found], [len(f[0]) for f in found]),
    )


def _triangle(p: Array, bounds: tuple[int, int, int, int], fill: str) -> tuple[Array, Array, Array] | None:
    area = doubled_area(p[None])[0]
    if area == 0:
        return None
    if area < 0:
        p = p[[0, 2, 1]]
    half = SUBPIXEL // 2
    low, high = (p.min(axis=0) - half) // SUBPIXEL, (p.max(axis=0) - half) // SUBPIXEL + 1
    x0, y0 = max(int(low[0]), bounds[0]) & ~1, max(int(low[1]), bounds[1]) & ~1
    x1, y1 = min(int(high[0]) + 1, bounds[2]), min(int(high[1]) + 1, bounds[3])
    if x0 >= x1 or y0 >= y1:
        return None
    xs, ys = np.arange(x0, x1 + (x1 - x0 & 1)), np.arange(y0, y1 + (y1 - y0 & 1))
    inside = np.ones((len(ys), len(xs)), bool)
    for k in range(3):
        along_x, along_y, value = _edge(p[k], p[(k + 1) % 3], fill)
        inside &= (along_y * ys + value)[:, None] + (along_x * xs)[None, :] >= 0
    return in_quads(inside, xs, ys, bounds)


def in_quads(
    inside: Array, xs: Array, ys: Array, bounds: tuple[int, int, int, int]
) -> tuple[Array, Array, Array] | None:
    """(x, y, covered) of the quads with a covered pixel, from coverage [rows, columns] of even size."""
    inside &= ((ys >= bounds[1]) & (ys < bounds[3]))[:, None] & ((xs >= bounds[0]) & (xs < bounds[2]))[None, :]
    quads = (
        inside.reshape(len(ys) // 2, 2, len(xs) // 2, 2).transpose(0, 2, 1, 3).reshape(len(ys) // 2, len(xs) // 2, 4)
    )
    rows, columns = np.nonzero(quads.any(axis=2))
    if not len(rows):
        return None
    return xs[2 * columns], ys[2 * rows], quads[rows, columns]


def rasterize_points(centres: Array, sizes: Array, chosen: Array, bounds: tuple[int, int, int, int]) -> Quads:
    """Squares around window positions [n, 2]; left and lower edges belong to them."""
    half = SUBPIXEL // 2
    found: list[tuple[Array, Array, Array, int]] = []
    reach = sizes[:, None] / 2
    lows, highs = snapped(centres - reach), snapped(centres + reach)
    for n in np.flatnonzero(chosen).tolist():
        first, last = -(-(lows[n] - half) // SUBPIXEL), -(-(highs[n] - half) // SUBPIXEL)
        x0, y0 = max(int(first[0]), bounds[0]), max(int(first[1]), bounds[1])
        x1, y1 = min(int(last[0]), bounds[2]), min(int(last[1]), bounds[3])
        if x0 >= x1 or y0 >= y1:
            continue
        xs = np.arange(x0 & ~1, x1 + (x1 & 1))
        ys = np.arange(y0 & ~1, y1 + (y1 & 1))
        inside = ((ys >= y0) & (ys < y1))[:, None] & ((xs >= x0) & (xs < x1))[None, :]
        got = in_quads(inside, xs, ys, bounds)
        if got is not None:
            found.append((*got, n))
    return collected(found)
