"""Texel formats: COMPONENTS_SIZES codes, component types, and raw bytes as numbers.

A component is a range of bits of the little-endian texel. Source: [graphics] 1.3, 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError, NotModelled

SNORM, UNORM, SINT, UINT, SNORM_FORCE_FP16, UNORM_FORCE_FP16, FLOAT = 1, 2, 3, 4, 5, 6, 7
TYPE_NAMES = {1: "snorm", 2: "unorm", 3: "sint", 4: "uint", 5: "snorm as fp16", 6: "unorm as fp16", 7: "float"}
INTEGERS = frozenset({SINT, UINT})

ZERO, RED, GREEN, BLUE, ALPHA, ONE_INTEGER, ONE_FLOAT = 0, 2, 3, 4, 5, 6, 7
SOURCE_NAMES = {0: "0", 2: "R", 3: "G", 4: "B", 5: "A", 6: "integer 1", 7: "1.0"}

Span = tuple[int, int]
"""(lowest bit, bits) of a component."""


LayoutKind = Literal["plain", "e5", "dxt1", "dxt23", "dxt45", "rgtc1", "rgtc2"]


@dataclass(frozen=True)
class ComponentLayout:
    """A COMPONENTS_SIZES code: where R, G, B and A are. `kind` names layouts that are not plain bit ranges."""

    code: int
    name: str
    bits: int
    components: tuple[Span, ...]
    kind: LayoutKind = "plain"

    @property
    def block(self) -> int:
        """Texels along an edge of a compressed block, 1 for the others."""
        return 4 if self.kind in ("dxt1", "dxt23", "dxt45", "rgtc1", "rgtc2") else 1

    @property
    def nbytes(self) -> int:
        """Bytes of a texel, or of a block."""
        return self.bits // 8


def _packed(code: int, name: str, *sizes: int) -> ComponentLayout:
    """Return components from the lowest bit up."""
    spans: list[Span] = []
    at = 0
    for n in sizes:
        spans.append((at, n))
        at += n
    return ComponentLayout(code, name, at, tuple(spans))


LAYOUTS: Mapping[int, ComponentLayout] = {
    f.code: f
    for f in (
        _packed(0x01, "R32_G32_B32_A32", 32, 32, 32, 32),
        _packed(0x03, "R16_G16_B16_A16", 16, 16, 16, 16),
        _packed(0x04, "R32_G32", 32, 32),
        ComponentLayout(0x05, "R32_B24G8", 64, ((0, 32), (32, 8), (40, 24))),
        ComponentLayout(0x07, "X8B8G8R8", 32, ((0, 8), (8, 8), (16, 8))),
        _packed(0x08, "A8B8G8R8", 8, 8, 8, 8),
        _packed(0x09, "A2B10G10R10", 10, 10, 10, 2),
        _packed(0x0C, "R16_G16", 16, 16),
        _packed(0x0D, "G8R24", 24, 8),
        _packed(0x0E, "G24R8", 8, 24),
        _packed(0x0F, "R32", 32),
        _packed(0x12, "A4B4G4R4", 4, 4, 4, 4),
        _packed(0x13, "A5B5G5R1", 1, 5, 5, 5),
        _packed(0x14, "A1B5G5R5", 5, 5, 5, 1),
        _packed(0x15, "B5G6R5", 5, 6, 5),
        _packed(0x16, "B6G5R5", 5, 5, 6),
        _packed(0x18, "G8R8", 8, 8),
        _packed(0x1B, "R16", 16),
        _packed(0x1D, "R8", 8),
        _packed(0x1E, "G4R4", 4, 4),
        ComponentLayout(0x20, "E5B9G9R9", 32, ((0, 9), (9, 9), (18, 9)), "e5"),  # the exponent is in bits 31:27
        _packed(0x21, "BF10GF11RF11", 11, 11, 10),
        ComponentLayout(0x24, "DXT1", 64, ((0, 8), (8, 8), (16, 8), (24, 8)), "dxt1"),
        ComponentLayout(0x25, "DXT23", 128, ((0, 8), (8, 8), (16, 8), (24, 8)), "dxt23"),
        ComponentLayout(0x26, "DXT45", 128, ((0, 8), (8, 8), (16, 8), (24, 8)), "dxt45"),
        ComponentLayout(0x27, "DXN1", 64, ((0, 8),), "rgtc1"),
        ComponentLayout(0x28, "DXN2", 128, ((0, 8), (8, 8)), "rgtc2"),
        _packed(0x29, "Z24S8", 8, 24),
        ComponentLayout(0x2A, "X8Z24", 32, ((0, 24),)),
        _packed(0x2B, "S8Z24", 24, 8),
        _packed(0x2F, "ZF32", 32),
        ComponentLayout(0x30, "ZF32_X24S8", 64, ((0, 32), (32, 8))),
        _packed(0x3A, "Z16", 16),
    )
}
"""By code. Video, font and coverage-sample formats are missing."""
CODES = {f.name: f.code for f in LAYOUTS.values()}


def layout(code: int) -> ComponentLayout:
    """Return the layout of a code. Raises NotModelled for codes that are not known or not modelled."""
    found = LAYOUTS.get(code)
    if found is None:
        raise NotModelled(f"texel format {code:#04x}", "no source says how its components lie, or it is not modelled")
    return found


@dataclass(frozen=True)
class Format:
    """Format of texels: layout, type of R G B A, sources of x y z w, sRGB decoding."""

    layout: ComponentLayout
    types: tuple[int, ...]
    sources: tuple[int, ...]
    srgb: bool = False

    @property
    def integer(self) -> bool:
        """True if results are raw integers that cannot be filtered."""
        return self.types[0] in INTEGERS


_KINDS = {"": UNORM, "s": SNORM, "ui": UINT, "i": SINT, "f": FLOAT}
_SIZES = {
    ("r", 8): "R8",
    ("rg", 8): "G8R8",
    ("rgba", 8): "A8B8G8R8",
    ("bgra", 8): "A8B8G8R8",
    ("r", 16): "R16",
    ("rg", 16): "R16_G16",
    ("rgba", 16): "R16_G16_B16_A16",
    ("r", 32): "R32",
    ("rg", 32): "R32_G32",
    ("rgba", 32): "R32_G32_B32_A32",
}


def _plain_sources(count: int, integer: bool) -> tuple[int, int, int, int]:
    one = ONE_INTEGER if integer else ONE_FLOAT
    if count == 4:
        return (RED, GREEN, BLUE, ALPHA)
    return ((RED, ZERO, ZERO, one), (RED, GREEN, ZERO, one), (RED, GREEN, BLUE, one))[count - 1]


def _named() -> dict[str, Format]:
    """Return names as used by OpenGL, in lower case: components, bits, and s, ui, i or f for the type."""
    out: dict[str, Format] = {}
    for (components, n), name in _SIZES.items():
        for suffix, kind in _KINDS.items():
            if kind == FLOAT and n == 8:
                continue
            count = len(components)
            sources = _plain_sources(count, kind in INTEGERS)
            if components == "bgra":
                sources = (BLUE, GREEN, RED, ALPHA)
            out[f"{components}{n}{suffix}"] = Format(LAYOUTS[CODES[name]], (kind,) * 4, sources)
    unorm, floats = (UNORM,) * 4, (FLOAT,) * 4
    rgba, rgb = (RED, GREEN, BLUE, ALPHA), (RED, GREEN, BLUE, ONE_FLOAT)
    depth = (RED, RED, RED, ONE_FLOAT)
    more = {
        "srgba8": Format(LAYOUTS[0x08], unorm, rgba, srgb=True),
        "sbgra8": Format(LAYOUTS[0x08], unorm, (BLUE, GREEN, RED, ALPHA), srgb=True),
        "b5g6r5": Format(LAYOUTS[0x15], unorm, rgb),
        "a1b5g5r5": Format(LAYOUTS[0x14], unorm, rgba),
        "a4b4g4r4": Format(LAYOUTS[0x12], unorm, rgba),
        "rgb10a2": Format(LAYOUTS[0x09], unorm, rgba),
        "rgb10a2ui": Format(LAYOUTS[0x09], (UINT,) * 4, rgba),
        "r11g11b10f": Format(LAYOUTS[0x21], floats, rgb),
        "rgb9e5": Format(LAYOUTS[0x20], floats, rgb),
        "dxt1": Format(LAYOUTS[0x24], unorm, rgba),
        "dxt3": Format(LAYOUTS[0x25], unorm, rgba),
        "dxt5": Format(LAYOUTS[0x26], unorm, rgba),
        "rgtc1": Format(LAYOUTS[0x27], unorm, (RED, ZERO, ZERO, ONE_FLOAT)),
        "rgtc2": Format(LAYOUTS[0x28], unorm, (RED, GREEN, ZERO, ONE_FLOAT)),
        "rgtc1s": Format(LAYOUTS[0x27], (SNORM,) * 4, (RED, ZERO, ZERO, ONE_FLOAT)),
        "rgtc2s": Format(LAYOUTS[0x28], (SNORM,) * 4, (RED, GREEN, ZERO, ONE_FLOAT)),
        "d16": Format(LAYOUTS[0x3A], (UNORM, UINT, UINT, UINT), depth),
        "d24": Format(LAYOUTS[0x2B], (UNORM, UINT, UINT, UINT), depth),
        "d32f": Format(LAYOUTS[0x2F], (FLOAT, UINT, UINT, UINT), depth),
    }
    return out | more


FORMATS = _named()
TABLED = 16
"""Bits of the components that are looked up in a table."""


def format_named(name: str) -> Format:
    """Return the format of a name like `rgba8`, `r32f`, `srgba8`. Raises LaunchError listing the names."""
    found = FORMATS.get(name)
    if found is None:
        raise LaunchError(f"no texel format {name!r}; there are: {', '.join(FORMATS)}")
    return found


# --- numbers ----------------------------------------------------------------------------------------------------------
def _small_float(raw: Array, exponent: int, mantissa: int, signed: bool) -> Array:
    """Return floats of a few bits, exactly: exponent bias 2**(exponent-1) - 1, denormals, infinities and NaN."""
    e = (raw >> mantissa & (1 << exponent) - 1).astype(np.int64)
    m = (raw & (1 << mantissa) - 1).astype(np.float64)
    bias, top = (1 << (exponent - 1)) - 1, (1 << exponent) - 1
    value = np.where(e == 0, np.ldexp(m, 1 - bias - mantissa), np.ldexp(m + (1 << mantissa), e - bias - mantissa))
    value = np.where(e == top, np.where(m == 0, np.inf, np.nan), value)
    if signed:
        value = np.where(raw >> (exponent + mantissa) & 1, -value, value)
    return value.astype(np.float32)


def _number(raw: Array, n: int, kind: int) -> Array:
    """Return `n`-bit components as register bits (u32): f32 for norm and float types, else extended integers."""
    if kind in (UNORM, UNORM_FORCE_FP16):
        # No quotient is so near a rounding boundary of f32 that going through f64 could matter.
        return (raw.astype(np.float64) / ((1 << n) - 1)).astype(np.float32).view(np.uint32)
    if kind == UINT:
        return raw.astype(np.uint32)
    if kind == FLOAT:
        if n == 32:
            return raw.astype(np.uint32)
        if n == 16:
            return _small_float(raw, 5, 10, signed=True).view(np.uint32)
        return _small_float(raw, 5, n - 5, signed=False).view(np.uint32)
    signed = raw.astype(np.int64) - ((raw.astype(np.int64) >> (n - 1)) << n)
    if kind == SINT:
        return (signed & 0xFFFF_FFFF).astype(np.uint32)
    if kind in (SNORM, SNORM_FORCE_FP16):
        value = np.maximum(signed.astype(np.float64) / ((1 << (n - 1)) - 1), -1.0)
        return value.astype(np.float32).view(np.uint32)
    raise NotModelled(f"component type {kind}", "types are 1 to 7")


def linear_from_srgb(bits: Array, fraction: int | None = None) -> Array:
    """Decode sRGB in f32 values (as u32), rounded to f32, or first to `fraction` bits after the point."""
    c = bits.view(np.float32).astype(np.float64)
    value = np.where(c <= 0.04045, c / 12.92, ((np.maximum(c, 0) + 0.055) / 1.055) ** 2.4)
    if fraction is not None:
        value = np.rint(np.ldexp(value, fraction)) / (1 << fraction)
    return value.astype(np.float32).view(np.uint32)


def to_srgb(linear: Array) -> Array:
    """Encode f32 0 to 1."""
    x = np.clip(np.nan_to_num(linear), 0, 1).astype(np.float64)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.power(x, 1 / 2.4) - 0.055).astype(np.float32)


def decode(
    form: Format, texels: Array, srgb: bool = False, srgb_bits: int | None = None, srgb_of: str = "results"
) -> list[Array]:
    """Return components R, G, B, A of texels as register bits.

    Args:
        form: the format.
        texels: uint8 [texels, bytes per texel]; for compressed formats what `decompressed` gives.
        srgb: decode R, G and B from sRGB.
        srgb_bits: fraction bits of decoded values; None for all of f32.
        srgb_of: decode what the `results` x, y and z are taken from, or the components that are `stored` as R, G and B.

    Returns:
        One u32 array per component the layout has.
    """
    made = form.layout
    alpha = form.sources[3] if srgb_of == "results" and form.sources[3] not in form.sources[:3] else -1
    out: list[Array] = []
    for k, ((low, n), kind) in enumerate(zip(made.components, form.types, strict=False)):
        raw, linear = _raw(texels, low, n), srgb and k < 3 and k + RED != alpha
        if made.kind == "e5":
            out.append(raw)
        elif n <= TABLED:
            out.append(_table(n, kind, linear, srgb_bits)[raw])
        else:
            bits = _number(raw, n, kind)
            out.append(linear_from_srgb(bits, srgb_bits) if linear else bits)
    if made.kind == "e5":
        scale = _raw(texels, 27, 5).astype(np.int64) - 15 - 9
        out = [np.ldexp(m.astype(np.float64), scale).astype(np.float32).view(np.uint32) for m in out]
        if srgb:
            out = [linear_from_srgb(m, srgb_bits) if k + RED != alpha else m for k, m in enumerate(out)]
    return out


def _raw(texels: Array, low: int, n: int) -> Array:
    """Return `n` bits of each texel, from bit `low` on."""
    count = texels.shape[1]
    texels = np.ascontiguousarray(texels)
    if n in (8, 16, 32) and not low % n and not count % (n // 8):
        return texels.view(f"u{n // 8}")[:, low // n]
    if count in (1, 2, 4, 8) and low + n <= 8 * count:
        words = texels.view(f"u{count}")[:, 0]
        return words >> words.dtype.type(low) & words.dtype.type((1 << n) - 1)
    wide = np.zeros((len(texels), 16), np.uint8)
    wide[:, :count] = texels
    quarters = wide.view(np.uint32).astype(np.uint64)
    first = quarters[:, low // 32] | (quarters[:, low // 32 + 1] << np.uint64(32) if low < 96 else 0)
    return (first >> np.uint64(low % 32)) & np.uint64((1 << n) - 1)


@lru_cache(maxsize=64)
def _table(n: int, kind: int, linear: bool, srgb_bits: int | None) -> Array:
    """Return the register bits of every number of a component of `n` bits."""
    bits = _number(np.arange(1 << n, dtype=np.uint64), n, kind)
    return linear_from_srgb(bits, srgb_bits) if linear else bits
