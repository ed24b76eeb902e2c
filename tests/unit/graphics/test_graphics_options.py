"""Options for what the documents leave open: every one changes what it names, and nothing by default."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.graphics.stage import ConstantVaryings, Stage
from isakit.graphics.stage_program import StageProgram
from isakit.tesla import GraphicsChoices, Sampler, Texture, TextureChoices
from isakit.texture.cube import across_edges
from isakit.texture.texture_unit import TextureUnit


def direction(face: int, i: float, j: float, n: int) -> np.ndarray:
    """Towards the centre of a texel, by the table of the graphics API: sc and tc from -1 to 1 on each face."""
    s, t = (2 * i + 1) / n - 1, (2 * j + 1) / n - 1
    table = [(1, -t, -s), (-1, -t, s), (s, 1, t), (s, -1, -t), (s, -t, 1), (-s, -t, -1)]
    v = np.array(table[face], float)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_the_texel_over_an_edge_is_the_nearest_one_there(n: int) -> None:
    """Of all texels of other faces, the one whose centre is nearest to the continued row or column."""
    others = {(f, i, j): direction(f, i, j, n) for f in range(6) for i in range(n) for j in range(n)}
    for face in range(6):
        for k in range(n):
            for i, j in ((-1, k), (n, k), (k, -1), (k, n)):
                found = across_edges(*(np.array([v]) for v in (face, i, j)), n)
                got = tuple(int(v[0]) for v in found)
                wanted = direction(face, i, j, n)
                nearest = max((p for p in others if p[0] != face), key=lambda p: others[p] @ wanted)
                assert others[got] @ wanted == pytest.approx(others[nearest] @ wanted)


def test_seamless_filtering_is_continuous() -> None:
    """Values that follow the direction have no step at the edges of the faces."""
    n = 8
    faces = np.array([[[direction(f, i, j, n)[1] for i in range(n)] for j in range(n)] for f in range(6)], np.float32)
    angle = np.linspace(0, 2 * np.pi, 721)
    x, y, z = np.cos(angle), 0.6 * np.ones_like(angle), np.sin(angle)
    step = {}
    for seamless in (True, False):
        u = TextureUnit({0: Texture(faces, target="cube")}, {0: Sampler(mag="linear", min="linear")},
                        TextureChoices(seamless=seamless))  # fmt: skip
        words = [c.astype(np.float32).view(np.uint32) for c in (x, y, z)]
        step[seamless] = np.abs(np.diff(u.ask("texauto", 0, 0, words)[0].view(np.float32))).max()
    assert step[True] < 0.01
    assert step[False] <= 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_levels_of_cubes_do_not_change_at_the_edges_of_faces(sign: int) -> None:
    """A quad whose other lanes are on the next face has the level of detail of one that is on its face alone."""

    def level(choices: TextureChoices, left: float) -> int:
        u = TextureUnit({0: Texture(np.zeros((6, 64, 64), np.float32), target="cube")}, {0: Sampler()}, choices)
        s, t = left + np.array([0, 0.1, 0, 0.1]), np.array([0.2, 0.2, 0.25, 0.25])
        corners: Any = np.stack([sign * s, t, np.full(4, float(sign))])
        words = [c.astype(np.float32).view(np.uint32) for c in corners / np.abs(corners).max(axis=0)]
        return int(u.ask("texquerylod", 0, 0, words, quads=True)[1][0])

    inside = level(TextureChoices(), 0.5)
    assert abs(inside - 256 * math.log2(0.1 * 32)) < 1
    assert level(TextureChoices(), 0.97) == inside
    assert level(TextureChoices(cube_lod="vector"), 0.5) == inside
    assert level(TextureChoices(cube_lod="vector"), 0.97) < inside - 20


def fetch(choices: TextureChoices, x: list[int]) -> list[float]:
    u = TextureUnit({0: Texture(np.arange(1, 5, dtype=np.float32), target="1d")}, {}, choices)
    return u.ask("texfetch", 0, 0, [np.array(x, np.int32).view(np.uint32)])[0].view(np.float32).tolist()


def test_texture_options() -> None:
    assert fetch(TextureChoices(), [-1, 3, 4]) == [0, 4, 0]
    assert fetch(TextureChoices(fetch_outside="clamp"), [-1, 3, 4]) == [1, 4, 4]
    cubes = Texture(np.zeros((12, 4, 4), np.float32), target="cube_array")
    zero = [np.zeros(1, np.uint32)]
    for size, expected in (("layers", 2), ("faces", 12)):
        u = TextureUnit({0: cubes}, {}, TextureChoices(size_of_cubes=size))  # type: ignore[arg-type]
        assert u.ask("texsize", 0, 0, zero)[2].tolist() == [expected]
    grey = Texture(np.full((1, 1, 4), 100, np.uint8), "srgba8")
    got = {}
    for bits in (None, 8):
        u = TextureUnit({0: grey}, {}, TextureChoices(srgb_bits=bits))
        got[bits] = float(u.ask("texfetch", 0, 0, zero * 2)[0].view(np.float32)[0])
    assert got[8] == round(got[None] * 256) / 256 != got[None]
    with pytest.raises(isakit.IsakitError):
        TextureUnit({}, {}).ask("texauto", 3, 0, zero * 2)
    assert TextureUnit({}, {}, TextureChoices(unbound="zero")).ask("texauto", 3, 0, zero * 2)[3].tolist() == [0]
    weights = {}
    for how in ("nearest", "truncate"):
        row = Texture(np.array([0, 256], np.float32), target="1d")
        sampler = {0: Sampler(mag="linear", min="linear")}
        u = TextureUnit({0: row}, sampler, TextureChoices(weights=how))  # type: ignore[arg-type]
        x = np.array([0.25 + 0.4 / 256, 0.25 + 0.25 / 256], np.float32)
        weights[how] = u.ask("texauto", 0, 0, [x.view(np.uint32)])[0].view(np.float32).tolist()
    assert weights == {"nearest": [1, 1], "truncate": [0, 0]}
    levels = Texture([np.full(4 >> k, k, np.float32) for k in range(3)], target="1d")
    found = {}
    for how in ("none", "sampler"):
        u = TextureUnit({0: levels}, {0: Sampler(mip="nearest", lod_bias=1.0)}, TextureChoices(level_bias=how))  # type: ignore[arg-type]
        sources = [np.zeros(2, np.uint32), np.array([0, 1], np.float32).view(np.uint32)]
        found[how] = u.ask("texlod", 0, 0, sources)[0].view(np.float32).tolist()
    assert found == {"none": [0, 1], "sampler": [1, 2]}


def run(kind: str, code: str, choices: GraphicsChoices, **stage: object) -> StageProgram:
    program = isakit.isa("tesla", "gt200").assemble(code, program_type=kind)
    ready = StageProgram(kind, program.units, "gt200", registers=8)  # type: ignore[arg-type]
    texture = Texture(np.ones((2, 2, 4), np.float32))
    machine = ready.machine(Stage(32, choices=choices, **stage), {0: texture}, {0: Sampler()})  # type: ignore[arg-type]
    machine.run()
    return machine.state  # type: ignore[return-value]


def test_live_helpers() -> None:
    code = "texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0\nexit (never) nop"
    visible = np.arange(32) % 2 == 0
    for how, lanes in (("keep", 16), ("fetch", 32)):
        choices = GraphicsChoices(live_helpers=how)  # type: ignore[arg-type]
        state = run("fragment", code, choices, visible=visible, varyings=ConstantVaryings(np.zeros((1, 32), np.uint32)))
        assert (state.files["r"][0] != 0).sum() == lanes  # type: ignore[attr-defined]


def test_geometry_options() -> None:
    code = "mov $r0 $vstride\nst b32 o[0x0] $r0\nemit\nst b32 o[0x0] $r0\nemit\nexit (never) nop"
    stage = {"attributes": np.zeros((7, 32), np.uint32), "primitive": np.zeros((1, 32), np.uint32), "max_vertices": 1}
    state = run("geometry", code, GraphicsChoices(vstride=77), **stage)
    assert (state.emitted.count == 1).all()  # type: ignore[attr-defined]
    assert (state.emitted.words[0, 0] == 77).all()  # type: ignore[attr-defined]
    with pytest.raises(isakit.MachineFault, match="EMIT_LIMIT"):
        run("geometry", code, GraphicsChoices(excess="fault"), **stage)


def test_a_texture_over_memory_shows_what_a_kernel_wrote() -> None:
    device = isakit.Device("gt200")
    code = """
        .kernel write
        .param out ptr
            cvt u32 $r1 u16 $r0l
            shl b32 $r2 $r1 0x2
            mov b32 $r3 b32 s[out]
            add b32 $r2 $r2 $r3
            add b32 $r1 $r1 0x64
            exit st b32 g14[$r2] $r1
        .kernel read
        .param out ptr
            cvt u32 $r1 u16 $r0l
            shl b32 $r2 $r1 0x2
            mov b32 $r3 b32 s[out]
            add b32 $r2 $r2 $r3
            texfetch live $r1:#:#:# $t0 $s0 $r1 0x0 0x0 0x0
            exit st b32 g14[$r2] $r1
    """
    kernels = device.load(isakit.isa("tesla", "gt200").assemble(code))
    buffer = device.alloc(128)
    kernels["read"].bind(0, Texture.from_memory(lambda: device.read(buffer, np.uint8, 128), "r32ui", 32))
    out = np.ones(32, np.uint32)
    kernels["read"][1, 32](out)
    assert not out.any()
    kernels["write"][1, 32](buffer)
    kernels["read"][1, 32](out)
    assert out.tolist() == list(range(100, 132))


def permuted(choices: TextureChoices, u: float) -> list[int]:
    """A texel whose sources are blue, red, green, alpha, and its border."""
    image = Texture(np.array([[[255, 0, 0, 255]]], np.uint8), "rgba8")
    image.format = replace(image.format, sources=(4, 2, 3, 5))
    sampler = Sampler("border", border=(0.1, 0.2, 0.3, 0.4))
    words = [np.array([c], np.float32).view(np.uint32) for c in (u, 0.5)]
    found = TextureUnit({0: image}, {0: sampler}, choices).ask("texauto", 0, 0, words)
    return [round(float(f.view(np.float32)[0]) * 10) for f in found]


@pytest.mark.parametrize(("border", "expected"), [("results", [1, 2, 3, 4]), ("stored", [3, 1, 2, 4])])
def test_the_border_colour_is_that_of_the_results_or_of_what_is_stored(border: Any, expected: list[int]) -> None:
    assert permuted(TextureChoices(border=border), -0.5) == expected
    assert permuted(TextureChoices(border=border), 0.5) == [0, 10, 0, 10]


@pytest.mark.parametrize(
    ("srgb_of", "alpha"), [("results", 100 / 255), ("stored", ((100 / 255 + 0.055) / 1.055) ** 2.4)]
)
def test_alpha_that_is_stored_as_green_is_decoded_or_not(srgb_of: Any, alpha: float) -> None:
    image = Texture(np.array([[[200, 100, 0, 0]]], np.uint8), "srgba8")
    image.format = replace(image.format, sources=(2, 2, 2, 3))
    zero = [np.zeros(1, np.uint32)] * 2
    found = TextureUnit({0: image}, {}, TextureChoices(srgb_of=srgb_of)).ask("texfetch", 0, 0, zero)
    got = [float(f.view(np.float32)[0]) for f in found]
    assert got[3] == pytest.approx(alpha)
    assert got[0] == pytest.approx(((200 / 255 + 0.055) / 1.055) ** 2.4)


def test_an_offset_moves_a_coordinate_before_it_is_clamped() -> None:
    row = Texture(np.array([10, 20, 30, 40], np.float32), target="1d")
    sampler = Sampler("clamp", border=(99.0, 0, 0, 0))
    u = TextureUnit({0: row}, {0: sampler})
    words = [np.array([0.1, 0.9], np.float32).view(np.uint32)]
    assert u.ask("texauto", 0, 0, words, offsets=(-3,))[0].view(np.float32).tolist() == [10, 10]
    assert u.ask("texauto", 0, 0, words, offsets=(3,))[0].view(np.float32).tolist() == [40, 40]
