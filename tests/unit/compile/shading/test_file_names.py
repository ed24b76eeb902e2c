"""What parameters are called in the file, where the language cannot call them so."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.debug.compare_shaders import compare_shaders
from isakit.decompile import glsl

CG = """struct input { float2 texture_size; sampler2D texture; };
float4 main(float2 uv : TEXCOORD0, uniform input IN, uniform float4 gl_Tint) : COLOR
{ return tex2D(IN.texture, uv * IN.texture_size) * gl_Tint; }"""


def test_a_shader_keeps_its_names_from_file_to_glsl_and_back() -> None:
    """Programs look their parameters up by these names."""
    first = isakit.compile_shader(CG, stage="fragment", language="cg")
    text = glsl(first)
    assert "#pragma isakit name(IN_texture_size) IN.texture_size" in text.splitlines()
    second = isakit.compile_shader(text, stage="fragment", language="glsl")
    assert {p.name for p in second.parameters} == {"IN.texture_size", "IN.texture", "gl_Tint"}
    assert {p.name for p in first.parameters} == {p.name for p in second.parameters}
    assert compare_shaders(first, second, count=64)


@pytest.mark.parametrize(
    "pragma", ["#pragma isakit name(nothing) x", "#pragma isakit name(k", "#pragma isakit name(k)"]
)
def test_other_directives_change_nothing(pragma: str) -> None:
    text = f"""{pragma}
    precision highp float;
    uniform vec4 k; void main() {{ gl_FragColor = k; }}"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    got = isakit.usse.run(shader, count=1, uniforms={"k": np.array([1, 2, 3, 4], np.float32)})
    assert got["color"][0].tolist() == [1, 2, 3, 4]
