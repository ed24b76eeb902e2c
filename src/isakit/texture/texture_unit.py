"""The texture unit: executes texture instructions of a whole gang of warps.

Order of the sources: coordinates, array layer (an integer), reference, bias or level. Source: [graphics] 2.1, 2.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError, NotModelled
from isakit.texture.cube import FACES, face_of, on_one_face
from isakit.texture.lanes import filled, known
from isakit.texture.lod import chosen_levels, derivative_lod
from isakit.texture.sampler_state import Sampler
from isakit.texture.sampling import Image, SampleRequest, both
from isakit.texture.texture import LAYERED, Texture
from isakit.texture.texture_choices import DEFAULT_TEXTURING, TextureChoices
from isakit.texture.wrap import linear


class UnboundTexture(IsakitError):
    """A program uses a texture or sampler number that is not bound."""


@dataclass(frozen=True)
class TextureInstruction:
    """A texture instruction without its registers.

    Attributes: its name `op`; texel `offsets` per axis; its `cube` flag; `quads`: whether derivatives are taken from
    quads of lanes; `wanted`: mask of the components that are needed.
    """

    op: str
    offsets: Sequence[int]
    cube: bool
    quads: bool
    wanted: int


def _quiet() -> Any:
    """Silence warnings: coordinates are whatever is in the registers, NaN and infinity included."""
    return np.errstate(all="ignore")


def _signed(words: Array) -> Array:
    return words.view(np.int32).astype(np.int64)


def _floats(words: Array) -> Array:
    return words.view(np.float32).astype(np.float64)


class TextureUnit:
    """Textures and samplers by number. `derivative_inf`: outside quads derivatives are infinite instead of 0."""

    def __init__(
        self,
        textures: Mapping[int, Texture],
        samplers: Mapping[int, Sampler],
        choices: TextureChoices = DEFAULT_TEXTURING,
        derivative_inf: bool = False,
    ) -> None:
        self.textures, self.samplers, self.choices = textures, samplers, choices
        self.derivative_inf = derivative_inf
        self._images: dict[tuple[int, int], Image] = {}
        for t in textures.values():
            t.refresh()

    def _image(self, texture: int, sampler: int) -> Image:
        if self.choices.linked:
            sampler = texture
        image = self._images.get((texture, sampler))
        if image is None:
            found = self.textures.get(texture)
            if found is None:
                raise UnboundTexture(f"nothing is bound to $t{texture}")
            image = Image(found, self.samplers.get(sampler, Sampler()), self.choices)
            self._images[texture, sampler] = image
        return image

    def show(self, number: int, texture: Texture, sampler: Sampler) -> None:
        """Bind a number to a texture and its sampler."""
        self._images[number, number] = Image(texture, sampler, self.choices)

    def ask(
        self,
        op: str,
        texture: int,
        sampler: int,
        sources: Sequence[Array],
        *,
        offsets: Sequence[int] = (0, 0, 0),
        cube: bool = False,
        quads: bool = False,
        wanted: int = 15,
    ) -> list[Array]:
        """Return the four components of every lane, as u32.

        Args:
            op: name of the instruction.
            texture: number of the texture.
            sampler: number of the sampler.
            sources: source registers in order, u32.
            offsets: texel offsets per axis.
            cube: the cube flag of the instruction: of an array of cube maps, whether the sources are a direction and
                the number of a cube, or a place on a face and the number of a face, as `texprep` makes them.
            quads: whether derivatives are taken from quads of lanes.
            wanted: mask of the components that are needed.
        """
        n = len(sources[0])
        if op == "texprep":
            with _quiet():
                return self._prepare(sources, n)
        try:
            image = self._image(texture, 0 if op == "texfetch" and not self.choices.linked else sampler)
        except UnboundTexture:
            if self.choices.unbound == "zero":
                return [np.zeros(n, np.uint32)] * 4
            raise
        operation = self._operations.get(op)
        if operation is None:
            raise NotModelled(f"`{op}`", "what it returns is not known")
        with _quiet():
            return operation(self, image, list(sources), TextureInstruction(op, offsets, cube, quads, wanted))

    # --- sampling -----------------------------------------------------------------------------------------------------
    def _request(
        self, image: Image, sources: list[Array], asked: TextureInstruction
    ) -> tuple[SampleRequest, list[Array], list[Array]]:
        """Return (request, sources after it, coordinates for derivatives in texels).

        Raises NotModelled for a sampler whose codes are not known.
        """
        t = image.texture
        for name, code in image.sampler.unknown_codes:
            raise NotModelled(f"`{asked.op}` through a sampler whose `{name}` is {code}", "what it means is not known")
        layer: Array | None = None
        if t.target == "cube" or (t.target == "cube_array" and asked.cube):
            _at_least(3, sources, "a cube texture")
            x, y, z = (_floats(s) for s in sources[:3])
            face, s, u = face_of(x, y, z)
            coords, rest = [s, u], sources[3:]
            layer = face.astype(np.int64)
            if t.layered:
                cube, rest = _layer(rest, len(x), t.sizes[0][2] // FACES)
                layer = cube * FACES + layer
            if asked.quads and self.choices.cube_lod == "face":
                x, y, z = on_one_face(face, x, y, z)
            texels = [c * (t.sizes[0][0] / 2) for c in (x, y, z)]
        else:
            coords, rest = [_floats(s) for s in sources[: t.axes]], sources[t.axes :]
            if t.layered:
                layer, rest = _layer(rest, len(coords[0]), t.sizes[0][2])
            texels = image.scaled(coords, None)[0]
        reference = None
        if image.sampler.compare is not None and rest:
            reference, rest = _floats(rest[0]), rest[1:]
        return SampleRequest(coords, layer, reference, asked.offsets, asked.wanted), rest, texels

    def _origin(self, image: Image) -> int:
        """Return the level from which levels of detail count."""
        return image.texture.view[0] if self.choices.level_origin == "view" else 0

    def _level(self, image: Image, texels: list[Array], n: int, quads: bool) -> Array:
        """Return the level of detail by derivatives; `texels` are those of level 0."""
        if not quads:
            return np.full(n, np.inf if self.derivative_inf else -np.inf)
        vectors = self.choices.lod_vectors
        if vectors == "header":
            vectors = image.texture.lod_vectors
        return derivative_lod(texels, vectors, self.choices) - self._origin(image)

    def _texauto(self, image: Image, sources: list[Array], asked: TextureInstruction) -> list[Array]:
        request, rest, texels = self._request(image, sources, asked)
        smp, t = image.sampler, image.texture
        n = len(sources[0])
        first = t.view[0]
        if smp.mag == smp.min and (smp.mip == "none" or t.one_level or not t.normalized):
            return image.sample(request, filled(n, first), smp.mag)
        measured = asked.op != "texlod" and asked.quads
        if asked.op == "texlod":
            lod = _floats(rest[0]) if rest else np.zeros(n)
            if self.choices.level_bias == "sampler":
                lod = lod + smp.lod_bias
        else:
            lod = self._level(image, texels, n, asked.quads) + smp.lod_bias
            if asked.op == "texbias" and rest:
                lod = lod + _floats(rest[0])
        lod = np.clip(np.where(np.isnan(lod), 0.0, lod), smp.min_lod, np.maximum(smp.min_lod, smp.max_lod))
        mip = smp.mip if t.normalized else "none"
        levels = chosen_levels(lod, mip, first, t.last_level, self._origin(image), measured)
        if smp.mag == smp.min:
            # One sample for all: where it is magnified the second level has weight 0.
            level = np.where(levels.magnified, first, levels.first)
            mix = None if levels.weight is None else np.where(levels.magnified, 0, levels.weight)
            return image.sample(request, level, smp.mag, levels.second, mix)

        def near(some: SampleRequest, here: object) -> list[Array]:
            return image.sample(some, filled(len(some.coords[0]), first), smp.mag)

        def far(some: SampleRequest, here: object) -> list[Array]:
            level, second, mix = (_those(x, here) for x in (levels.first, levels.second, levels.weight))
            return image.sample(some, level, smp.min, second, mix)

        return _chosen(request, levels.magnified, near, far)

    def _texgather(self, image: Image, sources: list[Array], asked: TextureInstruction) -> list[Array]:
        _at_least(2, sources, asked.op)
        if image.texture.axes < 2:
            raise NotModelled(
                f"{asked.op} of a {image.texture.target} texture", "the four texels lie in two directions"
            )
        request, _, _ = self._request(image, sources, replace(asked, wanted=1))
        n = len(sources[0])
        level = filled(n, image.texture.view[0])
        u, sizes = image.scaled(request.coords, level)
        taps = [linear(x, sizes[k], image.modes[k], asked.offsets[k]) for k, x in enumerate(u[:2])]
        out: list[Array] = []
        for i, j in ((0, 1), (1, 1), (1, 0), (0, 0)):
            a, b = taps[0][i], taps[1][j]
            inside = both(a.inside, b.inside)
            at = image.place([a.at, b.at], request.layer, image.strides(level))
            out.append(image.texels(at, inside, request.reference, 1)[0])
        return out

    # --- texels by number ---------------------------------------------------------------------------------------------
    def _texfetch(self, image: Image, sources: list[Array], asked: TextureInstruction) -> list[Array]:
        t = image.texture
        n = len(sources[0])
        axes = t.axes
        index = [_signed(s) + asked.offsets[k] for k, s in enumerate(sources[:axes])]
        rest = sources[axes:]
        layer = None
        if t.target in LAYERED:
            layer, rest = _layer(rest, n, t.sizes[0][2])
        level = _signed(rest[0]) if rest and t.target != "buffer" else np.zeros(n, np.int64)
        level = level + t.view[0]
        if self.choices.fetch_outside == "clamp":
            level = np.clip(level, t.view[0], t.last_level)
            index = [np.clip(i, 0, s[level] - 1) for i, s in zip(index, (t.widths, t.heights, t.depths), strict=False)]
        inside = (level >= 0) & (level <= t.last_level)
        level = np.where(inside, level, 0)
        for i, sizes in zip(index, (t.widths, t.heights, t.depths), strict=False):
            inside &= (i >= 0) & (i < sizes[level])
        at = image.place([np.where(inside, i, 0) for i in index], layer, image.strides(level))
        got = image.texels(np.where(inside, at, 0), None, None, asked.wanted)
        blank = image.texels_of_nothing(n, asked.wanted)
        return [np.where(inside, g, b) for g, b in zip(got, blank, strict=True)]

    def _texsize(self, image: Image, sources: list[Array], asked: TextureInstruction) -> list[Array]:
        """Return width, height, depth of a level, layers after the last axis, and in w the number of levels."""
        t = image.texture
        n = len(sources[0])
        level = np.clip(_signed(sources[0]) + self._origin(image), 0, 31)
        w, h, d = t.sizes[0]
        if t.target in ("cube", "cube_array") and self.choices.size_of_cubes == "layers":
            d = d // FACES
        depth = np.maximum(1, d >> level) if t.target == "3d" else filled(n, d)
        height = np.maximum(1, h >> level) if t.axes > 1 else filled(n, h)
        if t.target == "1d_array":
            height, depth = depth, height
        values = [np.maximum(1, w >> level), height, depth, filled(n, t.last_level - t.view[0] + 1)]
        return [v.astype(np.uint32) for v in values]

    def _texquerylod(self, image: Image, sources: list[Array], asked: TextureInstruction) -> list[Array]:
        """Return the level of detail clamped to the existing levels, and unclamped, in fixed point."""
        _, _, texels = self._request(image, sources, asked)
        n = len(sources[0])
        lod = self._level(image, texels, n, asked.quads) + image.sampler.lod_bias
        t = image.texture
        origin = self._origin(image)
        limited = np.clip(lod, image.sampler.min_lod, image.sampler.max_lod)
        limited = limited.clip(t.view[0] - origin, t.last_level - origin)
        scale = float(1 << self.choices.query_lod_bits)
        limit = float((1 << 15) - 1)
        out = [
            np.floor(np.clip(v * scale, -limit, limit) + 0.5).astype(np.int64).astype(np.uint32) for v in (limited, lod)
        ]
        zero = np.zeros(n, np.uint32)
        return [*out, zero, zero]

    @staticmethod
    def _prepare(sources: Sequence[Array], n: int) -> list[Array]:
        """Compute texprep cube: coordinates on the face, and layer * 6 + face for a two-dimensional array."""
        _at_least(3, sources, "texprep")
        x, y, z = (_floats(s) for s in sources[:3])
        face, s, t = face_of(x, y, z)
        layer = _signed(sources[3]) if len(sources) > 3 else np.zeros(n, np.int64)
        words = [v.astype(np.float32).view(np.uint32) for v in (s, t)]
        return [*words, ((layer * FACES + face) & 0xFFFF_FFFF).astype(np.uint32), np.zeros(n, np.uint32)]

    _operations: ClassVar[Mapping[str, Callable[..., list[Array]]]] = {
        "texauto": _texauto,
        "texbias": _texauto,
        "texlod": _texauto,
        "texgather": _texgather,
        "texfetch": _texfetch,
        "texsize": _texsize,
        "texquerylod": _texquerylod,
    }
    """Operations of the unit, by name of the instruction; `texprep` needs no image."""


def _at_least(count: int, sources: Sequence[Array], what: str) -> None:
    """Raise NotModelled for a query with too few coordinates."""
    if len(sources) < count:
        raise NotModelled(f"{what} with {len(sources)} sources", f"it takes at least {count} coordinates")


def _layer(sources: list[Array], n: int, layers: Array | int) -> tuple[Array, list[Array]]:
    """Return (array layer of each lane, clamped to the existing ones, remaining sources); layer 0 without a source."""
    if not sources:
        return np.zeros(n, np.int64), sources
    return np.clip(_signed(sources[0]), 0, layers - 1), sources[1:]


def _chosen(request: SampleRequest, here: Any, yes: Any, no: Any) -> list[Array]:
    """Return `yes(request, lanes)` where `here` holds, else `no`.

    For arrays, each is called with its own lanes only.
    """
    if not known(here):
        return [np.where(here, a, b) for a, b in zip(yes(request, None), no(request, None), strict=True)]
    out = [np.zeros(len(here), np.uint32) for _ in range(4)]
    for lanes, make in ((here, yes), (~here, no)):
        if lanes.any():
            for c, got in enumerate(make(_part(request, lanes), lanes)):
                out[c][lanes] = got
    return out


def _those(lanes: Any, here: Any) -> Any:
    """Return the selected lanes."""
    return lanes if lanes is None or here is None else lanes[here]


def _part(request: SampleRequest, here: Array) -> SampleRequest:
    return SampleRequest(
        [c[here] for c in request.coords],
        _those(request.layer, here),
        _those(request.reference, here),
        request.offsets,
        request.wanted,
    )


__all__ = ["TextureUnit", "UnboundTexture"]
