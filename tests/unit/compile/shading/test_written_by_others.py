"""Ways to write Cg that public shaders have: each is compiled and run."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.compile.shading.compiled import build_shader
from isakit.errors import CompileError

RNG = np.random.default_rng(36)


def fragment(text: str, uniforms: dict[str, Any] | None = None, **more: Any) -> np.ndarray:
    """Return the colour of one pixel whose first texture coordinate is (0.25, 0.75)."""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    varyings = {f"texcoord{k}": np.array([[0.25, 0.75, 0.5, 1]], np.float32) for k in range(2)}
    got = isakit.usse.run(shader, count=1, varyings=varyings, uniforms=uniforms or {}, **more)
    return np.asarray(got["color"][0])


def test_a_structure_of_uniforms_holds_a_sampler() -> None:
    text = """struct input { float2 size; sampler2D texture; };
    float4 read(input i, float2 at) { return tex2D(i.texture, at / i.size); }
    float4 main(float2 at : TEXCOORD0, uniform input IN) : COLOR { return read(IN, at) * IN.size.x; }"""
    texture = np.full((1, 1, 4), 0.5, np.float32)
    got = fragment(text, {"IN.size": np.array([2, 2], np.float32)}, textures={"IN.texture": texture})
    assert np.array_equal(got, [1, 1, 1, 1])


def test_fields_of_an_input_can_be_uniforms() -> None:
    text = """struct prev { uniform float2 size; uniform sampler2D texture; float2 at : TEXCOORD1; };
    float4 main(prev p) : COLOR { return tex2D(p.texture, p.at) + float4(p.size, p.at); }"""
    texture = np.full((1, 1, 4), 0.5, np.float32)
    got = fragment(text, {"p.size": np.array([3, 4], np.float32)}, textures={"p.texture": texture})
    assert np.array_equal(got, [3.5, 4.5, 0.75, 1.25])


def test_samplers_in_arrays_of_structures_have_units_of_their_own() -> None:
    text = """struct pass { float k; sampler2D t; };
    float4 main(float2 at : TEXCOORD0, uniform pass p[2]) : COLOR { return tex2D(p[0].t, at) - tex2D(p[1].t, at); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    units = {p.name: p.resource_index for p in shader.parameters if p.name.endswith(".t")}
    assert units == {"p[0].t": 0, "p[1].t": 1}


def test_values_between_the_programs_without_a_semantic_get_the_free_ones() -> None:
    text = """struct V { float4 position : POSITION; float2 a; float2 b : TEXCOORD0; float3 c; };
    V main(float4 p, float2 t) { V v; v.position = p; v.a = t; v.b = t * 2; v.c = t.xyx * 3; return v; }"""
    made = build_shader(text, stage="vertex", language="cg")
    said = [re.sub(r"`main\.|`", "", d.message) for d in made.warnings]
    assert said == ["a has no semantic: it becomes TEXCOORD1", "c has no semantic: it becomes TEXCOORD2"]
    at = np.array([[0.5, 0.25]], np.float32)
    got = isakit.usse.run(made.shader, attributes={"p": np.zeros((1, 4), np.float32), "t": at})
    assert np.array_equal(got["texcoord1"][0], [0.5, 0.25])
    assert np.array_equal(got["texcoord2"][0], [1.5, 0.75, 1.5])


def test_a_number_fills_a_structure() -> None:
    text = """struct S { float4 a; float b[2]; };
    float4 main() : COLOR { S s = (S)0; s.b[1] += 1; return s.a + float4(s.b[0], s.b[1], 0, 0); }"""
    assert np.array_equal(fragment(text), [0, 1, 0, 0])


def test_only_a_constant_fills_a_structure() -> None:
    text = "struct S { float4 a; };\nfloat4 main(float t : TEXCOORD0) : COLOR { S s = (S)(t++); return s.a; }"
    with pytest.raises(CompileError, match="only a constant becomes a whole S"):
        fragment(text)


def test_a_variable_may_be_called_as_a_structure_is() -> None:
    text = """struct input { float2 size; };
    float4 main(float2 t : TEXCOORD0) : COLOR { float3 input = t.xyx; input += 1; return float4(input, 1); }"""
    assert np.array_equal(fragment(text), [1.25, 1.75, 1.25, 1])


def test_and_of_vectors_computes_both_sides() -> None:
    text = """bool2 above(float2 a) { return a > 0.5; }
    float4 main(float2 t : TEXCOORD0) : COLOR { bool2 b = bool2(true, true) && above(t); return float4(b, t); }"""
    assert np.array_equal(fragment(text), [0, 1, 0.25, 0.75])


def test_a_matrix_of_one_row_is_a_vector() -> None:
    text = """float4 main(float2 t : TEXCOORD0) : COLOR {
      float3 c = mul(float1x2(t), float2x3(1, 2, 3, 4, 5, 6)); return float4(c, 1); }"""
    assert np.array_equal(fragment(text), [3.25, 4.25, 5.25, 1])


@pytest.mark.parametrize("call", ["tex1D(s, t.x)", "tex3D(s, t.xyx)", "tex2D(s, t, 1)"])
def test_textures_that_there_are_not_are_refused_where_they_are_read(call: str) -> None:
    kind = {"tex1D": "sampler1D", "tex3D": "sampler3D"}.get(call[:5], "sampler2D")
    text = f"""float4 read({kind} s, float2 t) {{ return {call}; }}
    float4 main(float2 t : TEXCOORD0, uniform {kind} s) : COLOR {{ return RESULT; }}"""
    assert np.array_equal(fragment(text.replace("RESULT", "t.xyxy")), [0.25, 0.75, 0.25, 0.75])
    with pytest.raises(CompileError, match=r"(1D textures|3D textures|offsets in texels) are not supported"):
        fragment(text.replace("RESULT", "read(s, t)"))


def test_discard_in_a_function_that_a_vertex_program_does_not_call() -> None:
    text = "void f() { discard; }\nfloat4 main(float4 p) : POSITION { CALL return p; }"
    isakit.compile_shader(text.replace("CALL", ""), stage="vertex", language="cg")
    with pytest.raises(CompileError, match="only a fragment program has a pixel to discard"):
        isakit.compile_shader(text.replace("CALL", "f();"), stage="vertex", language="cg")


def test_constants_beyond_the_registers_are_loaded_by_instructions() -> None:
    numbers = [float(f"{k}.{k * 37 % 100:02d}") for k in range(3, 140)]
    steps = "".join(f"s = s * t.x + {n};" for n in numbers)
    text = f"float4 main(float2 t : TEXCOORD0) : COLOR {{ float s = 0; {steps} return float4(s, t, 1); }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    assert any(i.mnemonic == "limm.u32" for i in shader.primary)
    want = np.float32(0)
    for n in numbers:
        want = np.float32(want * np.float32(0.25) + np.float32(n))
    assert abs(fragment(text)[0] - want) < 1e-3


def test_many_wide_values_at_once() -> None:
    """Sums of four channels want internal registers, of which there are three."""
    names = [f"a{k}" for k in range(14)]
    lines = [f"float4 {n} = tex2D(s, t * {k + 1}) * v + t.xyxy;" for k, n in enumerate(names)]
    lines += [
        f"{n} = {n} * {m}.wzyx + {names[(k + 3) % 14]};"
        for k, (n, m) in enumerate(zip(names, names[::-1], strict=True))
    ]
    text = f"""float4 main(float2 t : TEXCOORD0, float4 v : TEXCOORD1, uniform sampler2D s) : COLOR {{
      {" ".join(lines)} return {" + ".join(names)}; }}"""
    texel = np.array([0.5, 0.25, 0.125, 1], np.float32)
    got = fragment(text, textures={"s": texel.reshape(1, 1, 4)})
    t, v = np.array([0.25, 0.75] * 2), np.array([0.25, 0.75, 0.5, 1])
    a = [texel * v + t for _ in names]
    for k in range(14):
        a[k] = a[k] * a[13 - k][::-1] + a[(k + 3) % 14]
    assert np.allclose(got, np.sum(a, axis=0), rtol=1e-5)


def test_what_direct3d_9_writes_beside_names() -> None:
    """The register of a sampler is its unit; a structure that both programs share has the place of the pixel."""
    text = """struct V { float4 place : SV_POSITION; float2 at : TEXCOORD0; };
    sampler2D a : register(s3); sampler2D b : register(s0); float4 tint : register(c2);
    min16float4 main(V v) : SV_Target { return tex2D(a, v.at) * tint - tex2D(b, v.at) + v.place; }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    assert {p.name: p.resource_index for p in shader.parameters if p.name in "ab"} == {"a": 3, "b": 0}
    assert [i.bits.source for i in shader.file.varyings.inputs if i.bits.source == 13]  # type: ignore[union-attr]


def test_functions_and_types_of_glsl_in_cg() -> None:
    text = """float4 main(float2 at : TEXCOORD0) : COLOR {
        vec2 f = fract(at * 3); float s, c, whole; sincos(0, s, c);
        return float4(mix(f.s, f.t, 0.5), mod(-at.x, 1), modf(at.y * 3, whole), whole + s + c); }"""
    made = build_shader(text, stage="fragment", language="cg", target="f32x4")
    said = [d.message for d in made.warnings]
    assert [re.sub(" is .*", "", m) for m in said] == ["`fract`", "`mix`", "`mod`"]
    at = np.array([[0.25, 0.75]], np.float32)
    got = isakit.usse.run(made.shader, varyings={"texcoord0": at}, count=1)
    assert np.allclose(got["color"][0], [0.5, 0.75, 0.25, 3], atol=1e-6)


def test_a_sampler_has_another_name_in_a_function() -> None:
    text = """uniform sampler2D many[2]; uniform sampler1D line;
    float4 unused(int4 i) { return tex1Dfetch(line, i); }
    float4 main(float2 at : TEXCOORD0) : COLOR { const sampler2D one = many[1]; return tex2D(one, at.yx); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    textures = {"many": [np.full((1, 1, 4), k, np.float32) for k in (1, 2)]}
    got = isakit.usse.run(shader, varyings={"texcoord0": np.zeros((1, 2), np.float32)}, textures=textures)
    assert np.array_equal(got["color"][0], [2, 2, 2, 2])
    with pytest.raises(CompileError, match="1D textures are not supported"):
        isakit.compile_shader(text.replace("return tex2D(one, at.yx)", "return unused(1)"), stage="fragment")


@pytest.mark.parametrize("name", ["Texture2D", "SamplerState", "cbuffer"])
def test_hlsl_of_direct3d_10_is_sent_to_spir_v(name: str) -> None:
    with pytest.raises(CompileError) as e:
        isakit.compile_shader(f"{name} x; float4 main() : COLOR {{ return 1; }}", stage="fragment", language="cg")
    assert "SPIR-V" in e.value.diagnostics[0].notes[0]


SAMPLERS = """sampler2D now; static sampler2D later;
struct look { sampler2D t; float k; };
look made(sampler2D t, float k) { look s; s.t = t; s.k = k; return s; }
void both(out look x, inout look y) { x = y; x.k = 10; y.t = later; }
float4 of(look s, float2 at) { return tex2D(s.t, at) * s.k; }
float4 outside(float2 at) { return tex2D(now, at) + tex2D(later, at) * 2; }
float4 main(float2 at : TEXCOORD0, uniform sampler2D a, uniform sampler2D b, uniform sampler2D many[3],
            uniform float n) : COLOR {
  now = a; later = b;
  look s = { b, 2 }, first, second = made(a, 3);
  both(first, second);
  sampler2D p;
  float4 sum = of(s, at) + outside(at) + of(first, at) + of(second, at);
  for (int k = 0; k < 3; k++) { p = many[k]; sum += tex2D(p, at); }
  for (int j = 0; j < n; j++) sum += tex2D(now, at * j) + tex2D(many[1], at);
  if (n > 1) now = b; else now = b;
  return sum + tex2D(now, at);
}"""


def test_samplers_are_handed_on() -> None:
    """By globals, fields, results, parameters that are stored to, in loops and branches that agree."""
    number = {"a": 1, "b": 100, "many": [3, 5, 7]}
    textures = {n: [np.full((1, 1, 4), x, np.float32) for x in v] if isinstance(v, list) else
                np.full((1, 1, 4), v, np.float32) for n, v in number.items()}  # fmt: skip
    got = fragment(SAMPLERS, {"n": np.float32(2)}, textures=textures)
    outside, first, second = 1 + 2 * 100, 10 * 1, 3 * 100
    assert got[0] == 2 * 100 + outside + first + second + (3 + 5 + 7) + 2 * (1 + 5) + 100


@pytest.mark.parametrize(
    "change",
    [("else now = b", "else now = a"), ("p = many[k]; ", ""), ("later = b;", ""), ("many[1], at)", "many[j], at)")],
)
def test_samplers_that_are_not_known_are_refused(change: tuple[str, str]) -> None:
    with pytest.raises(CompileError, match="which sampler this is must be known when the program is compiled"):
        isakit.compile_shader(SAMPLERS.replace(*change), stage="fragment", language="cg")


def test_what_a_texture_function_gives_is_named() -> None:
    text = """float4 main(float2 at : TEXCOORD0, uniform sampler2D s) : COLOR {
      float4 a = float4(at, tex2D<float>(s, at), f1tex2Dproj(s, float3(at, 1)));
      half4 b = half4(h2tex2D(s, at), 0, tex2D<half4>(s, at).w);
      return a + b; }"""
    texture = np.full((1, 1, 4), [1, 2, 3, 0.1], np.float32)
    got = fragment(text, textures={"s": texture})
    assert np.array_equal(got, np.array([0.25 + 1, 0.75 + 2, 1, 1 + float(np.float16(0.1))], np.float32))


TWO = """struct between { float4 position : POSITION; float2 at : TEXCOORD0; };
between main_vertex(float4 p : POSITION, float2 at : TEXCOORD0) { between o; o.position = p; o.at = at; return o; }
float4 main_fragment(between b, uniform sampler2D s) : COLOR { return tex2D(s, b.at); }"""


def test_one_text_of_both_programs_needs_a_stage_and_no_entry() -> None:
    for stage in ("vertex", "fragment"):
        made = build_shader(TWO, stage=stage, language="cg")
        assert [d.message for d in made.warnings] == [f"there is no `main`: `main_{stage}` is the program"]
        named = build_shader(TWO, stage=stage, language="cg", entry=f"main_{stage}")
        assert (named.data, named.warnings) == (made.data, [])
    with pytest.raises(CompileError, match="does not say whether it is a vertex or a fragment program"):
        build_shader(TWO, language="cg")
    with pytest.raises(CompileError) as e:
        build_shader(TWO, stage="fragment", language="cg", entry="start")
    assert e.value.diagnostics[0].notes == ("there are `main_vertex`, `main_fragment`",)


@pytest.mark.parametrize("name", ["textureSize(s, 0)", "textureQueryLevels(s)"])
def test_what_no_program_can_ask_is_said(name: str) -> None:
    text = f"uniform sampler2D s; void main() {{ gl_FragColor = vec4({name}); }}"
    with pytest.raises(CompileError, match="a program cannot ask this of a texture: give it as a uniform"):
        isakit.compile_shader(text, stage="fragment", language="glsl")


@pytest.mark.parametrize(
    "body",
    [
        "if (c.a > 0.5) return c; else discard;",
        "if (c.a > 0.5) return c; discard;",
        "if (c.a <= 0.5) { discard; } else { c += c; } return c / 2;",
    ],
)
def test_what_is_left_after_a_test_of_alpha_needs_no_branch(body: str) -> None:
    text = f"float4 main(float4 v : TEXCOORD0) : COLOR {{ float4 c = v * 2; {body} }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    assert not any(" br " in f" {i.text} " for i in shader.primary)
    v = np.array([[1, 2, 3, 0.2], [1, 2, 3, 0.4]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": v})
    assert list(got["discard"]) == [True, False]
    assert np.array_equal(got["color"][1], v[1] * 2)


@pytest.mark.parametrize(
    ("sampler", "call", "said"),
    [
        ("sampler3D", "texture(s, v)", "3D textures are not supported"),
        ("sampler2DShadow", "vec4(texture(s, v))", "depth comparisons are not supported"),
    ],
)
def test_textures_that_are_not_there_are_refused_by_their_kind(sampler: str, call: str, said: str) -> None:
    declared = f"uniform mediump {sampler} s; in mediump vec3 v; out mediump vec4 c;"
    text = f"#version 300 es\n{declared} void main() {{ c = {call}; }}"
    with pytest.raises(CompileError, match=said):
        isakit.compile_shader(text, stage="fragment", language="glsl")
