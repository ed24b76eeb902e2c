"""TIC and TSC words against the driver's packing, and formats against arithmetic done by hand."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit.errors import LaunchError, NotModelled
from isakit.tesla import Sampler, Texture, explain_header
from isakit.texture.headers import HEADERS, pack, unpack
from isakit.texture.texel_formats import LAYOUTS, ONE_FLOAT, RED, SNORM, UINT, UNORM, ZERO, Format


def shown(texture: Texture) -> list[list[float]]:
    """x, y, z, w of every texel as floats."""
    from isakit.texture.texture_unit import TextureUnit

    w, h, _ = texture.sizes[0]
    y, x = (v.ravel().astype(np.uint32) for v in np.indices((h, w)))
    sources = [x, y] if texture.axes > 1 else [x]
    got = TextureUnit({0: texture}, {0: Sampler()}).ask("texfetch", 0, 0, sources)
    return np.array(got).T.copy().view(np.float32).tolist()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8), st.sampled_from(sorted(HEADERS)))
def test_words_and_fields_are_the_same_thing(words: list[int], kind: str) -> None:
    fields = unpack(kind, words)
    assert pack(kind, fields) == tuple(words)
    explanation = explain_header(kind, words)
    assert "Traceback" not in str(explanation)
    seen = 0
    for row in explanation:
        assert not seen & row.mask
        seen |= row.mask


def test_fields_do_not_overlap() -> None:
    for fields in HEADERS.values():
        seen = 0
        for h in fields:
            assert not seen & h.field.mask, h.name
            seen |= h.field.mask


def test_driver_words_of_a_texture() -> None:
    """RGBA8 as the driver packs it: format 08, four UNORM types (2), sources R G B A (2 3 4 5)."""
    words = Texture(np.zeros((64, 128, 4), np.uint8)).words
    assert words[0] == 0x08 | 2 << 6 | 2 << 9 | 2 << 12 | 2 << 15 | 2 << 18 | 3 << 21 | 4 << 24 | 5 << 27
    assert words[2] & 0x10001000 == 0x10001000  # the driver's constant
    assert words[2] >> 14 & 15 == 1  # two-dimensional
    assert words[2] >> 31 == 1  # normalised coordinates
    assert words[3] == 0x00300000
    assert words[4] == 0x80000000 | 128
    assert words[5] == 64 | 1 << 16
    assert words[6] == 0x03000000


def test_driver_words_of_a_sampler() -> None:
    words = Sampler(
        wrap=("mirror", "edge", "border"), mag="linear", min="linear", mip="nearest", lod_bias=-1.5, min_lod=0.25,
        max_lod=3.5, border=(1.0, 0.5, 0.0, 2.0), compare="lequal",
    ).words  # fmt: skip
    assert words[0] & 0x1FFF == 1 | 2 << 3 | 3 << 6 | 1 << 9 | 3 << 10
    assert words[1] == 2 | 2 << 4 | 2 << 6 | (-384 & 0x1FFF) << 12
    assert words[2] == 64 | 896 << 12 | 255 << 24  # and the border once more, as an sRGB texture holds it
    assert words[3] == 188 << 12 | 0 << 20
    assert words[4:] == tuple(struct.unpack("<4I", struct.pack("<4f", 1.0, 0.5, 0.0, 2.0)))


@pytest.mark.parametrize(
    "sampler",
    [
        Sampler(),
        Sampler("repeat", "linear", "nearest", "linear", 2.25, 1, 7.5, (0.1, 0.2, 0.3, 0.4), "greater", srgb=False),
        Sampler(("clamp", "mirror_edge", "mirror_clamp"), border_words=(1, 2, 3, 0xFFFFFFFF)),
    ],
)
def test_samplers_survive_their_words(sampler: Sampler) -> None:
    again = Sampler.from_words(sampler.words)
    assert again.words == sampler.words
    assert (again.modes, again.mag, again.min, again.mip) == (sampler.modes, sampler.mag, sampler.min, sampler.mip)
    assert (again.lod_bias, again.border_bits, again.compare) == (
        sampler.lod_bias,
        sampler.border_bits,
        sampler.compare,
    )


@pytest.mark.parametrize("form", ["rgba8", "bgra8", "srgba8", "r16f", "rg32f", "rgba32ui", "b5g6r5", "rgb9e5", "d24"])
def test_textures_survive_their_words(form: str) -> None:
    from isakit.texture.texel_formats import format_named

    n = format_named(form).layout.nbytes
    raw = np.random.default_rng(1).integers(0, 256, 6 * n).astype(np.uint8)
    texture = Texture.from_words(Texture(_texels(raw, form, n), form).words, raw.tobytes())
    assert Texture.from_words(texture.words, raw.tobytes()).words == texture.words
    assert str(shown(texture)) == str(shown(Texture(_texels(raw, form, n), form)))  # NaN is equal to NaN here


def _texels(raw: np.ndarray, form: str, n: int) -> np.ndarray:
    from isakit.texture.texel_formats import format_named

    parts = format_named(form).layout.components
    if len({b for _, b in parts}) == 1 and parts[0][1] in (8, 16, 32) and len(parts) * parts[0][1] == 8 * n:
        kind = {8: np.uint8, 16: np.uint16, 32: np.uint32}[parts[0][1]]
        return raw.view(kind).reshape(2, 3, len(parts))
    return raw.view({2: np.uint16, 4: np.uint32}[n]).reshape(2, 3)


def test_pitch_layout_skips_the_end_of_rows() -> None:
    fields = unpack("tic", Texture(np.zeros((2, 2), np.uint8)).words)
    words = pack("tic", fields | {"pitch_layout": 1, "pitch": 5, "type": 7})
    got = shown(Texture.from_words(words, bytes([255, 0, 9, 9, 9, 0, 255])))
    assert [p[0] for p in got] == [1, 0, 0, 1]
    with pytest.raises(LaunchError, match="needs 7 bytes"):
        Texture.from_words(words, bytes(6))


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("b5g6r5", 0x8410, [16 / 31, 32 / 63, 16 / 31, 1]),
        ("a1b5g5r5", 0x8000 | 31, [1, 0, 0, 1]),
        ("a4b4g4r4", 0x50F8, [8 / 15, 1, 0, 5 / 15]),
        ("rgb10a2", 1023 | 1 << 30, [1, 0, 0, 1 / 3]),
        ("r11g11b10f", 0x3C0 | 0x400 << 11 | 0x1F0 << 22, [1, 2, 1.5 * 2**0, 1]),
        ("rgb9e5", 256 | 128 << 9 | 1 << 18 | 16 << 27, [1, 0.5, 1 / 256, 1]),
        ("d24", 0xAB800000, [0x800000 / 0xFFFFFF] * 3 + [1]),
        ("d16", 0x8000, [0x8000 / 0xFFFF] * 3 + [1]),
    ],
)  # fmt: skip
def test_packed_formats(form: str, value: int, expected: list[float]) -> None:
    kind: Any = np.uint16 if form in ("b5g6r5", "a1b5g5r5", "a4b4g4r4", "d16") else np.uint32
    got = shown(Texture(np.array([[value]], kind), form))[0]
    assert got == pytest.approx(expected, rel=1e-7)


def test_signed_numbers_and_integers() -> None:
    signed = Texture(np.array([[-128, -127, 0, 127]], np.int8))
    assert [p[0] for p in shown(signed)] == [-1, -1, 0, 1]
    element = Texture(np.array([[-5, 7]], np.int16), read="element")
    bits = np.array(shown(element), np.float32).view(np.uint32)
    assert bits[:, 0].tolist() == [0xFFFFFFFB, 7]
    assert bits[:, 3].tolist() == [1, 1]


def test_srgb_is_decoded_where_the_sampler_allows_it() -> None:
    texel = np.array([[[188, 0, 255, 188]]], np.uint8)
    r, g, b, a = shown(Texture(texel, "srgba8"))[0]
    assert (g, b, a) == (0, 1, pytest.approx(188 / 255))
    assert r == pytest.approx(0.5028865, abs=1e-6)


def test_compressed_blocks() -> None:
    """White and black ends with the four choices in the first row."""
    block = np.array([[[0xFF, 0xFF, 0, 0, 0b11100100, 0, 0, 0]]], np.uint8)
    got = shown(Texture(block, "dxt1", size=(4, 4)))
    assert [round(p[0] * 255) for p in got[:4]] == [255, 0, 170, 85]
    alpha = np.concatenate([[255, 0, 0b00_010_001, 0, 0, 0, 0, 0], block.ravel()]).astype(np.uint8)[None, None]
    got = shown(Texture(alpha, "dxt5", size=(4, 4)))
    assert [round(p[3] * 255) for p in got[:3]] == [0, 218, 255]
    assert round(shown(Texture(alpha[:, :, :8], "rgtc1", size=(4, 4)))[1][0] * 255) == 218


def test_signed_blocks_have_signed_ends() -> None:
    """All pairs of ends against the formula of the RGTC extension, within a step of 1/127."""
    codes = np.frombuffer((0o76543210 | 0o76543210 << 24).to_bytes(6, "little"), np.uint8)
    for first, second in ((-128, 127), (-100, 50), (-127, -128), (90, -90), (5, 5), (127, -128), (-3, -60), (20, 70)):
        block = np.array([[[first & 255, second & 255, *codes]]], np.uint8)
        both = np.concatenate([block, block[:, :, [1, 0, *range(2, 8)]]], axis=2)
        for name, blocks, component, a, b in (
            ("rgtc1s", block, 0, first, second),
            ("rgtc2s", both, 0, first, second),
            ("rgtc2s", both, 1, second, first),
        ):
            x, y = max(a, -127) / 127, max(b, -127) / 127
            wanted = [x, y, *(((8 - k) * x + (k - 1) * y) / 7 for k in range(2, 8))]
            if a <= b:
                wanted[2:] = [*(((6 - k) * x + (k - 1) * y) / 5 for k in range(2, 6)), -1.0, 1.0]
            got = [p[component] for p in shown(Texture(blocks, name, size=(4, 4)))[:8]]
            assert got == pytest.approx(wanted, abs=1 / 127), (name, a, b)


def test_compressed_components_of_other_types_are_refused() -> None:
    block = np.zeros((1, 1, 8), np.uint8)
    for code, types in ((0x24, (SNORM,) * 4), (0x27, (UINT,) * 4), (0x27, (SNORM, UNORM, UNORM, UNORM))):
        with pytest.raises(NotModelled, match="components of type"):
            Texture(block, Format(LAYOUTS[code], types, (RED, ZERO, ZERO, ONE_FLOAT)), size=(4, 4))


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(LaunchError, match="no texel format 'rgb7'"):
        Texture(np.zeros((2, 2)), "rgb7")
    with pytest.raises(LaunchError, match="square"):
        Texture(np.zeros((6, 2, 3), np.uint8), target="cube")
    with pytest.raises(LaunchError, match="wrap mode"):
        Sampler(wrap="around")  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="8 words"):
        Sampler.from_words([0] * 7)
    with pytest.raises(NotModelled, match="0x1c"):
        Texture.from_words(pack("tic", {"components": 0x1C, "width": 1, "height": 1}), bytes(64))


@pytest.mark.parametrize(
    ("size", "pitch"),
    [
        ((4, 4), -64), ((4, 4), 8), ((0, 4), 64), ((4, 0), 64), ((-1, 1), None), ((4096, 4096), None),
        (((1 << 31) - 1, (1 << 31) - 1), 64), ((1, (1 << 31) - 1), 4), ((4, -1), 16),
    ],
)  # fmt: skip
def test_sizes_that_are_not_in_memory_are_refused(size: tuple[int, int], pitch: int | None) -> None:
    """Captures and programs say anything; with a negative pitch memory of the host was read."""
    memory = np.zeros(256, np.uint8)
    with pytest.raises(LaunchError):
        Texture.from_memory(lambda: memory[64:], "r32ui", *size, target="2d", pitch=pitch)
