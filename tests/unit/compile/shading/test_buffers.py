"""Uniforms of numbered buffers lie in memory, as in the one public file that has such a buffer."""

from __future__ import annotations

import re

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.compile.shading.compiled import build_shader
from isakit.errors import CompileError
from isakit.formats import Shader

SEVERAL = """struct Light { float3 at; half power; };
uniform float s@0; uniform float4x4 m@0; uniform float unread@3; uniform half4 h@3; uniform float3 a[24]@3;
uniform int k@13; uniform Light light@2; uniform float4 t; sampler2D tex;
float4 main(float2 uv : TEXCOORD0) : COLOR {
  float4 got = tex2D(tex, uv * s) + mul(m, t) + h + a[k].xyzz * a[23].zyxx + a[k + 1].xyzx;
  return got + float4(light.at, light.power);
}"""


def made(text: str, named: bool = False) -> Shader:
    return isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4", named=named)


def test_tables_are_those_of_a_public_file() -> None:
    """`5819577f...` of the public files: its uniform, its buffer without a name, its address less 4."""
    text = "float4 main(uniform float4 color : BUFFER[0]) : COLOR { return color; }"
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    lines = [line for line in shader.directives() if line.startswith((".uniform", ".buffer", ".address", ".container"))]
    assert lines == [".uniform color f32x4 at 0 in 0", ".buffer $$ aggregate[16] at 0", ".address 0 sa0 -4"]
    file = shader.file
    assert [(c.index, c.base_sa_offset, c.size_in_words) for c in file.containers] == [(19, 0, 1)]
    assert (file.buffer_flags, file.buffer_sizes) == (2, (0, 0, 0, 1, 0, 0))
    assert any(i.mnemonic.startswith("ldr") for i in shader.secondary)
    assert not shader.complaints()


def test_values_are_those_of_the_default_buffer() -> None:
    results: list[np.ndarray] = []
    for to in (r" : BUFFER[\1]", ""):
        shader = made(re.sub(r"@(\d+)", to, SEVERAL), named=bool(to))
        assert not shader.complaints()
        given = np.random.default_rng(3)
        names = sorted(
            (p.name, p.array_size, p.component_count) for p in shader.parameters if p.name and not p.category - 1
        )
        uniforms = {name: given.random((array, n), np.float32) for name, array, n in names}
        uniforms["k"] = np.array(3)
        varyings = {"texcoord0": given.random((4, 2), np.float32)}
        got = usse.run(
            shader, varyings=varyings, uniforms=uniforms, textures={"tex": given.random((4, 4, 4), np.float32)}
        )
        results.append(got["color"])
    assert np.array_equal(results[0], results[1])


def test_places_do_not_depend_on_what_is_read() -> None:
    text = """uniform float a : BUFFER[5]; uniform float2 b : BUFFER[5]; uniform float3 c[70] : BUFFER[5];
    uniform float d : BUFFER[5]; float4 main() : COLOR { return d + c[69].z; }"""
    shader = made(text)
    assert [(p.name, p.resource_index) for p in shader.parameters] == [("c", 4), ("d", 284), ("", 5)]
    words = np.arange(285, dtype=np.float32)
    assert usse.run(shader, buffers={5: words}, count=1)["color"].tolist() == [[284 + 282] * 4]


@pytest.mark.parametrize("number", ["[14]", "[99]", ""])
def test_buffers_that_are_not_there(number: str) -> None:
    text = f"\n  float4 main(uniform float4 a : BUFFER{number}) : COLOR {{ return a; }}"
    with pytest.raises(CompileError, match=r"BUFFER\[0\] to BUFFER\[13\]") as e:
        build_shader(text, stage="fragment", language="cg")
    assert e.value.diagnostics[0].line == 2


def test_buffers_with_more_words_than_addresses_reach() -> None:
    text = "float4 main(uniform float4 a[4000] : BUFFER[1], uniform int k) : COLOR { return a[k]; }"
    with pytest.raises(CompileError, match="the uniforms take 16001 words"):
        made(text)
