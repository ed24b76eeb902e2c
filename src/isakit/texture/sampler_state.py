"""Samplers: the rules from coordinates to texels, and from texels to a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from isakit.errors import LaunchError
from isakit.float_bits import bits_of_float
from isakit.texture.headers import FILTERS, MIP_FILTERS, pack, unpack
from isakit.texture.texel_formats import linear_from_srgb, to_srgb
from isakit.texture.wrap import OUTSIDE

if TYPE_CHECKING:
    from isakit.texture.texture import Texture

Wrap = Literal["repeat", "mirror", "edge", "border", "clamp", "mirror_edge", "mirror_border", "mirror_clamp"]
Filter = Literal["nearest", "linear"]
MipFilter = Literal["none", "nearest", "linear"]
Compare = Literal["never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"]

WRAP_NAMES: tuple[Wrap, ...] = (
    "repeat",
    "mirror",
    "edge",
    "border",
    "clamp",
    "mirror_edge",
    "mirror_border",
    "mirror_clamp",
)
FILTER_NAMES: tuple[Filter, ...] = ("nearest", "linear")
MIP_NAMES: tuple[MipFilter, ...] = ("none", "nearest", "linear")
COMPARE_NAMES: tuple[Compare, ...] = ("never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always")
_LOD_MAX = 15


def _code(names: Sequence[str], name: str, what: str) -> int:
    if name not in names:
        raise LaunchError(f"no {what} {name!r}; there are: {', '.join(names)}")
    return list(names).index(name)


@dataclass(frozen=True)
class Sampler:
    """A sampler, as the hardware's TSC describes it.

    Attributes:
        wrap: one name for all axes, or one each for u, v and p: repeat, mirror, edge, border, clamp (half way to the
            border), mirror_edge, mirror_border, mirror_clamp (mirrored once, then as the second word says).
        mag, min: nearest or linear, for magnification and minification.
        mip: none (the first level), nearest, or linear between two levels.
        lod_bias: added to the level of detail; -16 to just below 16.
        min_lod, max_lod: bounds of the level of detail, 0 to just below 16.
        border: the border colour R, G, B, A.
        compare: how the reference compares with a depth texel, None for no comparison.
        srgb: whether sRGB textures are decoded.
        border_words: the border colour as raw words, for integer textures; overrides `border`.
        srgb_border: R, G and B of the border of sRGB textures, as their texels hold it, 0 to 255; the nearest to
            `border` by default.
        unknown_codes: fields of a TSC whose codes have no known meaning, with the codes: the filters of an empty one.
            Texels can be fetched with such a sampler; a sample raises NotModelled.

    The level of detail has eight fraction bits in the words; a sampler made from numbers is truncated likewise.
    """

    wrap: Wrap | tuple[Wrap, Wrap, Wrap] = "edge"
    mag: Filter = "nearest"
    min: Filter = "nearest"
    mip: MipFilter = "none"
    lod_bias: float = 0.0
    min_lod: float = 0.0
    max_lod: float = _LOD_MAX
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    compare: Compare | None = None
    srgb: bool = True
    border_words: tuple[int, int, int, int] | None = None
    srgb_border: tuple[int, int, int] | None = None
    unknown_codes: tuple[tuple[str, int], ...] = ()
    modes: tuple[int, int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = (self.wrap,) * 3 if isinstance(self.wrap, str) else self.wrap
        if len(names) != 3:
            raise LaunchError(f"a sampler wraps three axes, not {len(names)}")
        object.__setattr__(self, "modes", tuple(_code(WRAP_NAMES, n, "wrap mode") for n in names))
        _code(FILTER_NAMES, self.mag, "filter")
        _code(FILTER_NAMES, self.min, "filter")
        _code(MIP_NAMES, self.mip, "mipmap filter")
        if self.compare is not None:
            _code(COMPARE_NAMES, self.compare, "comparison")
        if not -16 <= self.lod_bias < 16 or not 0 <= self.min_lod < 16 or not 0 <= self.max_lod < 16:
            raise LaunchError("a level of detail is 0 to below 16, a bias -16 to below 16")
        for name in ("lod_bias", "min_lod", "max_lod"):
            object.__setattr__(self, name, math.trunc(getattr(self, name) * 256) / 256)

    @property
    def border_bits(self) -> tuple[int, int, int, int]:
        """The border colour as register bits."""
        if self.border_words is not None:
            return self.border_words
        r, g, b, a = (bits_of_float(c) for c in self.border)
        return r, g, b, a

    @property
    def srgb_border_codes(self) -> tuple[int, int, int]:
        """R, G and B of the border as an sRGB texture holds them."""
        if self.srgb_border is not None:
            return self.srgb_border
        color = np.array(self.border_bits[:3], np.uint32).view(np.float32)
        r, g, b = np.rint(to_srgb(np.clip(np.nan_to_num(color), 0, 1)) * np.float32(255)).astype(int).tolist()
        return r, g, b

    def for_texture(self, texture: Texture, srgb_bits: int | None = None) -> Sampler:
        """Return the effective sampler for a texture.

        A texture may have a bias of its own in its header; if sRGB is decoded, the border is, too, from its eight bits.
        Source: [graphics] 1.1, 1.2. `srgb_bits`: fraction bits of decoded values.
        """
        out = self if texture.lod_bias is None else replace(self, lod_bias=texture.lod_bias)
        if not (texture.format.srgb and self.srgb and not OUTSIDE.isdisjoint(self.modes)):
            return out
        codes = np.array(self.srgb_border_codes) / np.float32(255)
        r, g, b = linear_from_srgb(codes.astype(np.float32).view(np.uint32), srgb_bits).tolist()
        return replace(out, border_words=(r, g, b, self.border_bits[3]))

    @property
    def words(self) -> tuple[int, ...]:
        """The eight words of the TSC."""
        values = {f"wrap_{c}": m for c, m in zip("uvp", self.modes, strict=True)}
        values |= {f"border_{c}": v for c, v in zip("rgba", self.border_bits, strict=True)}
        values |= {
            "compare": int(self.compare is not None),
            "compare_func": 0 if self.compare is None else COMPARE_NAMES.index(self.compare),
            "srgb": int(self.srgb),
            "mag": 1 + FILTER_NAMES.index(self.mag),
            "min": 1 + FILTER_NAMES.index(self.min),
            "mip": 1 + MIP_NAMES.index(self.mip),
            "lod_bias": int(self.lod_bias * 256) & 0x1FFF,
            "min_lod": int(self.min_lod * 256),
            "max_lod": int(self.max_lod * 256),
        }
        values |= {f"srgb_border_{c}": v for c, v in zip("rgb", self.srgb_border_codes, strict=True)}
        return pack("tsc", values | dict(self.unknown_codes))

    @classmethod
    def from_words(cls, words: Sequence[int]) -> Sampler:
        """Return the sampler that eight TSC words describe. Raises LaunchError for other than eight words."""
        v = unpack("tsc", words)
        unknown: dict[str, int] = {}
        for name, known in (("mag", FILTERS), ("min", FILTERS), ("mip", MIP_FILTERS)):
            if v[name] not in known:
                unknown[name], v[name] = v[name], 1
        bias = v["lod_bias"]
        r, g, b, a = (v[f"border_{c}"] for c in "rgba")
        return cls(
            wrap=(WRAP_NAMES[v["wrap_u"]], WRAP_NAMES[v["wrap_v"]], WRAP_NAMES[v["wrap_p"]]),
            mag=FILTER_NAMES[v["mag"] - 1],
            min=FILTER_NAMES[v["min"] - 1],
            mip=MIP_NAMES[v["mip"] - 1],
            lod_bias=(bias - ((bias >> 12) << 13)) / 256,
            min_lod=v["min_lod"] / 256,
            max_lod=v["max_lod"] / 256,
            compare=COMPARE_NAMES[v["compare_func"]] if v["compare"] else None,
            srgb=bool(v["srgb"]),
            border_words=(r, g, b, a),
            srgb_border=(v["srgb_border_r"], v["srgb_border_g"], v["srgb_border_b"]),
            unknown_codes=tuple(unknown.items()),
        )
