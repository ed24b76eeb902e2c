"""Clipping of triangles and lines in clip space, against near, far and user planes. Source: [graphics] 3.4.

x and y are not clipped: the rasterizer only visits pixels of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.raster import Numbers


@dataclass(frozen=True)
class Triangles:
    """Triangles in clip space.

    Attributes: `position` f64 [n, 3, 4], `values` f64 [n, 3, words] (outputs read as f32), `flat` u32 [n, words] (raw
    outputs of the provoking vertex), `number` [n]: the primitive each comes from. Lines have two corners instead of
    three.
    """

    position: Array
    values: Array
    flat: Array
    number: Array

    def __len__(self) -> int:
        return len(self.position)

    def part(self, chosen: Array) -> Triangles:
        """Select some of the triangles."""
        return Triangles(self.position[chosen], self.values[chosen], self.flat[chosen], self.number[chosen])


_TINY = 2.0**-100


def plane_distances(z: Numbers, w: Numbers, half_z: bool, depth_clamp: bool) -> list[Numbers]:
    """Return distances of corners from the planes; negative is outside. Compiled code is traced from it."""
    return [*([] if depth_clamp else [z if half_z else z + w, w - z]), w - _TINY]


def distances(position: Array, values: Array, half_z: bool, depth_clamp: bool, words: Sequence[int] = ()) -> Array:
    """Return distances from all planes, [..., planes]; negative is outside. `words`: user distances in `values`."""
    planes = plane_distances(position[..., 2], position[..., 3], half_z, depth_clamp)
    return np.stack([*planes, *(values[..., n] for n in words)], axis=-1)


def clipped(t: Triangles, half_z: bool, depth_clamp: bool, words: Sequence[int] = ()) -> Triangles:
    """Clip triangles at the planes, in order. With `depth_clamp`, near and far are ignored."""
    distance = distances(t.position, t.values, half_z, depth_clamp, words)
    with np.errstate(invalid="ignore"):
        behind = ~np.asarray(distance >= 0)  # [triangle, corner, plane]
        outside = np.logical_or.reduce(np.logical_and.reduce(behind, 1), 1)
        outside |= ~np.isfinite(t.position).all(axis=(1, 2))
        crossing = behind.any(axis=(1, 2)) & ~outside
    if not crossing.any():
        return t if not outside.any() else t.part(~outside)
    cut = np.flatnonzero(crossing)
    which, position, values = _cut(cut, t.position[cut], t.values[cut], distance[cut])
    whole = np.flatnonzero(~outside & ~crossing)
    index = np.concatenate([whole, which])
    order = np.argsort(index, kind="stable")
    position, values = np.concatenate([t.position[whole], position]), np.concatenate([t.values[whole], values])
    index = index[order]
    return Triangles(position[order], values[order], t.flat[index], t.number[index])


def _cut(which: Array, position: Array, values: Array, distance: Array) -> tuple[Array, Array, Array]:
    """Cut triangles at all planes: return the triangle of each piece, its positions and its values.

    The rest of a triangle is a polygon, whose pieces are a fan. Corners [triangle, corner, numbers] have the position,
    the distances and the values side by side; `count` of them are corners of the polygon, `most` at most.
    """
    planes = distance.shape[2]
    corners: Array = np.concatenate([position, distance, values], axis=2)
    count: Array = np.full(len(corners), 3)
    most = 3
    for plane in range(planes):
        crossed: Array = ~np.logical_and.reduce(distance[:, :, plane] >= 0, 1)
        if not crossed.any():
            continue
        places = np.arange(most)
        following: Array = np.where(places + 1 < count[:, None], places + 1, 0)
        others: Array = np.take_along_axis(corners, following[:, :, None], axis=1)
        a, b = corners[:, :, 4 + plane], others[:, :, 4 + plane]
        here: Array = np.less(places, count[:, None])
        inside: Array = np.asarray(a >= 0) | ~crossed[:, None]
        between: Array = here & crossed[:, None] & (inside != np.asarray(b >= 0))
        t = np.where(between, a, 0.0) / np.where(between, a - b, 1.0)
        found = np.stack([corners, corners + (others - corners) * t[:, :, None]], axis=2)
        kept: Array = np.stack([here & inside, between], axis=2).reshape(len(corners), -1)
        count = kept.sum(axis=1)
        count[count < 3] = 0
        most = max(3, int(count.max()))
        first = np.argsort(~kept, axis=1, kind="stable")[:, :most]
        corners = np.take_along_axis(found.reshape(*kept.shape, -1), first[:, :, None], axis=1)
    row, k = np.nonzero(np.less(np.arange(1, most - 1), count[:, None] - 1))
    pieces = corners[row[:, None], np.stack([np.zeros_like(k), k + 1, k + 2], axis=1)]
    return which[row], pieces[:, :, :4], pieces[:, :, 4 + planes :]


def clipped_lines(t: Triangles, half_z: bool, depth_clamp: bool, words: Sequence[int] = ()) -> Triangles:
    """Clip lines as `clipped` does triangles."""
    with np.errstate(invalid="ignore", divide="ignore"):
        d = distances(t.position, t.values, half_z, depth_clamp, words)
        a, b = d[:, 0], d[:, 1]
        where = a / (a - b)
        start = np.where((a < 0) & (b >= 0), where, 0.0).max(axis=1)
        end = np.where((a >= 0) & (b < 0), where, 1.0).min(axis=1)
        kept = ~(~(a >= 0) & ~(b >= 0)).any(axis=1) & (start < end)
        kept &= np.isfinite(t.position).all(axis=(1, 2))
    t, start, end = t.part(kept), start[kept], end[kept]

    def cut(x: Array) -> Array:
        delta = x[:, 1] - x[:, 0]
        return np.stack((x[:, 0] + delta * start[:, None], x[:, 1] - delta * (1 - end)[:, None]), axis=1)

    if not len(t) or ((start == 0).all() and (end == 1).all()):
        return t
    return Triangles(cut(t.position), cut(t.values), t.flat, t.number)
