"""Open questions about the texture unit, as switches with documented defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from isakit.lean import dataclass
from isakit.settings import Settings


@dataclass(frozen=True)
class TextureChoices(Settings):
    """Choices on open questions. Source: [graphics] 2, 5.

    Attributes:
        weights: how the 8-bit fraction of a linear filter is made: rounded to `nearest` (which may reach the next
            texel), or `truncate`.
        lod_norm: length of a coordinate derivative: `euclid` as the API rules require, `max` as in one software
            renderer.
        lod_vectors: derivatives that count: `header` (two or four, as the texture says), 2 or 4 of a quad.
        cube_lod: coordinates of a cube whose derivatives count, in a quad on several faces: those on the `face` of the
            quad's first lane, which goes on beyond its edge as the rules of OpenGL want it, or the three of the
            `vector` as programs divide them.
        nan: the value used for a NaN coordinate: `zero`. Infinite ones go to the end when clamping, else to 0.
        unbound: a texture or sampler number nothing is bound to: `fault`, or `zero` results.
        fetch_outside: the result of texfetch for a texel outside: `zero` (with the format's ones), or the
            nearest one by `clamp`.
        size_of_cubes: the result of texsize for cube arrays: `layers` (whole cubes), or `faces`.
        srgb_bits: fraction bits of values decoded from sRGB; None for all of f32.
        srgb_of: what is decoded from sRGB: what the `results` x, y and z are taken from, or the components that are
            `stored` as R, G and B. They differ where alpha is stored as G, as with luminance and alpha.
        border: whether the four border colours stand for the `results`, or for the `stored` components, which the
            texture's sources then permute. Source: drivers permute them before they hand them over.
        level_bias: what is added to the level that texlod is told: nothing (`none`), or the `sampler`'s bias, as the
            rules of OpenGL want it.
        level_origin: where levels of detail, bounds of samplers and the level that texsize is told count from: the
            first level of the texture's `view`, as the rules of OpenGL and Direct3D 10 want it, or level 0 of the
            `texture`.
        query_lod_bits: fraction bits of what texquerylod returns.
        seamless: whether linear filtering crosses the edges of cube faces; off, each face clamps.
        linked: whether sampler numbers are ignored and texture n uses sampler n.

    Anisotropic filtering is not modelled: textures are sampled as if it were off. `texture.headers.not_modelled` says
    what a texture and a sampler ask for that is not done; runs of GL programs count it.
    """

    weights: Literal["nearest", "truncate"] = "nearest"
    lod_norm: Literal["euclid", "max"] = "euclid"
    lod_vectors: Literal["header", 2, 4] = "header"
    cube_lod: Literal["face", "vector"] = "face"
    nan: Literal["zero"] = "zero"
    unbound: Literal["fault", "zero"] = "fault"
    fetch_outside: Literal["zero", "clamp"] = "zero"
    size_of_cubes: Literal["layers", "faces"] = "layers"
    srgb_bits: Annotated[int, range(1, 25)] | None = None
    srgb_of: Literal["results", "stored"] = "results"
    border: Literal["results", "stored"] = "results"
    level_bias: Literal["none", "sampler"] = "none"
    level_origin: Literal["view", "texture"] = "view"
    query_lod_bits: Annotated[int, range(25)] = 8
    seamless: bool = False
    linked: bool = False


DEFAULT_TEXTURING = TextureChoices()
