"""GLSL that is written is valid: tests of integers, names of any kind, samplers, what only one stage has."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.decompile import expressions, glsl
from isakit.decompile.glsl import Decompiled
from isakit.decompile.names import LONGEST, Identifiers, identifier
from isakit.errors import NotModelled
from isakit.formats import AttributeDescriptor, FragmentVaryings, VertexVaryings, parse_gxp, write_gxp
from isakit.formats.gxp import HAS_INSTANCE, READS_COLOR
from isakit.programs import write
from support.oracles.glsl_compiler import NAMES, needs_compiler, rejected
from support.oracles.term_evaluator import evaluate

FRAGMENT = """
.gxp fragment
.uniform mode s32x1
.uniform level u32x1
.sampler tex f32x4 unit 0
.texture unit 0 sa4
.varying texcoord0 f32x4
.result f32x4
.program primary
"""
VERTEX = """
.gxp vertex
.attribute p f32x4 pa0
.outputs position texcoord0.xyzw
.program primary
"""


def made(text: str, **changes: Any) -> Any:
    """A shader from a text, with other fields in its file."""
    data = write(isakit.isa("usse").assemble(text), "gxp")
    gxp = parse_gxp(data)
    for name, value in changes.items():
        setattr(gxp, name, value)
    return isakit.load(write_gxp(gxp) if changes else data)


def renamed(shader: Any, *names: str) -> Any:
    """The same shader with other names of its parameters."""
    gxp = shader.file
    parameters = [dataclasses.replace(p, name=n) for p, n in zip(gxp.parameters, names, strict=True)]
    return isakit.load(write_gxp(dataclasses.replace(gxp, parameters=parameters, layout=[])))


# --- integers ---------------------------------------------------------------------------------------------------------
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@pytest.mark.parametrize(("ty", "register"), [("s32", "sa0"), ("u32", "sa1"), ("s16", "sa0"), ("u8", "sa1")])
@pytest.mark.parametrize("test", COMPARISONS)
@pytest.mark.parametrize("number", ["0x80000005", "0x0"])
def test_comparisons_of_integers_are_what_the_machine_computes(number: str, test: str, ty: str, register: str) -> None:
    code = f"    limm.u32 r0 {number}\n    vtst.sub.{ty} {test} p0.x {register} r0\n    p0 vmov.f32 pa0.x c4.xyzw\n"
    shader = made(FRAGMENT + code)
    edges = np.array([0, 1, 4, 5, 6, 0x7F, 0x80, 0x7FFF, 0x8005, 0x7FFFFFFF, 0x80000004, 0x80000005, 0x80000006, -1])
    d = Decompiled(shader, exact=True)
    varyings = {"texcoord0": np.zeros((1, 4), np.float32)}
    for value in edges.astype(np.int64) & 0xFFFFFFFF:
        uniforms = {"mode": np.uint32([value]), "level": np.uint32([value])}
        ran = usse.run(shader, varyings=varyings, uniforms=uniforms, textures={"tex": np.zeros((1, 1, 4), np.uint8)})
        found = evaluate(d, {**uniforms, **varyings}, {}, 1)
        np.testing.assert_array_equal(found["color"], ran.color, str(value))


def test_a_comparison_reads_as_one() -> None:
    for ty, register, left in (("u32", "sa1", "level"), ("s32", "sa0", "int(mode)")):
        for test, sign in COMPARISONS.items():
            code = f"    limm.u32 r0 0x7\n    vtst.sub.{ty} {test} p0.x {register} r0\n    p0 vmov.f32 pa0.x c4.xyzw\n"
            text = expressions(made(FRAGMENT + code))
            number = "7u" if left == "level" else "7"
            opposite = {"<": f"{number} < {left}", "<=": f"{number} <= {left}"}
            turned = {">": opposite["<"], ">=": opposite["<="]}
            same = "mode == 7u" if left != "level" else "level == 7u"
            plain = {"==": f"{same} ? 2.0 : texcoord0.x", "!=": f"{same} ? texcoord0.x : 2.0"}
            wanted = {plain.get(sign), f"{left} {sign} {number}", turned.get(sign)}
            assert any(w and w in text for w in wanted), text


@pytest.mark.parametrize("count", ["#0x0", "#0x1", "#0x1f", "sa1"])
@pytest.mark.parametrize("name", ["shl", "shr", "asr"])
def test_shifts_are_what_the_machine_computes(name: str, count: str) -> None:
    d = Decompiled(shader := made(FRAGMENT + f"    {name}.u32 pa0 sa0 {count}\n"), exact=True)
    varyings = {"texcoord0": np.zeros((1, 4), np.float32)}
    for value, by in ((0x3FC00000, 1), (0xBF812345, 2), (0x80000001, 0)):
        uniforms = {"mode": np.uint32([value]), "level": np.uint32([by])}
        ran = usse.run(shader, varyings=varyings, uniforms=uniforms, textures={"tex": np.zeros((1, 1, 4), np.uint8)})
        np.testing.assert_array_equal(evaluate(d, {**uniforms, **varyings}, {}, 1)["color"], ran.color)


def test_no_number_is_wider_than_a_register() -> None:
    code = "    i16mad.sat.s16 r0 pa0 sa0 pa1\n    vmov.f32 pa0.xy r0.xyzw\n"
    with pytest.raises(NotModelled, match="40 bits at once"):
        glsl(made(FRAGMENT + code))


INTEGERS = {
    "xor": [f"xor.u32 r{k % 2} r{k % 2} r{1 - k % 2}" for k in range(60)],
    "mad": ["i32mad2.u32 r0 r0 r0 r0"] * 60,
}


@pytest.mark.parametrize("name", INTEGERS)
def test_bits_of_long_chains_of_integers_are_not_looked_for_for_ever(name: str) -> None:
    code = ["or.u32 r0 pa0 #0x0", "or.u32 r1 pa1 #0x0", *INTEGERS[name], "vpck.f32.u8 i0.xyzw r0.xyxy",
            "vmov.f32 pa0.xy i0.xyzw"]  # fmt: skip
    shader = made(FRAGMENT + "\n".join(code) + "\n")
    assert len(glsl(shader)) < 20_000
    varyings = {"texcoord0": np.float32([[1.5, -2.25, 0, 0]])}
    none = {"mode": np.uint32([0]), "level": np.uint32([0])}
    ran = usse.run(shader, varyings=varyings, textures={"tex": np.zeros((1, 1, 4), np.uint8)})
    found = evaluate(Decompiled(shader, exact=True), {**varyings, **none}, {}, 1)["color"]
    np.testing.assert_array_equal(found, ran.color)


def test_values_of_too_many_steps_are_refused() -> None:
    code = ["or.u32 r0 pa0 #0x0", *["i32mad2.u32 r0 r0 r0 r0"] * 3000, "or.u32 pa0 r0 #0x0"]
    with pytest.raises(NotModelled, match="too many steps"):
        glsl(made(FRAGMENT + "\n".join(code) + "\n"))


# --- names ------------------------------------------------------------------------------------------------------------
def test_identifiers_are_distinct_and_no_words_of_the_language() -> None:
    given = Identifiers()
    found = [given.of(name) for name in (*NAMES, "名前") * 3]
    assert len(set(found)) == len(found)
    for name in found:
        assert re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
        assert "__" not in name
        assert not name.startswith(("gl_", "GL_"))
        assert len(name) <= LONGEST + 10
    assert [identifier(n) for n in ("tint", "normal", "uv2", "mix_", "_x", "Texture")] == [
        "tint", "normal", "uv2", "mix_", "_x", "Texture"
    ]  # fmt: skip


@needs_compiler
def test_no_name_of_a_file_makes_glsl_invalid() -> None:
    code = "    smp2d.f32 f32 r0 pa0 sa4 drc0\n    vmul.f32 pa0.xyz r0.xyzw sa0.xxxx\n"
    fragment = made(FRAGMENT + code)
    vertex = made(VERTEX + "    vmov.f32 o0.xy pa0.xyzw\n    vmul.f32 o4.xyz pa0.xyzw pa0.xyzw\n")
    shaders = [renamed(vertex, name) for name in NAMES]
    for k, name in enumerate(NAMES):
        shaders.append(renamed(fragment, name, name, name))
        shaders.append(renamed(fragment, name, NAMES[k - 1], NAMES[k - 2]))
    assert rejected(shaders) == {}


def test_a_changed_name_stands_beside_its_declaration() -> None:
    shader = renamed(made(FRAGMENT + "    vmov.f32 pa0.x sa0.xyzw\n"), "texture", "ok", "b\n\\")
    lines = glsl(shader).splitlines()
    assert "uniform uint u_texture;  // 'texture' in the file" in lines
    assert "uniform uint ok;" in lines
    assert "uniform sampler2D b_;  // 'b\\n\\\\' in the file" in lines


def test_an_attribute_and_a_result_have_names_of_their_own() -> None:
    text = glsl(renamed(made(VERTEX + "    vmov.f32 o4.xy pa0.xyzw\n"), "v_texcoord0"))
    assert "v_texcoord0 = vec4(u_v_texcoord0.xy, vec2(0.0));" in text


# --- samplers ---------------------------------------------------------------------------------------------------------
def test_a_unit_without_a_sampler_is_declared() -> None:
    shader = made(FRAGMENT + "    smp2d.f32 f32 pa0 pa0 sa4 drc0\n")
    bare = isakit.load(write_gxp(dataclasses.replace(shader.file, parameters=shader.file.parameters[:2], layout=[])))
    assert "uniform sampler2D unit0;  // no sampler of the file" in glsl(bare).splitlines()
    assert "color_out = texture(unit0, texcoord0.xy);" in glsl(bare)


@needs_compiler
def test_a_sampler_has_the_kind_that_its_coordinates_need() -> None:
    three = made(FRAGMENT + "    smp3d.f32 f32 pa0 pa0 sa4 drc0\n")
    one = made(FRAGMENT + "    smp1d.f32 f32 pa0 pa0 sa4 drc0\n")
    assert "uniform sampler3D tex;" in glsl(three)
    assert "texture(tex, vec2(texcoord0.x, 0.0))" in glsl(one)
    gradient = made(FRAGMENT + "    smp1d.f32 f32 pa0 pa0 sa4 gradient pa2 drc0\n")
    assert "textureGrad(tex, vec2(texcoord0.x, 0.0), vec2(texcoord0.z, 0.0), vec2(texcoord0.w, 0.0))" in glsl(gradient)
    assert rejected([three, one, gradient]) == {}


def test_a_sampler_of_two_kinds_has_no_glsl() -> None:
    both = (
        "    smp3d.f32 f32 r0 pa0 sa4 drc0\n    smp2d.f32 f32 r4 pa0 sa4 drc0\n    vmul.f32 pa0.xyz r0.xyzw r4.xyzw\n"
    )
    with pytest.raises(NotModelled, match=r"unit 0 with 2 coordinates.*sampler is 3D"):
        glsl(made(FRAGMENT + both))
    shader = made(FRAGMENT + "    smp2d.f32 f32 pa0 pa0 sa4 drc0\n")
    cube = [*shader.file.parameters[:2], dataclasses.replace(shader.file.parameters[2], semantic_index=16)]
    with pytest.raises(NotModelled, match=r"2 coordinates.*sampler is Cube"):
        glsl(isakit.load(write_gxp(dataclasses.replace(shader.file, parameters=cube, layout=[]))))


def fetching(kind: int, texel: int = 3) -> Any:
    """A shader whose colour is a texel that was fetched before it, at texcoord0 of some kind."""
    fetch = AttributeDescriptor(0xF000 | 1 << 11 | kind << 8, 0, 3 << 6, texel << 4)
    text = FRAGMENT.replace(".varying texcoord0 f32x4\n", "").replace(".texture unit 0 sa4\n", "")
    shader = made(text + "    nop\n")
    varyings = FragmentVaryings(output_type=0, output_components=4, unknown_e=1, inputs=(fetch,))
    return isakit.load(write_gxp(dataclasses.replace(shader.file, varyings=varyings, layout=[])))


def test_a_fetched_texel_divides_by_the_component_its_code_names() -> None:
    texels = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    given = {"textures": {"tex": usse.Texture(texels, filter="nearest")}}
    at = np.float32([[0.6, 1.2, 4.0, 2.0]])
    found = [usse.run(fetching(kind), varyings={"texcoord0": at}, **given).color[0] for kind in (1, 2, 3)]
    expected = [texels[3, 2], texels[2, 1], texels[1, 0]]
    np.testing.assert_array_equal(found, expected)
    texts = [glsl(fetching(kind)) for kind in (1, 2, 3)]
    for text, call in zip(texts, ("texture(tex, texcoord0)", "textureProj(tex, texcoord0.xyw)",
                                  "textureProj(tex, texcoord0)"), strict=True):  # fmt: skip
        assert f"color_out = {call};" in text


@pytest.mark.parametrize(("info", "component_info"), [(0xF800, 0x30), (0xF900, 0x10), (0xF90B, 0x30), (0xE00F, 0),
                                                      (0x3000000F, 0)])  # fmt: skip
def test_inputs_with_codes_of_unknown_meaning_are_not_run(info: int, component_info: int) -> None:
    shader = fetching(1)
    varyings = dataclasses.replace(shader.file.varyings, inputs=(AttributeDescriptor(info, 0, 3 << 6, component_info),))
    odd = isakit.load(write_gxp(dataclasses.replace(shader.file, varyings=varyings, layout=[])))
    for use in (glsl, lambda s: usse.run(s, varyings={"texcoord0": np.zeros((1, 4))})):
        with pytest.raises(NotModelled, match="input 0"):
            use(odd)


# --- stages and sizes -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("code", "says"), [
    ("    vdsx.f32 o0.x pa0.xyzw pa0.xyzw\n", "neighbour"),
    ("    vtst.sub.f32 lt p1.x pa0 c0.xxxx\n    kill !p1\n", "discarded"),
    ("    depthf pa0 pa0 pa0\n", "depth"),
])  # fmt: skip
def test_what_only_pixels_have_is_no_glsl_of_a_vertex_shader(code: str, says: str) -> None:
    with pytest.raises(NotModelled, match=f"{says}.* in a vertex program"):
        glsl(made(VERTEX + code))


def test_colours_and_parameters_of_more_than_four_components_have_no_glsl() -> None:
    shader = made(FRAGMENT + "    nop\n")
    wide = dataclasses.replace(shader.file.varyings, output_components=12)
    with pytest.raises(NotModelled, match="colour of 12 components"):
        glsl(isakit.load(write_gxp(dataclasses.replace(shader.file, varyings=wide, layout=[]))))
    long = [dataclasses.replace(shader.file.parameters[0], component_count=9), *shader.file.parameters[1:]]
    with pytest.raises(NotModelled, match="'mode', a vector of 9 components"):
        glsl(isakit.load(write_gxp(dataclasses.replace(shader.file, parameters=long, layout=[]))))


@needs_compiler
def test_one_coordinate_read_with_two_sizes_has_one_declaration() -> None:
    two, four = (AttributeDescriptor((n - 1) << 22 | 0xF, 0, (n - 1) << 4, 0) for n in (2, 4))
    shader = made(FRAGMENT + "    vmov.f32 r0.xy pa0.xyzw\n    vmul.f32 pa0.xyz pa2.xyzw r0.xyzw\n")
    varyings = dataclasses.replace(shader.file.varyings, inputs=(two, four))
    shader = isakit.load(write_gxp(dataclasses.replace(shader.file, varyings=varyings, layout=[])))
    assert glsl(shader).count("texcoord0;") == 1
    assert rejected([shader]) == {}


@needs_compiler
def test_the_place_of_a_pixel_has_as_many_components_as_are_read() -> None:
    text = FRAGMENT.replace("texcoord0 f32x4", "position f32x2") + "    vmul.f32 pa0.xy pa0.xyzw pa0.xyzw\n"
    shader = renamed(made(text), "position", "gl_FragCoord", "fog")
    assert "    vec2 position = gl_FragCoord.xy;" in glsl(shader).splitlines()
    assert rejected([shader]) == {}


def test_the_colour_there_before_and_the_number_of_an_instance_are_not_taken_for_zero() -> None:
    reads = made(FRAGMENT + "    vmul.f32 pa0.xyz o0.xyzw o0.xyzw\n")
    reads = isakit.load(write_gxp(dataclasses.replace(reads.file, flags=reads.file.flags | READS_COLOR)))
    with pytest.raises(NotModelled, match="colour that was in the target"):
        glsl(reads)
    vertex = made(VERTEX + "    or.u32 o0 pa9 #0x0\n").file
    varyings = VertexVaryings(outputs1=vertex.varyings.outputs1, outputs2=7, instance_pa=9)
    instanced = dataclasses.replace(vertex, flags=vertex.flags | HAS_INSTANCE, varyings=varyings)
    assert "uintBitsToFloat(uint(gl_InstanceID))" in glsl(isakit.load(write_gxp(instanced)))
    facing = made(FRAGMENT + "    or.u32 pa0 g16 #0x0\n")
    assert "uint(!gl_FrontFacing)" in glsl(facing)
