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
    """Clip triangles between the planes, in order. With `depth_clamp` near and far are not looked at."""
    distance = distances(t.position, t.values, half_z, depth_clamp, words)
    with np.errstate(invalid="ignore"):
        behind = ~np.asarray(distance >= 0)  # [triangle, corner, plane]
        outside = np.logical_or.reduce(np.logical_and.reduce(behind, 1), 1)
        outside |= ~np.isfinite(t.position).all(axis=(1, 2))
        crossing = behind.any(axis=(1, 2)) & ~outside
    if not crossing.any():
        return t if not outside.any() else t.part(~outside)
    pieces: list[tuple[int, Array, Array]] = []
    for k in np.flatnonzero(crossing):
        pieces += [(int(k), p, v) for p, v in _cut(t.position[k], t.values[k], distance[k])]
    whole = np.flatnonzero(~outside & ~crossing)
    index = np.concatenate([whole, np.array([k for k, _, _ in pieces], np.int64)])
    order = np.argsort(index, kind="stable")
    position = np.concatenate([t.position[whole], *[p[None] for _, p, _ in pieces]])
    values = np.concatenate([t.values[whole], *[v[None] for _, _, v in pieces]])
    index = index[order]
    return Triangles(position[order], values[order], t.flat[index], t.number[index])


def _cut(position: Array, values: Array, distance: Array) -> list[tuple[Array, Array]]:
    """Clip one triangle at all planes: a fan of what is left."""
    points = list(zip(position, values, distance, strict=True))
    for plane in range(distance.shape[1]):
        if (distance[:, plane] >= 0).all():
            continue
        kept: list[tuple[Array, Array, Array]] = []
        for n, (p, v, d) in enumerate(points):
            q, u, e = points[(n + 1) % len(points)]
            a, b = float(d[plane]), float(e[plane])
            if a >= 0:
                kept.append((p, v, d))
            if (a >= 0) != (b >= 0):
                t = a / (a - b)
                kept.append((p + (q - p) * t, v + (u - v) * t, d + (e - d) * t))
        points = kept
        if len(points) < 3:
            return []
    return [
        (
            np.stack([points[0][0], points[k][0], points[k + 1][0]]),
            np.stack([points[0][1], points[k][1], points[k + 1][1]]),
        )
        for k in range(1, len(points) - 1)
    ]


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
