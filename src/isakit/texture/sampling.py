"""Sampling: coordinates, layers and levels of many lanes to four components each.

Source: [graphics] 2.2 - 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.cube import FACES, across_edges
from isakit.texture.filtering import weighted
from isakit.texture.lanes import as_type
from isakit.texture.sampler_state import Sampler
from isakit.texture.texel_formats import FLOAT, ONE_FLOAT, ONE_INTEGER, RED, ZERO
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import TextureChoices
from isakit.texture.wrap import EDGE, OUTSIDE, Tap, linear, nearest, steps
from isakit.texture.wrap import ONE as ONE_WEIGHT

ONE = 0x3F80_0000
_COMPARED = RED
"""The key of the values that a comparison reads: R, and the border's first colour."""


@dataclass(frozen=True)
class SampleRequest:
    """Request for a sample, one array element per lane.

    Attributes: `coords` (f32 values as f64, one array per axis of an image, 0 to 1 where the texture is normalised),
    `layer` (depth slice, array layer or face, None without), `reference` (f32 values as f64, None without comparison),
    `offsets` (texels, per axis), `wanted` (mask of the components).
    """

    coords: Sequence[Array]
    layer: Array | None
    reference: Array | None
    offsets: Sequence[int]
    wanted: int = 15


Strides = tuple[Any, Any, Any]


class Image:
    """A texture seen through a sampler."""

    def __init__(self, texture: Texture, sampler: Sampler, choices: TextureChoices) -> None:
        sampler = sampler.for_texture(texture, choices.srgb_bits)
        self.texture, self.sampler, self.choices = texture, sampler, choices
        self.planes = texture.planes(sampler.srgb, choices.srgb_bits, choices.srgb_of)
        self.integer = texture.format.integer
        self.border = [as_type(b, np.uint32) for b in sampler.border_bits]
        modes = sampler.modes
        self.cube = texture.target in ("cube", "cube_array")
        if self.cube:
            modes = (EDGE, EDGE, EDGE)
        elif not texture.normalized:
            # Without normalised coordinates repeating is not possible; it acts as clamping ([cuda]).
            modes = tuple(EDGE if m < EDGE else m for m in modes)
        self.modes: tuple[int, ...] = tuple(modes)
        self._by_result = choices.border == "results" and not OUTSIDE.isdisjoint(self.modes)

    # --- texels -------------------------------------------------------------------------------------------------------
    def _key(self, source: int, result: int) -> int:
        """Return a raw component (2 R .. 5 A) and, from bit 3 on, which of the border's colours replaces it."""
        return source | (result if self._by_result else source - RED) << 3

    def _component(self, key: int, at: Array, inside: Array | None) -> Array:
        """Return one raw component of texels, as u32; the border colour outside."""
        k = (key & 7) - RED
        plane = self.planes[k] if k < len(self.planes) else None
        got = np.zeros_like(at).astype(np.uint32) if plane is None else plane[at]
        if inside is not None:
            got = np.where(inside, got, self.border[0 if self.texture.one_border_colour else key >> 3])
        return got

    def _constant(self, source: int, n: int) -> Array:
        return np.full(n, {ZERO: 0, ONE_INTEGER: 1, ONE_FLOAT: ONE}.get(source, 0), np.uint32)

    def assembled(self, parts: dict[int, Array], n: int, wanted: int) -> list[Array]:
        """Return x, y, z, w from raw components by the texture's sources; a comparison replaces R everywhere."""
        zero = np.zeros(n, np.uint32)
        out: list[Array] = []
        for c, s in enumerate(self.texture.format.sources):
            found = parts.get(self._key(s, c), parts.get(_COMPARED if s == RED else -1))
            out.append(zero if not wanted >> c & 1 else self._constant(s, n) if found is None else found)
        return out

    def needed(self, wanted: int) -> list[int]:
        """Return keys of the raw components that the wanted results are taken from."""
        found = enumerate(self.texture.format.sources)
        return sorted({self._key(s, c) for c, s in found if wanted >> c & 1 and RED <= s < RED + 4})

    def strides(self, level: Array) -> Strides:
        """Return (texels of a row, rows of a layer, first texel) of the levels."""
        t = self.texture
        if len(t.sizes) == 1:
            return t.sizes[0][0], t.sizes[0][1], 0
        return t.widths[level], t.heights[level], t.bases[level]

    def place(self, index: Sequence[Array], layer: Array | None, strides: Strides) -> Array:
        """Return the index of texels in the planes, from indices per axis and the layer (in 3D the third index)."""
        w, h, base = strides
        at = index[0]
        rows = index[1] if len(index) > 1 else None
        deep = index[2] if len(index) > 2 else layer
        if rows is not None:
            at = at + w * rows
        if deep is not None:
            at = at + (w * h) * deep
        return at + base

    def texels(self, at: Array, inside: Array | None, reference: Array | None, wanted: int) -> list[Array]:
        """Return x, y, z, w of single texels."""
        sources = [_COMPARED] if reference is not None else self.needed(wanted)
        parts = {s: self._texel(s, at, inside, reference) for s in sources}
        return self.assembled(parts, len(at), wanted)

    def texels_of_nothing(self, n: int, wanted: int) -> list[Array]:
        """Return the result of a fetch outside: zero components, and ones where the format's sources are one."""
        return self.assembled({s: np.zeros(n, np.uint32) for s in self.needed(wanted)}, n, wanted)

    # --- one level ----------------------------------------------------------------------------------------------------
    def scaled(self, coords: Sequence[Array], level: Array | None) -> tuple[list[Array], list[Any]]:
        """Return coordinates in texels of a level (f32 products, as f64) and the sizes of the axes."""
        t = self.texture
        if level is None or len(t.sizes) == 1:
            sizes: list[Any] = list(t.sizes[0])
        else:
            sizes = [t.widths[level], t.heights[level], t.depths[level]]
        if not t.normalized:
            return list(coords), sizes
        with np.errstate(over="ignore", invalid="ignore"):
            out = [(c.astype(np.float32) * as_type(n, np.float32)).astype(np.float64)
                   for c, n in zip(coords, sizes, strict=False)]  # fmt: skip
        return out, sizes

    def sums(
        self, request: SampleRequest, level: Array, filters: str
    ) -> tuple[dict[int, list[Array]], list[Array], int]:
        """Return (raw component -> values of the taps as f64 or u32, weights, fraction bits) of one level."""
        u, sizes = self.scaled(request.coords, level)
        smooth = filters == "linear" and not self.integer
        if smooth and self.choices.seamless and self.cube and request.layer is not None:
            return self._seamless(request, request.layer, u, sizes[0], level)
        axes: list[list[Tap]] = []
        for k, x in enumerate(u):
            if smooth:
                truncate = self.choices.weights == "truncate"
                axes.append(linear(x, sizes[k], self.modes[k], request.offsets[k], truncate))
            else:
                axes.append(nearest(x, sizes[k], self.modes[k], request.offsets[k]))
        sources = [_COMPARED] if request.reference is not None else self.needed(request.wanted)
        values: dict[int, list[Array]] = {s: [] for s in sources}
        weights: list[Array] = []
        strides = self.strides(level)
        for taps in _combinations(axes):
            inside = reduce(both, (t.inside for t in taps), None)
            at = self.place([t.at for t in taps], request.layer, strides)
            for s in sources:
                got = self._texel(s, at, inside, request.reference)
                values[s].append(got.view(np.float32).astype(np.float64) if smooth else got)
            if smooth:
                weights.append(reduce(np.multiply, [t.weight.astype(np.float64) for t in taps if t.weight is not None]))
        return values, weights, 8 * len(axes) if smooth else 0

    def _seamless(self, request: SampleRequest, faces: Array, u: Sequence[Array], n: Any,
                  level: Array) -> tuple[dict[int, list[Array]], list[Array], int]:  # fmt: skip
        """Return `sums` of a linear filter over the edges of cube faces; `faces` counts those of all cubes."""
        cube = faces // FACES * FACES if self.texture.layered else None
        face = faces if cube is None else faces - cube
        truncate = self.choices.weights == "truncate"
        (i, a), (j, b) = (steps(np.where(np.isfinite(x), x, 0.0), truncate) for x in u[:2])
        sources = [_COMPARED] if request.reference is not None else self.needed(request.wanted)
        values: dict[int, list[Array]] = {s: [] for s in sources}
        weights: list[Array] = []
        strides = self.strides(level)
        for dj, di in ((0, 0), (0, 1), (1, 0), (1, 1)):
            other, column, row = across_edges(face, i + di, j + dj, n)
            at = self.place([column, row], other if cube is None else cube + other, strides)
            for s in sources:
                got = self._texel(s, at, None, request.reference)
                values[s].append(got.view(np.float32).astype(np.float64))
            weights.append(((a if di else ONE_WEIGHT - a) * (b if dj else ONE_WEIGHT - b)).astype(np.float64))
        return values, weights, 16

    def _texel(self, source: int, at: Array, inside: Array | None, reference: Array | None) -> Array:
        """Return a component of texels, or the result of its comparison with the reference."""
        texel = self._component(source, at, inside)
        return texel if reference is None else self._compared(reference, texel)

    def _compared(self, reference: Array, texel: Array) -> Array:
        """Compare the reference with the texel: 1.0 where it holds, else 0.0."""
        depth = texel.view(np.float32).astype(np.float64)
        if self.texture.format.types[0] != FLOAT:
            reference = np.clip(reference, 0.0, 1.0)
        with np.errstate(invalid="ignore"):
            less, equal = reference < depth, reference == depth
        greater = ~(less | equal) & ~np.isnan(reference) & ~np.isnan(depth)
        holds = {
            "never": np.zeros_like(less),
            "less": less,
            "equal": equal,
            "lequal": less | equal,
            "greater": greater,
            "notequal": ~equal,
            "gequal": greater | equal,
            "always": np.ones_like(less),
        }[self.sampler.compare or "never"]
        return np.where(holds, np.uint32(ONE), np.uint32(0))

    def sample(self, request: SampleRequest, level: Array, filters: str,
               second: Array | None = None, mix: Array | None = None) -> list[Array]:  # fmt: skip
        """Return x, y, z, w of one level, or of two mixed with `mix` of 256."""
        values, weights, bits = self.sums(request, level, filters)
        n = len(request.coords[0])
        if second is not None and mix is not None and not self.integer:
            more, heavier, _ = self.sums(request, second, filters)
            share = mix.astype(np.float64)
            if not weights:  # point samples of two levels
                weights = heavier = [np.ones(n)]
                values, more = (
                    {s: [v.view(np.float32).astype(np.float64) for v in vs] for s, vs in x.items()}
                    for x in (values, more)
                )
            weights = [w * (256 - share) for w in weights] + [w * share for w in heavier]
            values = {s: values[s] + more[s] for s in values}
            bits += 8
        parts = {s: weighted(vs, weights, bits) if weights else vs[0] for s, vs in values.items()}
        return self.assembled(parts, n, request.wanted)


def both(a: Array | None, b: Array | None) -> Array | None:
    """Combine two conditions; None holds everywhere."""
    return b if a is None else a if b is None else a & b


def _combinations(axes: list[list[Tap]]) -> list[list[Tap]]:
    """Return taps of all axes, the first axis running fastest."""
    out: list[list[Tap]] = [[]]
    for taps in reversed(axes):
        out = [[t, *rest] for rest in out for t in taps]
    return out
