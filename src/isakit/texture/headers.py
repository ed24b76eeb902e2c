"""TIC and TSC: the eight words that describe a texture image and a sampler to the hardware.

Every field is declared once; packing, unpacking and explaining follow. Source: [graphics] 1.1, 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from isakit.errors import LaunchError
from isakit.float_bits import float_of_bits
from isakit.spec import Field
from isakit.texture.texel_formats import LAYOUTS, SNORM_FORCE_FP16, SOURCE_NAMES, TYPE_NAMES, UNORM_FORCE_FP16

WORDS = 8
Meaning = Callable[[int], str]


@dataclass(frozen=True)
class HeaderField:
    """A field of a header.

    Attributes: `name`; `field`: where it is in the 256 bits; `meaning` of a value in words. A field that the texture
    unit does not model has a `neutral` value, without effect; others are counted (`not_modelled`), as are those
    `unmodelled` of a field that it reads. `ignored`: why a field has no effect here. `option`: `use_header_opt` in the
    TIC selects its own field or the sampler's of the same name.
    """

    name: str
    field: Field
    meaning: Meaning
    neutral: int | None = None
    ignored: str = ""
    option: bool = False
    unmodelled: frozenset[int] = frozenset()

    def asks(self, value: int) -> bool:
        """Return whether a value requests something that is not modelled."""
        return value in self.unmodelled or self.neutral not in (None, value)


def _at(word: int, low: int, high: int | None = None) -> Field:
    return Field(((32 * word + low, (low if high is None else high) - low + 1),))


def _number(v: int) -> str:
    return str(v)


def _hexadecimal(v: int) -> str:
    return f"{v:#x}"


def _names(names: Mapping[int, str]) -> Meaning:
    return lambda v: names.get(v, f"unknown ({v})")


def _flag(on: str, off: str = "no") -> Meaning:
    return lambda v: on if v else off


def _fixed(bits: int, signed: bool = False) -> Meaning:
    """Return the meaning of a field that holds a number with eight fraction bits."""
    return lambda v: f"{(v - ((v >> bits - 1) << bits) if signed else v) / 256:g}"


def _ratio(v: int) -> str:
    return str((1, 2, 4, 6, 8, 10, 12, 16)[v])


def _single(v: int) -> str:
    return f"{float_of_bits(v):g}"


TYPES = {
    0: "1D", 1: "2D", 2: "3D", 3: "cube", 4: "1D array", 5: "2D array", 6: "1D buffer", 7: "2D without mipmaps",
    8: "cube array",
}  # fmt: skip
WRAPS = {
    0: "repeat", 1: "mirror", 2: "clamp to edge", 3: "border", 4: "clamp half way to the border",
    5: "mirror once, then edge", 6: "mirror once, then border", 7: "mirror once, then half way to the border",
}  # fmt: skip
COMPARISONS = {
    n: name for n, name in enumerate(("never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"))
}
FILTERS = {1: "nearest", 2: "linear"}
MIP_FILTERS = {1: "none", 2: "nearest", 3: "linear"}
_SPREAD = _number
_FORCED = frozenset({SNORM_FORCE_FP16, UNORM_FORCE_FP16})
"""Results in half precision: treated as full precision."""
_ONLY_ANISO = "refines anisotropic filtering, which max_aniso asks for"
_ONLY_BITMAPS = "only for the format of single bits, which is refused"

TIC: Sequence[HeaderField] = (
    HeaderField("components", _at(0, 0, 5), lambda v: LAYOUTS[v].name if v in LAYOUTS else f"format {v:#x}"),
    *[
        HeaderField(f"type_{c}", _at(0, 6 + 3 * k, 8 + 3 * k), _names(TYPE_NAMES), unmodelled=_FORCED)
        for k, c in enumerate("rgba")
    ],
    *[
        HeaderField(f"source_{c}", _at(0, 18 + 3 * k, 20 + 3 * k), _names(SOURCE_NAMES), unmodelled=frozenset({1}))
        for k, c in enumerate("xyzw")
    ],
    HeaderField("pack_components", _at(0, 30), _flag("8/16-bit components packed in registers"), 0),
    HeaderField("address_low", _at(1, 0, 31), _hexadecimal),
    HeaderField("address_high", _at(2, 0, 7), _hexadecimal),
    HeaderField("aniso_spread_max", Field(((72, 2), (75, 1))), _SPREAD, ignored=_ONLY_ANISO),
    HeaderField("srgb", _at(2, 10), _flag("R, G and B are decoded from sRGB")),
    HeaderField("lod_aniso_quality_2", _at(2, 12), _number, ignored=_ONLY_ANISO),
    HeaderField("colour_key", _at(2, 13), _flag("colour key"), 0),
    HeaderField("type", _at(2, 14, 17), _names(TYPES)),
    HeaderField("pitch_layout", _at(2, 18), _flag("rows at a pitch", "block linear")),
    HeaderField("gobs_x", _at(2, 19, 21), lambda v: str(1 << v), ignored="the texture unit takes it as one"),
    HeaderField("gobs_y", _at(2, 22, 24), lambda v: str(1 << v)),
    HeaderField("gobs_z", _at(2, 25, 27), lambda v: str(1 << v)),
    HeaderField("sector_promotion", _at(2, 28, 29), _number, ignored="what a cache reads at once changes no value"),
    HeaderField("border_source", _at(2, 30), _flag("the sampler's border colour", "another border colour"), 1),
    HeaderField("normalized", _at(2, 31), _flag("coordinates are 0 to 1", "coordinates are texels")),
    HeaderField("pitch", _at(3, 0, 19), _number),
    HeaderField("lod_aniso_quality", _at(3, 20), _flag("four vectors", "two vectors"), ignored=_ONLY_ANISO),
    HeaderField("lod_iso_quality", _at(3, 21), _flag("four vectors", "two vectors")),
    HeaderField("aniso_coarse_spread", _at(3, 22, 23), _SPREAD, ignored=_ONLY_ANISO),
    HeaderField("aniso_fine_spread", _at(3, 24, 28), _SPREAD, ignored=_ONLY_ANISO),
    HeaderField("use_header_opt", _at(3, 29), _flag("anisotropy, bias and trilinear options from the TIC")),
    HeaderField("aniso_clamp", _at(3, 30), _flag("yes"), ignored=_ONLY_ANISO),
    HeaderField("aniso_pow2", _at(3, 31), _flag("yes"), ignored=_ONLY_ANISO),
    HeaderField("width", _at(4, 0, 29), _number),
    HeaderField("depth_texture", _at(4, 30), _flag("border colour R everywhere")),
    HeaderField("header_v2", _at(4, 31), _flag("G84 and later", "G80")),
    HeaderField("height", _at(5, 0, 15), lambda v: str(v or 65536)),
    HeaderField("depth", _at(5, 16, 27), _number),
    HeaderField("map_mip_level", _at(5, 28, 31), _number),
    HeaderField("trilin_opt", _at(6, 0, 4), _number, 0, option=True),
    HeaderField("lod_bias", _at(6, 5, 17), _fixed(13, signed=True), option=True),
    HeaderField("aniso_bias", _at(6, 19, 22), _number, ignored=_ONLY_ANISO),
    HeaderField("aniso_fine_spread_function", _at(6, 23, 24), _number, ignored=_ONLY_ANISO),
    HeaderField("aniso_coarse_spread_function", _at(6, 25, 26), _number, ignored=_ONLY_ANISO),
    HeaderField("max_aniso", _at(6, 27, 29), _ratio, 0, option=True),
    HeaderField("aniso_modifier", _at(6, 30, 31), _number, ignored=_ONLY_ANISO),
    HeaderField("view_min_level", _at(7, 0, 3), _number),
    HeaderField("view_max_level", _at(7, 4, 7), _number),
    HeaderField("height_bit_16", _at(7, 8), _number),
    HeaderField("msaa_mode", _at(7, 12, 15), _number, 0),
    HeaderField("min_lod_clamp", _at(7, 16, 27), _fixed(12), 0),
    HeaderField("depth_high", _at(7, 28, 30), _number, 0),
)

TSC: Sequence[HeaderField] = (
    *[HeaderField(f"wrap_{c}", _at(0, 3 * k, 2 + 3 * k), _names(WRAPS)) for k, c in enumerate("uvp")],
    HeaderField("compare", _at(0, 9), _flag("compare with the reference")),
    HeaderField("compare_func", _at(0, 10, 12), _names(COMPARISONS)),
    HeaderField("srgb", _at(0, 13), _flag("sRGB decoding allowed")),
    HeaderField("font_filter_width", _at(0, 14, 16), _number, ignored=_ONLY_BITMAPS),
    HeaderField("font_filter_height", _at(0, 17, 19), _number, ignored=_ONLY_BITMAPS),
    HeaderField("max_aniso", _at(0, 20, 22), _ratio, 0, option=True),
    HeaderField("mag", _at(1, 0, 1), _names(FILTERS)),
    HeaderField("min", _at(1, 4, 5), _names(FILTERS)),
    HeaderField("mip", _at(1, 6, 7), _names(MIP_FILTERS)),
    HeaderField("lod_bias", _at(1, 12, 24), _fixed(13, signed=True), option=True),
    HeaderField("trilin_opt", _at(1, 26, 30), _number, 0, option=True),
    HeaderField("min_lod", _at(2, 0, 11), _fixed(12)),
    HeaderField("max_lod", _at(2, 12, 23), _fixed(12)),
    HeaderField("srgb_border_r", _at(2, 24, 31), _number),
    HeaderField("srgb_border_g", _at(3, 12, 19), _number),
    HeaderField("srgb_border_b", _at(3, 20, 27), _number),
    *[HeaderField(f"border_{c}", _at(4 + k, 0, 31), _single) for k, c in enumerate("rgba")],
)

HEADERS = {"tic": TIC, "tsc": TSC}


def joined(words: Sequence[int]) -> int:
    """Return eight words as one number. Raises LaunchError for another count or size."""
    if len(words) != WORDS or any(not 0 <= w < 1 << 32 for w in words):
        raise LaunchError(f"a header has {WORDS} words of 32 bits, not {len(words)}")
    return sum(w << 32 * k for k, w in enumerate(words))


def unpack(kind: str, words: Sequence[int]) -> dict[str, int]:
    """Return field name -> value. Bits outside of all fields are under `unknown`, at their position in the 256 bits."""
    whole = joined(words)
    out = {h.name: h.field.get(whole) for h in HEADERS[kind]}
    for h in HEADERS[kind]:
        whole &= ~h.field.mask
    return out | {"unknown": whole}


@lru_cache(maxsize=1024)
@lru_cache(maxsize=1024)
@lru_cache(maxsize=256)
def not_modelled(tic: tuple[int, ...], tsc: tuple[int, ...]) -> tuple[str, ...]:
    """Describe, one text each, the requests of a texture and a sampler that the texture unit does not model.

    Raises LaunchError for other than eight words each.
    """
    texture = unpack("tic", tic)
    out: list[str] = []
    for kind, name in (("tic", "texture header"), ("tsc", "sampler")):
        values = unpack(kind, tic if kind == "tic" else tsc)
        counts = bool(texture["use_header_opt"]) == (kind == "tic")
        for h in HEADERS[kind]:
            asked = h.asks(values[h.name]) and (counts or not h.option)
            out += [f"{name}: {h.name} {h.meaning(values[h.name])}"] if asked else []
        out += [f"{name}: bits of no field"] if values["unknown"] else []
    return tuple(out)


def pack(kind: str, values: Mapping[str, int]) -> tuple[int, ...]:
    """Pack the given fields into the eight words; missing ones are 0. Raises LaunchError for values that do not fit."""
    fields = {h.name: h.field for h in HEADERS[kind]}
    whole = values.get("unknown", 0)
    for name, value in values.items():
        if name == "unknown":
            continue
        field = fields.get(name)
        if field is None:
            raise LaunchError(f"a {kind} has no field {name!r}; there are: {', '.join(fields)}")
        if not field.fits(value):
            raise LaunchError(f"{kind} field {name} has {field.width} bits and cannot hold {value:#x}")
        whole |= field.put(value)
    return tuple(whole >> 32 * k & 0xFFFF_FFFF for k in range(WORDS))
