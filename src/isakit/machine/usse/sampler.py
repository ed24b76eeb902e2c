"""Textures: arrays with a filter and a rule for coordinates outside.

Source of what a sample is: [usse] 2.6.13. Filtering is done in f32 with exact weights; the precision of the hardware's
weights is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isakit.errors import LaunchError
from isakit.texture.cube import across_edges, face_of

Array = NDArray[Any]
Filter = Literal["nearest", "bilinear"]
Wrap = Literal["clamp", "wrap", "mirror"]
_DTYPES = {np.dtype(np.uint8): "u8", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}


class Texture:
    """A texture: `data` of shape [height, width, channels] or [height, width]; 1-dimensional ones have height 1.

    Args:
        data: uint8 (read as fractions of 255), float16 or float32 texels, row 0 at coordinate 0; or a list of such
            arrays, the mip levels from the largest on.
        filter: nearest or bilinear.
        wrap: what happens outside of 0..1: clamp, wrap, mirror; or a pair (u, v).
        mip: how levels are chosen: nearest, or linear between two.

    Raises LaunchError for arrays of another type or shape. Missing channels read 0, a missing alpha 1.
    """

    def __init__(self, data: Any, filter: Filter = "bilinear", wrap: Wrap | tuple[Wrap, Wrap] = "clamp",
                 mip: Literal["nearest", "linear"] = "nearest") -> None:  # fmt: skip
        given: list[Any] = list(data) if isinstance(data, (list, tuple)) else [data]  # pyright: ignore[reportUnknownArgumentType]
        levels: list[Array] = [np.asarray(a) for a in given]
        self.format = _DTYPES.get(levels[0].dtype, "")
        if not self.format:
            raise LaunchError(f"texels of type {levels[0].dtype}: use uint8, float16 or float32")
        self.levels = [_texels(a) for a in levels]
        self.filter, self.mip = filter, mip
        self.wrap: tuple[Wrap, Wrap] = wrap if isinstance(wrap, tuple) else (wrap, wrap)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the largest level."""
        return self.levels[0].shape[1], self.levels[0].shape[0]

    @staticmethod
    def pack(texels: Array, format: str) -> list[Array]:
        """Texels of shape [lanes, 4] as 32-bit registers: `u8`, `f16` or `f32` components."""
        return packed(texels, format)

    def sample(self, u: Array, v: Array, lod: Array | float = 0.0) -> Array:
        """Texels at coordinates (shape [lanes]) as f32 of shape [lanes, 4]."""
        return self._by_level(lod, lambda n, here: self._level(n, u[here], v[here]), len(u))

    def _by_level(self, lod: Array | float, of_level: Callable[[int, Any], Array], count: int) -> Array:
        """Samples of the levels that `lod` asks for; `of_level` gives those of some invocations from one level."""
        top = len(self.levels) - 1
        if top == 0:
            return of_level(0, slice(None))

        def mixed(level: Array) -> Array:
            out = np.empty((count, 4), np.float32)
            for n in np.unique(level):
                here = level == n
                out[here] = of_level(int(n), here)
            return out

        clamped = np.broadcast_to(np.clip(np.nan_to_num(lod), 0, top), (count,))
        if self.mip == "nearest":
            return mixed(np.rint(clamped).astype(int))
        low = np.floor(clamped).astype(int)
        weight = (clamped - low).astype(np.float32)[:, None]
        return mixed(low) * (1 - weight) + mixed(np.minimum(low + 1, top)) * weight

    def gather(self, u: Array, v: Array) -> tuple[list[Array], Array]:
        """The four texels a bilinear sample of the largest level mixes, and their weights [lanes, 4].

        Order: lower left, lower right, upper right, upper left.
        """
        data = self.levels[0]
        height, width = data.shape[:2]
        x, y = np.nan_to_num(u.astype(np.float64)) * width - 0.5, np.nan_to_num(v.astype(np.float64)) * height - 0.5
        x0, y0 = np.floor(x), np.floor(y)
        fx, fy = x - x0, y - y0
        corners = ((0, 1), (1, 1), (1, 0), (0, 0))
        texels = [data[self._index(y0 + dy, height, 1), self._index(x0 + dx, width, 0)] for dx, dy in corners]
        weights = [(fx if dx else 1 - fx) * (fy if dy else 1 - fy) for dx, dy in corners]
        return texels, np.stack(weights, 1).astype(np.float32)

    def info(self, u: Array, v: Array, lod: Array | float) -> Array:
        """Fractions of u, of v and between the levels, and the level, as bytes of one register."""
        width, height = self.size
        level: Array = np.broadcast_to(np.clip(np.nan_to_num(lod), 0, len(self.levels) - 1), u.shape)
        x, y = np.nan_to_num(u.astype(np.float64)) * width - 0.5, np.nan_to_num(v.astype(np.float64)) * height - 0.5
        parts: list[Array] = [np.floor((f - np.floor(f)) * 256) for f in (x, y, level)]
        out = np.zeros(u.shape, np.uint32)
        for k, part in enumerate([*parts, np.floor(level)]):
            out |= part.astype(np.uint32) << np.uint32(8 * k)
        return out

    def _level(self, n: int, u: Array, v: Array) -> Array:
        data = self.levels[n]
        height, width = data.shape[:2]
        x = np.nan_to_num(u.astype(np.float64)) * width
        y = np.nan_to_num(v.astype(np.float64)) * height
        if self.filter == "nearest":
            return data[self._index(np.floor(y), height, 1), self._index(np.floor(x), width, 0)]
        x, y = x - 0.5, y - 0.5
        x0, y0 = np.floor(x), np.floor(y)
        fx, fy = (x - x0).astype(np.float32)[:, None], (y - y0).astype(np.float32)[:, None]
        left, right = self._index(x0, width, 0), self._index(x0 + 1, width, 0)
        upper, lower = self._index(y0, height, 1), self._index(y0 + 1, height, 1)
        above = data[upper, left] * (1 - fx) + data[upper, right] * fx
        below = data[lower, left] * (1 - fx) + data[lower, right] * fx
        return above * (1 - fy) + below * fy

    def _index(self, i: Array, size: int, axis: int) -> Array:
        rule = self.wrap[axis]
        i = np.clip(i, -1e9, 1e9).astype(np.int64)
        if rule == "wrap":
            return i % size
        if rule == "mirror":
            j = i % (2 * size)
            return np.where(j < size, j, 2 * size - 1 - j)
        return np.clip(i, 0, size - 1)


class Volume(Texture):
    """A three-dimensional texture: `data` of shape [depth, height, width, channels], without mip levels.

    `filter` and `wrap` as for `Texture`; with bilinear filtering neighbouring slices are mixed, too.
    """

    def __init__(self, data: Any, filter: Filter = "bilinear", wrap: Wrap = "clamp") -> None:
        a: Array = np.asarray(data)
        if a.ndim != 4 or not len(a):
            raise LaunchError(f"a volume of shape {a.shape}: use [depth, height, width, channels]")
        super().__init__(a[0], filter, wrap)
        self.slices: list[Texture] = [Texture(s, filter, wrap) for s in a]

    def sample_volume(self, u: Array, v: Array, w: Array) -> Array:
        """Texels at coordinates (shape [lanes]) as f32 of shape [lanes, 4]."""
        depth = len(self.slices)
        z = np.nan_to_num(w.astype(np.float64)) * depth
        if self.filter == "nearest":
            return self._slices(np.floor(z), u, v)
        z = z - 0.5
        low = np.floor(z)
        weight = (z - low).astype(np.float32)[:, None]
        return self._slices(low, u, v) * (1 - weight) + self._slices(low + 1, u, v) * weight

    def _slices(self, z: Array, u: Array, v: Array) -> Array:
        out = np.empty((len(u), 4), np.float32)
        index = self._index(z, len(self.slices), 0)
        for n in np.unique(index):
            here = index == n
            out[here] = self.slices[int(n)].sample(u[here], v[here])
        return out


class Cube(Texture):
    """A cube map: `faces` of shape [6, size, size, channels], or a list of such arrays, the mip levels.

    Faces are in the order +X -X +Y -Y +Z -Z, levels from the largest on. Row 0 of a face is at its t coordinate 0, as
    cube maps are stored everywhere. With `seamless` bilinear samples mix across the edges of faces; whether the
    hardware does is not known, so it is off: they stop at the edge.
    """

    def __init__(self, faces: Any, filter: Filter = "bilinear", mip: Literal["nearest", "linear"] = "nearest", *,
                 seamless: bool = False) -> None:  # fmt: skip
        given: list[Any] = list(faces) if isinstance(faces, (list, tuple)) else [faces]  # pyright: ignore[reportUnknownArgumentType]
        levels: list[Array] = [np.asarray(a) for a in given]
        for a in levels:
            if a.ndim not in (3, 4) or len(a) != 6 or a.shape[1] != a.shape[2]:
                raise LaunchError(f"a cube map of shape {a.shape}: use [6, size, size, channels]")
        super().__init__([a[0] for a in levels], filter, "clamp", mip)
        self.faces: list[Texture] = [Texture([a[k] for a in levels], filter, "clamp", mip) for k in range(6)]
        self.seamless = seamless
        self._stacks = [np.stack([f.levels[n] for f in self.faces]) for n in range(len(self.levels))]

    def sample_cube(self, x: Array, y: Array, z: Array, lod: Array | float = 0.0) -> Array:
        """Texels in directions (f32 [lanes]) as f32 of shape [lanes, 4]."""
        face, s, t = face_of(*(np.nan_to_num(a.astype(np.float64)) for a in (x, y, z)))
        if self.seamless and self.filter == "bilinear":
            return self._by_level(lod, lambda n, here: self._across_edges(n, face[here], s[here], t[here]), len(face))
        out = np.empty((len(face), 4), np.float32)
        level = np.broadcast_to(lod, face.shape)
        for k in np.unique(face):
            here = face == k
            out[here] = self.faces[int(k)].sample(s[here], t[here], level[here])
        return out

    def on_face(self, direction: Sequence[Array], step: Sequence[Array]) -> tuple[Array, Array]:
        """How far a step in each direction moves s and t on the face that the direction meets."""
        here = [np.nan_to_num(a.astype(np.float64)) for a in direction]
        moved = [a + np.nan_to_num(b.astype(np.float64)) for a, b in zip(here, step, strict=True)]
        face, s, t = face_of(here[0], here[1], here[2])
        major = np.choose(face // 2, moved) * np.where(face % 2, -1.0, 1.0)
        major = np.where(np.abs(major) < 1e-30, 1e-30, major)
        x, y, z = moved
        sc = np.choose(face, [-z, z, x, x, x, -x])
        tc = np.choose(face, [-y, -y, z, -z, -y, -y])
        return (sc / major + 1) / 2 - s, (tc / major + 1) / 2 - t

    def _across_edges(self, n: int, face: Array, s: Array, t: Array) -> Array:
        """Bilinear samples of a level whose texels may lie on the next face."""
        data = self._stacks[n]
        size = data.shape[1]
        x, y = s * size - 0.5, t * size - 0.5
        x0, y0 = np.floor(x), np.floor(y)
        fx, fy = (x - x0).astype(np.float32)[:, None], (y - y0).astype(np.float32)[:, None]

        def texel(dx: int, dy: int) -> Array:
            f, i, j = across_edges(face, (x0 + dx).astype(np.int64), (y0 + dy).astype(np.int64), size)
            return data[f, j, i]

        above = texel(0, 0) * (1 - fx) + texel(1, 0) * fx
        below = texel(0, 1) * (1 - fx) + texel(1, 1) * fx
        return above * (1 - fy) + below * fy


def _texels(a: Array) -> Array:
    if a.ndim == 2:
        a = a[:, :, None]
    if a.ndim != 3 or not 1 <= a.shape[2] <= 4 or 0 in a.shape:
        raise LaunchError(f"a texture of shape {a.shape}: use [height, width, 1 to 4 channels]")
    out = np.zeros((*a.shape[:2], 4), np.float32)
    out[:, :, 3] = 1
    out[:, :, : a.shape[2]] = a / np.float32(255) if a.dtype == np.uint8 else a
    return out


def packed(texels: Array, format: str) -> list[Array]:
    """Texels of shape [lanes, 4] as 32-bit registers: `u8`, `f16` or `f32` components."""
    if format == "f32":
        return [np.ascontiguousarray(texels[:, k]).view(np.uint32) for k in range(4)]
    if format == "f16":
        halves = texels.astype(np.float16).view(np.uint16).astype(np.uint32)
        return [halves[:, 0] | halves[:, 1] << 16, halves[:, 2] | halves[:, 3] << 16]
    bytes_ = np.clip(np.rint(texels * 255), 0, 255).astype(np.uint32)
    return [bytes_[:, 0] | bytes_[:, 1] << 8 | bytes_[:, 2] << 16 | bytes_[:, 3] << 24]


def level_of_detail(texture: Texture, du: Array, dv: Array) -> Array:
    """Level from gradients of shape [2, lanes]: per axis of the screen the change of u and v."""
    width, height = texture.size
    rho = np.maximum(np.hypot(du[0] * width, dv[0] * height), np.hypot(du[1] * width, dv[1] * height))
    with np.errstate(divide="ignore"):
        return np.log2(np.maximum(rho, 1e-30))
