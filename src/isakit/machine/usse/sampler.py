"""Textures: arrays with a filter and a rule for coordinates outside.

The definition of a sample follows [usse] 2.6.13. Filtering is done in f32 with exact weights; the precision of the
hardware's weights is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.lean import cached_property
from isakit.texture.cube import across_edges, face_of
from isakit.texture.lanes import known

Filter = Literal["nearest", "bilinear"]
Wrap = Literal["clamp", "wrap", "mirror"]
Mip = Literal["nearest", "linear"]
_DTYPES = {np.dtype(np.uint8): "u8", np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}


class Texture:
    """A texture: `data` of shape [height, width, channels] or [height, width]; 1-dimensional ones have height 1.

    Args:
        data: uint8 (read as fractions of 255), float16 or float32 texels, row 0 at coordinate 0; or a list of such
            arrays, the mip levels from the largest on.
        filter: nearest or bilinear.
        wrap: addressing outside of 0..1: clamp, wrap, mirror; or a pair (u, v).
        mip: how levels are selected: nearest, or linear between two.

    Raises LaunchError for arrays of another type or shape, and for other modes. Missing channels read 0, a missing
    alpha 1.
    """

    def __init__(self, data: ArrayLike, filter: Filter = "bilinear", wrap: Wrap | tuple[Wrap, Wrap] = "clamp",
                 mip: Mip = "nearest") -> None:  # fmt: skip
        given: list[ArrayLike] = list(data) if isinstance(data, (list, tuple)) else [data]  # pyright: ignore[reportUnknownArgumentType]
        levels: list[Array] = [np.asarray(a) for a in given]
        self.format = _DTYPES.get(levels[0].dtype, "")
        if not self.format:
            raise LaunchError(f"texels of type {levels[0].dtype}: use uint8, float16 or float32")
        self.levels = [_texels(a) for a in levels]
        self.filter, self.mip = filter, mip
        self.wrap: tuple[Wrap, Wrap] = wrap if isinstance(wrap, tuple) else (wrap, wrap)
        for what, word, words in (
            ("filter", filter, Filter),
            ("mip", mip, Mip),
            *(("wrap", w, Wrap) for w in self.wrap),
        ):
            if word not in get_args(words):
                raise LaunchError(f"no {what} of a texture is called {word!r}; there are {', '.join(get_args(words))}")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the largest level."""
        return self.levels[0].shape[1], self.levels[0].shape[0]

    @cached_property
    def planes(self) -> list[Array]:
        """The components of all texels, by level, layer and row."""
        levels = [stack.reshape(-1, 4) for stack in self._layers()]
        return [np.ascontiguousarray(np.concatenate([a[:, k] for a in levels])) for k in range(4)]

    @cached_property
    def tables(self) -> tuple[Array, Array, Array]:
        """Width and height of each level, and its start in the planes."""
        sizes = np.array([a.shape[:2] for a in self.levels], np.int64)
        texels = [a.shape[0] * a.shape[1] * len(s) for a, s in zip(self.levels, self._layers(), strict=True)]
        return sizes[:, 1], sizes[:, 0], np.cumsum([0, *texels[:-1]])

    def _layers(self) -> Sequence[Array]:
        """Return the layers of each level, [layers, height, width, 4]."""
        return [a[None] for a in self.levels]

    @staticmethod
    def pack(texels: Array, format: str) -> list[Array]:
        """Return texels of shape [lanes, 4] as 32-bit registers: `u8`, `f16` or `f32` components."""
        return packed([texels[:, k] for k in range(4)], format)

    def sample(self, u: Array, v: Array, lod: Array | float = 0.0) -> Array:
        """Return texels at coordinates (shape [lanes]) as f32 of shape [lanes, 4]."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack(self.components((u, v), lod), 1)

    def components(self, coordinates: Sequence[Array], lod: Array | float = 0.0) -> list[Array]:
        """Return the four components (f32) at coordinates, one array per axis."""
        u, v = coordinates
        return self.by_level(lod, lambda level: self.of_level(level, 0, u, v))

    def by_level(self, lod: Array | float, of_level: Callable[[Array | int], list[Array]]) -> list[Array]:
        """Sample the levels that `lod` selects; `of_level` samples one level, or one per lane."""
        top = len(self.levels) - 1
        if top == 0:
            return of_level(0)
        clamped = np.clip(np.nan_to_num(lod), 0, top)
        if self.mip == "nearest":
            return of_level(np.rint(clamped).astype(int))
        low = np.floor(clamped).astype(int)
        weight = (clamped - low).astype(np.float32)
        pairs = zip(of_level(low), of_level(np.minimum(low + 1, top)), strict=True)
        return [a * (1 - weight) + b * weight for a, b in pairs]

    def texel(self, level: Array | int, layer: Array | int, column: Array, row: Array) -> list[Array]:
        """Return the components of texels."""
        width, height, base = (table[level] for table in self.tables)
        at = base + width * (row + height * layer) + column
        return [plane[at] for plane in self.planes]

    def of_level(self, level: Array | int, layer: Array | int, u: Array, v: Array) -> list[Array]:
        """Return the components of a sample of one level and layer."""
        width, height = self.tables[0][level], self.tables[1][level]
        x = np.nan_to_num(u.astype(np.float64)) * width
        y = np.nan_to_num(v.astype(np.float64)) * height
        if self.filter == "nearest":
            return self.texel(level, layer, self.index(np.floor(x), width, 0), self.index(np.floor(y), height, 1))
        x, y = x - 0.5, y - 0.5
        x0, y0 = np.floor(x), np.floor(y)
        columns = [self.index(x0 + k, width, 0) for k in (0, 1)]
        rows = [self.index(y0 + k, height, 1) for k in (0, 1)]
        return mixed([[self.texel(level, layer, c, r) for c in columns] for r in rows], x - x0, y - y0)

    def gather(self, u: Array, v: Array) -> tuple[list[Array], Array]:
        """Return the four texels a bilinear sample of the largest level mixes, and their weights [lanes, 4].

        Order: lower left, lower right, upper right, upper left.
        """
        data = self.levels[0]
        height, width = data.shape[:2]
        x, y = np.nan_to_num(u.astype(np.float64)) * width - 0.5, np.nan_to_num(v.astype(np.float64)) * height - 0.5
        x0, y0 = np.floor(x), np.floor(y)
        fx, fy = x - x0, y - y0
        corners = ((0, 1), (1, 1), (1, 0), (0, 0))
        texels = [data[self.index(y0 + dy, height, 1), self.index(x0 + dx, width, 0)] for dx, dy in corners]
        weights = [(fx if dx else 1 - fx) * (fy if dy else 1 - fy) for dx, dy in corners]
        return texels, np.stack(weights, 1).astype(np.float32)

    def info(self, u: Array, v: Array, lod: Array | float) -> Array:
        """Return fractions of u, of v and between the levels, and the level, as bytes of one register."""
        width, height = self.size
        level: Array = np.broadcast_to(np.clip(np.nan_to_num(lod), 0, len(self.levels) - 1), u.shape)
        x, y = np.nan_to_num(u.astype(np.float64)) * width - 0.5, np.nan_to_num(v.astype(np.float64)) * height - 0.5
        parts: list[Array] = [np.floor((f - np.floor(f)) * 256) for f in (x, y, level)]
        out = np.zeros(u.shape, np.uint32)
        for k, part in enumerate([*parts, np.floor(level)]):
            out |= part.astype(np.uint32) << np.uint32(8 * k)
        return out

    def index(self, i: Array, size: Array | int, axis: int) -> Array:
        """Return the texel along an axis that an integer coordinate selects."""
        rule = self.wrap[axis]
        i = np.clip(i, -1e9, 1e9).astype(np.int64)
        if rule == "wrap":
            return i % size
        if rule == "mirror":
            j: Array = i % (2 * size)
            return np.where(j < size, j, 2 * size - 1 - j)
        return np.clip(i, 0, size - 1)


class Volume(Texture):
    """A three-dimensional texture: `data` of shape [depth, height, width, channels], without mip levels.

    `filter` and `wrap` as for `Texture`; bilinear filtering also mixes adjacent slices.
    """

    def __init__(self, data: ArrayLike, filter: Filter = "bilinear", wrap: Wrap = "clamp") -> None:
        a: Array = np.asarray(data)
        if a.ndim != 4 or not len(a):
            raise LaunchError(f"a volume of shape {a.shape}: use [depth, height, width, channels]")
        super().__init__(a[0], filter, wrap)
        self.slices: list[Array] = [_texels(s) for s in a]

    def _layers(self) -> Sequence[Array]:
        return [np.stack(self.slices)]

    def components(self, coordinates: Sequence[Array], lod: Array | float = 0.0) -> list[Array]:
        """See `Texture.components`."""
        u, v, w = coordinates
        depth = len(self.slices)
        z = np.nan_to_num(w.astype(np.float64)) * depth
        if self.filter == "nearest":
            return self.of_level(0, self.index(np.floor(z), depth, 0), u, v)
        z = z - 0.5
        low = np.floor(z)
        weight = (z - low).astype(np.float32)
        pairs = [self.of_level(0, self.index(low + k, depth, 0), u, v) for k in (0, 1)]
        return [a * (1 - weight) + b * weight for a, b in zip(*pairs, strict=True)]


class Cube(Texture):
    """A cube map: `faces` of shape [6, size, size, channels], or a list of such arrays, the mip levels.

    Faces are in the order +X -X +Y -Y +Z -Z, levels from the largest on. Row 0 of a face is at its t coordinate 0, as
    cube maps are stored everywhere. With `seamless` bilinear samples mix across the edges of faces; whether the
    hardware does is not known, so the default is off: they stop at the edge. `stacks` are the levels as f32 [6, size,
    size, 4].
    """

    def __init__(self, faces: ArrayLike, filter: Filter = "bilinear", mip: Mip = "nearest", *,
                 seamless: bool = False) -> None:  # fmt: skip
        given: list[ArrayLike] = list(faces) if isinstance(faces, (list, tuple)) else [faces]  # pyright: ignore[reportUnknownArgumentType]
        levels: list[Array] = [np.asarray(a) for a in given]
        for a in levels:
            if a.ndim not in (3, 4) or len(a) != 6 or a.shape[1] != a.shape[2]:
                raise LaunchError(f"a cube map of shape {a.shape}: use [6, size, size, channels]")
        super().__init__([a[0] for a in levels], filter, "clamp", mip)
        self.seamless = seamless
        self.stacks = [np.stack([_texels(face) for face in a]) for a in levels]

    def _layers(self) -> Sequence[Array]:
        return self.stacks

    def components(self, coordinates: Sequence[Array], lod: Array | float = 0.0) -> list[Array]:
        """See `Texture.components`; the coordinates are directions."""
        face, s, t = face_of(*(np.nan_to_num(a.astype(np.float64)) for a in coordinates))
        across = self.seamless and self.filter == "bilinear"
        return self.by_level(lod, lambda n: (self._across_edges if across else self.of_level)(n, face, s, t))

    def on_face(self, direction: Sequence[Array], step: Sequence[Array]) -> tuple[Array, Array]:
        """Return how far a step in each direction moves s and t on the face that the direction hits."""
        here = [np.nan_to_num(a.astype(np.float64)) for a in direction]
        moved = [a + np.nan_to_num(b.astype(np.float64)) for a, b in zip(here, step, strict=True)]
        face, s, t = face_of(here[0], here[1], here[2])
        major = np.choose(face // 2, moved) * np.where(face % 2, -1.0, 1.0)
        major = np.where(np.abs(major) < 1e-30, 1e-30, major)
        x, y, z = moved
        sc = np.choose(face, [-z, z, x, x, x, -x])
        tc = np.choose(face, [-y, -y, z, -z, -y, -y])
        return (sc / major + 1) / 2 - s, (tc / major + 1) / 2 - t

    def _across_edges(self, n: Array | int, face: Array, s: Array, t: Array) -> list[Array]:
        """Return bilinear samples of a level whose texels may lie on an adjacent face."""
        size = self.tables[0][n]
        x, y = s * size - 0.5, t * size - 0.5
        x0, y0 = np.floor(x), np.floor(y)

        def texel(dx: int, dy: int) -> list[Array]:
            column, row = (x0 + dx).astype(np.int64), (y0 + dy).astype(np.int64)
            return self.texel(n, *across_edges(face, column, row, size))

        return mixed([[texel(k, j) for k in (0, 1)] for j in (0, 1)], x - x0, y - y0)


def mixed(rows: Sequence[Sequence[list[Array]]], across: Array, down: Array) -> list[Array]:
    """Mix the components of four texels, [row][column], by the fractions of the coordinates."""
    fx, fy = across.astype(np.float32), down.astype(np.float32)
    above, below = ([a * (1 - fx) + b * fx for a, b in zip(*row, strict=True)] for row in rows)
    return [a * (1 - fy) + b * fy for a, b in zip(above, below, strict=True)]


def _texels(a: Array) -> Array:
    if a.ndim == 2:
        a = a[:, :, None]
    if a.ndim != 3 or not 1 <= a.shape[2] <= 4 or 0 in a.shape:
        raise LaunchError(f"a texture of shape {a.shape}: use [height, width, 1 to 4 channels]")
    out = np.zeros((*a.shape[:2], 4), np.float32)
    out[:, :, 3] = 1
    out[:, :, : a.shape[2]] = a / np.float32(255) if a.dtype == np.uint8 else a
    return out


def packed(components: Sequence[Array], format: str) -> list[Array]:
    """Return four components as 32-bit registers: `u8`, `f16` or `f32` components. As `u8` a NaN is 0."""
    if format == "f32":
        return [as_words(c) for c in components]
    if format == "f16":
        halves = [c.astype(np.float16).view(np.uint16).astype(np.uint32) for c in components]
        return [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16]
    r, g, b, a = (np.clip(np.rint(np.where(np.isnan(c), 0, c) * 255), 0, 255).astype(np.uint32) for c in components)
    return [r | g << 8 | b << 16 | a << 24]


def as_words(component: Array) -> Array:
    """Return the bits of f32 lanes."""
    return (np.ascontiguousarray(component) if known(component) else component).view(np.uint32)


def level_of_detail(texture: Texture, du: Array, dv: Array) -> Array:
    """Return the level of detail from gradients of shape [2, lanes]: for each screen axis the change of u and v."""
    width, height = texture.size
    rho = np.maximum(np.hypot(du[0] * width, dv[0] * height), np.hypot(du[1] * width, dv[1] * height))
    with np.errstate(divide="ignore"):
        return np.log2(np.maximum(rho, 1e-30))
