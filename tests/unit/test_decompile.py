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
