"""Texture formats against independent decoders: Pillow, a decoder library, arithmetic on single texels."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from isakit.errors import LaunchError, NotModelled
from isakit.texture.gxm_formats import BASE_FORMATS, ORDERS, decode_gxm, gxm_format, texture_bytes
from isakit.texture.swizzled_order import swizzle_index


def noise(count: int, seed: int = 0) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.uint8).tobytes()


# --- plain formats: each texel taken apart bit by bit ----------------------------------------------------------------
# (name, [(component, lowest bit, width, kind)]) as the public headers describe the memory of a texel
PLAIN = {
    "U8_R": [("R", 0, 8, "u")],
    "S8_R": [("R", 0, 8, "s")],
    "U16_R": [("R", 0, 16, "u")],
    "S16_R": [("R", 0, 16, "s")],
    "U32_R": [("R", 0, 32, "u")],
    "S32_R": [("R", 0, 32, "s")],
    "F16_R": [("R", 0, 16, "f")],
    "F32_R": [("R", 0, 32, "f")],
    "X8U24_GR": [("R", 0, 24, "u"), ("G", 24, 8, "u")],
    "U8U8_GR": [("R", 0, 8, "u"), ("G", 8, 8, "u")],
    "S8S8_GR": [("R", 0, 8, "s"), ("G", 8, 8, "s")],
    "U16U16_GR": [("R", 0, 16, "u"), ("G", 16, 16, "u")],
    "S16S16_GR": [("R", 0, 16, "s"), ("G", 16, 16, "s")],
    "F16F16_GR": [("R", 0, 16, "f"), ("G", 16, 16, "f")],
    "F32F32_GR": [("R", 0, 32, "f"), ("G", 32, 32, "f")],
    "U32U32_GR": [("R", 0, 32, "u"), ("G", 32, 32, "u")],
    "U5U6U5_BGR": [("R", 0, 5, "u"), ("G", 5, 6, "u"), ("B", 11, 5, "u")],
    "U5U6U5_RGB": [("B", 0, 5, "u"), ("G", 5, 6, "u"), ("R", 11, 5, "u")],
    "U8U8U8_BGR": [("R", 0, 8, "u"), ("G", 8, 8, "u"), ("B", 16, 8, "u")],
    "S8S8S8_RGB": [("B", 0, 8, "s"), ("G", 8, 8, "s"), ("R", 16, 8, "s")],
    "U4U4U4U4_ABGR": [("R", 0, 4, "u"), ("G", 4, 4, "u"), ("B", 8, 4, "u"), ("A", 12, 4, "u")],
    "U4U4U4U4_RGBA": [("A", 0, 4, "u"), ("B", 4, 4, "u"), ("G", 8, 4, "u"), ("R", 12, 4, "u")],
    "U8U3U3U2_ARGB": [("B", 0, 2, "u"), ("G", 2, 3, "u"), ("R", 5, 3, "u"), ("A", 8, 8, "u")],
    "U1U5U5U5_ABGR": [("R", 0, 5, "u"), ("G", 5, 5, "u"), ("B", 10, 5, "u"), ("A", 15, 1, "u")],
    "U5U5U5U1_RGBA": [("A", 0, 1, "u"), ("B", 1, 5, "u"), ("G", 6, 5, "u"), ("R", 11, 5, "u")],
    "U2U10U10U10_ABGR": [("R", 0, 10, "u"), ("G", 10, 10, "u"), ("B", 20, 10, "u"), ("A", 30, 2, "u")],
    "U10U10U10U2_BGRA": [("A", 0, 2, "u"), ("R", 2, 10, "u"), ("G", 12, 10, "u"), ("B", 22, 10, "u")],
    "S8S8S8S8_ABGR": [("R", 0, 8, "s"), ("G", 8, 8, "s"), ("B", 16, 8, "s"), ("A", 24, 8, "s")],
    "U16U16U16U16_ABGR": [(c, 16 * k, 16, "u") for k, c in enumerate("RGBA")],
    "S16S16S16S16_ARGB": [(c, 16 * k, 16, "s") for k, c in enumerate("BGRA")],
    "F16F16F16F16_ABGR": [(c, 16 * k, 16, "f") for k, c in enumerate("RGBA")],
    **{f"U8U8U8U8_{order}": [(c, 8 * k, 8, "u") for k, c in enumerate(reversed(order)) if c in "RGBA"]
       for order in ORDERS[4]},
}  # fmt: skip


def component(bits: int, width: int, kind: str) -> float:
    if kind == "u":
        return bits / ((1 << width) - 1)
    if kind == "s":
        value = bits - (1 << width) if bits >> width - 1 else bits
        return max(value / ((1 << width - 1) - 1), -1.0)
    return struct.unpack("<e" if width == 16 else "<f", bits.to_bytes(width // 8, "little"))[0]


@pytest.mark.parametrize("name", PLAIN)
def test_texels_of_plain_formats(name: str) -> None:
    width, height = 16, 4
    f = gxm_format(name)
    data = noise(texture_bytes(f, width, height), len(name))
    size = f.bits // 8
    out = decode_gxm(data, name, width, height)
    values = out / np.float32(255) if out.dtype == np.uint8 else out
    for n in range(width * height):
        word = int.from_bytes(data[n * size : n * size + size], "little")
        expected = {"R": 0.0, "G": 0.0, "B": 0.0, "A": 1.0}
        for c, low, bits, kind in PLAIN[name]:
            expected[c] = component(word >> low & (1 << bits) - 1, bits, kind)
        np.testing.assert_array_equal(values[n // width, n % width], np.float32([*expected.values()]), str(n))


def test_components_are_spread_as_the_order_says() -> None:
    one = {"R": "r001", "000R": "r000", "111R": "r111", "RRRR": "rrrr", "0RRR": "rrr0", "1RRR": "rrr1", "R000": "000r",
           "R111": "111r"}  # fmt: skip
    two = {"GR": "rg01", "00GR": "rg00", "GRRR": "rrrg", "RGGG": "gggr", "GRGR": "rgrg", "00RG": "gr00"}
    for base, table in (("U8", one), ("U8U8", two)):
        assert set(table) == set(ORDERS[len(base) // 2])
        for order, spread in table.items():
            (texel,) = decode_gxm(bytes([10, 20]), f"{base}_{order}", 1, 1)[0]
            assert texel.tolist() == [{"r": 10, "g": 20, "0": 0, "1": 255}[c] for c in spread], order


def test_floats_with_a_shared_exponent() -> None:
    data = struct.pack("<I", 20 << 27 | 300 << 18 | 5 << 9 | 511)
    assert decode_gxm(data, "SE5M9M9M9_BGR", 1, 1)[0, 0].tolist() == [511 / 16, 5 / 16, 300 / 16, 1]


def test_small_floats() -> None:
    half = np.float16([1.5, 0.0078125, 448])
    r, g, b = (int(h.view(np.uint16)) for h in half)
    word = r >> 4 | g >> 4 << 11 | b >> 5 << 22
    assert decode_gxm(struct.pack("<I", word), "F11F11F10_BGR", 1, 1)[0, 0].tolist() == [*half.tolist(), 1]


@pytest.mark.parametrize("name", ["P4", "P8"])
def test_palettes(name: str) -> None:
    palette = np.frombuffer(noise(1024), np.uint8).reshape(256, 4)[: 16 if name == "P4" else 256]
    data = noise(64, 3)
    indices = [(data[n // 2] >> 4 * (n % 2)) & 15 for n in range(64)] if name == "P4" else data
    out = decode_gxm(data, f"{name}_ARGB", 8, 8, palette=palette)
    for n in range(64):
        b, g, r, a = palette[indices[n]]
        assert out[n // 8, n % 8].tolist() == [r, g, b, a]
    with pytest.raises(LaunchError, match="needs a palette"):
        decode_gxm(data, name, 8, 8)


# --- order in memory -------------------------------------------------------------------------------------------------
def test_swizzled_order() -> None:
    assert swizzle_index(4, 4).tolist() == [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]
    assert swizzle_index(8, 2).tolist() == [[0, 2, 4, 6, 8, 10, 12, 14], [1, 3, 5, 7, 9, 11, 13, 15]]
    assert swizzle_index(2, 4).tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    with pytest.raises(LaunchError, match="powers of two"):
        swizzle_index(6, 4)


@pytest.mark.parametrize("name", ["U8U8U8U8", "U5U6U5", "P8", "UBC1"])
def test_swizzled_texels_are_linear_ones_in_another_order(name: str) -> None:
    f, palette = gxm_format(name), np.frombuffer(noise(1024), np.uint8).reshape(256, 4)
    width, height, step = (16, 32, 1) if name != "UBC1" else (32, 16, 4)
    size = 8 if name == "UBC1" else f.bits // 8
    linear = noise(texture_bytes(f, width, height))
    places = swizzle_index(width // step, height // step).ravel()
    swizzled = bytearray(len(linear))
    for n, at in enumerate(places):
        swizzled[at * size : at * size + size] = linear[n * size : n * size + size]
    np.testing.assert_array_equal(
        decode_gxm(bytes(swizzled), f, width, height, layout="swizzled", palette=palette),
        decode_gxm(linear, f, width, height, palette=palette),
    )


def test_rows_may_lie_further_apart() -> None:
    data = noise(4 * 10)
    out = decode_gxm(data, "U8", 7, 4, stride=10)
    assert out[..., 0].tolist() == [list(data[10 * y : 10 * y + 7]) for y in range(4)]


# --- compressed ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "code"), [("DXT1", 1), ("DXT3", 2), ("DXT5", 3), ("BC4", 4), ("BC5", 5)])
def test_blocks_agree_with_pillow(name: str, code: int) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    width, height = 64, 32
    data = noise(texture_bytes(gxm_format(name), width, height), code)
    mode = {4: "L", 5: "RGB"}.get(code, "RGBA")
    theirs = np.asarray(image.frombytes(mode, (width, height), data, "bcn", code))
    theirs = theirs[..., None] if theirs.ndim == 2 else theirs[..., :2] if code == 5 else theirs
    ours = decode_gxm(data, name, width, height)
    np.testing.assert_array_equal(ours[..., : theirs.shape[2]], theirs)


@pytest.mark.parametrize("name", ["SBC4", "SBC5"])
def test_signed_blocks(name: str) -> None:
    block = bytes([0x81, 0x7F, *bytes([0b11_010_001, 0b1_100_011_0 & 255, 0xFF])]) + noise(3)
    data = block if name == "SBC4" else block + noise(8)
    out = decode_gxm(data, name, 4, 4)
    codes = int.from_bytes(data[2:8], "little")
    a, b = -1.0, 1.0
    table = [a, b, *(((5 - n) * a + n * b) / 5 for n in range(1, 5)), -1.0, 1.0]
    for n in range(16):
        assert out[n // 4, n % 4, 0] == np.float32(table[codes >> 3 * n & 7])


# The published decoder of PVRTC, texel by texel.
def pvrtc_texels(data: bytes, width: int, height: int, two: bool) -> np.ndarray:
    wide = 8 if two else 4
    columns, rows = width // wide, height // 4
    least = min(columns, rows)

    def block(x: int, y: int) -> tuple[int, int]:
        x, y, place, bit, low = x % columns, y % rows, 0, 0, 1
        while low < least:
            place |= ((y & low) << bit) | ((x & low) << bit + 1)
            bit, low = bit + 1, low << 1
        place |= (x if columns > rows else y) // least * least * least if columns != rows else 0
        return struct.unpack_from("<II", data, 8 * place)

    def ends(word: int) -> tuple[list[int], list[int]]:
        out = []
        for half, second in ((word & 0xFFFE, False), (word >> 16, True)):
            if half & 0x8000:
                r, g, b, a = half >> 10 & 31, half >> 5 & 31, half & 31, 15
                if not second:
                    b = (half >> 1 & 15) << 1 | half >> 4 & 1
            else:
                r, g = half >> 8 & 15, half >> 4 & 15
                r, g, a = r << 1 | r >> 3, g << 1 | g >> 3, (half >> 12 & 7) << 1
                b = half & 15
                b = b << 1 | b >> 3
                if not second:
                    b = half >> 1 & 7
                    b = b << 2 | b >> 1
            out.append([r, g, b, a])
        return out[0], out[1]

    def weight(x: int, y: int) -> tuple[int, bool]:
        bits, colour = block(x // wide, y // 4)
        i, j = x % wide, y % 4
        if not two:
            code = bits >> 2 * (4 * j + i) & 3
            return ((0, 4, 4, 8)[code], code == 2) if colour & 1 else ((0, 3, 5, 8)[code], False)
        if not colour & 1:
            return 8 * (bits >> 8 * j + i & 1), False
        return stored(x, y), False

    def stored(x: int, y: int) -> int:
        x, y = x % width, y % height
        bits, colour = block(x // 8, y // 4)
        i, j = x % 8, y % 4
        if not colour & 1:
            return 8 * (bits >> 8 * j + i & 1)
        if (i ^ j) & 1 == 0:
            n = (8 * j + i) // 2
            code = bits >> 2 * n & 3
            if n == 0:
                code = code & 2 | code >> 1
            if n == 10 and bits & 1:
                code = code & 2 | code >> 1
            return (0, 3, 5, 8)[code]
        around = [stored(x - 1, y), stored(x + 1, y), stored(x, y - 1), stored(x, y + 1)]
        if not bits & 1:
            return (sum(around) + 2) // 4
        return (around[2] + around[3] + 1) // 2 if bits >> 20 & 1 else (around[0] + around[1] + 1) // 2

    out = np.zeros((height, width, 4), np.uint8)
    for y in range(height):
        for x in range(width):
            bx, by, fx, fy = (x - wide // 2) // wide, (y - 2) // 4, (x - wide // 2) % wide, (y - 2) % 4
            corners = [ends(block(bx + n % 2, by + n // 2)[1]) for n in range(4)]
            parts = [(wide - fx) * (4 - fy), fx * (4 - fy), (wide - fx) * fy, fx * fy]
            n, punch = weight(x, y)
            for c in range(4):
                two_colours = []
                for e in range(2):
                    v = sum(p * corner[e][c] for p, corner in zip(parts, corners, strict=True)) * (1 if two else 2)
                    two_colours.append((v >> 2) + (v >> 7) if c < 3 else (v >> 1) + (v >> 5))
                out[y, x, c] = (two_colours[0] * (8 - n) + two_colours[1] * n) // 8
            if punch:
                out[y, x, 3] = 0
    return out


@pytest.mark.parametrize(("two", "width", "height"), [(False, 16, 16), (False, 8, 32), (True, 16, 16), (True, 64, 8)])
def test_pvrtc_follows_the_published_algorithm(two: bool, width: int, height: int) -> None:
    name = "PVRT2BPP" if two else "PVRT4BPP"
    data = noise(texture_bytes(gxm_format(name), width, height), width)
    np.testing.assert_array_equal(decode_gxm(data, name, width, height), pvrtc_texels(data, width, height, two))


@pytest.mark.parametrize("two", [False, True])
def test_pvrtc_agrees_with_a_decoder_library(two: bool) -> None:
    library = pytest.importorskip("texture2ddecoder", reason="texture2ddecoder is not installed")
    for width, height in ((16, 8), (32, 32), (128, 32), (64, 256)):
        data = noise(width * height * (2 if two else 4) // 8, width)
        theirs = np.frombuffer(library.decode_pvrtc(data, width, height, two), np.uint8).reshape(height, width, 4)
        ours = decode_gxm(data, "PVRT2BPP" if two else "PVRT4BPP", width, height)
        np.testing.assert_array_equal(ours, theirs[..., [2, 1, 0, 3]])


# --- YUV -------------------------------------------------------------------------------------------------------------
def bt601(y: int, u: int, v: int) -> list[int]:
    """ITU-R BT.601, the usual coefficients of studio range."""
    c, d, e = 1.164383562 * (y - 16), u - 128, v - 128
    rgb = c + 1.596026786 * e, c - 0.391762290 * d - 0.812967647 * e, c + 2.017232143 * d
    return [min(255, max(0, round(x))) for x in rgb]


@pytest.mark.parametrize("order", ["YUYV", "YVYU", "UYVY", "VYUY"])
def test_yuv422(order: str) -> None:
    data = noise(16)
    out = decode_gxm(data, f"YUV422_{order}", 4, 2)
    for n in range(4):
        places = dict(zip(reversed(order), range(4), strict=True)) | {"Y": [k for k in range(4) if order[3 - k] == "Y"]}
        four = data[4 * n : 4 * n + 4]
        for k in range(2):
            expected = bt601(four[places["Y"][k]], four[places["U"]], four[places["V"]])
            texel = out[n // 2, 2 * (n % 2) + k]
            assert np.abs(texel[:3].astype(int) - expected).max() <= 0
            assert texel[3] == 255


@pytest.mark.parametrize("name", ["YUV420P2_YUV", "YUV420P2_YVU", "YUV420P3_YUV", "YUV420P3_YVU"])
def test_yuv420(name: str) -> None:
    data = noise(8 * 4 * 3 // 2)
    out = decode_gxm(data, name, 8, 4)
    chroma = np.frombuffer(data[32:], np.uint8)
    first, second = (chroma[0::2], chroma[1::2]) if "P2" in name else (chroma[:8], chroma[8:])
    u, v = (first, second) if name.endswith("YUV") else (second, first)
    for y in range(4):
        for x in range(8):
            n = y // 2 * 4 + x // 2
            assert out[y, x, :3].tolist() == bt601(data[8 * y + x], int(u[n]), int(v[n]))
    assert (decode_gxm(data, name, 8, 4, matrix="709") != out).any()


@pytest.mark.parametrize("name", ["U8_R", "U5U6U5_RGB", "U8U8U8_BGR", "U8U8U8U8_ABGR", "F32F32_GR"])
def test_tiles_are_squares_of_32_texels(name: str) -> None:
    f, width, height = gxm_format(name), 50, 33
    linear = np.frombuffer(noise(width * height * f.bits // 8), np.uint8).reshape(height, width, -1)
    stored = bytearray(texture_bytes(f, width, height, layout="tiled"))
    for y in range(height):
        for x in range(width):
            at = (((y >> 5) * 2 + (x >> 5)) * 1024 + (y & 31) * 32 + (x & 31)) * f.bits // 8
            stored[at : at + f.bits // 8] = linear[y, x].tobytes()
    found = decode_gxm(bytes(stored), f, width, height, layout="tiled")
    np.testing.assert_array_equal(found, decode_gxm(linear.tobytes(), f, width, height))


@pytest.mark.parametrize("name", ["UBC1", "PVRTII4BPP", "P4", "YUV420P2"])
def test_tiles_of_blocks_are_not_known(name: str) -> None:
    with pytest.raises(NotModelled, match="tiled texture"):
        decode_gxm(bytes(1 << 16), name, 64, 64, layout="tiled")


# --- names and sizes -------------------------------------------------------------------------------------------------
def test_every_format_is_decoded_or_named() -> None:
    known, unknown = [], []
    for base in BASE_FORMATS.values():
        try:
            f = gxm_format(base)
        except NotModelled:
            unknown.append(base)
            continue
        data = noise(texture_bytes(f, 16, 16))
        palette = np.zeros((256, 4), np.uint8)
        assert decode_gxm(data, f, 16, 16, palette=palette).shape == (16, 16, 4)
        known.append(base)
    assert unknown == ["S5S5U6", "X8S8S8U8", "U2F10F10F10"]
    assert len(known) == len(BASE_FORMATS) - 3


def test_numbers_of_the_headers() -> None:
    assert gxm_format(0x0C001000).name == "U8U8U8U8_ARGB"
    assert gxm_format(0x85000000).name == "UBC1_ABGR"
    assert gxm_format(0x95004000).name == "P8_1BGR"
    assert gxm_format(0x92005000).name == "YUV422_YVYU"
    for bad in (0x16000000, 0x05003000):
        with pytest.raises(LaunchError):
            gxm_format(bad)


@pytest.mark.parametrize(
    ("name", "width", "height", "reason"),
    [("U8", 9000, 1, "sides are 1 to 4096"), ("PVRT4BPP", 12, 16, "powers of two"), ("YUV422", 3, 2, "even width"),
     ("U8U8U8U8", 64, 64, "take 16384 bytes"), ("U9", 1, 1, "no texture format"),
     ("U8_QQQ", 1, 1, "no component order")],
)  # fmt: skip
def test_what_does_not_fit(name: str, width: int, height: int, reason: str) -> None:
    with pytest.raises(LaunchError, match=reason):
        decode_gxm(noise(300), name, width, height)
