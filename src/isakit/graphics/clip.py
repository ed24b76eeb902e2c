"""Clipping of triangles against the near and far planes, in clip space. Source: [graphics] 3.4.

x and y are not clipped: the rasterizer only visits pixels of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array


@dataclass(frozen=True)
class Triangles:
    """Triangles in clip space.

    Attributes: `position` f64 [n, 3, 4], `values` f64 [n, 3, words] (outputs read as f32), `flat` u32 [n, words] (raw
    outputs of the provoking vertex), `number` [n]: the primitive each comes from.
    """

    position: Array
    values: Array
    flat: Array
    number: Array

    def __len__(self) -> int:
        return len(self.position)

    def part(self, chosen: Array) -> Triangles:
        """Some of the triangles."""
        return Triangles(self.position[chosen], self.values[chosen], self.flat[chosen], self.number[chosen])


def clipped(t: Triangles, half_z: bool, depth_clamp: bool) -> Triangles:
    """What is left between the planes, in order. With `depth_clamp` only w > 0 is asked for."""
    planes = []
    z, w = t.position[:, :, 2], t.position[:, :, 3]
    if not depth_clamp:
        planes = [z if half_z else z + w, w - z]
    tiny = 2.0**-100
    planes.append(w - tiny)
    distance = np.stack(planes, axis=2)
    with np.errstate(invalid="ignore"):
        behind = np.asarray(distance < 0)  # [triangle, corner, plane]
        outside = np.logical_or.reduce(np.logical_and.reduce(behind, 1), 1)
        outside |= ~np.isfinite(t.position.reshape(len(t), -1)).all(axis=-1)
        crossing = np.logical_or.reduce(behind.reshape(len(t), -1), 1) & ~outside
    if not crossing.any():
        return t if not outside.any() else t.part(~outside)
    pieces: list[tuple[int, Array, Array]] = []
    for k in np.flatnonzero(crossing):
        pieces += [(int(k), p, v) for p, v in _cut(t.position[k], t.values[k], half_z, depth_clamp, tiny)]
    whole = np.flatnonzero(~outside & ~crossing)
    index = np.concatenate([whole, np.array([k for k, _, _ in pieces], np.int64)])
    order = np.argsort(index, kind="stable")
    position = np.concatenate([t.position[whole], *[p[None] for _, p, _ in pieces]])
    values = np.concatenate([t.values[whole], *[v[None] for _, _, v in pieces]])
    index = index[order]
    return Triangles(position[order], values[order], t.flat[index], t.number[index])


def _cut(position: Array, values: Array, half_z: bool, depth_clamp: bool, tiny: float) -> list[tuple[Array, Array]]:
    """One triangle against all planes: a fan of what is left."""
    points = list(zip(position, values, strict=True))
    sides = [np.array([0.0, 0.0, 0.0, 1.0, -tiny])]
    if not depth_clamp:
        sides += [np.array([0.0, 0.0, 1.0, 0.0 if half_z else 1.0, 0.0]), np.array([0.0, 0.0, -1.0, 1.0, 0.0])]
    for side in sides:
        kept: list[tuple[Array, Array]] = []
        for n, (p, v) in enumerate(points):
            q, u = points[(n + 1) % len(points)]
            a, b = (float(side[:4] @ x + side[4]) for x in (p, q))
            if a >= 0:
                kept.append((p, v))
            if (a >= 0) != (b >= 0):
                t = a / (a - b)
                kept.append((p + (q - p) * t, v + (u - v) * t))
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
