"""The example picture: the shaders paint what a formula says, and the picture in the documentation is current."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from support.clients import examples

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return examples.example("usse/lit_triangle")


def read_png(path: Path) -> np.ndarray:
    data = path.read_bytes()
    width, height = struct.unpack(">2I", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 4 * width)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape(height, width, 4)


def test_the_picture_in_the_documentation_is_current(example, tmp_path):
    picture = example.render()
    example.write_png(str(tmp_path / "t.png"), picture)
    np.testing.assert_array_equal(read_png(tmp_path / "t.png"), picture)
    shown = read_png(ROOT / "docs" / "images" / "usse-triangle.png").astype(int)
    assert np.abs(shown - picture).max() <= 1


def test_pixels_follow_the_lighting_formula(example):
    import isakit
    from isakit import usse

    r = np.random.default_rng(2)
    n = 300
    normal, uv = r.uniform(-1, 1, (n, 3)).astype(np.float32), r.uniform(0, 1, (n, 2)).astype(np.float32)
    data = example.checkerboard()
    light, colour = np.array([0.35, 0.45, 0.82]), np.array([1, 0.96, 0.9])
    out = usse.run(
        isakit.load(example.fragment_shader()),
        varyings={"texcoord0": uv, "texcoord1": normal},
        uniforms={"light": [*light, 0], "colour": [*colour, 1], "ambient": 0.15, "shine": 0.6},
        textures={"image": usse.Texture(data, filter="nearest")},
    )
    size = len(data)
    texel = data[(uv[:, 1] * size).astype(int), (uv[:, 0] * size).astype(int), :3] / 255
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    cosine = np.maximum(unit @ light, 0)[:, None]
    expected = texel * (cosine + 0.15) * colour + 0.6 * cosine**16
    np.testing.assert_allclose(out.color[:, :3], expected, atol=2e-3)
    assert (out.color[:, 3] == 1).all()


def test_corners_are_transformed(example):
    import isakit
    from isakit import usse

    r = np.random.default_rng(3)
    p, n, m, t = r.uniform(-1, 1, (9, 4)), r.uniform(-1, 1, (9, 4)), r.uniform(-1, 1, (4, 4)), r.uniform(-1, 1, (3, 4))
    out = usse.run(
        isakit.load(example.vertex_shader()),
        attributes={"position": p, "normal": n, "uv": p[:, :2]},
        uniforms={"transform": m, "turn": t},
    )
    np.testing.assert_allclose(out.position, p @ m.T, atol=1e-5)
    np.testing.assert_allclose(out.texcoord1, n[:, :3] @ t[:, :3].T, atol=1e-5)
    np.testing.assert_array_equal(out.texcoord0, p[:, :2].astype(np.float32))
