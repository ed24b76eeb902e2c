"""Shaders as expressions: conditions, folding of vectors, and what has no expression."""

from __future__ import annotations

import pytest

import isakit
from isakit.decompile import expressions, glsl
from isakit.decompile.names import identifier
from isakit.errors import NotModelled
from isakit.programs import write

HEAD = """
.gxp fragment
.uniform tint f32x4
.sampler tex f32x4 unit 0
.texture unit 0 sa4
.varying texcoord0 f32x4
.result f32x4
.program primary
"""


def sketch(*lines: str) -> str:
    data = write(isakit.isa("usse").assemble(HEAD + "".join(f"    {line}\n" for line in lines)), "gxp")
    return expressions(isakit.load(data))


def test_components_computed_alike_are_one_vector_operation() -> None:
    text = sketch(
        "vpck.f32.f32 i0.xyzw pa0.xyzw pa2",
        "vmad4.f32 i0.xyzw i0.xyzw sa0.xyzw i0.xyzw",
        "vpck.f32.f32 pa0.xy i0.xyzw i0",
        "vmov.f32 pa2.xy i0.zwzw",
    )
    assert text == "color = texcoord0 * tint + texcoord0;\n"


def test_a_predicated_write_is_a_choice() -> None:
    text = sketch("vtst.sub.f32 lt p0.x pa0 sa0.xxxx", "p0 vmov.f32 pa0.xy sa0.xyzw")
    assert "texcoord0.x < tint.x" in text
    assert "? tint.xy : texcoord0.xy" in text


def test_a_loop_without_an_end_has_no_expression() -> None:
    with pytest.raises(NotModelled, match=r"0000: an expression for a loop.*it has no end"):
        sketch("vmov.f32 pa0.xy sa0.xyzw", "br -1")


def test_names_of_files_become_identifiers() -> None:
    assert [identifier(n) for n in ("a.b[3]", "3d", "gl_Color", "out", "ok")] == [
        "a_b_3_",
        "u_3d",
        "u_gl_Color",
        "u_out",
        "ok",
    ]


def test_glsl_declares_what_it_uses() -> None:
    data = write(isakit.isa("usse").assemble(HEAD + "    vmov.f32 pa0.xy sa0.xyzw\n"), "gxp")
    lines = glsl(isakit.load(data)).splitlines()
    assert {"in vec4 texcoord0;", "uniform vec4 tint;", "out vec4 color_out;", "#version 420"} <= set(lines)


TRANSFORMED = """
.gxp vertex
.attribute p f32x4 pa0
.uniform wvp f32x4[4]
.outputs position fog
.program primary
    phas wait7 temps 0x0 addr 0x0
    vpck.f32.f32 i0.xyz pa0.xyzx pa2
    vdp4.f32 o0.x sa0.xyzw i0.xyz1 repeat 4
    vmov.f32 o4.x pa0.xxxx
    emit end
"""


def test_a_matrix_times_a_vector_is_dot_products() -> None:
    """Each with 1 where the machine has 1, and with no others beside them: they are computed in this order."""
    shader = isakit.load(write(isakit.isa("usse").assemble(TRANSFORMED), "gxp"))
    text = glsl(shader)
    assert "vec4 t0 = vec4(p.xyz, 1.0);" in text
    assert "gl_Position = vec4(dot(wvp[0], t0), dot(wvp[1], t0), dot(wvp[2], t0), dot(wvp[3], t0));" in text
    again = isakit.compile_shader(text, stage="vertex", language="glsl")
    assert [i.mnemonic for i in again.primary.instructions] == [i.mnemonic for i in shader.primary.instructions]


def test_results_that_are_not_written_are_left_out() -> None:
    shader = isakit.load(write(isakit.isa("usse").assemble(TRANSFORMED), "gxp"))
    text = glsl(shader)
    assert "out float v_fog;" in text
    again = isakit.compile_shader(text, stage="vertex", language="glsl")
    assert again.file.varyings.outputs1 == shader.file.varyings.outputs1
    assert again.file.varyings.outputs2 == shader.file.varyings.outputs2


def test_what_comes_as_f16_is_rounded_where_it_is_read() -> None:
    """Then products of it are products of f16 when they are compiled."""
    head = HEAD.replace("f32x4\n.result f32x4", "f16x4\n.result f16x4")
    code = head + "    vpck.f16.f32 r0.xyzw sa0.xyzw sa2\n    vmul.f16 pa0.xyzw pa0.xyzw r0.xyzw\n"
    shader = isakit.load(write(isakit.isa("usse").assemble(code), "gxp"))
    text = glsl(shader)
    assert "color_out = f16(f16(texcoord0) * f16(tint));" in text
    assert "f16(texcoord0)" not in expressions(shader)
    again = isakit.compile_shader(text, stage="fragment", language="glsl")
    assert [i.mnemonic for i in again.primary.instructions] == ["phas", "vmul.f16"]


def test_components_of_different_depth_share_what_is_common() -> None:
    head = HEAD.replace("f32x4\n.result f32x4", "f16x4\n.result f16x4")
    code = head + "    vmul.f16 pa0.xyzw pa0.xyzw sa0.xyzw\n    vmul.f16 pa0.xyz pa0.xyzw sa2.xxxx\n"
    body = glsl(isakit.load(write(isakit.isa("usse").assemble(code), "gxp"))).partition("main() {")[2]
    assert body.count(" * ") == 2, body


COSTLY = "c = sin(c * a.zwxy) + cos(c.yzwx * n) + exp2(c * 0.25) * c.wzyx + sqrt(abs(c)) + fract(c * 7.0);"
TWICE = {
    "a finite number beside a uniform": "c = 1.0 - n == 0.0 ? a.wzyx : a * 2.0;",
    "a discard first": "if (a.x > n) discard; if (n != 1.0) { COSTLY } else { c = 1.0 / c.yxzw + exp2(c * n); }",
    "bytes": "uint u = floatBitsToUint(a.x); c = vec4(uvec4(u, u >> 8u, u >> 16u, u >> 24u) & 0xffu) / 255.0;",
}


@pytest.mark.parametrize("statements", TWICE.values(), ids=TWICE.keys())
def test_texts_of_compiled_shaders_compile_to_the_same_words(statements: str) -> None:
    head = "#version 420\nin vec4 texcoord0; uniform float n; out vec4 color_out;\n"
    head += "void main() { vec4 a = texcoord0, c = a;"
    text = f"{head} {statements.replace('COSTLY', COSTLY)} color_out = c; }}"
    words: list[list[int]] = []
    for _ in range(3):
        shader = isakit.compile_shader(text, stage="fragment", language="glsl")
        words.append([*shader.primary.words, *shader.secondary.words])
        text = glsl(shader)
    assert words[1] == words[2]
    assert "!= 1.0" not in text
    assert "- n ==" not in text


def test_masks_that_change_nothing_are_left_out() -> None:
    text = sketch(
        "shr.u32 pa0 pa0 #0x18", "and.u32 pa1 pa1 #0xff", "vpck.f32.u16 i0.xy pa0.xzxx", "vmov.f32 pa0.xy i0.xyxy"
    )
    assert text.count("&") == 1, text
