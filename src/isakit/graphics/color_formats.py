"""Formats of render targets: from register bits to stored pixels and back.

A stored pixel is one or more numbers of one type: the components in memory order, or one packed word. Source: rnndb
g80_defs SURFACE_FORMAT ([nv50] "Formats"); values as in [graphics] 2.6 and 3.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.texel_formats import to_srgb

Kind = Literal["unorm", "snorm", "float", "uint", "sint"]


@dataclass(frozen=True)
class ColorFormat:
    """One format.

    Attributes:
        name: like rgba8 or srgba8.
        code: the hardware's number for it.
        kind: the interpretation of a component's bits.
        dtype: of the stored numbers; `stored` of them make a pixel.
        order: for each stored component its position in R, G, B, A, packed ones from the low bits on; `x` is unused.
        bits: widths of the components of a packed word, empty for formats that are not packed.
        srgb: R, G and B are encoded.
    """

    name: str
    code: int
    kind: Kind
    dtype: type[np.generic]
    order: str
    bits: tuple[int, ...] = ()
    srgb: bool = False

    @property
    def stored(self) -> int:
        """Number of stored numbers of a pixel."""
        return 1 if self.bits else len(self.order)

    @property
    def nbytes(self) -> int:
        """Size of a pixel in bytes."""
        return np.dtype(self.dtype).itemsize * self.stored

    @property
    def integer(self) -> bool:
        """Return whether colours are raw numbers, which are never blended."""
        return self.kind in ("uint", "sint")

    @property
    def normalized(self) -> bool:
        """Return whether colours are clamped to 0 to 1 or -1 to 1."""
        return self.kind in ("unorm", "snorm")

    # --- storing ------------------------------------------------------------------------------------------------------
    def encoded(self, bits: Array, store: str = "even") -> Array:
        """Return register bits u32 [n, 4] as stored numbers [n, stored]. `store`: rounding of ties, `even` or `up`."""
        bits = np.ascontiguousarray(bits)
        return np.stack(self.stored_of(list(bits.T), store), axis=1)

    def stored_of(self, bits: Sequence[Array], store: str = "even") -> list[Array]:
        """Pack register bits u32 of R, G, B and A into the stored numbers of pixels, one array for each.

        Compiled code is traced from it.
        """
        if self.integer:
            return self._joined([self._integer(bits, place, width) for place, width in self._places()])
        color = [b.view(np.float32) for b in bits]
        if self.kind == "float":
            return self._floats(color)
        if self.srgb:
            color = [*(to_srgb(c) for c in color[:3]), color[3]]
        return self._joined([self._scaled(color, place, width, store) for place, width in self._places()])

    def _places(self) -> list[tuple[str, int]]:
        """Return component and width of the stored numbers, or of the parts of a packed word."""
        widths = self.bits or (8 * np.dtype(self.dtype).itemsize,) * len(self.order)
        return list(zip(self.order, widths, strict=True))

    def _scaled(self, color: Sequence[Array], place: str, width: int, store: str) -> Array:
        """Scale a component of 0 to 1, or -1 to 1, to an integer."""
        top = (1 << width) - 1 if self.kind == "unorm" else (1 << width - 1) - 1
        if place == "x":
            return np.full(len(color[0]), top, np.int32)
        value = color["rgba".index(place)]
        low = np.float32(-1 if self.kind == "snorm" else 0)
        clamped = np.clip(np.where(np.isnan(value), np.float32(0), value), low, np.float32(1))
        scaled: Array = clamped.astype(np.float64) * top if width > 12 else clamped * np.float32(top)
        whole: Array = np.rint(scaled) if store == "even" else np.floor(scaled + scaled.dtype.type(0.5))
        return whole.astype(np.int32)

    def _integer(self, bits: Sequence[Array], place: str, width: int) -> Array:
        """Limit a raw number to the width."""
        if place == "x":
            return np.zeros(len(bits[0]), np.int64)
        raw = bits["rgba".index(place)]
        value = (raw.view(np.int32) if self.kind == "sint" else raw).astype(np.int64)
        if width < 32:
            low, high = (0, (1 << width) - 1) if self.kind == "uint" else (-(1 << width - 1), (1 << width - 1) - 1)
            value = np.clip(value, low, high)
        return value

    def _joined(self, parts: list[Array]) -> list[Array]:
        if not self.bits:
            return [p.astype(self.dtype) for p in parts]
        word: Any = 0
        at = 0
        for value, width in zip(parts, self.bits, strict=True):
            word = (value.astype(np.int64) & (1 << width) - 1) << at | word
            at += width
        return [word.astype(self.dtype)]

    def _floats(self, color: Sequence[Array]) -> list[Array]:
        if self.bits:  # 11, 11 and 10 bits without a sign
            return self._joined([small_float(color[k], width) for k, width in enumerate(self.bits)])
        out: list[Array] = []
        for place in self.order:
            if place == "x":
                out.append(np.ones(len(color[0]), self.dtype))
                continue
            value = color["rgba".index(place)]
            if np.dtype(self.dtype) == np.float16:
                value = _quiet(value)
            with np.errstate(over="ignore"):
                out.append(value.astype(self.dtype))
        return out

    # --- loading ------------------------------------------------------------------------------------------------------
    def decoded(self, stored: Array) -> Array:
        """Decode stored numbers [..., stored] to u32 register bits [..., 4]; absent components are 0, 0, 0, 1."""
        flat = stored.reshape(-1, self.stored)
        parts = self.bits_of([flat[:, k] for k in range(self.stored)])
        return np.stack(parts, axis=1).reshape(*stored.shape[:-1], 4)

    def bits_of(self, stored: Sequence[Array]) -> list[Array]:
        """Return register bits u32 of R, G, B and A from the stored numbers: the inverse of `stored_of`."""
        one = np.uint32(1) if self.integer else np.uint32(0x3F80_0000)
        out: list[Array] = [np.full(len(stored[0]), one if k == 3 else 0, np.uint32) for k in range(4)]
        for place, width, value in self._parts(stored):
            if place == "x":
                continue
            c = "rgba".index(place)
            if self.integer:
                out[c] = value.astype(np.int64).astype(np.uint32)
                continue
            color = self._fraction(value, width)
            if self.srgb and c < 3:
                color = from_srgb(color)
            out[c] = color.view(np.uint32)
        return out

    def _fraction(self, value: Array, width: int) -> Array:
        """Return a stored component of `width` bits as f32."""
        if self.kind == "float":
            return _from_small(value, width) if self.bits else value.astype(np.float32)
        if self.kind == "unorm":
            if width < 13:
                return value.astype(np.float32) / np.float32((1 << width) - 1)
            return (value.astype(np.float64) / float((1 << width) - 1)).astype(np.float32)
        if self.bits:
            value = value - ((value >> width - 1) << width)
        whole = np.maximum(value.astype(np.float64) / float((1 << width - 1) - 1), -1.0)
        return whole.astype(np.float32)

    def _parts(self, stored: Sequence[Array]) -> list[tuple[str, int, Array]]:
        """Return (component, width, numbers) in order."""
        if not self.bits:
            return [(*place, numbers) for place, numbers in zip(self._places(), stored, strict=True)]
        out: list[tuple[str, int, Array]] = []
        word, at = stored[0].astype(np.int64), 0
        for place, width in self._places():
            out.append((place, width, word >> at & (1 << width) - 1))
            at += width
        return out

    def mask(self, components: tuple[bool, bool, bool, bool]) -> Any:
        """Return the stored numbers that a colour mask writes: a bool per number, or the bits of a packed word."""
        if not self.bits:
            return np.array([p == "x" or components["rgba".index(p)] for p in self.order])
        out = at = 0
        for place, width in zip(self.order, self.bits, strict=True):
            if place == "x" or components["rgba".index(place)]:
                out |= ((1 << width) - 1) << at
            at += width
        return np.dtype(self.dtype).type(out)


def _quiet(value: Array) -> Array:
    """Make the NaNs of f32 values quiet, because whether a conversion does so differs between hosts."""
    bits = value.view(np.uint32)
    return np.where(np.isnan(value), bits | np.uint32(1 << 22), bits).view(np.float32)


def from_srgb(encoded: Array) -> Array:
    """Decode f32 0 to 1."""
    x = encoded.astype(np.float64)
    return np.where(x <= 0.04045, x / 12.92, np.power((x + 0.055) / 1.055, 2.4)).astype(np.float32)


def small_float(value: Array, width: int) -> Array:
    """Encode f32 as 5 bits of exponent and `width` - 5 of mantissa without a sign, rounded towards zero."""
    mantissa = width - 5
    with np.errstate(over="ignore", invalid="ignore"):
        clean = np.where(np.isnan(value), np.float32(0), np.maximum(value, np.float32(0))).astype(np.float64)
        exponent = np.clip(np.floor(np.log2(np.maximum(clean, 2.0**-40))), -14, 16)
        step = np.exp2(exponent - mantissa)
        count = np.floor(np.minimum(clean, 1e6) / step)
    normal = clean >= 2.0**-14
    code = np.where(
        normal, ((exponent + 15).astype(np.int64) << mantissa) + count.astype(np.int64) - (1 << mantissa), 0
    )
    code = np.where(normal, code, np.floor(clean / 2.0 ** (-14 - mantissa)).astype(np.int64))
    largest = (30 << mantissa) | ((1 << mantissa) - 1)
    code = np.minimum(code, largest)
    code = np.where(np.isinf(value) & (value > 0), 31 << mantissa, code)
    return np.where(np.isnan(value), (31 << mantissa) | 1, code)


def _from_small(code: Array, width: int) -> Array:
    mantissa = width - 5
    bits = (code << (10 - mantissa)).astype(np.uint16)
    return bits.view(np.float16).astype(np.float32)


def _plain(base: str, codes: dict[str, int], dtypes: dict[str, type[np.generic]], order: str) -> list[ColorFormat]:
    kinds: dict[str, Kind] = {"": "unorm", "s": "snorm", "i": "sint", "ui": "uint", "f": "float"}
    return [ColorFormat(base + suffix, code, kinds[suffix], dtypes[suffix], order) for suffix, code in codes.items()]


_8: dict[str, type[np.generic]] = {"": np.uint8, "s": np.int8, "i": np.int8, "ui": np.uint8}
_16: dict[str, type[np.generic]] = {"": np.uint16, "s": np.int16, "i": np.int16, "ui": np.uint16, "f": np.float16}
_32: dict[str, type[np.generic]] = {"i": np.int32, "ui": np.uint32, "f": np.float32}

FORMATS: tuple[ColorFormat, ...] = (
    *_plain("rgba32", {"f": 0xC0, "i": 0xC1, "ui": 0xC2}, _32, "rgba"),
    *_plain("rgbx32", {"f": 0xC3, "i": 0xC4, "ui": 0xC5}, _32, "rgbx"),
    *_plain("rgba16", {"": 0xC6, "s": 0xC7, "i": 0xC8, "ui": 0xC9, "f": 0xCA}, _16, "rgba"),
    *_plain("rg32", {"f": 0xCB, "i": 0xCC, "ui": 0xCD}, _32, "rg"),
    *_plain("rgbx16", {"f": 0xCE}, _16, "rgbx"),
    ColorFormat("bgra8", 0xCF, "unorm", np.uint8, "bgra"),
    ColorFormat("sbgra8", 0xD0, "unorm", np.uint8, "bgra", srgb=True),
    ColorFormat("rgb10a2", 0xD1, "unorm", np.uint32, "rgba", (10, 10, 10, 2)),
    ColorFormat("rgb10a2ui", 0xD2, "uint", np.uint32, "rgba", (10, 10, 10, 2)),
    *_plain("rgba8", {"": 0xD5, "s": 0xD7, "i": 0xD8, "ui": 0xD9}, _8, "rgba"),
    ColorFormat("srgba8", 0xD6, "unorm", np.uint8, "rgba", srgb=True),
    *_plain("rg16", {"": 0xDA, "s": 0xDB, "i": 0xDC, "ui": 0xDD, "f": 0xDE}, _16, "rg"),
    ColorFormat("bgr10a2", 0xDF, "unorm", np.uint32, "bgra", (10, 10, 10, 2)),
    ColorFormat("r11g11b10f", 0xE0, "float", np.uint32, "rgb", (11, 11, 10)),
    *_plain("r32", {"i": 0xE3, "ui": 0xE4, "f": 0xE5}, _32, "r"),
    ColorFormat("bgrx8", 0xE6, "unorm", np.uint8, "bgrx"),
    ColorFormat("sbgrx8", 0xE7, "unorm", np.uint8, "bgrx", srgb=True),
    ColorFormat("b5g6r5", 0xE8, "unorm", np.uint16, "bgr", (5, 6, 5)),
    ColorFormat("bgr5a1", 0xE9, "unorm", np.uint16, "bgra", (5, 5, 5, 1)),
    *_plain("rg8", {"": 0xEA, "s": 0xEB, "i": 0xEC, "ui": 0xED}, _8, "rg"),
    *_plain("r16", {"": 0xEE, "s": 0xEF, "i": 0xF0, "ui": 0xF1, "f": 0xF2}, _16, "r"),
    *_plain("r8", {"": 0xF3, "s": 0xF4, "i": 0xF5, "ui": 0xF6}, _8, "r"),
    ColorFormat("a8", 0xF7, "unorm", np.uint8, "a"),
    ColorFormat("bgr5x1", 0xF8, "unorm", np.uint16, "bgrx", (5, 5, 5, 1)),
    ColorFormat("rgbx8", 0xF9, "unorm", np.uint8, "rgbx"),
    ColorFormat("srgbx8", 0xFA, "unorm", np.uint8, "rgbx", srgb=True),
)
NAMED = {f.name: f for f in FORMATS}


@cache
def by_code(code: int) -> ColorFormat | None:
    """Return the format with a hardware number, None if there is none."""
    if code in (0xFB, 0xFC):
        code = 0xF8
    if code in (0xFD, 0xFE):
        code = 0xE6
    return next((f for f in FORMATS if f.code == code), None)
