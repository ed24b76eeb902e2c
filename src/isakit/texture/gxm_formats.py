"""Texture formats of the SGX543 as GXM names them: bytes to texels.

Packed and plain formats, palettes, block compression and YUV, in linear or swizzled order. A name is a base format and
the order of its components from the highest bits down: `U8U8U8U8_ABGR` has red in the lowest byte. Sources: the texture
format numbers of the public Vita SDK headers; [usse] 3.5 for the state words; S3TC and PVRTC as published.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError, NotModelled
from isakit.texture.compressed import decompressed, interpolated
from isakit.texture.pvrtc import decode_pvrtc
from isakit.texture.pvrtc2 import decode_pvrtc2
from isakit.texture.swizzled_order import swizzle_index
from isakit.texture.texel_formats import ComponentLayout, LayoutKind

Layouts = Literal["linear", "swizzled", "tiled"]
TILE = 32
"""Edge of a tile in texels."""

BASE_FORMATS = {
    0x00: "U8", 0x01: "S8", 0x02: "U4U4U4U4", 0x03: "U8U3U3U2", 0x04: "U1U5U5U5", 0x05: "U5U6U5", 0x06: "S5S5U6",
    0x07: "U8U8", 0x08: "S8S8", 0x09: "U16", 0x0A: "S16", 0x0B: "F16", 0x0C: "U8U8U8U8", 0x0D: "S8S8S8S8",
    0x0E: "U2U10U10U10", 0x0F: "U16U16", 0x10: "S16S16", 0x11: "F16F16", 0x12: "F32", 0x13: "F32M", 0x14: "X8S8S8U8",
    0x15: "X8U24", 0x17: "U32", 0x18: "S32", 0x19: "SE5M9M9M9", 0x1A: "F11F11F10", 0x1B: "F16F16F16F16",
    0x1C: "U16U16U16U16", 0x1D: "S16S16S16S16", 0x1E: "F32F32", 0x1F: "U32U32", 0x80: "PVRT2BPP", 0x81: "PVRT4BPP",
    0x82: "PVRTII2BPP", 0x83: "PVRTII4BPP", 0x85: "UBC1", 0x86: "UBC2", 0x87: "UBC3", 0x88: "UBC4", 0x89: "SBC4",
    0x8A: "UBC5", 0x8B: "SBC5", 0x90: "YUV420P2", 0x91: "YUV420P3", 0x92: "YUV422", 0x94: "P4", 0x95: "P8",
    0x98: "U8U8U8", 0x99: "S8S8S8", 0x9A: "U2F10F10F10",
}  # fmt: skip
"""Bits 31:24 of a GXM texture format to the base format."""

ORDERS = {
    4: ("ABGR", "ARGB", "RGBA", "BGRA", "1BGR", "1RGB", "RGB1", "BGR1"),
    3: ("BGR", "RGB"),
    2: ("GR", "00GR", "GRRR", "RGGG", "GRGR", "00RG"),
    1: ("R", "000R", "111R", "RRRR", "0RRR", "1RRR", "R000", "R111"),
}
"""Component orders by number of components; the place is bits 14:12 of a GXM texture format."""

_YUV_ORDERS = {"YUV422": ("YUYV", "YVYU", "UYVY", "VYUY"), "YUV420P2": ("YUV", "YVU"), "YUV420P3": ("YUV", "YVU")}
_ALIASES = {"DXT1": "UBC1", "DXT3": "UBC2", "DXT5": "UBC3", "BC1": "UBC1", "BC2": "UBC2", "BC3": "UBC3", "BC4": "UBC4",
            "BC5": "UBC5", "U5U5U5U1": "U1U5U5U5", "U10U10U10U2": "U2U10U10U10"}  # fmt: skip
_UNKNOWN = {
    "S5S5U6": "which component has six bits is not documented", "X8S8S8U8": "its unused byte is not documented",
    "U2F10F10F10": "its 10-bit floats are not documented",
}  # fmt: skip


@dataclass(frozen=True)
class GxmFormat:
    """A base format with its component widths (lowest bits first) and the order of components."""

    base: str
    order: str

    @property
    def name(self) -> str:
        """Base and order, as the headers write it."""
        return f"{self.base}_{self.order}" if self.order else self.base

    @property
    def bits(self) -> int:
        """Bits of a texel."""
        if self.base in _BLOCKS:
            return {"UBC1": 4, "UBC4": 4, "SBC4": 4, "PVRT4BPP": 4, "PVRT2BPP": 2, "PVRTII4BPP": 4,
                    "PVRTII2BPP": 2}.get(self.base, 8)  # fmt: skip
        if self.base in ("YUV420P2", "YUV420P3"):
            return 12
        return {"P4": 4, "P8": 8, "YUV422": 16, "SE5M9M9M9": 32, "F11F11F10": 32, "F32M": 32}.get(self.base) or sum(
            width for _, width in _components(self.base)
        )


_BLOCKS = {"UBC1": (4, 8), "UBC2": (4, 16), "UBC3": (4, 16), "UBC4": (4, 8), "UBC5": (4, 16), "SBC4": (4, 8),
           "SBC5": (4, 16), "PVRT4BPP": (4, 8), "PVRT2BPP": (8, 8), "PVRTII4BPP": (4, 8),
           "PVRTII2BPP": (8, 8)}  # fmt: skip
"""Compressed formats: texels a block is wide, and its bytes; all are four texels high."""


def gxm_format(name: str | int) -> GxmFormat:
    """Return a format by name (`U8U8U8U8_ABGR`, `DXT1`; the first order where none is given) or GXM number.

    Raises LaunchError for an unknown format, NotModelled for formats whose layout is not known.
    """
    if isinstance(name, int):
        base = BASE_FORMATS.get(name >> 24 & 0xFF)
        if base is None:
            raise LaunchError(f"there is no texture format {name:#x}")
        _check_known(base)
        orders = _orders(base)
        number = name >> 12 & 7
        if base in _YUV_ORDERS:  # the upper half is the same with the second colour matrix
            number %= len(orders)
        if number >= len(orders):
            raise LaunchError(f"{base} has no component order {number}")
        found = GxmFormat(base, orders[number])
    else:
        stem, _, order = name.upper().partition("_")
        base = _ALIASES.get(stem, stem)
        if base not in BASE_FORMATS.values():
            raise LaunchError(f"there is no texture format {name!r}; there are {', '.join(BASE_FORMATS.values())}")
        _check_known(base)
        if order and order not in _orders(base):
            raise LaunchError(f"{base} has no component order {order!r}; there are {', '.join(_orders(base))}")
        found = GxmFormat(base, order or _orders(base)[0])
    return found


def _check_known(base: str) -> None:
    if base in _UNKNOWN:
        raise NotModelled(f"the texture format {base}", _UNKNOWN[base])


def _orders(base: str) -> tuple[str, ...]:
    if base in _YUV_ORDERS:
        return _YUV_ORDERS[base]
    if base in _BLOCKS:
        return {"UBC4": ORDERS[1], "SBC4": ORDERS[1], "UBC5": ORDERS[2], "SBC5": ORDERS[2]}.get(base, ("ABGR", "1BGR"))
    if base in ("P4", "P8"):
        return ORDERS[4]
    if base in ("SE5M9M9M9", "F11F11F10"):
        return ORDERS[3]
    return ORDERS[1] if base == "F32M" else ORDERS[len(_components(base))]


def _components(base: str) -> list[tuple[str, int]]:
    """Return (kind, width) of the components of a plain format, as its name lists them: from the highest bits down."""
    return [(k, int(n)) for k, n in re.findall(r"([USFX])(\d+)", base)]


def texture_bytes(
    format: GxmFormat, width: int, height: int, stride: int | None = None, layout: Layouts = "linear"
) -> int:
    """Return the size of a level in bytes; `stride`: bytes from row to row of a linear one.

    Tiled levels are padded to whole tiles.
    """
    if layout == "tiled":
        _check_tiled(format)
        width, height = -(-width // TILE) * TILE, -(-height // TILE) * TILE
    if format.base in _BLOCKS:
        wide, size = _BLOCKS[format.base]
        least = 2 if format.base in ("PVRT2BPP", "PVRT4BPP") else 1
        return max(least, -(-width // wide)) * max(least, -(-height // 4)) * size
    if format.bits == 12:
        return width * height + 2 * (-(-width // 2) * -(-height // 2))
    return (stride or -(-width * format.bits // 8)) * height


def _check_tiled(format: GxmFormat) -> None:
    if format.base in _BLOCKS or format.bits % 8 or format.base.startswith("YUV"):
        raise NotModelled(f"a tiled texture of {format.name}", "tiles are known for whole texels of whole bytes only")


def decode_gxm(
    data: bytes,
    format: str | int | GxmFormat,
    width: int,
    height: int,
    *,
    layout: Layouts = "linear",
    stride: int | None = None,
    palette: Array | None = None,
    matrix: Literal["601", "709"] = "601",
) -> Array:
    """Decode a level: uint8 [height, width, 4] where all components have 8 bits, else f32; R, G, B, A.

    Args:
        data: the bytes of the level.
        format: name, GXM number or `gxm_format`.
        width: texels of a row.
        height: rows.
        layout: order of texels, or of blocks, in memory; blocks of PVRTC 1 are always swizzled. Tiles are squares of
            32 x 32 texels, row by row, and so are the texels in them.
        stride: bytes from row to row of a linear texture.
        palette: for P4 and P8: uint8 [16 or 256, 4], bytes as stored; the format's order applies to them.
        matrix: how YUV becomes RGB: BT.601 or BT.709, both with luma from 16 to 235.

    Unsigned components are fractions of their largest value, signed ones of their largest positive value, at least -1.
    U32 and S32 are fractions, too. Missing components are 0, a missing alpha 1. Raises LaunchError for sizes that do
    not fit, NotModelled for formats without a known layout.
    """
    f = format if isinstance(format, GxmFormat) else gxm_format(format)
    if not (1 <= width <= 4096 and 1 <= height <= 4096):
        raise LaunchError(f"a texture of {width} x {height} texels; sides are 1 to 4096")
    need = texture_bytes(f, width, height, stride, layout)
    if len(data) < need:
        raise LaunchError(f"{width} x {height} texels of {f.name} take {need} bytes, there are {len(data)}")
    raw = np.frombuffer(data[:need], np.uint8)
    if f.base in _BLOCKS:
        return _blocks(f, raw, width, height, layout)
    if f.base.startswith("YUV420"):
        return _planes(f, raw, width, height, matrix)
    rows = _rows(raw, f.bits, width, height, layout, stride)
    if f.base == "YUV422":
        return _yuv422(f, rows, matrix)
    if f.base in ("P4", "P8"):
        if palette is None or palette.shape[0] < 1 << f.bits or palette.shape[1:] != (4,):
            raise LaunchError(f"{f.base} needs a palette of {1 << f.bits} colours with four bytes each")
        texels = palette.astype(np.uint8)[rows[..., 0].astype(np.int64)]
        return _ordered(f.order, [texels[..., k] for k in range(4)])
    if f.base == "SE5M9M9M9":
        word = rows[..., 0]
        scale = np.exp2((word >> np.uint64(27)).astype(np.float64) - 24)
        parts = [((word >> np.uint64(9 * k)) & np.uint64(511)).astype(np.float64) * scale for k in range(3)]
        return _ordered(f.order, [p.astype(np.float32) for p in parts])
    if f.base == "F11F11F10":  # 11 bits each for the two lower components, 10 for the highest
        word = rows[..., 0]
        fields = [(word >> np.uint64(s) & np.uint64((1 << n) - 1), n - 5) for s, n in ((0, 11), (11, 11), (22, 10))]
        return _ordered(f.order, [_small_float(v, mantissa) for v, mantissa in fields])
    if f.base == "F32M":
        return _ordered(f.order, [rows[..., 0].astype(np.uint32).view(np.float32) * np.float32(1)])
    return _ordered(f.order, _plain(f, rows[..., 0]))


def _rows(raw: Array, bits: int, width: int, height: int, layout: Layouts, stride: int | None) -> Array:
    """Return texels as integers: uint64 [height, width, 1], or bytes of 24-bit ones put together."""
    if bits == 4:
        nibbles = np.stack((raw & 15, raw >> 4), axis=-1).reshape(-1)
        if layout == "swizzled":
            return nibbles[swizzle_index(width, height)][..., None].astype(np.uint64)
        per_row = 2 * (stride or -(-width // 2))
        return nibbles[: per_row * height].reshape(height, per_row)[:, :width, None].astype(np.uint64)
    size = bits // 8
    if layout == "swizzled":
        texels = raw[: width * height * size].reshape(-1, size)[swizzle_index(width, height)]
    elif layout == "tiled":
        tiles = raw.reshape(-(-height // TILE), -(-width // TILE), TILE, TILE, size)
        rows, columns = tiles.shape[:2]
        texels = tiles.swapaxes(1, 2).reshape(rows * TILE, columns * TILE, size)[:height, :width]
    else:
        per_row = stride or width * size
        if per_row < width * size:
            raise LaunchError(f"a stride of {per_row} bytes for rows of {width * size}")
        texels = raw[: per_row * height].reshape(height, per_row)[:, : width * size].reshape(height, width, size)
    out = np.zeros((height, width), np.uint64)
    for k in range(size):
        out |= texels[..., k].astype(np.uint64) << np.uint64(8 * k)
    return out[..., None]


def stored_components(base: str, order: str) -> list[tuple[str, int]]:
    """Return (kind, width) of the components of a plain format in an order, from the lowest bits up."""
    widths = _components(base)
    if len(widths) == 4 and widths[0][1] < widths[1][1]:
        # The odd width belongs to alpha, wherever the order has it.
        rest = list(widths[1:])
        widths = [widths[0] if c in "A1" else rest.pop() for c in order]
    return widths[::-1]


def _plain(f: GxmFormat, words: Array) -> list[Array]:
    """Return components from the lowest bits up."""
    out: list[Array] = []
    shift = 0
    for kind, width in stored_components(f.base, f.order):
        out.append(_component(kind, width, words >> np.uint64(shift) & np.uint64((1 << width) - 1)))
        shift += width
    return out


def _component(kind: str, width: int, v: Array) -> Array:
    if kind in "UX":
        return v.astype(np.uint8) if width == 8 else (v.astype(np.float64) / ((1 << width) - 1)).astype(np.float32)
    if kind == "S":
        top = 1 << width - 1
        signed = (v.astype(np.int64) ^ top) - top
        return np.maximum(signed.astype(np.float64) / (top - 1), -1).astype(np.float32)
    if width == 32:
        return v.astype(np.uint32).view(np.float32)
    return v.astype(np.uint16).view(np.float16).astype(np.float32)


def _small_float(v: Array, mantissa: int) -> Array:
    """Return floats of 5 exponent bits without a sign, as f32."""
    return (v.astype(np.uint16) << np.uint16(10 - mantissa)).view(np.float16).astype(np.float32)


def _ordered(order: str, parts: list[Array]) -> Array:
    """Return R, G, B, A from components, lowest first: uint8 where all are, else f32."""
    bytes_only = all(p.dtype == np.uint8 for p in parts)
    kind = np.uint8 if bytes_only else np.float32
    one = 255 if bytes_only else 1

    def as_kind(p: Array) -> Array:
        return p if p.dtype == kind else p.astype(np.float32) / np.float32(255)

    parts = [as_kind(p) for p in parts]
    out = np.zeros((*parts[0].shape, 4), kind)
    out[..., 3] = one
    if len(parts) >= 3:
        for k, letter in enumerate(reversed(order)):
            if letter in "RGBA":
                out[..., "RGBA".index(letter)] = parts[k]
        return out
    if len(order) < 4:  # the plain orders name the components themselves
        for k, p in enumerate(parts):
            out[..., k] = p
        return out
    for target, letter in zip("ABGR", order, strict=True):
        value = parts["RG".index(letter)] if letter in "RG" else np.full_like(parts[0], one * int(letter))
        out[..., "RGBA".index(target)] = value
    return out


# --- compressed and YUV ----------------------------------------------------------------------------------------------


def _blocks(f: GxmFormat, raw: Array, width: int, height: int, layout: Layouts) -> Array:
    wide, size = _BLOCKS[f.base]
    if f.base.startswith("PVRT"):
        if f.base.startswith("PVRTII"):
            texels = decode_pvrtc2(raw.tobytes(), width, height, wide == 8, swizzled=layout == "swizzled")
        else:
            texels = decode_pvrtc(raw.tobytes(), width, height, wide == 8)
        if f.order == "1BGR":
            texels[..., 3] = 255
        return texels
    columns, rows = -(-width // 4), -(-height // 4)
    blocks = raw.reshape(-1, size)
    blocks = blocks[swizzle_index(columns, rows)] if layout == "swizzled" else blocks.reshape(rows, columns, size)
    if f.base.startswith("SBC"):
        return _signed_blocks(f, blocks, width, height)
    kinds: dict[str, LayoutKind] = {"UBC1": "dxt1", "UBC2": "dxt23", "UBC3": "dxt45", "UBC4": "rgtc1", "UBC5": "rgtc2"}
    made = ComponentLayout(0, f.base, 8 * size, (), kinds[f.base])
    texels = decompressed(made, blocks, width, height)
    if f.base in ("UBC4", "UBC5"):
        return _ordered(f.order, [texels[..., k] for k in range(1 if f.base == "UBC4" else 2)])
    if f.order == "1BGR":
        texels[..., 3] = 255
    return texels


def _signed_blocks(f: GxmFormat, blocks: Array, width: int, height: int) -> Array:
    """Decode SBC4 and SBC5: like their unsigned counterparts, with signed ends and -127 and 127 as outer values."""
    rows, columns, size = blocks.shape
    flat, parts = blocks.reshape(-1, size), list[Array]()
    for k in range(size // 8):
        texels = interpolated(flat[:, 8 * k : 8 * k + 8], signed=True, fractions=True)
        image = texels.astype(np.float32).reshape(rows, columns, 4, 4).swapaxes(1, 2)
        parts.append(image.reshape(4 * rows, 4 * columns)[:height, :width])
    return _ordered(f.order, parts)


_WEIGHTS = {"601": (0.299, 0.114), "709": (0.2126, 0.0722)}


def _rgb(y: Array, u: Array, v: Array, matrix: str) -> Array:
    """Return RGB of luma 16 to 235 and chroma 16 to 240, rounded to bytes."""
    red, blue = _WEIGHTS[matrix]
    luma = (y.astype(np.float64) - 16) / 219
    pb, pr = (u.astype(np.float64) - 128) / 224, (v.astype(np.float64) - 128) / 224
    r, b = luma + 2 * (1 - red) * pr, luma + 2 * (1 - blue) * pb
    g = (luma - red * r - blue * b) / (1 - red - blue)
    out = np.full((*y.shape, 4), 255, np.uint8)
    for k, c in enumerate((r, g, b)):
        out[..., k] = np.rint(np.clip(c, 0, 1) * 255)
    return out


def _planes(f: GxmFormat, raw: Array, width: int, height: int, matrix: str) -> Array:
    """Decode a plane of luma, then chroma of half the size: one plane of pairs, or two planes."""
    columns, rows = -(-width // 2), -(-height // 2)
    y = raw[: width * height].reshape(height, width)
    rest = raw[width * height :]
    if f.base == "YUV420P2":
        pairs = rest.reshape(rows, columns, 2)
        first, second = pairs[..., 0], pairs[..., 1]
    else:
        first, second = rest.reshape(2, rows, columns)
    u, v = (first, second) if f.order == "YUV" else (second, first)
    wide = [np.repeat(np.repeat(c, 2, axis=0), 2, axis=1)[:height, :width] for c in (u, v)]
    return _rgb(y, wide[0], wide[1], matrix)


def _yuv422(f: GxmFormat, rows: Array, matrix: str) -> Array:
    """Return pairs of texels in four bytes; the order names the bytes from the highest down."""
    height, width, _ = rows.shape
    if width % 2:
        raise LaunchError(f"a YUV422 texture has an even width, not {width}")
    halves = np.stack((rows[..., 0] & np.uint64(255), rows[..., 0] >> np.uint64(8)), axis=-1)
    pairs = halves.reshape(height, width // 2, 4)
    order = f.order[::-1]
    luma = [k for k, c in enumerate(order) if c == "Y"]
    y = pairs[..., luma].reshape(height, width)
    u, v = (np.repeat(pairs[..., order.index(c)], 2, axis=1) for c in "UV")
    return _rgb(y, u, v, matrix)
