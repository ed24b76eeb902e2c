"""Textures from files: DDS beside Pillow, KTX and GXT put together here, arrays, pictures."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from isakit import usse
from isakit.errors import FormatError, IsakitError
from isakit.runtime.texture_files import read_texture


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def as_bytes(level: np.ndarray) -> np.ndarray:
    return np.rint(level * 255).astype(np.uint8)


@pytest.mark.parametrize("kind", [None, "DXT1", "DXT3", "DXT5", "BC2", "BC3"])
def test_dds_files_agree_with_pillow(tmp_path: Path, kind: str | None) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    path = tmp_path / "t.dds"
    image.fromarray(noise(16, 32, 4), "RGBA").save(path, **({} if kind is None else {"pixel_format": kind}))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), np.asarray(image.open(path).convert("RGBA")))


def dds(width: int, height: int, levels: int, *, bits: int, masks: tuple[int, ...], caps2: int = 0) -> bytes:
    head = struct.pack("<4s7I44x", b"DDS ", 124, 0x2100F, height, width, 0, 0, levels)
    return head + struct.pack("<8I", 32, 0x41, 0, bits, *masks) + struct.pack("<5I", 0x1000, caps2, 0, 0, 0)


def test_dds_levels_and_masks(tmp_path: Path) -> None:
    big, small = noise(4, 4, 2), noise(2, 2, 2, seed=1)
    path = tmp_path / "t.dds"
    path.write_bytes(dds(4, 4, 2, bits=16, masks=(0xF800, 0x7E0, 0x1F, 0)) + big.tobytes() + small.tobytes())
    texture = read_texture(path, filter="nearest", wrap="mirror")
    assert (texture.filter, texture.wrap) == ("nearest", ("mirror", "mirror"))
    for data, level in zip((big, small), texture.levels, strict=True):
        word = data[..., 0].astype(int) | data[..., 1].astype(int) << 8
        expected = np.stack([(word >> 11) / 31, (word >> 5 & 63) / 63, (word & 31) / 31, np.ones(word.shape)], -1)
        np.testing.assert_array_equal(level, expected.astype(np.float32))


def test_dds_cube_maps(tmp_path: Path) -> None:
    faces = noise(6, 4, 4, 4)
    path = tmp_path / "t.dds"
    masks = (0xFF, 0xFF00, 0xFF0000, 0xFF000000)
    path.write_bytes(dds(4, 4, 1, bits=32, masks=masks, caps2=0xFE00) + faces.tobytes())
    cube = read_texture(path)
    assert isinstance(cube, usse.Cube)
    np.testing.assert_array_equal(as_bytes(cube.stacks[0]), faces)


def ktx(kind: int, layout: int, internal: int, width: int, height: int, faces: int, levels: list[bytes]) -> bytes:
    head = b"\xabKTX 11\xbb\r\n\x1a\n" + struct.pack("<13I", 0x04030201, kind, 1, layout, internal, 0, width, height, 0,
                                                     0, faces, len(levels), 4) + b"abcd"  # fmt: skip
    return head + b"".join(struct.pack("<I", len(data) // faces) + data for data in levels)


def test_ktx_rows_are_padded(tmp_path: Path) -> None:
    path, data = tmp_path / "t.ktx", noise(2, 12)  # rows of three texels with three bytes, padded to twelve
    path.write_bytes(ktx(0x1401, 0x1907, 0x1907, 3, 2, 1, [data.tobytes()]))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0])[..., :3], data[:, :9].reshape(2, 3, 3))


def test_ktx_compressed_levels_and_faces(tmp_path: Path) -> None:
    path = tmp_path / "t.ktx"
    levels = [noise(6 * 2 * 2 * 8), noise(6 * 8, seed=1)]
    path.write_bytes(ktx(0, 0, 0x83F1, 8, 8, 6, [d.tobytes() for d in levels]))
    cube = read_texture(path)
    assert isinstance(cube, usse.Cube)
    assert cube.stacks[1].shape == (6, 4, 4, 4)
    from isakit.texture.gxm_formats import decode_gxm

    second = decode_gxm(levels[0].tobytes()[32:64], "DXT1", 8, 8)
    np.testing.assert_array_equal(as_bytes(cube.stacks[0][1]), second)


def gxt(kind: int, number: int, width: int, height: int, data: bytes, palette: bytes = b"", index: int = -1) -> bytes:
    content = data + palette
    sizes = (1 if len(palette) == 64 else 0, 1 if len(palette) == 1024 else 0)
    head = struct.pack("<4s7I", b"GXT\0", 0x10000003, 1, 64, len(content), *sizes, 0)
    record = struct.pack("<IIiIIIHHB3x", 64, len(data), index, 0, kind << 29, number, width, height, 1)
    return head + record + content


def test_gxt_files(tmp_path: Path) -> None:
    from isakit.texture.swizzled_order import swizzle_index

    path, texels = tmp_path / "t.gxt", noise(4, 8, 4)
    path.write_bytes(gxt(3, 0x0C001000, 8, 4, texels.tobytes()))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), texels[..., [2, 1, 0, 3]])
    swizzled = np.zeros((32, 4), np.uint8)
    swizzled[swizzle_index(8, 4)] = texels
    path.write_bytes(gxt(0, 0x0C000000, 8, 4, swizzled.tobytes()))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), texels)


def old_gxt(version: int, words: list[int], data: bytes) -> bytes:
    head = struct.pack("<4s7I", b"GXT\0", 0x10000000 | version, 1, 64, len(data), 0, 0, 0)
    return head + struct.pack("<IIiI4I", 64, len(data), -1, 0, *words) + data


@pytest.mark.parametrize("version", [1, 2])
def test_gxt_files_with_state_words(version: int, tmp_path: Path) -> None:
    from isakit.texture.swizzled_order import swizzle_index

    path, texels = tmp_path / "t.gxt", noise(4, 8, 4)
    linear = [0, 3 << 29 | 0x0C << 24 | 7 << 12 | 3, 0, 1 << 28]  # U8U8U8U8, 8 x 4, ARGB
    path.write_bytes(old_gxt(version, linear, texels.tobytes()))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), texels[..., [2, 1, 0, 3]])
    levels = [noise(4, 8, 4), noise(2, 4, 4, seed=1)]
    stored = b""
    for level in levels:
        height, width = level.shape[:2]
        flat = np.zeros((width * height, 4), np.uint8)
        flat[swizzle_index(width, height)] = level
        stored += flat.tobytes()
    path.write_bytes(old_gxt(version, [1 << 17, 0x0C << 24 | 3 << 16 | 2, 0, 0], stored))  # two levels of powers of two
    for found, level in zip(read_texture(path).levels, levels, strict=True):
        np.testing.assert_array_equal(as_bytes(found), level)
    blocks = noise(8 * 2 * 1)
    path.write_bytes(old_gxt(version, [1 << 31, 3 << 29 | 5 << 24 | 7 << 12 | 3, 0, 0], blocks.tobytes()))  # UBC1
    from isakit.texture.gxm_formats import decode_gxm

    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), decode_gxm(blocks.tobytes(), "UBC1", 8, 4))


def test_tiled_gxt_files(tmp_path: Path) -> None:
    texels = noise(40, 70, 2)
    stored = np.zeros((2, 3, 32, 32, 2), np.uint8)
    for y in range(40):
        for x in range(70):
            stored[y // 32, x // 32, y % 32, x % 32] = texels[y, x]
    path = tmp_path / "t.gxt"
    path.write_bytes(gxt(4, 0x07000000, 70, 40, stored.tobytes()))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0])[..., :2], texels)
    path.write_bytes(gxt(4, 0x85000000, 64, 64, bytes(4096)))
    with pytest.raises(IsakitError, match="tiled texture of UBC1"):
        read_texture(path)


def test_ktx_files_with_pvrtc_2(tmp_path: Path) -> None:
    from isakit.texture.gxm_formats import decode_gxm

    data, path = noise(8 * 3 * 2).tobytes(), tmp_path / "t.ktx"
    path.write_bytes(ktx(0, 0, 0x9138, 12, 8, 1, [data]))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), decode_gxm(data, "PVRTII4BPP", 12, 8))


def test_gxt_palettes(tmp_path: Path) -> None:
    path, indices, palette = tmp_path / "t.gxt", noise(4, 8), noise(256, 4, seed=2)
    path.write_bytes(gxt(3, 0x95000000, 8, 4, indices.tobytes(), palette.tobytes(), 0))
    np.testing.assert_array_equal(as_bytes(read_texture(path).levels[0]), palette[indices])


def test_arrays(tmp_path: Path) -> None:
    for shape, kind in (((4, 4, 3), usse.Texture), ((3, 4, 5, 4), usse.Volume), ((6, 4, 4, 4), usse.Cube)):
        np.save(tmp_path / "a.npy", noise(*shape))
        assert type(read_texture(tmp_path / "a.npy")) is kind
    np.save(tmp_path / "a.npy", np.zeros((4, 4), np.int32))
    with pytest.raises(FormatError, match="are not texels"):
        read_texture(tmp_path / "a.npy")


def test_pictures(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.fromarray(noise(5, 7, 4), "RGBA").save(tmp_path / "p.png")
    np.testing.assert_array_equal(as_bytes(read_texture(tmp_path / "p.png").levels[0]), noise(5, 7, 4))
    for damaged in (b"no picture", b"|\x00\x00\x00", b"BM", b"GIF89a", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00"):
        (tmp_path / "p.png").write_bytes(damaged)
        with pytest.raises(FormatError, match="no picture"):
            read_texture(tmp_path / "p.png")


def test_no_program_is_started_to_read_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow has Ghostscript read PostScript, which is a programming language."""
    plugin = pytest.importorskip("PIL.EpsImagePlugin", reason="Pillow is not installed")
    monkeypatch.setattr(plugin, "gs_binary", None)
    ghost = tmp_path / "gs"
    ghost.write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\n")
    ghost.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "p.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\n1 1 moveto\n")
    with pytest.raises(FormatError, match="no picture"):
        read_texture(tmp_path / "p.png")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("seed", range(80))
def test_damaged_files_are_refused_or_read(tmp_path: Path, seed: int) -> None:
    masks = (0xFF, 0xFF00, 0xFF0000, 0xFF000000)
    whole = [
        dds(8, 8, 2, bits=32, masks=masks) + noise(8 * 8 * 4 + 64).tobytes(),
        ktx(0, 0, 0x83F3, 8, 8, 1, [noise(64).tobytes()]),
        gxt(3, 0x95000000, 8, 8, noise(64).tobytes(), noise(1024).tobytes(), 0),
        old_gxt(2, [1 << 17, 0x0C << 24 | 3 << 16 | 3, 0, 0], noise(320).tobytes()),
    ][seed % 4]
    r = np.random.default_rng(seed)
    data = bytearray(whole[: r.integers(1, len(whole)) if seed % 2 else len(whole)])
    for _ in range(4):
        data[r.integers(0, min(len(data), 150))] = r.choice([0, 1, 0x7F, 0xFF])
    path = tmp_path / "d"
    path.write_bytes(bytes(whole[:4]) + bytes(data[4:]))
    with suppress(IsakitError):
        read_texture(path)
