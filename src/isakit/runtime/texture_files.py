"""Textures from files: arrays, DDS, KTX and GXT files with their mip levels and cube faces, and pictures.

Pictures (PNG, JPEG, BMP, TGA ...) are read through Pillow, which the extra `isakit[pictures]` installs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import FormatError, IsakitError, LaunchError
from isakit.machine.usse import Cube, Texture, Volume
from isakit.runtime.npy import load_array
from isakit.texture.gxm_formats import BASE_FORMATS, GxmFormat, decode_gxm, gxm_format, texture_bytes
from isakit.texture.gxm_state import TEXTURE_TYPES, GxmTextureState

Levels = list[Array]
_MOST_LEVELS = 16

_DDS_FOURCC = {b"DXT1": "UBC1", b"DXT2": "UBC2", b"DXT3": "UBC2", b"DXT4": "UBC3", b"DXT5": "UBC3", b"ATI1": "UBC4",
               b"BC4U": "UBC4", b"BC4S": "SBC4", b"ATI2": "UBC5", b"BC5U": "UBC5", b"BC5S": "SBC5",
               struct.pack("<I", 111): "F16", struct.pack("<I", 112): "F16F16", struct.pack("<I", 113): "F16F16F16F16",
               struct.pack("<I", 114): "F32", struct.pack("<I", 115): "F32F32"}  # fmt: skip
_DXGI = {10: "F16F16F16F16", 24: "U2U10U10U10", 26: "F11F11F10", 28: "U8U8U8U8", 29: "U8U8U8U8", 34: "F16F16",
         41: "F32", 49: "U8U8", 54: "F16", 61: "U8_R", 67: "SE5M9M9M9", 70: "UBC1", 71: "UBC1", 72: "UBC1", 73: "UBC2",
         74: "UBC2", 75: "UBC2", 76: "UBC3", 77: "UBC3", 78: "UBC3", 79: "UBC4", 80: "UBC4", 81: "SBC4", 82: "UBC5",
         83: "UBC5", 84: "SBC5", 85: "U5U6U5_RGB", 86: "U1U5U5U5_ARGB", 87: "U8U8U8U8_ARGB", 91: "U8U8U8U8_ARGB",
         115: "U4U4U4U4_ARGB"}  # fmt: skip
_KTX_COMPRESSED = {0x83F0: "UBC1_1BGR", 0x83F1: "UBC1", 0x83F2: "UBC2", 0x83F3: "UBC3", 0x8C00: "PVRT4BPP_1BGR",
                   0x8C01: "PVRT2BPP_1BGR", 0x8C02: "PVRT4BPP", 0x8C03: "PVRT2BPP",
                   0x9137: "PVRTII2BPP", 0x9138: "PVRTII4BPP", 0x8DBB: "UBC4",
                   0x8DBC: "SBC4", 0x8DBD: "UBC5", 0x8DBE: "SBC5"}  # fmt: skip
_KTX_PLAIN = {
    (0x1401, 0x1903): "U8_R", (0x1401, 0x8227): "U8U8", (0x1401, 0x1907): "U8U8U8_BGR",
    (0x1401, 0x1908): "U8U8U8U8_ABGR", (0x1401, 0x1909): "U8_1RRR", (0x1401, 0x190A): "U8U8_GRRR",
    (0x1401, 0x80E1): "U8U8U8U8_ARGB",
    (0x8363, 0x1907): "U5U6U5_RGB", (0x8033, 0x1908): "U4U4U4U4_RGBA", (0x8034, 0x1908): "U1U5U5U5_RGBA",
    (0x140B, 0x1903): "F16_R", (0x140B, 0x8227): "F16F16", (0x140B, 0x1908): "F16F16F16F16_ABGR",
    (0x1406, 0x1903): "F32_R", (0x1406, 0x8227): "F32F32",
}  # fmt: skip
_KTX_MAGIC = b"\xabKTX 11\xbb\r\n\x1a\n"


class _File:
    """Bytes with complaints that name their place."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path

    def error(self, at: int, reason: str) -> FormatError:
        return FormatError(self.path, at, reason)

    def u32(self, at: int) -> int:
        if at + 4 > len(self.data):
            raise self.error(at, "the header is cut off")
        return int.from_bytes(self.data[at : at + 4], "little")

    def level(self, at: int, format: GxmFormat, width: int, height: int, **more: Any) -> tuple[Array, int]:
        """Return the texels of a level, and the offset of the next one."""
        try:
            size = texture_bytes(format, width, height, more.get("stride"), more.get("layout", "linear"))
            if at + size > len(self.data):
                raise self.error(
                    at, f"{width} x {height} texels of {format.name} take {size} bytes, the file ends before"
                )
            return decode_gxm(self.data[at : at + size], format, width, height, **more), at + size
        except LaunchError as e:
            raise self.error(at, str(e)) from None


_PICTURES = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TGA", "TIFF", "WEBP")
"""Kinds of pictures that Pillow reads by itself; for others, as EPS, it starts a program on the file."""


def read_texture(
    path: str | PathLike[str],
    *,
    filter: Literal["nearest", "bilinear"] = "bilinear",
    wrap: Literal["clamp", "wrap", "mirror"] = "clamp",
) -> Texture:
    """Read a texture from a `.npy`, `.dds`, `.ktx` or `.gxt` file, or a picture; the kind follows from the content.

    Arrays are [height, width, channels], [depth, height, width, channels] or [6, size, size, channels] for a cube map;
    integers must be uint8. Row 0 of a file is row 0 of the texture. Raises FormatError for an unreadable file, OSError,
    IsakitError if Pillow is missing.
    """
    name = fspath(path)
    with open(path, "rb") as f:
        data = f.read()
    for magic, read in _READERS:
        if data.startswith(magic):
            faces = read(_File(data, name))
            break
    else:
        faces = [[_array(path, name) if data.startswith(b"\x93NUMPY") else _picture(path, name)]]
    return _texture(faces, filter, wrap)


def _texture(faces: list[Levels], filter: Literal["nearest", "bilinear"], wrap: Any) -> Texture:
    if len(faces) == 6:
        return Cube([np.stack([f[n] for f in faces]) for n in range(len(faces[0]))], filter)
    (levels,) = faces
    if levels[0].ndim == 4:
        one = levels[0]
        return Cube(one, filter) if len(one) == 6 and one.shape[1] == one.shape[2] else Volume(one, filter, wrap)
    return Texture(levels, filter, wrap)


def _array(path: str | PathLike[str], name: str) -> Array:
    a = load_array(path)
    if a.dtype.kind == "f" and a.dtype.itemsize == 8:
        a = a.astype(np.float32)
    if a.dtype.name not in ("uint8", "float16", "float32") or a.ndim not in (2, 3, 4):
        raise FormatError(name, 0, f"{a.dtype} of shape {a.shape} are not texels; use uint8, float16 or float32")
    return a


def _picture(path: str | PathLike[str], name: str) -> Array:
    try:
        from PIL import Image
    except ImportError:
        raise IsakitError(f"{name}: pictures are read through Pillow; install isakit[pictures], or give a .npy, .dds, "
                          ".ktx or .gxt file") from None  # fmt: skip
    try:
        with Image.open(path, formats=_PICTURES) as image:
            return np.asarray(image.convert("RGBA"))
    except Exception as e:  # Pillow's readers raise whatever a damaged file makes of their arithmetic
        kinds = ", ".join(_PICTURES)
        raise FormatError(name, 0, f"not a texture file and no picture ({kinds}): {e}") from None


def _sizes(f: _File, width: int, height: int, levels: int) -> list[tuple[int, int]]:
    if not (1 <= width <= 4096 and 1 <= height <= 4096 and 1 <= levels <= _MOST_LEVELS):
        raise f.error(8, f"{width} x {height} texels in {levels} levels")
    return [(max(1, width >> n), max(1, height >> n)) for n in range(levels)]


def _dds(f: _File) -> list[Levels]:
    height, width, levels = f.u32(12), f.u32(16), max(1, f.u32(28))
    fourcc, at = f.data[84:88], 128
    cube = bool(f.u32(112) & 0x200)
    if f.u32(80) & 4:
        if fourcc == b"DX10":
            name = _DXGI.get(f.u32(128), "")
            cube, at = cube or bool(f.u32(136) & 4), 148
        else:
            name = _DDS_FOURCC.get(fourcc, "")
        if not name:
            raise f.error(84, f"texels of kind {fourcc!r} are not supported")
        format = gxm_format(name)
        decode: Callable[[int, int, int], tuple[Array, int]] = lambda p, w, h: f.level(p, format, w, h)  # noqa: E731
    else:
        masks = [f.u32(92 + 4 * k) for k in range(4)]
        bits = f.u32(88)
        if bits not in (8, 16, 24, 32) or not any(masks):
            raise f.error(88, f"texels of {bits} bits without masks")
        grey = bool(f.u32(80) & 0x20000)
        decode = lambda p, w, h: _masked(f, p, w, h, bits, masks, grey)  # noqa: E731
    faces: list[Levels] = []
    for _ in range(6 if cube else 1):
        found: Levels = []
        for w, h in _sizes(f, width, height, levels):
            texels, at = decode(at, w, h)
            found.append(texels)
        faces.append(found)
    return faces


def _masked(f: _File, at: int, width: int, height: int, bits: int, masks: list[int], grey: bool) -> tuple[Array, int]:
    """Return texels whose components are given by bit masks."""
    size = bits // 8
    end = at + width * height * size
    if end > len(f.data):
        raise f.error(at, f"{width} x {height} texels of {bits} bits, the file ends")
    raw = np.frombuffer(f.data[at:end], np.uint8).reshape(height, width, size).astype(np.int64)
    word = sum(raw[..., k] << 8 * k for k in range(size))
    out = np.zeros((height, width, 4), np.float64)
    out[..., 3] = 1
    for k, mask in enumerate(masks):
        if mask:
            low = (mask & -mask).bit_length() - 1
            out[..., k] = (word & mask) / (mask >> low << low)
    if grey:
        out[..., 1] = out[..., 2] = out[..., 0]
    eight = all(m == 0 or bin(m).count("1") == 8 for m in masks)
    return (np.rint(out * 255).astype(np.uint8) if eight else out.astype(np.float32)), end


def _ktx(f: _File) -> list[Levels]:
    if f.u32(12) != 0x04030201:
        raise f.error(12, "big-endian KTX files are not supported")
    kind, layout, internal = f.u32(16), f.u32(24), f.u32(28)
    width, height, depth, arrays, faces, levels, more = (f.u32(36 + 4 * k) for k in range(7))
    if depth > 1 or arrays or faces not in (1, 6):
        raise f.error(44, "volumes and arrays in KTX files are not supported")
    name = _KTX_COMPRESSED.get(internal) if kind == 0 else _KTX_PLAIN.get((kind, layout))
    if name is None:
        raise f.error(16, f"texels of format {internal:#x} (type {kind:#x}, {layout:#x}) are not supported")
    format = gxm_format(name)
    at = 64 + more
    out: list[Levels] = [[] for _ in range(faces)]
    for w, h in _sizes(f, width, max(1, height), max(1, levels)):
        at += 4  # the size of the level
        for levels_of_face in out:
            padded = {} if kind == 0 else {"stride": -(-w * format.bits // 32) * 4}
            texels, at = f.level(at, format, w, h, **padded)
            at += -at % 4
            levels_of_face.append(texels)
    return out


def _gxt(f: _File) -> list[Levels]:
    """Read the first texture of a GXT file. Records of version 3 have sizes, those of older ones texture state."""
    count, p4, p8 = f.u32(8), f.u32(20), f.u32(24)
    version = f.u32(4) & 0xFFFF
    if not 1 <= version <= 3:
        raise f.error(4, f"GXT version {f.u32(4):#x} is not supported")
    if not count:
        raise f.error(8, "a GXT file without textures")
    at, index = f.u32(32), struct.unpack("<i", struct.pack("<I", f.u32(40)))[0]
    if version == 3:
        dims, kind, number = f.u32(56), f.u32(48) >> 29, f.u32(52)
        width, height = dims & 0xFFFF, dims >> 16
        levels = f.data[60] if len(f.data) > 60 else 0
    else:
        state = GxmTextureState.from_words([f.u32(48 + 4 * k) for k in range(4)])
        kind, number, width, height, levels = state.kind, state.format, state.width, state.height, state.levels
    if number >> 24 not in BASE_FORMATS:
        raise f.error(52, f"there is no texture format {number:#x}")
    try:
        format = gxm_format(number)
    except LaunchError as e:
        raise f.error(52, str(e)) from None
    if kind not in TEXTURE_TYPES:
        raise f.error(48, f"there is no texture type {kind}")
    layout, cube = TEXTURE_TYPES[kind]
    palette = _gxt_palette(f, index, format, p4, p8) if format.base in ("P4", "P8") else None
    out: list[Levels] = []
    for _ in range(6 if cube else 1):
        found: Levels = []
        for w, h in _sizes(f, width, height, max(1, levels)):
            # Rows of a linear texture begin at multiples of eight texels.
            stride = {"stride": -(-w // 8) * 8 * format.bits // 8} if layout == "linear" and _plain(format) else {}
            texels, at = f.level(at, format, w, h, layout=layout, palette=palette, **stride)
            found.append(texels)
        out.append(found)
    return out


def _plain(format: GxmFormat) -> bool:
    return not format.base.startswith(("UBC", "SBC", "PVRT", "YUV420"))


def _gxt_palette(f: _File, index: int, format: GxmFormat, p4: int, p8: int) -> Array:
    """Read a palette: those of 16 colours, then those of 256 lie at the end of the file's data."""
    end = f.u32(12) + f.u32(16)
    start = end - 1024 * p8 - 64 * p4
    start += 64 * index if format.base == "P4" else 64 * p4 + 1024 * (index - p4 if index >= p4 else index)
    colours = 16 if format.base == "P4" else 256
    if index < 0 or start < 0 or start + 4 * colours > len(f.data):
        raise f.error(40, f"palette {index} lies outside the file")
    return np.frombuffer(f.data[start : start + 4 * colours], np.uint8).reshape(colours, 4)


_READERS: tuple[tuple[bytes, Callable[[_File], list[Levels]]], ...] = (
    (b"DDS ", _dds), (_KTX_MAGIC, _ktx), (b"GXT\0", _gxt),
)  # fmt: skip
