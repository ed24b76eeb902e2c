"""Textures against straightforward loops."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse

N = 200


def wrapped(i: int, size: int, rule: str) -> int:
    if rule == "wrap":
        return i % size
    if rule == "mirror":
        i %= 2 * size
        return i if i < size else 2 * size - 1 - i
    return min(max(i, 0), size - 1)


def sample(data: np.ndarray, u: float, v: float, filter: str, rule: str) -> np.ndarray:
    h, w = data.shape[:2]

    def texel(x, y):
        return data[wrapped(y, h, rule), wrapped(x, w, rule)]

    if filter == "nearest":
        return texel(int(np.floor(u * w)), int(np.floor(v * h)))
    x, y = u * w - 0.5, v * h - 0.5
    x0, y0 = int(np.floor(x)), int(np.floor(y))
    fx, fy = x - x0, y - y0
    top = texel(x0, y0) * (1 - fx) + texel(x0 + 1, y0) * fx
    low = texel(x0, y0 + 1) * (1 - fx) + texel(x0 + 1, y0 + 1) * fx
    return top * (1 - fy) + low * fy


@pytest.mark.parametrize("filter", ["nearest", "bilinear"])
@pytest.mark.parametrize("rule", ["clamp", "wrap", "mirror"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_filters_and_wrapping(filter, rule, dtype):
    r = np.random.default_rng(1)
    data = (r.uniform(0, 255, (5, 7, 4)) if dtype == np.uint8 else r.uniform(-1, 1, (5, 7, 4))).astype(dtype)
    u, v = r.uniform(-2, 3, (2, N)).astype(np.float32)
    texels = data.astype(np.float64) / (255 if dtype == np.uint8 else 1)
    expected = np.array([sample(texels, float(a), float(b), filter, rule) for a, b in zip(u, v, strict=True)])
    np.testing.assert_allclose(usse.Texture(data, filter=filter, wrap=rule).sample(u, v), expected, atol=1e-5)


def test_missing_channels():
    red = usse.Texture(np.full((2, 2), 0.5, np.float32)).sample(np.float32([0.5]), np.float32([0.5]))
    np.testing.assert_array_equal(red, [[0.5, 0, 0, 1]])
    with pytest.raises(isakit.LaunchError):
        usse.Texture(np.zeros((2, 2), np.int64))


def levels() -> list[np.ndarray]:
    """Each level has its number as colour."""
    return [np.full((8 >> k, 8 >> k, 4), k, np.float32) for k in range(4)]


def run(text: str, lanes: int = 4, **textures) -> usse.Core:
    core = usse.Core(lanes, textures=textures.get("textures", {4: usse.Texture(levels())}))
    y, x = np.mgrid[:2, :2]
    core.pa[0], core.pa[1] = (v.ravel().astype(np.float32).view(np.uint32) for v in (x / 8.0, y / 8.0))
    core.pa[4] = np.float32([0, 1, 2, 3]).view(np.uint32)
    core.pa[8], core.pa[9], core.pa[10], core.pa[11] = (
        np.full(4, v, np.float32).view(np.uint32) for v in (0.5, 0.0, 0.0, 0.5)
    )
    return core.run(isakit.isa("usse").assemble(text))


def red(core: usse.Core) -> list[float]:
    return core.r[0].view(np.float32).tolist()


def test_levels_of_detail():
    assert red(run("smp2d.f32 f32 r0 pa0 sa4 replace pa4 drc0")) == [0, 1, 2, 3]
    assert red(run("smp2d.f32 f32 r0 pa0 sa4 drc0")) == [0, 0, 0, 0]  # one texel per pixel
    assert red(run("smp2d.f32 f32 r0 pa0 sa4 bias pa4 drc0")) == [0, 1, 2, 3]
    assert red(run("smp2d.f32 f32 r0 pa0 sa4 gradient pa8 drc0")) == [2, 2, 2, 2]  # four texels per pixel
    between = usse.Texture(levels(), mip="linear")
    core = usse.Core(1, textures={4: between})
    core.pa[4] = np.float32(1.5).view(np.uint32)
    core.run(isakit.isa("usse").assemble("smp2d.f32 f32 r0 pa0 sa4 replace pa4 drc0"))
    assert red(core) == [1.5]


def test_formats_of_results():
    data = np.array([[[0.25, 0.5, 0.75, 1.0]]], np.float32)
    for texture, conv, registers in ((usse.Texture(data), "f32", 4), (usse.Texture(data), "f16", 2),
                                     (usse.Texture((data * 255).astype(np.uint8)), "native", 1)):  # fmt: skip
        core = usse.Core(1, textures={4: texture})
        core.r[:8] = 0xDEAD
        core.run(isakit.isa("usse").assemble(f"smp2d.f32 {conv} r0 pa0 sa4 drc0"))
        assert (core.r[registers:8] == 0xDEAD).all()
        raw = np.ascontiguousarray(core.r[:registers, 0])
        if conv == "f32":
            assert raw.view(np.float32).tolist() == [0.25, 0.5, 0.75, 1.0]
        elif conv == "f16":
            assert raw.view(np.float16).tolist() == [0.25, 0.5, 0.75, 1.0]
        else:
            assert raw.view(np.uint8).tolist() == [63, 127, 191, 255]


def test_half_coordinates():
    core = usse.Core(1, textures={4: usse.Texture(np.arange(4, dtype=np.float32)[None], filter="nearest")})
    core.pa[0] = np.array([0.6, 0.5], np.float16).view(np.uint32)
    core.run(isakit.isa("usse").assemble("smp2d.f16 f32 r0 pa0 sa4 drc0"))
    assert red(core) == [2.0]


def test_no_texture():
    with pytest.raises(isakit.NotModelled, match="sa4"):
        usse.Core(1).run(isakit.isa("usse").assemble("smp2d.f32 f32 r0 pa0 sa4 drc0"))


def test_derivatives_in_an_image():
    core = usse.Core(4)
    core.pa[0] = np.float32([1, 4, 10, 20]).view(np.uint32)
    core.run(isakit.isa("usse").assemble("vdsx.f32 r0.x pa0.xyzw pa0.xyzw\nvdsy.f32 r2.x pa0.xyzw pa0.xyzw"))
    assert red(core) == [3, 3, 10, 10]
    assert core.r[2].view(np.float32).tolist() == [9, 16, 9, 16]


def test_gathered_texels_and_weights_make_the_bilinear_sample():
    r = np.random.default_rng(5)
    texture = usse.Texture(r.uniform(0, 1, (4, 4, 4)).astype(np.float32))
    core = usse.Core(N, textures={4: texture})
    uv = r.uniform(-0.2, 1.2, (2, N)).astype(np.float32)
    core.pa[:2] = uv.view(np.uint32)
    core.run(
        isakit.isa("usse").assemble("smp2d.f32 f32 r0 pa0 sa4 gather4_uv drc0\nsmp2d.f32 f32 r32 pa0 sa4 info drc0")
    )
    texels = core.r[:16].view(np.float32).reshape(4, 4, N)
    packed = np.ascontiguousarray(core.r[16:18].T).view(np.float16).astype(np.float32)
    mixed = sum(texels[k] * packed[:, 3 - k] for k in range(4))
    np.testing.assert_allclose(mixed.T, texture.sample(*uv), atol=2e-3)
    fractions = np.ascontiguousarray(core.r[32]).view(np.uint8).reshape(N, 4)
    x = uv[0].astype(np.float64) * 4 - 0.5
    assert (fractions[:, 0] == np.floor((x - np.floor(x)) * 256)).all()
    assert (fractions[:, 2:] == 0).all()


@pytest.mark.parametrize("filter", ["nearest", "bilinear"])
def test_volumes(filter):
    r = np.random.default_rng(6)
    data = r.uniform(0, 1, (3, 4, 5, 4)).astype(np.float32)
    volume = usse.Volume(data, filter=filter)
    core = usse.Core(N, textures={4: volume})
    at = r.uniform(-0.2, 1.2, (3, N)).astype(np.float32)
    core.pa[:3] = at.view(np.uint32)
    core.run(isakit.isa("usse").assemble("smp3d.f32 f32 r0 pa0 sa4 drc0"))
    out = core.r[:4].view(np.float32).T

    def plane(z, u, v):
        return sample(data[wrapped(z, 3, "clamp")].astype(np.float64), u, v, filter, "clamp")

    for k in range(N):
        u, v, w = map(float, at[:, k])
        if filter == "nearest":
            expected = plane(int(np.floor(w * 3)), u, v)
        else:
            z = w * 3 - 0.5
            low = int(np.floor(z))
            expected = plane(low, u, v) * (1 - (z - low)) + plane(low + 1, u, v) * (z - low)
        np.testing.assert_allclose(out[k], expected, atol=1e-5)
    flat = usse.Core(1, textures={4: usse.Texture(data[0])})
    with pytest.raises(isakit.NotModelled, match="neither a volume nor a cube map"):
        flat.run(isakit.isa("usse").assemble("smp3d.f32 f32 r0 pa0 sa4 drc0"))


@pytest.mark.parametrize("words", [{"wrap": "repeat"}, {"wrap": ("wrap", "x")}, {"filter": "linear"}, {"mip": "none"}])
def test_words_that_name_nothing_are_refused(words):
    """`repeat` was `clamp` without a word."""
    with pytest.raises(isakit.LaunchError, match="of a texture is called"):
        usse.Texture(np.zeros((1, 1, 4), np.float32), **words)
