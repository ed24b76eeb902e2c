"""Drawing with shaders of GXP files, held against a renderer of a few lines that looks at one pixel at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.errors import FormatError, LaunchError
from isakit.formats import Shader
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.gxm_scene import open_scene
from isakit.graphics.gxm_targets import output_register, target_format
from isakit.programs import write
from isakit.texture.gxm_formats import decode_gxm
from support.clients import examples

ROOT = Path(__file__).resolve().parents[3]
SCENE = ROOT / "examples" / "usse" / "scene"

PASS = """
.gxp vertex
.attribute position f32x4
.attribute value f32x4
.outputs position texcoord0.xyzw
.program primary
    vmov.f32 o0.xy pa0.xyzw
    vmov.f32 o2.xy pa2.xyzw
    vmov.f32 o4.xy pa4.xyzw
    vmov.f32 o6.xy pa6.xyzw
    emit end
"""
SHOW = """
.gxp fragment
.varying texcoord0 f32x4
.result f32x4
.program primary
    nop
"""


def shader(text: str) -> Shader:
    found = isakit.load(write(isakit.isa("usse").assemble(text), "gxp"))
    assert isinstance(found, Shader)
    return found


TRIANGLES = np.array(
    [
        [[-0.9, -0.8, 0.2, 1], [0.85, -0.7, 0.3, 1.5], [-0.1, 0.95, -0.4, 2]],
        [[-0.5, -0.9, 0, 1], [0.9, 0.1, 0.2, 1.2], [0.3, 0.8, 0.5, 1]],
        [[-0.95, 0.1, -0.2, 1], [0.4, -0.3, 0.4, 1], [0.2, 0.6, 0.1, 1.4]],
    ],
    np.float32,
)  # fmt: skip
VALUES = np.random.default_rng(3).uniform(0, 1, (9, 4)).astype(np.float32)


def expected(width: int, height: int, blend: bool) -> tuple[np.ndarray, np.ndarray]:
    """The picture and the depth, upper row first, pixel by pixel in f64; NaN where it is too close to tell."""
    color, depth = np.zeros((height, width, 4)), np.ones((height, width))
    for n, triangle in enumerate(TRIANGLES.astype(np.float64)):
        w = triangle[:, 3]
        x, y = (triangle[:, 0] / w + 1) * width / 2, (1 - triangle[:, 1] / w) * height / 2
        z = (triangle[:, 2] / w + 1) / 2
        for row in range(height):
            for column in range(width):
                px, py = column + 0.5, row + 0.5
                area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])
                weights = np.array([
                    (x[j] - px) * (y[k] - py) - (x[k] - px) * (y[j] - py) for j, k in ((1, 2), (2, 0), (0, 1))
                ]) / area  # fmt: skip
                if np.abs(weights).min() < 0.02:
                    color[row, column] = np.nan
                if weights.min() < 0:
                    continue
                value = (weights / w) @ VALUES[3 * n : 3 * n + 3] / (weights / w).sum()
                here = weights @ z
                if not blend:
                    if here < depth[row, column]:
                        color[row, column], depth[row, column] = value, here
                else:
                    color[row, column] = value * value[3] + color[row, column] * (1 - value[3])
    return color, depth


@pytest.mark.parametrize("engine", ["reference", "llvm"])
@pytest.mark.parametrize("blend", [False, True], ids=["depth", "blending"])
def test_triangles_are_those_of_a_plain_renderer(engine: str, blend: bool) -> None:
    pipeline = usse.ShaderPipeline(40, 30, targets=["rgba32f"], depth="d32f", engine=engine)
    state = usse.DrawState(
        depth=None if blend else "less",
        blend=usse.Blend("src_alpha", "one_minus_src_alpha") if blend else None,
    )
    pipeline.draw(
        "triangles", shader(PASS), shader(SHOW), {"position": TRIANGLES.reshape(-1, 4), "value": VALUES}, state=state
    )
    color, depth = expected(40, 30, blend)
    sure = ~np.isnan(color).any(axis=2)
    assert sure.mean() > 0.6
    np.testing.assert_allclose(pipeline.image()[sure], color[sure], rtol=2e-5, atol=2e-6)
    if not blend:
        np.testing.assert_allclose(pipeline.depth[sure], depth[sure], atol=1e-6)


def quad(color: list[float], z: float = 0.0) -> dict[str, object]:
    return {"position": np.float32([[-1, -1, z, 1], [1, -1, z, 1], [-1, 1, z, 1], [1, 1, z, 1]]),
            "value": np.float32([color] * 4)}  # fmt: skip


def test_derivatives_down_the_screen_are_differences_of_lower_rows() -> None:
    derivative = shader("""
.gxp fragment
.varying texcoord0 f32x4
.result f32x4
.program primary
    vdsx.f32 i0.x pa0.xyzw c0.xxxx
    vdsy.f32 i0.y pa0.xyzw c0.xxxx
    vmov.f32 pa0.xy i0.xyzw
""")
    pipeline = usse.ShaderPipeline(8, 4, targets=["rgba32f"])
    position = quad([0, 0, 0, 0])["position"]
    # x goes up by one a pixel to the right, y by two a row down.
    value = np.float32([[0, 8, 0, 1], [8, 8, 0, 1], [0, 0, 0, 1], [8, 0, 0, 1]])
    pipeline.draw("triangle_strip", shader(PASS), derivative, {"position": position, "value": value})
    np.testing.assert_allclose(pipeline.image()[..., :2], np.broadcast_to([1, 2], (4, 8, 2)), atol=1e-5)


@pytest.mark.parametrize(("cull", "front", "drawn"), [
    (None, "ccw", True), ("back", "ccw", True), ("front", "ccw", False), ("back", "cw", False), ("front", "cw", True),
])  # fmt: skip
def test_windings_are_as_seen(cull: str | None, front: str, drawn: bool) -> None:
    pipeline = usse.ShaderPipeline(4, 4, targets=["rgba32f"])
    state = usse.DrawState(cull=cull, front=front)
    pipeline.draw("triangle_strip", shader(PASS), shader(SHOW), quad([1, 1, 1, 1]), state=state)
    assert bool(pipeline.image().any()) == drawn


def test_programs_read_in_g16_whether_they_see_the_back() -> None:
    facing = shader("""
.gxp fragment
.varying texcoord0 f32x4
.result f32x4
.program primary
    vtst.and.u32 ne p0.x g16 #0x1
    p0 vmov.f32 pa0.xy c0.xxxx
""")
    picture = []
    for front in ("ccw", "cw"):
        pipeline = usse.ShaderPipeline(4, 4, targets=["rgba32f"])
        pipeline.draw("triangle_strip", shader(PASS), facing, quad([1, 1, 1, 1]), state=usse.DrawState(front=front))
        picture.append(pipeline.image()[0, 0, 0])
    assert picture == [1, 0]


ADD = """
.gxp fragment
.flags native_color {reads}
.varying texcoord0 f16x4
.result u8x4
.program primary
    vpck.u8.f16 pa4.xyzw pa0.xyzw scale
    sop2 o0 pa4 o0 rgb_add rgb1.inv_zero rgb2.inv_zero a_add a1.inv_zero a2.inv_zero
"""


@pytest.mark.parametrize("reads", ["reads_color", ""])
def test_a_shader_that_reads_the_target_blends_in_drawing_order(reads: str) -> None:
    pipeline = usse.ShaderPipeline(4, 2)
    pipeline.clear((0.1, 0.2, 0.3, 0.4))
    there = pipeline.image()[0, 0].astype(int)
    thrice = {k: np.tile(np.asarray(v), (3, 1)) for k, v in quad([0.2, 0.2, 0.2, 0.2]).items()}
    order = np.concatenate([np.array([0, 1, 2, 2, 1, 3]) + 4 * k for k in range(3)])
    pipeline.draw("triangles", shader(PASS), shader(ADD.format(reads=reads)), thrice, indices=order)
    assert (pipeline.image() == there + 3 * 51).all()


def test_native_colours_are_blended_as_they_are_and_others_as_the_register_holds_them() -> None:
    text = """
.gxp fragment
{}
.varying texcoord0 f32x4
.result f16x4
.program primary
    vpck.f16.f32 {}.xyzw pa0.xyzw pa2
"""
    third, state = float(np.float16(1 / 3)), usse.DrawState(blend=usse.Blend("one", "one"))
    found = {}
    for name, flags, register in (("native", ".flags native_color", "o0"), ("plain", "", "pa0")):
        pipeline = usse.ShaderPipeline(2, 2, targets=["U5U6U5_RGB"], depth=None)
        pipeline.clear((0.5, 0.5, 0.5, 1))
        there = float(pipeline.targets[0].decoded(pipeline.targets[0].pixels)[0, 0, 1])
        colour = quad([third] * 4)
        pipeline.draw("triangle_strip", shader(PASS), shader(text.format(flags, register)), colour, state=state)
        found[name] = int(pipeline.image()[0, 0, 0]) >> 5 & 63
    assert found == {
        "native": int(np.rint((there + third) * 63)),
        "plain": int(np.rint((there + np.rint(third * 255) / 255) * 63)),
    }


@pytest.mark.parametrize("name", [
    "U8U8U8U8_ABGR", "U8U8U8U8_ARGB", "U8U8U8U8_RGBA", "U8U8U8U8_BGRA", "U5U6U5_RGB", "U5U6U5_BGR", "U1U5U5U5_ABGR",
    "U1U5U5U5_RGBA", "U4U4U4U4_ARGB", "U8U3U3U2_ARGB", "U2U10U10U10_ABGR", "U2U10U10U10_ARGB", "U8U8U8_BGR", "U8_R",
    "S8_R", "S8S8S8S8_ABGR", "U8U8_GR", "S8S8_GR", "U16_R", "S16_R", "U16U16_GR", "S16S16_GR", "F16_R", "F16F16_GR",
    "F16F16F16F16_ABGR", "F16F16F16F16_BGRA", "F32_R", "F32F32_GR",
])  # fmt: skip
def test_surfaces_hold_texels_of_the_format_with_their_name(name: str) -> None:
    form = target_format(name)
    colors = np.random.default_rng(1).uniform(-1.1, 1.1, (64, 4)).astype(np.float32)
    stored = form.encoded(colors.view(np.uint32))
    texels = decode_gxm(stored.tobytes(), name, 8, 8).reshape(64, 4)
    texels = texels / np.float32(255) if texels.dtype == np.uint8 else texels
    np.testing.assert_array_equal(form.decoded(stored).view(np.float32), texels.astype(np.float32))
    kept = np.array([c in name.partition("_")[2] for c in "RGBA"])
    low = 0 if name[0] == "U" else -1
    clamped = colors if name[0] == "F" else np.clip(colors, low, 1)
    step = 1 if "U1U" in name else 1 / 3 if "2" in name else 1 / 15
    np.testing.assert_allclose(texels[:, kept], clamped[:, kept], atol=0.51 * step)


@pytest.mark.parametrize(("name", "register"), [
    ("U8U8U8U8_ABGR", "uchar4"), ("S8S8S8S8_ABGR", "char4"), ("U5U6U5_RGB", "uchar4"), ("U2U10U10U10_ABGR", "half4"),
    ("F16F16F16F16_ABGR", "half4"), ("F16_R", "half2"), ("F32_R", "float"), ("F32F32_GR", "float2"),
    ("U16U16_GR", "ushort2"), ("S16_R", "short2"), ("rgba32f", None), ("r32ui", None),
])  # fmt: skip
def test_surfaces_ask_for_an_output_register(name: str, register: str | None) -> None:
    assert output_register(target_format(name)) == register


def test_instances_and_streams_feed_the_vertex_shader() -> None:
    pipeline = usse.ShaderPipeline(4, 1, targets=["rgba32f"])
    corners = np.float32([[-1, -1], [-0.5, -1], [-1, 1], [-0.5, 1]])
    text = PASS.replace(".attribute value f32x4", ".attribute value f32x4\n.attribute shift f32x4").replace(
        "    vmov.f32 o0.xy pa0.xyzw\n", "    vadd.f32 o0.xy pa0.xyzw pa8.xyzw\n"
    )
    attributes = {
        "position": usse.VertexStream(corners, "F32", 2),
        "value": usse.Attribute(usse.VertexStream(np.uint8([[51, 0, 0, 255], [102, 0, 0, 255]]), "U8N", 4), divisor=2),
        "shift": usse.Attribute(np.float32([[0, 0], [0.5, 0], [1, 0], [1.5, 0]]), divisor=1),
    }
    pipeline.draw("triangle_strip", shader(text), shader(SHOW), attributes, instances=4)
    np.testing.assert_allclose(pipeline.image()[0, :, 0], [0.2, 0.2, 0.4, 0.4], rtol=1e-6)


def test_strips_begin_again_behind_an_index_and_draws_behind_a_first_vertex() -> None:
    pictures = []
    for options in ({"indices": np.array([9, 1, 2, 3, 9, 4, 5, 6, 7]), "restart": 9}, {"first": 4, "count": 4}):
        pipeline = usse.ShaderPipeline(4, 4, targets=["rgba32f"])
        both = {k: np.concatenate((v, v)) for k, v in quad([1, 1, 1, 1]).items()}
        pipeline.draw("triangle_strip", shader(PASS), shader(SHOW), both, **options)
        pictures.append(pipeline.image())
    np.testing.assert_array_equal(*pictures)


def test_quads_are_cut_along_the_diagonal_that_is_chosen() -> None:
    corners = np.float32([[-1, -1, 0, 1], [1, -1, 0, 1], [1, 1, 0, 1], [-1, 1, 0, 1]])
    given = {"position": corners, "value": np.float32([[1, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]])}
    middle = []
    for how in ("second", "first"):
        pipeline = usse.ShaderPipeline(5, 5, targets=["rgba32f"], choices=GraphicsChoices(quads=how))  # type: ignore[arg-type]
        pipeline.draw("quads", shader(PASS), shader(SHOW), given)
        middle.append(float(pipeline.image()[2, 2, 0]))
    assert middle == pytest.approx([0, 1], abs=1e-6)


def test_points_have_the_size_that_the_program_writes() -> None:
    text = PASS.replace(".outputs position", ".outputs pointsize position").replace(
        "emit", "vmov.f32 o8.x c4.xxxx\nemit"
    )
    pipeline = usse.ShaderPipeline(6, 6, targets=["rgba32f"])
    pipeline.draw("points", shader(text), shader(SHOW), {"position": [[0, 0, 0, 1]], "value": [[1, 1, 1, 1]]})
    assert pipeline.image()[..., 0].tolist() == [[float(1 < r < 4 and 1 < c < 4) for c in range(6)] for r in range(6)]


def test_clip_distances_cut() -> None:
    text = PASS.replace(".outputs position", ".outputs clip0 position").replace("emit", "vmov.f32 o8.x pa0.xyzw\nemit")
    pipeline = usse.ShaderPipeline(4, 2, targets=["rgba32f"])
    pipeline.draw("triangle_strip", shader(text), shader(SHOW), quad([1, 1, 1, 1]))
    assert pipeline.image()[..., 0].tolist() == [[0, 0, 1, 1]] * 2


def test_discarded_pixels_leave_colour_and_depth_alone() -> None:
    text = SHOW.replace("    nop", "    vtst.sub.f32 ge p1.x pa0 c12.xxxx\n    kill !p1")
    pipeline = usse.ShaderPipeline(4, 1, targets=["rgba32f"], depth="d32f")
    given = quad([0, 0, 0, 1]) | {"value": np.float32([[0, 0, 0, 1], [1, 0, 0, 1]] * 2)}
    pipeline.draw("triangle_strip", shader(PASS), shader(text), given, state=usse.DrawState(depth="less"))
    assert (pipeline.image()[0, :, 3] == [0, 0, 1, 1]).all()
    assert (pipeline.depth[0] == [1, 1, 0.5, 0.5]).all()


def test_what_does_not_fit_is_refused() -> None:
    pipeline = usse.ShaderPipeline(4, 4)
    vertex, fragment, given = shader(PASS), shader(SHOW), quad([1, 1, 1, 1])
    with pytest.raises(LaunchError, match="vertex and a fragment"):
        pipeline.draw("triangles", fragment, vertex, given)
    with pytest.raises(LaunchError, match="neither shader has a uniform 'tint'"):
        pipeline.draw("triangles", vertex, fragment, given, uniforms={"tint": 1})
    with pytest.raises(LaunchError, match="no attribute 'normal'"):
        pipeline.draw("triangles", vertex, fragment, given | {"normal": given["value"]})
    with pytest.raises(LaunchError, match="vertex 9"):
        pipeline.draw("triangles", vertex, fragment, given, indices=np.array([0, 1, 9]))
    with pytest.raises(LaunchError, match="reads 'texcoord0'"):
        pipeline.draw("triangles", shader(".gxp vertex\n.outputs position\n.program primary\nemit end\n"), fragment, {},
                      count=3)  # fmt: skip
    with pytest.raises(LaunchError, match="layer_word"):
        pipeline.draw("triangles", vertex, fragment, given, state=usse.DrawState(layer_word=3))


def test_the_scene_is_what_its_program_writes(tmp_path: Path) -> None:
    examples.example("usse/scene/make_scene").main(tmp_path)
    for name in ("scene.json", "ring.bin", "ring-indices.bin"):
        assert (tmp_path / name).read_bytes() == (SCENE / name).read_bytes()


def test_the_scene_looks_the_same_on_both_engines() -> None:
    scene = open_scene(SCENE)
    assert isinstance(scene, usse.ShaderScene)
    np.testing.assert_array_equal(scene.render(engine="llvm").image(), scene.render(engine="reference").image())


def test_a_scene_may_name_shader_files(tmp_path: Path) -> None:
    for path in filter(Path.is_file, SCENE.iterdir()):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "scene.json").read_text()
    for name in ("solid.v", "solid.f"):
        source = (SCENE / f"{name}.s").read_text()
        (tmp_path / f"{name}.gxp").write_bytes(write(isakit.isa("usse").assemble(source), "gxp"))
        text = text.replace(f'"asm": "{name}.s"', f'"gxp": "{name}.gxp"')
    assert '"gxp"' in text
    (tmp_path / "scene.json").write_text(text)
    np.testing.assert_array_equal(open_scene(tmp_path).render().image(), open_scene(SCENE).render().image())


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"S16N"', '"S17N"', "no attribute format"),
    ('"ring.bin"', '"../ring.bin"', "outside its folder"),
    ('"mode": "triangles"', '"mode": "spirals"', "no primitive"),
    ('"asm": "glass.v.s"', '"words": []', "neither `asm` nor `gxp`"),
    ('"name": "uv"', '"nam": "uv"', "lacks 'name'"),
    ('"mag": "nearest"', '"mag": "linear"', "filters"),
    ('"U8U8U8U8_ABGR"', '"U8U8U8U8_XYZW"', "no component order"),
])  # fmt: skip
def test_what_is_wrong_in_a_scene_is_said(old: str, new: str, says: str, tmp_path: Path) -> None:
    for path in filter(Path.is_file, SCENE.iterdir()):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "scene.json").read_text()
    assert old in text
    (tmp_path / "scene.json").write_text(text.replace(old, new))
    with pytest.raises((FormatError, LaunchError), match=says):
        open_scene(tmp_path).render()
