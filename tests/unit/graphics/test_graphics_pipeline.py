"""The fixed functions of the pipeline: fill rule, clipping, depth, stencil, blending, strips, geometry programs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from isakit.errors import LaunchError
from isakit.graphics import pipeline as pipeline_module
from isakit.tesla import (
    Attribute,
    Blend,
    DrawState,
    FragmentShader,
    GeometryShader,
    GraphicsChoices,
    Pipeline,
    Sampler,
    Stencil,
    Texture,
    VertexShader,
    Viewport,
)

PASS = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(8)) + "\nexit (never) nop"
COLOR = """
    long interp $r0 flat v[0x4]
    long interp $r1 flat v[0x8]
    long interp $r2 flat v[0xc]
    exit interp $r3 flat v[0x10]
"""
FLAT = ["w", (4, "flat"), (5, "flat"), (6, "flat"), (7, "flat")]


def shaders() -> tuple[VertexShader, FragmentShader]:
    return VertexShader(PASS), FragmentShader(COLOR.replace("exit interp", "exit interp"), inputs=FLAT)


def clip(points: Any, size: int, z: float = 0.0) -> np.ndarray:
    """Window positions (pixels) as clip positions of a square target."""
    p = np.asarray(points, float)
    out = np.zeros((len(p), 4), np.float32)
    out[:, :2] = p / (size / 2) - 1
    out[:, 2], out[:, 3] = z, 1
    return out


def paint(pipeline: Pipeline, points: Any, color: Any = (1, 1, 1, 1), mode: str = "triangles", z: float = 0.0,
          **options: Any) -> Any:  # fmt: skip
    position = clip(points, pipeline.width, z)
    colors = np.broadcast_to(np.array(color, np.float32), (len(position), 4))
    return pipeline.draw(mode, *shaders(), [position, colors], **options)


def covered(points: Any, size: int = 16, mode: str = "triangles") -> np.ndarray:
    p = Pipeline(size, size)
    paint(p, points, mode=mode)
    return p.image()[..., 0] > 0


# --- rasterization ----------------------------------------------------------------------------------------------------
def brute_force(points: Any, size: int) -> np.ndarray:
    """Coverage from the fill rule with exact numbers: strictly inside, or on a left or a lower horizontal edge."""
    q = [(int(np.floor(x * 256 + 0.5)), int(np.floor(y * 256 + 0.5))) for x, y in points]
    area = (q[1][0] - q[0][0]) * (q[2][1] - q[0][1]) - (q[2][0] - q[0][0]) * (q[1][1] - q[0][1])
    if area < 0:
        q = [q[0], q[2], q[1]]
    out = np.zeros((size, size), bool)
    for y in range(size):
        for x in range(size):
            ok = area != 0
            for (ax, ay), (bx, by) in zip(q, q[1:] + q[:1], strict=True):
                e = (bx - ax) * (y * 256 + 128 - ay) - (by - ay) * (x * 256 + 128 - ax)
                ok = ok and (e > 0 or (e == 0 and (by < ay or (by == ay and bx > ax))))
            out[y, x] = ok
    return out


def test_fill_rule_of_random_triangles() -> None:
    rng = np.random.default_rng(2)
    for k in range(40):
        points = rng.integers(-8, 40, (3, 2)) / 2 if k % 2 else rng.random((3, 2)) * 20 - 2
        assert (covered(points) == brute_force(points, 16)).all(), points


def test_shared_edges_belong_to_one_triangle() -> None:
    """A fan around a pixel centre covers every pixel of its outline once."""
    rim = [(8.5 + 7 * np.cos(a), 8.5 + 7 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 12)]
    total = sum(covered([(8.5, 8.5), a, b]).astype(int) for a, b in pairwise(rim))
    assert total.max() == 1


def test_moving_a_scene_by_whole_pixels_moves_the_picture() -> None:
    points = np.array([(2.3, 1.1), (9.7, 3.4), (4.2, 8.8)])
    still, moved = covered(points, 32), covered(points + np.array([13, 6]), 32)
    assert (np.roll(still, (6, 13), (0, 1)) == moved).all()


def test_strips_fans_lists_and_restart_agree() -> None:
    square = [(2, 2), (12, 2), (2, 12), (12, 12)]
    strip = covered(square, mode="triangle_strip")
    assert strip.sum() == 100
    assert (covered([square[0], square[1], square[3], square[2]], mode="triangle_fan") == strip).all()
    assert (covered([square[k] for k in (0, 1, 2, 2, 1, 3)]) == strip).all()
    p = Pipeline(16, 16)
    indices = np.array([0, 1, 2, 3, 99, 0, 1, 2, 3])
    stats = paint(p, square, mode="triangle_strip", indices=indices, restart=99)
    assert stats.primitives == 4


def test_points() -> None:
    p = Pipeline(8, 8)
    paint(p, [(3, 4)], mode="points", state=DrawState(point_size=2.0))
    assert np.argwhere(p.image()[..., 0] > 0).tolist() == [[3, 2], [3, 3], [4, 2], [4, 3]]


def test_culling_follows_the_winding() -> None:
    ccw = [(1, 1), (14, 1), (1, 14)]
    for cull, points, drawn in (("back", ccw, True), ("front", ccw, False), ("back", ccw[::-1], False)):
        p = Pipeline(16, 16)
        paint(p, points, state=DrawState(cull=cull))
        assert (p.image().max() > 0) == drawn
    p = Pipeline(16, 16)
    paint(p, ccw, state=DrawState(cull="back", front="cw"))
    assert p.image().max() == 0


def test_clipping_at_near_and_far() -> None:
    """Of a triangle that reaches past the eye the part in front is seen.

    Its sides meet the near plane a fifth of the way up, at y = -1/3 and x = -4/3 and 4/3 after the division by w.
    """
    position = np.array([[-1, -1, 0, 1], [1, -1, 0, 1], [0, 3, -3, -1]], np.float32)
    colors = np.ones((3, 4), np.float32)
    p = Pipeline(32, 32)
    stats = p.draw("triangles", *shaders(), [position, colors])
    assert stats.triangles == 2  # what is left has four corners
    assert (p.image()[:11] == 255).all()
    assert not p.image()[11:].any()
    outside = Pipeline(8, 8)
    paint(outside, [(0, 0), (8, 0), (0, 8)], z=1.5)
    assert outside.image().max() == 0
    clamped = Pipeline(8, 8)
    paint(clamped, [(0, 0), (8, 0), (0, 8)], z=1.5, state=DrawState(depth_clamp=True))
    assert clamped.image().max() == 255


def test_a_clipped_triangle_keeps_its_attributes() -> None:
    """Interpolation inside the kept part does not notice the cut."""
    vertex = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(5)) + "\nexit (never) nop")
    code = "interp $r4 v[0x0]\nrcp f32 $r4 $r4\nlong interp $r0 v[0x4] $r4\nexit (never) nop"
    fragment = FragmentShader(code, inputs=["w", (4, "perspective")])
    position = np.array([[-1, -1, -2, 1], [1, -1, 0.5, 1], [-1, 1, 0.5, 1]], np.float32)
    value = np.array([[0], [1], [0.25]], np.float32)
    pictures = []
    for clamp in (False, True):
        p = Pipeline(16, 16, targets=["rgba32f"])
        p.clear((9, 9, 9, 9))
        p.draw("triangles", vertex, fragment, [position, value], state=DrawState(depth_clamp=clamp))
        pictures.append(p.image()[..., 0])
    kept = pictures[0] != 9
    assert 0 < kept.sum() < (pictures[1] != 9).sum()
    assert np.allclose(pictures[0][kept], pictures[1][kept], atol=2e-6)


# --- output merge -----------------------------------------------------------------------------------------------------
FULL = [(0, 0), (8, 0), (0, 8), (8, 8)]


def test_depth_test_and_write() -> None:
    p = Pipeline(8, 8)
    state = DrawState(depth="less")
    paint(p, FULL, (1, 0, 0, 1), "triangle_strip", 0.5, state=state)
    paint(p, FULL, (0, 1, 0, 1), "triangle_strip", 0.6, state=state)
    assert (p.image()[..., :2] == [255, 0]).all()
    paint(p, FULL, (0, 0, 1, 1), "triangle_strip", 0.1, state=DrawState(depth="less", depth_write=False))
    assert (p.image()[..., 2] == 255).all()
    assert np.allclose(p.depth, 0.75, atol=1e-6)


def test_stencil_counts_and_masks() -> None:
    p = Pipeline(8, 8)
    count = Stencil(passed="incr_wrap")
    for _ in range(3):
        paint(p, [(0, 0), (8, 0), (0, 8)], state=DrawState(stencil=(count, count)))
    assert p.depth_buffer is not None
    assert sorted(np.unique(p.depth_buffer.stencil)) == [0, 3]
    three = Stencil(func="equal", ref=3, passed="zero", write_mask=1)
    p.clear()
    p.depth_buffer.stencil[:4] = 3
    paint(p, FULL, (1, 0, 0, 1), "triangle_strip", state=DrawState(stencil=(three, three)))
    assert (p.image()[:4, :, 0] == 255).all()
    assert p.image()[4:].max() == 0
    assert (p.depth_buffer.stencil[:4] == 2).all()


@pytest.mark.parametrize(
    ("blend", "expected"),
    [
        (Blend("one", "one"), [0.75, 0.75, 0.5, 1.5]),
        (Blend("src_alpha", "one_minus_src_alpha"), [0.375, 0.375, 0.25, 0.75]),
        (Blend("one", "one", "reverse_subtract"), [-0.25, 0.25, 0.5, 0.5]),
        (Blend("one", "one", "max", equation_alpha="min"), [0.5, 0.5, 0.5, 0.5]),
        (Blend("dst_color", "zero"), [0.125, 0.125, 0.0, 0.5]),
        (Blend("constant_alpha", "zero"), [0.125, 0.0625, 0.0, 0.125]),
    ],
)
def test_blending(blend: Blend, expected: list[float]) -> None:
    p = Pipeline(2, 2, targets=["rgba32f"])
    p.clear((0.25, 0.5, 0.5, 1.0))
    state = DrawState(blend=blend, blend_constant=(0, 0, 0, 0.25))
    paint(p, [(0, 0), (2, 0), (0, 2), (2, 2)], (0.5, 0.25, 0.0, 0.5), "triangle_strip", state=state)
    assert np.allclose(p.image(), expected)


@pytest.mark.parametrize("engine", ["reference", "llvm"])
@pytest.mark.parametrize("clamped", [True, False])
def test_colours_for_signed_targets_are_clamped_where_the_draw_says_so(engine: str, clamped: bool) -> None:
    p = Pipeline(2, 2, targets=["rgba8s"], engine=engine)
    paint(p, [(0, 0), (2, 0), (0, 2), (2, 2)], (-0.5, 0.5, -2.0, 2.0), "triangle_strip",
          state=DrawState(clamp_fragment=(clamped,)))  # fmt: skip
    got = p.image()[0, 0].astype(np.int8).tolist()
    assert got == ([0, 64, 0, 127] if clamped else [-64, 64, -127, 127])


def test_ties_of_the_8_bit_store() -> None:
    half = (0.5 / 255 * 5, 1.5 / 255, 2.5 / 255, 3.5 / 255)
    got = {}
    for store in ("even", "up"):
        p = Pipeline(2, 2, choices=GraphicsChoices(store=store))  # type: ignore[arg-type]
        paint(p, [(0, 0), (2, 0), (0, 2)], half)
        got[store] = p.image()[0, 0].tolist()
    exact = np.array(half, np.float32) * np.float32(255)
    assert got["even"] == np.rint(exact).tolist()
    assert got["up"] == np.floor(exact + np.float32(0.5)).tolist()


def test_colour_mask_scissor_and_several_targets() -> None:
    p = Pipeline(8, 8, targets=["rgba8", "rgba32ui"])
    fragment = FragmentShader(
        COLOR.replace("exit ", "") + "\nmov b32 $r4 0x7\nmov b32 $r5 $r4\nmov b32 $r6 $r4\nexit mov b32 $r7 $r4",
        inputs=FLAT, colors=[(0, 1, 2, 3), (4, 5, 6, 7)],
    )  # fmt: skip
    state = DrawState(color_mask=(True, False, True, False), scissor=(2, 0, 3, 8))
    position, colors = clip(FULL, 8), np.ones((4, 4), np.float32)
    p.draw("triangle_strip", VertexShader(PASS), fragment, [position, colors], state=state)
    assert p.image()[0].tolist() == [[255, 0, 255, 0] if 2 <= x < 5 else [0] * 4 for x in range(8)]
    assert p.image(1)[3, 3].tolist() == [7, 0, 7, 0]


def test_later_fragments_of_a_pixel_win_in_order() -> None:
    """Many layers in one draw blend as many draws do."""
    rng = np.random.default_rng(5)
    layers = [(rng.random((3, 2)) * 16, rng.random(4)) for _ in range(20)]
    state = DrawState(blend=Blend("src_alpha", "one_minus_src_alpha"))
    one, many = Pipeline(16, 16), Pipeline(16, 16)
    position = np.concatenate([clip(t, 16) for t, _ in layers])
    colors = np.repeat(np.array([c for _, c in layers], np.float32), 3, axis=0)
    one.draw("triangles", *shaders(), [position, colors], state=state)
    for t, c in layers:
        paint(many, t, c, state=state)
    assert (one.image() == many.image()).all()


# --- programs ---------------------------------------------------------------------------------------------------------
def textured(size: int, threads: int = 1) -> Pipeline:
    """A picture that needs derivatives, divergence and discard."""
    code = """
        interp $r4 v[0x0]
        rcp f32 $r4 $r4
        interp $r0 v[0x4] $r4
        interp $r1 v[0x8] $r4
        long mov b32 $r6 $r0
        texauto all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0
        mov b32 $r5 0x3e800000
        set $c0 # l f32 $r0 $r5
        (lg $c0) discard
        joinat over
        mov b32 $r5 0x3f000000
        set $c0 # g f32 $r6 $r5
        (lg $c0) bra over
        mul rn f32 $r2 $r2 $r2
    over:
        join (never) nop
        exit (never) nop
    """
    fragment = FragmentShader(code, inputs=["w", (4, "perspective"), (5, "perspective")])
    vertex = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(6)) + "\nexit (never) nop")
    levels = [np.random.default_rng(k).random((16 >> k, 16 >> k, 4)).astype(np.float32) for k in range(5)]
    sampler = Sampler(wrap="repeat", mag="linear", min="linear", mip="linear")
    position = np.array([[-1, -1, 0, 1], [3, -1, 0, 3], [-1, 1, 0, 1], [2, 2, 0, 2]], np.float32)
    p = Pipeline(size, size, threads=threads)
    p.draw("triangle_strip", vertex, fragment, [position, position[:, :2]], textures={0: (Texture(levels), sampler)})
    return p


def test_the_picture_does_not_depend_on_warps_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = textured(50).image()
    for lanes, threads in ((32, 1), (64, 2), (4096, 2)):
        monkeypatch.setattr(pipeline_module, "LANES", lanes)
        assert (textured(50, threads).image() == expected).all()


def test_helper_lanes_give_derivatives_at_the_edges() -> None:
    """A one-pixel-wide triangle strip sees the same level of detail as a whole plane."""
    code = """
        long interp $r0 v[0x4]
        long interp $r1 v[0x8]
        texauto all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0
        exit (never) nop
    """
    fragment = FragmentShader(code, inputs=["w", (4, "linear"), (5, "linear")])
    vertex = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(6)) + "\nexit (never) nop")
    levels = [np.full((16 >> k, 16 >> k), k / 4, np.float32) for k in range(5)]
    bound = {0: (Texture(levels), Sampler(wrap="repeat", min="linear", mip="nearest"))}

    def draw(points: Any) -> np.ndarray:
        p = Pipeline(8, 8, targets=["rgba32f"])
        position = clip(points, 8)
        p.draw("triangle_strip", vertex, fragment, [position, np.array(points, np.float32) / 4], textures=bound)
        return p.image()[..., 0]

    whole, narrow = draw(FULL), draw([(3, 0), (4, 0), (3, 8), (4, 8)])
    assert whole[0, 3] == 0.5
    assert (narrow[:, 3] == whole[:, 3]).all()


GEOMETRY = """
    shl $a1 a[0x0] 0x0
    mov b32 $r0 0x0
    mov b32 $r1 0x3f800000
    long mov b32 $r2 p[$a1]
    long mov b32 $r3 p[$a1+0x4]
    mov b32 $r4 0x3e800000
    st b32 o[0x0] $r2
    st b32 o[0x4] $r3
    st b32 o[0x8] $r0
    st b32 o[0xc] $r1
    st b32 o[0x10] $r1
    emit
    add rn f32 $r5 $r2 $r4
    st b32 o[0x0] $r5
    st b32 o[0x4] $r3
    st b32 o[0xc] $r1
    emit
    add rn f32 $r5 $r3 $r4
    st b32 o[0x0] $r2
    st b32 o[0x4] $r5
    st b32 o[0xc] $r1
    st b32 o[0x10] $r1
    emit
    exit restart
"""


def test_geometry_program() -> None:
    """Every point becomes a triangle; emit clears o[], and vertices beyond the limit are dropped."""
    points = clip([(2, 2), (10, 6)], 16)[:, :2]
    vertex = VertexShader("mov b32 o[0x0] a[0x0]\nmov b32 o[0x4] a[0x4]\nexit (never) nop")
    fragment = FragmentShader("long interp $r0 flat v[0x4]\nexit (never) nop", inputs=["w", (4, "flat")])
    p = Pipeline(16, 16, targets=["rgba32f"])
    stats = p.draw(
        "points", vertex, fragment, [points], geometry=GeometryShader(GEOMETRY, inputs=[0, 1], max_vertices=3)
    )
    assert stats.triangles == 2
    assert p.vertices is not None
    assert p.vertices.words[4, :6].view(np.float32).tolist() == [1, 0, 1] * 2
    assert (p.image()[..., 0] > 0).sum() == 2 * brute_force([(2, 2), (4, 2), (2, 4)], 16).sum()
    stats = p.draw(
        "points", vertex, fragment, [points], geometry=GeometryShader(GEOMETRY, inputs=[0, 1], max_vertices=2)
    )
    assert stats.primitives == 0


def test_vertex_fetch() -> None:
    vertex = VertexShader(
        "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(7)) + "\nexit (never) nop",
        vertex_id=True, instance_id=True,
    )  # fmt: skip
    p = Pipeline(4, 4)
    attributes = [
        Attribute(np.array([[0, 255], [255, 0], [0, 0]], np.uint8), normalized=True),
        Attribute(np.array([[-3], [4]], np.int8), divisor=1),
        Attribute(np.array([[7, 9]], np.uint16), scaled=True, divisor=2),
    ]
    p.draw("triangles", vertex, shaders()[1], attributes, count=3, instances=2)
    assert p.vertices is not None
    words = p.vertices.words
    assert words[0].view(np.float32).tolist() == [0, 1, 0] * 2
    assert words[2].tolist() == [0xFFFFFFFD] * 3 + [4] * 3
    assert words[4].view(np.float32).tolist() == [9] * 6
    assert words[5].tolist() == [0, 1, 2] * 2
    assert words[6].tolist() == [0] * 3 + [1] * 3


def test_discarded_lanes_can_end() -> None:
    code = """
        long interp $r4 v[0x4]
        set $c0 # l f32 $r4 $r63
        (lg $c0) discard
        mov b32 $r0 0x3f800000
        exit (never) nop
    """
    fragment = FragmentShader(code, inputs=["w", (4, "linear")])
    vertex = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(5)) + "\nexit (never) nop")
    position = clip(FULL, 8)
    for discarded in ("run", "end"):
        p = Pipeline(8, 8, choices=GraphicsChoices(discarded=discarded))  # type: ignore[arg-type]
        p.draw("triangle_strip", vertex, fragment, [position, position[:, :1]])
        assert (p.image()[..., 0] > 0).sum() == 32


def test_wrong_things_are_refused() -> None:
    vertex, fragment = shaders()
    p = Pipeline(4, 4)
    with pytest.raises(LaunchError, match="no primitive 'rhombs'"):
        p.draw("rhombs", vertex, fragment, [np.zeros((3, 4), np.float32)] * 2)
    with pytest.raises(LaunchError, match="pixels wide"):
        Pipeline(0, 4)
    with pytest.raises(LaunchError, match="no target format"):
        Pipeline(4, 4, targets=["rgb565"])
    with pytest.raises(LaunchError, match="not an input"):
        FragmentShader(COLOR, inputs=["colour"])
    with pytest.raises(LaunchError, match="wants attribute 1"):
        p.draw("triangles", VertexShader(PASS, inputs=[(1, 0)] * 8), fragment, [np.zeros((3, 4), np.float32)])


def test_viewport_depth_range_and_half_z() -> None:
    """A clip-space square fills the viewport; depth runs over the range."""
    view = Viewport((2.0, 1.0, 0.25), (5.0, 3.0, 0.5), (0.25, 0.75))
    p = Pipeline(8, 8)
    square = np.array([[-1, -1, -1, 1], [1, -1, -1, 1], [-1, 1, 1, 1], [1, 1, 1, 1]], np.float32)
    colors = np.ones((4, 4), np.float32)
    p.draw("triangle_strip", *shaders(), [square, colors], state=DrawState(viewport=view, depth="always"))
    rows, columns = np.nonzero(p.image()[..., 0])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (2, 3, 3, 6)
    assert np.allclose(p.depth[2:4, 4], [0.375, 0.625], atol=1e-6)
    half = Pipeline(4, 4)
    square[:, 2] = -0.5
    half.draw("triangle_strip", *shaders(), [square, colors], state=DrawState(half_z=True))
    assert half.image().max() == 0
    square[:, 2] = 0.5
    half.draw("triangle_strip", *shaders(), [square, colors], state=DrawState(half_z=True, depth="always"))
    assert np.allclose(half.depth, 0.5, atol=1e-6)


def test_the_provoking_vertex_gives_the_flat_values() -> None:
    """Strip triangles take their first or their last vertex, whatever the winding swaps."""
    colors = np.zeros((4, 4), np.float32)
    colors[:, 0] = [0.1, 0.2, 0.3, 0.4]
    for mode, provoking, expected in (
        ("triangle_strip", "last", {0.3, 0.4}),
        ("triangle_strip", "first", {0.1, 0.2}),
        ("triangle_fan", "first", {0.2, 0.3}),
    ):
        p = Pipeline(8, 8, targets=["rgba32f"])
        points = FULL if mode == "triangle_strip" else [FULL[k] for k in (0, 1, 3, 2)]
        state = DrawState(provoking=provoking)  # type: ignore[arg-type]
        p.draw(mode, *shaders(), [clip(points, 8), colors], state=state)
        assert {round(float(v), 3) for v in np.unique(p.image()[..., 0])} == expected


def test_face_and_window_position() -> None:
    """v[0x3fc] tells the side; x, y, z and w of the fragment."""
    code = "long interp $r0 flat v[0x3fc]\nlong interp $r1 v[0x0]\nlong interp $r2 v[0x4]\nexit interp $r3 v[0xc]"
    fragment = FragmentShader(code, inputs=["x", "y", "z", "w"])
    for points, face in ((FULL, 0xFFFFFFFF), ([FULL[k] for k in (1, 0, 3, 2)], 0)):
        p = Pipeline(8, 8, targets=["rgba32ui"])
        position = clip(points, 8)
        position *= 2  # the same place with w = 2
        p.draw("triangle_strip", VertexShader(PASS), fragment, [position, position])
        got = p.image()
        assert (got[..., 0] == face).all()
        assert (got[..., 1].copy().view(np.float32) == np.arange(8) + 0.5).all()
        assert (got[..., 2].copy().view(np.float32) == np.arange(8)[:, None] + 0.5).all()
        assert (got[..., 3].copy().view(np.float32) == 0.5).all()


def test_depth_from_the_program() -> None:
    code = COLOR.replace("exit ", "") + "\nmov b32 $r4 0x3e800000\nexit (never) nop"
    fragment = FragmentShader(code, inputs=FLAT, depth=4)
    p = Pipeline(8, 8, depth="d32f")
    p.draw("triangle_strip", VertexShader(PASS), fragment, [clip(FULL, 8), np.ones((4, 4), np.float32)],
           state=DrawState(depth="less"))  # fmt: skip
    assert (p.depth == 0.25).all()
