"""Shaders made here: inputs and results by name, containers, literals, formats, images, changed programs, errors."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.errors import FormatError, LaunchError, NotModelled
from isakit.formats import write_gxp
from isakit.formats.gxp import (
    ATTRIBUTE,
    SAMPLER,
    UNIFORM,
    UNIFORM_BUFFER,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpFile,
    GxpLiteral,
    GxpParameter,
    GxpUniformBuffer,
    VertexVaryings,
)

F32, F16, C10, U32, S32, U16, S16, U8, S8 = range(9)


def words(text: str, program: str = "primary") -> list[int]:
    return isakit.isa("usse").assemble(text, program).words


def load(**fields) -> isakit.Module:
    return isakit.load(write_gxp(GxpFile(**fields)))


def fragment(text: str, **fields) -> isakit.Module:
    defaults = {"flags": 1, "primary": words(text), "varyings": FragmentVaryings(output_type=F32, output_components=4)}
    return load(**(defaults | fields))


def vertex(text: str, **fields) -> isakit.Module:
    return load(**({"flags": 0, "primary": words(text), "varyings": VertexVaryings(outputs1=4 << 24)} | fields))


def uniform(name: str, ty: int, components: int, at: int, size: int = 1, container: int = 14) -> GxpParameter:
    return GxpParameter(name, UNIFORM, ty, components, container, 0, 0, size, at)


def test_uniform_arrays_are_aligned():
    sh = fragment(
        "or.u32 pa0 sa0 #0x0\nor.u32 pa1 sa4 #0x0\nor.u32 pa2 sa10 #0x0\nor.u32 pa3 sa8 #0x0",
        parameters=[uniform("three", F32, 3, 0, 2), uniform("one", F32, 1, 8, 3)],
        containers=[GxpContainer(14, 0, 0, 12)], buffer_sizes=(0, 0, 0, 0, 0, 12),
    )  # fmt: skip
    out = usse.run(sh, uniforms={"three": [[1, 2, 3], [4, 5, 6]], "one": [7, 8, 9]})
    assert out.color.tolist() == [[1, 4, 9, 7]]


def test_half_uniforms_and_literals():
    sh = fragment(
        "vpck.f32.f16 i0.xyzw sa2.xyzw\nvpck.f32.f32 pa0.xy i0.xyzw #0x0\nor.u32 pa2 sa8 #0x0\nor.u32 pa3 sa9 #0x0",
        parameters=[uniform("h", F16, 4, 2)], containers=[GxpContainer(14, 0, 0, 4), GxpContainer(19, 0, 8, 2)],
        buffer_sizes=(0, 0, 0, 0, 0, 4), literals=[GxpLiteral(0, 0x3F800000), GxpLiteral(1, 0x40490FDB)],
    )  # fmt: skip
    out = usse.run(sh, uniforms={"h": [0.1, 0.25, 3, 4]})
    np.testing.assert_array_equal(out.color[0], np.float32([np.float16(0.1), 0.25, 1, 3.1415927]))


def test_secondary_program_runs_once_on_the_shared_registers():
    sh = fragment("or.u32 pa0 sa4 #0x0", secondary=words("vadd.f32 sa4.x sa0.xyzw sa0.yyyy\nnop end", "secondary"),
                  parameters=[uniform("v", F32, 2, 0)], containers=[GxpContainer(14, 0, 0, 2)],
                  buffer_sizes=(0, 0, 0, 0, 0, 2))  # fmt: skip
    assert usse.run(sh, uniforms={"v": [2, 5]}, count=3).color[:, 0].tolist() == [7, 7, 7]


def test_attribute_formats():
    parameters = [
        GxpParameter("f", ATTRIBUTE, F32, 2, 0, 0, 0, 1, 0),
        GxpParameter("h", ATTRIBUTE, F16, 2, 0, 0, 0, 1, 2),
        GxpParameter("b", ATTRIBUTE, U8, 4, 0, 0, 0, 1, 3),
        GxpParameter("s", ATTRIBUTE, S16, 2, 0, 0, 0, 1, 4),
    ]
    source = """
        vmov.f32 o0.xy pa0.xyzw
        vpck.f32.f16 o2.xy pa2.xyzw
        vpck.f32.u8 o4.xy pa3.zwxx
        vpck.f32.s16 o6.xy pa4.xyxx
    """
    sh = vertex(source, parameters=parameters, varyings=VertexVaryings(outputs1=8 << 24 | 1 << 11))
    out = usse.run(sh, attributes={"f": [[1, 2], [3, 4]], "h": [[0.5, -2], [8, 9]], "b": [[1, 2, 3, 4], [5, 6, 7, 255]],
                                   "s": [[-5, 300], [7, -8]]})  # fmt: skip
    assert out.position.tolist() == [[1, 2, 0.5, -2], [3, 4, 8, 9]]
    assert out.color0.tolist() == [[3, 4, -5, 300], [7, 255, 7, -8]]


def test_vertex_outputs_in_their_order():
    source = "\n".join(f"limm.u32 o{k} {np.float32(k).view(np.uint32)}" for k in range(24))
    outputs1 = 21 << 24 | 1 << 11 | 1 << 9 | 1 << 8 | 0b1  # color0, fog, point size, one clip plane
    outputs2 = 0b001 | 0b111 << 3 | 0b011 << 9  # texcoord0: 2, texcoord1: 4, texcoord3: 3
    sh = vertex(source, varyings=VertexVaryings(outputs1=outputs1, outputs2=outputs2))
    out = usse.run(sh, count=1)
    assert out.position.tolist() == [[0, 1, 2, 3]]
    assert out.color0.tolist() == [[4, 5, 6, 7]]
    assert out.fog.tolist() == [[8, 9]]
    assert out.texcoord0.tolist() == [[10, 11]]
    assert out.texcoord1.tolist() == [[12, 13, 14, 15]]
    assert out.texcoord3.tolist() == [[16, 17, 18]]
    assert out.pointsize.tolist() == [[19]]
    assert out.clip0.tolist() == [[20]]


def texcoord(components: int, number: int = 0, words: int | None = None, flags: int = 0) -> AttributeDescriptor:
    info = (components - 1) << 22 | number << 12 | 0xF | flags
    return AttributeDescriptor(info, 0, ((words or components) - 1) << 4, 0)


def test_images_keep_their_shape_and_give_derivatives():
    sh = fragment("vdsx.f32 pa2.x pa0.xyzw pa0.xyzw\nvdsy.f32 pa2.y pa0.xyzw pa0.xyzw\nvmov.f32 pa0.xy pa2.xyzw",
                  varyings=FragmentVaryings(output_type=F32, output_components=2, inputs=(texcoord(2),)))  # fmt: skip
    y, x = np.mgrid[:5, :7].astype(np.float32)
    out = usse.run(sh, varyings={"texcoord0": np.stack([x * x, y * y], -1)})
    assert out.color.shape == (5, 7, 2)
    pair = np.float32([1, 1, 5, 5, 9, 9])  # differences of squares inside each pair of columns
    np.testing.assert_array_equal(out.color[0, :6, 0], pair)
    np.testing.assert_array_equal(out.color[:4, 0, 1], np.float32([1, 1, 5, 5]))
    assert out.notes


def test_half_and_fixed_varyings_and_c10_results():
    half = texcoord(4, 0, 2, 0x20000000)
    sh = fragment("vpck.c10.f16 pa0.xyzw pa0.xyzw",
                  varyings=FragmentVaryings(output_type=C10, output_components=4, inputs=(half,)))  # fmt: skip
    v = np.array([[0.1, -0.5, 1.5, 5.0]], np.float32)
    expected = np.rint(np.clip(v.astype(np.float16).astype(np.float64), -2, 2) * 255) / 255
    np.testing.assert_allclose(usse.run(sh, varyings={"TEXCOORD0": v}).color, expected, atol=1e-6)


def test_prefetched_texels():
    pre = AttributeDescriptor(0xF000 | 0x100, 0, 3 << 6, 3 << 4)  # coordinate texcoord0, four f32 registers
    sh = fragment("nop", parameters=[GxpParameter("t", SAMPLER, F32, 4, 0, 0, 0, 1, 0)],
                  varyings=FragmentVaryings(output_type=F32, output_components=4, inputs=(pre,)))  # fmt: skip
    data = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    out = usse.run(sh, varyings={"texcoord0": [[0.75, 0.25], [0.25, 0.75]]},
                   textures={"t": usse.Texture(data, filter="nearest")})  # fmt: skip
    np.testing.assert_array_equal(out.color, data[[0, 1], [1, 0]])


def test_buffers_in_memory():
    sh = fragment("ldr.32 pa0 sa0 #0x2 #0x0 x2 drc0\nwdf drc0", containers=[GxpContainer(19, 0, 0, 1)],
                  parameters=[GxpParameter("data", UNIFORM_BUFFER, 9, 0, 0, 0, 0, 4, 0)],
                  uniform_buffers=[GxpUniformBuffer(0, 0, -4)])  # fmt: skip
    out = usse.run(sh, buffers={"data": np.float32([1, 2, 3, 4])})
    assert out.color[0, :2].tolist() == [3, 4]


def test_buffers_too_short_for_their_uniforms():
    sh = fragment("or.u32 pa0 sa0 #0x0", parameters=[uniform("u", F32, 1, 2, container=3)],
                  containers=[GxpContainer(3, 0, 0, 4)])  # fmt: skip
    with pytest.raises(LaunchError, match="'u' ends past the 2 words"):
        usse.run(sh, buffers={3: np.float32([1, 2])}, uniforms={"u": 1})
    with pytest.raises(LaunchError, match="6 bytes"):
        usse.run(sh, buffers={3: np.float16([1, 2, 3])})


def test_short_c10_uniforms_take_one_register():
    sh = fragment("or.u32 pa0 sa0 #0x0", parameters=[uniform("u", C10, 2, 0)],
                  containers=[GxpContainer(14, 0, 0, 1)], buffer_sizes=(0, 0, 0, 0, 0, 1),
                  varyings=FragmentVaryings(output_type=U32, output_components=1))  # fmt: skip
    out = usse.run(sh, uniforms={"u": [1, 2]}, count=1)
    assert out.color.tolist() == [[255 | 510 << 10]]


def test_discard_and_depth():
    sh = fragment("vtst.sub.f32 ge p1.x pa0 c12.xxxx\nkill !p1\ndepthf pa0 #0x0 #0x0", flags=1 | 8 | 16,
                  varyings=FragmentVaryings(output_type=F32, output_components=2, inputs=(texcoord(2),)))  # fmt: skip
    out = usse.run(sh, varyings={"texcoord0": [[0.2, 0], [0.5, 0], [0.9, 0]]})
    assert out.discard.tolist() == [True, False, False]
    np.testing.assert_array_equal(out.depth[1:], np.float32([0.5, 0.9]))


def test_a_changed_program_is_written_and_runs():
    sh = fragment("vadd.f32 pa0.xy pa0.xyzw pa0.xyzw",
                  varyings=FragmentVaryings(output_type=F32, output_components=2, inputs=(texcoord(2),)))  # fmt: skip
    gxp = sh.file
    gxp.primary[:] = words(str(sh.primary).replace("vadd", "vmul"))
    gxp.primary += words("vadd.f32 pa0.x pa0.xyzw c1.yyyy")
    again = isakit.load(write_gxp(gxp))
    assert len(again.primary) == 2
    assert usse.run(again, varyings={"texcoord0": [[3, 5]]}).color.tolist() == [[10, 25]]


def test_many_invocations_agree_with_few():
    sh = fragment("vmad2.f32 pa0.xy pa0.xyzw pa0.xyzw pa0.xyzw",
                  varyings=FragmentVaryings(output_type=F32, output_components=2, inputs=(texcoord(2),)))  # fmt: skip
    v = np.random.default_rng(1).uniform(-1, 1, (40001, 2)).astype(np.float32)
    out = usse.run(sh, varyings={"texcoord0": v}).color
    for at in (0, 16383, 16384, 40000):
        np.testing.assert_array_equal(out[at], usse.run(sh, varyings={"texcoord0": v[at : at + 1]}).color[0])


def test_wrong_inputs_are_named():
    sh = fragment("nop", parameters=[uniform("tint", F32, 4, 0)], containers=[GxpContainer(14, 0, 0, 4)],
                  buffer_sizes=(0, 0, 0, 0, 0, 4),
                  varyings=FragmentVaryings(output_type=F32, output_components=4, inputs=(texcoord(2),)))  # fmt: skip
    good = {"texcoord0": np.zeros((4, 2))}
    for arguments, message in (
        ({}, "texcoord0"), ({"varyings": good | {"foo": 1}}, "foo"), ({"varyings": good, "uniforms": {"x": 1}}, "tint"),
        ({"varyings": good, "uniforms": {"tint": np.zeros(5)}}, "tint"), ({"attributes": {"a": 1}}, "varyings"),
        ({"varyings": good, "textures": {"t": np.zeros((1, 1))}}, "sampler"),
        ({"varyings": {"texcoord0": np.zeros((4, 2)), "color0": np.zeros((3, 4))}}, "sizes"),
    ):  # fmt: skip
        with pytest.raises(isakit.LaunchError, match=message):
            usse.run(sh, **arguments)


def test_all_missing_varyings_are_asked_for_with_their_sizes_and_how_to_give_them():
    inputs = (texcoord(2), texcoord(1, 3))
    sh = fragment("nop", varyings=FragmentVaryings(output_type=F32, output_components=4, inputs=inputs))
    wanted = r"'texcoord0' of 2 numbers, 'texcoord3' of 1 number; .*--arg texcoord0=ramp:f32:64x2"
    with pytest.raises(LaunchError, match=wanted):
        usse.run(sh)


def test_a_missing_texture_is_asked_for_by_the_name_of_its_sampler():
    pre = AttributeDescriptor(0xF000 | 0x100, 0, 3 << 6, 3 << 4)
    sh = fragment("nop", parameters=[GxpParameter("image", SAMPLER, F32, 4, 0, 0, 0, 1, 0)],
                  varyings=FragmentVaryings(output_type=F32, output_components=4, inputs=(pre,)))  # fmt: skip
    with pytest.raises(LaunchError, match=r"the sampler 'image' .*--texture image=FILE"):
        usse.run(sh, varyings={"texcoord0": [[0.75, 0.25]]})


@pytest.mark.parametrize(
    "value", [[[1j, 2, 3, 4]], np.zeros((1, 4), "M8[s]"), [["1", "2", "3", "4"]], [{}], [[1, 2], [3]], None]
)
def test_what_is_no_number_is_no_input(value: object) -> None:
    """Before, the imaginary part was dropped, and texts and times were numbers."""
    inputs = FragmentVaryings(output_type=F32, output_components=4, inputs=(texcoord(2),))
    shader = fragment("nop", parameters=[uniform("m", F32, 4, 0)], containers=[GxpContainer(14, 0, 0, 4)],
                      buffer_sizes=(0, 0, 0, 0, 0, 4), varyings=inputs)  # fmt: skip
    with pytest.raises(LaunchError, match=r"numbers are wanted|different lengths"):
        usse.run(shader, varyings={"texcoord0": np.zeros((4, 2))}, uniforms={"m": value})
    with pytest.raises(LaunchError, match=r"numbers are wanted|different lengths"):
        usse.run(shader, varyings={"texcoord0": value})


def test_blending_with_the_colour_there_before():
    blend = "sop2 o0 pa0 o0 rgb_add rgb1.s1a rgb2.inv_s1a a_add a1.inv_zero a2.zero"
    sh = fragment(
        f"vpck.u8.f32 pa0.xyzw pa0.xyzw pa2 scale\n{blend}",
        flags=1 | 1 << 6 | 1 << 7,
        varyings=FragmentVaryings(output_type=U8, output_components=4, inputs=(texcoord(4),)),
    )
    source = np.array([[1, 0.5, 0, 0.25], [0.2, 0.4, 0.6, 1]])
    before = np.array([[0, 1, 1, 1], [1, 1, 1, 1]])
    out = usse.run(sh, varyings={"texcoord0": source}, target=before)
    alpha = source[:, 3:]
    expected = np.c_[source[:, :3] * alpha + before[:, :3] * (1 - alpha), source[:, 3]]
    np.testing.assert_allclose(out.color, expected, atol=1.5 / 255)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"containers": [GxpContainer(14, 0, 250, 7)]}, FormatError, "sa257"),
        ({"literals": [GxpLiteral(256, 1)]}, FormatError, "sa257"),
        ({"uniform_buffers": [GxpUniformBuffer(0, 300, 0)]}, FormatError, "sa301"),
        ({"parameters": [uniform("u", F32, 1, -1)]}, FormatError, "'u'"),
        ({"parameters": [uniform("u", F32, 1, 0, 1 << 30)]}, FormatError, "'u'"),
        ({"buffer_sizes": (1 << 31, 0, 0, 0, 0, 0)}, FormatError, "words"),
        ({"varyings": None}, FormatError, "inputs and results"),
        ({"parameters": [uniform("u", 9, 1, 0)]}, NotModelled, "aggregate"),
        ({"parameters": [uniform("u", 12, 1, 0)]}, NotModelled, "type 12"),
        ({"varyings": FragmentVaryings(output_type=200, output_components=4)}, NotModelled, "type 200"),
    ],
)
def test_tables_that_lead_nowhere(fields, error, message):
    with pytest.raises(error, match=message):
        usse.run(fragment("or.u32 pa0 sa0 #0x0", **fields), count=1)


def test_a_parameter_of_unknown_semantic_is_no_match():
    odd = GxpParameter("odd", ATTRIBUTE, F32, 4, 0, 77, 0, 1, 0)
    with pytest.raises(LaunchError, match="odd"):
        usse.run(vertex("or.u32 o0 pa0 #0x0", parameters=[odd]), attributes={"POSITION": [[1, 2, 3, 4]]})
