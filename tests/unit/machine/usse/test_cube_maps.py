"""Cube maps, texture state that a program moves, clip planes, stepping."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.errors import LaunchError, NotModelled
from isakit.formats import GxpBuilder

ISA = isakit.isa("usse")
# Direction to (face, s, t) as the tables of OpenGL ES 2.0 (3.7.5) have it: major axis, sc, tc.
TABLE = (
    (lambda x, y, z: (x, -z, -y)), (lambda x, y, z: (-x, z, -y)), (lambda x, y, z: (y, x, z)),
    (lambda x, y, z: (-y, x, -z)), (lambda x, y, z: (z, x, -y)), (lambda x, y, z: (-z, -x, -y)),
)  # fmt: skip


def expected_texel(faces: np.ndarray, x: float, y: float, z: float) -> np.ndarray:
    """The nearest texel in a direction, face by face."""
    for face, row in enumerate(TABLE):
        major, sc, tc = row(x, y, z)
        if major > 0 and major >= max(abs(x), abs(y), abs(z)):
            n = faces.shape[1]
            s, t = (sc / major + 1) / 2, (tc / major + 1) / 2
            return faces[face, min(int(t * n), n - 1), min(int(s * n), n - 1)]
    raise AssertionError


def sampled(texture: usse.Texture, directions: np.ndarray, text: str = "smp3d.f32 f32 r0 pa0 sa4 drc0") -> np.ndarray:
    core = usse.Core(len(directions), textures={4: texture})
    core.pa[:3] = np.ascontiguousarray(directions.T.astype(np.float32)).view(np.uint32)
    core.run(ISA.assemble(text))
    return core.r[:4].view(np.float32).T


def test_a_direction_finds_its_face() -> None:
    r = np.random.default_rng(1)
    faces = r.uniform(0, 1, (6, 8, 8, 4)).astype(np.float32)
    at = r.uniform(-1, 1, (200, 3)).astype(np.float32)
    out = sampled(usse.Cube(faces, filter="nearest"), at)
    np.testing.assert_array_equal(out, [expected_texel(faces, *map(float, d)) for d in at])


def test_bilinear_samples_stop_at_the_edge_unless_seamless() -> None:
    faces = np.zeros((6, 4, 4, 1), np.float32)
    faces[0] = 1
    edge = np.array([[1, 0, 0.999], [1, 0, -0.999]], np.float32)
    assert sampled(usse.Cube(faces), edge)[:, 0].tolist() == [1, 1]
    mixed = sampled(usse.Cube(faces, seamless=True), edge)[:, 0]
    np.testing.assert_allclose(mixed, 0.5, atol=0.01)


def test_the_level_follows_the_gradients_of_the_direction() -> None:
    levels = [np.full((6, 8 >> n, 8 >> n, 1), float(n), np.float32) for n in range(4)]
    quad = np.array([[1, -0.25, 0.25], [1, -0.25, -0.25], [1, 0.25, 0.25], [1, 0.25, -0.25]], np.float32)
    # The quad spans a quarter of the face: two of its eight texels.
    assert sampled(usse.Cube(levels), quad)[:, 0].tolist() == [1, 1, 1, 1]
    core = usse.Core(1, textures={4: usse.Cube(levels)})
    core.pa[0], core.pa[4] = np.float32(1).view(np.uint32), np.float32(2).view(np.uint32)
    core.run(ISA.assemble("smp3d.f32 f32 r0 pa0 sa4 replace pa4 drc0"))
    assert core.r[0].view(np.float32)[0] == 2


def test_what_is_no_cube_map_is_refused() -> None:
    with pytest.raises(LaunchError, match="6, size, size"):
        usse.Cube(np.zeros((5, 4, 4, 4), np.float32))
    with pytest.raises(NotModelled, match="gather4 of a cube map"):
        sampled(usse.Cube(np.zeros((6, 4, 4, 4), np.float32)), np.ones((1, 3)), "smp3d.f32 f32 r0 pa0 sa4 gather4 drc0")


def cube_shader(**more: bool) -> isakit.Module:
    b = GxpBuilder("fragment")
    sky = b.sampler("sky", unit=2, cube=True, state=True)
    at = b.varying("texcoord0", 3)
    b.result("f32", 4)
    code = f"smp3d.f32 f32 pa0 pa{at} sa{sky} drc0"
    return isakit.load(b.to_bytes(ISA.assemble(code)))


def test_a_shader_takes_six_faces() -> None:
    faces = np.random.default_rng(2).integers(0, 256, (6, 4, 4, 4)).astype(np.uint8)
    at = np.random.default_rng(3).uniform(-1, 1, (50, 3)).astype(np.float32)
    out = usse.run(cube_shader(), varyings={"texcoord0": at}, textures={"sky": usse.Cube(faces, filter="nearest")})
    expected = [expected_texel(faces, *map(float, d)) for d in at]
    np.testing.assert_array_equal(np.rint(out.color * 255), expected)
    assert usse.run(cube_shader(), varyings={"texcoord0": at}, textures={"sky": faces}).color.shape == (50, 4)
    with pytest.raises(LaunchError, match="takes a cube map"):
        usse.run(cube_shader(), varyings={"texcoord0": at}, textures={"sky": usse.Texture(faces[0])})


@pytest.mark.parametrize("secondary", [True, False])
def test_texture_state_may_lie_in_a_buffer(secondary: bool) -> None:
    b = GxpBuilder("fragment")
    b.sampler("first", unit=0)
    b.sampler("second", unit=1)
    b.address(15, 0)
    for word in range(4):  # the second unit's words come first in the buffer
        b.texture(1, word, word=word, in_memory=True)
        b.texture(0, 4 + word, word=word, in_memory=True)
    b.container(19, 0, 8)
    b.varying("texcoord0", 2)
    b.result("f32", 4)
    load = "ldr.32 sa8 sa0 #0x0 #0x0 x4 drc0 moe\nwdf drc0" if secondary else ""
    fetch = "" if secondary else "ldr.32 pa8 sa0 #0x4 #0x0 x4 drc0 moe\nwdf drc0\n"
    state = "sa8" if secondary else "pa8"
    shader = isakit.load(b.to_bytes(
        ISA.assemble(f"{fetch}smp2d.f32 f32 pa0 pa0 {state} drc0"), ISA.assemble(load, "secondary") if load else None,
    ))  # fmt: skip
    values = {name: np.full((2, 2, 4), v, np.float32) for name, v in (("first", 0.25), ("second", 0.75))}
    out = usse.run(shader, varyings={"texcoord0": np.full((3, 2), 0.5)}, textures=values)
    assert (out.color == (0.75 if secondary else 0.25)).all()


def test_texture_state_without_a_buffer_lies_in_registers() -> None:
    b = GxpBuilder("fragment")
    b.sampler("image", unit=3)
    at = b.texture(3, in_memory=True)
    b.varying("texcoord0", 2)
    b.result("f32", 4)
    shader = isakit.load(b.to_bytes(ISA.assemble(f"smp2d.f32 f32 pa0 pa0 sa{at} drc0")))
    out = usse.run(
        shader, varyings={"texcoord0": [[0.5, 0.5]]}, textures={"image": np.full((1, 1, 4), 0.5, np.float32)}
    )
    assert (out.color == 0.5).all()


def test_a_clip_plane_gets_the_dot_product() -> None:
    core = usse.Core()
    core.pa[:4] = np.array([[1], [2], [3], [4]], np.float32).view(np.uint32)
    core.i[:4] = np.array([[2], [3], [5], [-7]], np.float32).view(np.uint32)
    core.run(ISA.assemble("vdp4.f32 o8.x pa0.xyzw i0.xyzw clip1"))
    assert core.o[8].view(np.float32)[0] == 2 + 6 + 15 - 28
    assert any("only its sign matters" in n for n in core.notes.values())


def test_stepping_shows_the_lanes_of_each_instruction() -> None:
    core = usse.Core(2)
    core.pa[0] = np.array([1, -1], np.float32).view(np.uint32)
    program = ISA.assemble("vtst.sub.f32 ge p0.x pa0 c0.xxxx\np0 br +2\nvmov.i32 r0 c3\nvmov.i32 r2 c3")
    seen = [(i.mnemonic, lanes.tolist()) for i, lanes in core.steps(program)]
    assert [m for m, _ in seen] == ["vtst.sub.f32", "br", "vmov.i32", "vmov.i32"]
    assert [s for _, s in seen] == [[True, True], [True, True], [False, True], [True, True]]
    assert core.r[0].tolist()[0] == 0
