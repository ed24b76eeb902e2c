"""Shaders that need many registers: another order of operations, results computed again, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.compile.shading.compiled import build_shader
from isakit.compile.usse import driver
from isakit.errors import CompileError
from support.generators.random_glsl import program, random_glsl_lines

TEXELS = """uniform sampler2D t;
float4 main(float2 a : TEXCOORD0) : COLOR {
    float4 p[36]; float4 r = 0;
    for (int i = 0; i < 36; i++) p[i] = tex2D(t, a * (i + 1));
    for (int i = 0; i < 36; i++) r += p[i] * p[35 - i];
    return r;
}
"""
MIXED = """uniform float4 u[4]; uniform int n; uniform sampler2D t;
float4 main(float2 a : TEXCOORD0, half3 b : TEXCOORD1_HALF, float4 c : COLOR) : COLOR {
    float4 p = c * u[n]; half3 k = b; float s = 1; bool4 found = p > u[1];
    for (int i = 0; i < n; i++) { p += tex2D(t, p.xy + a); s += p.x; if (s > 40) break; }
    float3 q = found.xyz ? p.xyz : p.zxy; float4 texel = tex2D(t, q.xy);
    if (q.x > 1) { s = dot(q, texel.xyz); k = k * 2 + texel.x; }
    if (s > 100) discard;
    return p * s + q.xyzz + k.xyzz + texel + found;
}
"""

CROWDED = [(23, "fragment", False, "f32x4"), (24, "fragment", False, "f16x4")]


def test_more_texels_than_registers() -> None:
    shader = isakit.compile_shader(TEXELS, stage="fragment", language="cg", target="f32x4")
    texture = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    at = np.array([[0.15, 0.65]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": at}, textures={"t": texture})
    few = isakit.compile_shader(TEXELS.replace("36", "1").replace("35", "0"), stage="fragment", language="cg",
                                target="f32x4")  # fmt: skip
    texels = [
        np.sqrt(isakit.usse.run(few, varyings={"texcoord0": at * (k + 1)}, textures={"t": texture})["color"][0])
        for k in range(36)
    ]
    want = sum(texels[k] * texels[35 - k] for k in range(36))
    np.testing.assert_allclose(got["color"][0], want, rtol=1e-5)


def test_other_orders_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    given = {
        "varyings": {"texcoord0": rng.random((32, 2), np.float32), "color0": rng.random((32, 4), np.float32),
                     "texcoord1": rng.random((32, 3), np.float32)},
        "uniforms": {"u": rng.random((4, 4), np.float32), "n": np.array([3])},
        "textures": {"t": rng.random((4, 4, 4), np.float32)},
    }  # fmt: skip
    plain = isakit.compile_shader(MIXED, stage="fragment", language="cg")
    once = driver._attempt

    def ordered(f: driver.Function, *more: object) -> driver.ProgramCode:
        for remedy in driver.REMEDIES:
            remedy(f)
        return once(f, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(driver, "_attempt", ordered)
    other = isakit.compile_shader(MIXED, stage="fragment", language="cg")
    assert [i.text for i in plain.primary] != [i.text for i in other.primary]
    a, b = (isakit.usse.run(shader, **given) for shader in (plain, other))
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[k], b[k]) for k in a)


def test_what_no_order_helps_is_refused_where_most_registers_are_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "REMEDIES", driver.REMEDIES[:1])  # the others help as little, and take their time
    text = """uniform float4x4 m; uniform int k;
    void main(float4 a : POSITION, out float4 o : POSITION) {
        float4 p[40]; p[0] = a; float4 r = a;
        for (int i = 1; i < 40; i++)
            p[i] = mul(m, p[i - 1]);
        for (int j = 0; j < k; j++)
            for (int i = 0; i < 40; i++) r += p[i] * r.x;
        o = r; }"""
    with pytest.raises(CompileError, match=r"needs too many registers: 1\d\d registers are live here; there are 124"):
        isakit.compile_shader(text, stage="vertex", language="cg", path="deep_v.cg")


def test_results_for_which_no_register_is_left_are_computed_where_they_are_needed() -> None:
    """The program that runs once has only the registers that uniforms and constants leave."""
    text = """uniform float4x4 m; uniform float4 v; uniform float4 more[16];
    float4 main(float4 c : COLOR) : COLOR {
        float4 p[14]; p[0] = v; float4 r = 1;
        for (int i = 1; i < 14; i++) p[i] = mul(m, p[i - 1]);
        for (int i = 0; i < 14; i++) r = r * p[i] + p[13 - i];
        for (int i = 0; i < 16; i++) r *= more[i] + c.x;
        return r * c; }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    m = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], np.float32)
    v = np.array([1, -1, 1, -1], np.float32)
    given = {"m": m, "v": v, "more": np.zeros((16, 4), np.float32)}
    got = isakit.usse.run(shader, varyings={"color0": np.array([[1, 2, 4, 8]], np.float32)}, uniforms=given)
    r = np.ones(4, np.float32)
    for i in range(14):
        r = r * np.roll(v, i) + np.roll(v, 13 - i)
    assert np.array_equal(got["color"][0], r * [1, 2, 4, 8])


@pytest.mark.parametrize("kind", ["float4", "float2", "float"])
def test_a_uniform_is_the_index_of_another(kind: str) -> None:
    """The instruction that makes an index reaches no uniforms."""
    text = (
        f"uniform {kind} u[5]; uniform int n; float4 main(float2 a : TEXCOORD0) : COLOR {{ return (u[n]).x + a.xyxy; }}"
    )
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    u = np.arange(5 * int(kind[5:] or 1), dtype=np.float32).reshape(5, -1)
    given = {"u": u, "n": np.array([3])}
    got = isakit.usse.run(shader, varyings={"texcoord0": np.array([[0, 1]], np.float32)}, uniforms=given)
    assert np.array_equal(got["color"][0], np.array([0, 1, 0, 1]) + u[3, 0])


@pytest.mark.parametrize("other", ["d = d + e", "d = d * d"])
def test_every_way_out_leads_to_one_end(other: str) -> None:
    """Both ways of a branch may be all there is before the end; a branch there needs an instruction to lead to."""
    text = f"""uniform half4 u; half4 main(half4 d : TEXCOORD0_HALF, half4 e : TEXCOORD1_HALF) : COLOR {{
      if (u.x > 0) d = d * e; else {other}; return d; }}"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg")
    count = len(shader.primary)
    branches = [(k, int(i.text.split()[-1])) for k, i in enumerate(shader.primary) if "br " in i.text]
    assert branches
    assert all(k + by < count for k, by in branches)
    d, e = np.full((1, 4), 0.5, np.float16), np.full((1, 4), 2, np.float16)
    for x, want in ((1, d * e), (-1, d + e if "+" in other else d * d)):
        uniforms = {"u": np.full(4, x, np.float16)}
        got = isakit.usse.run(shader, varyings={"texcoord0": d, "texcoord1": e}, uniforms=uniforms)
        assert np.array_equal(got["color"], want)


BLUR = """uniform sampler2D t; uniform float cut; static int steps = ceil(cut);
float4 near(float x, float y, float3 c, float4x3 m) {
    float4 d; for (int i = 0; i < 4; i++) d[i] = dot(m[i] - c, m[i]); return exp(-d * (x * x + y * y)); }
float4 main(float2 a : TEXCOORD0, float2 d : TEXCOORD1) : COLOR {
    float3 o = tex2D(t, a).rgb, sum = o; float n = 1;
    for (int x = 1; x <= steps; x++) {
        float4x3 A = float4x3(tex2D(t, a + float2(x, 0) * d).rgb, tex2D(t, a + float2(-x, 0) * d).rgb,
                              tex2D(t, a + float2(0, x) * d).rgb, tex2D(t, a + float2(0, -x) * d).rgb);
        float4 w = near(x, 0, o, A);
        sum += mul(w, A); n += dot(w, 1);
        for (int y = 1; y < x; y++) sum += tex2D(t, a + float2(x, y) * d).rgb;
    }
    return float4(sum / n, 1); }
"""


def test_a_constant_beside_a_scalar_that_may_lie_in_either_half() -> None:
    """`x0` is among the swizzles of a multiply-add, `y0` is not."""
    shader = isakit.compile_shader(BLUR, stage="fragment", language="cg", target="f32x4")
    at = np.array([[0.5, 0.5]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": at, "texcoord1": at / 8}, uniforms={"cut": np.float32(1.5)},
                          textures={"t": np.full((4, 4, 4), 0.5, np.float32)})  # fmt: skip
    np.testing.assert_allclose(got["color"][0], [5 / 9, 5 / 9, 5 / 9, 1], rtol=1e-6)


def test_what_cannot_fit_is_refused_before_anything_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    monkeypatch.setattr(driver, "recompute", lambda *given: tried.append(given))
    text = "float4 main(float4 v : COLOR) : COLOR { float4 z[120]; for (int q = 0; q < 120; q++) z[q] = v * q;"
    with pytest.raises(CompileError, match="the shader needs too many registers"):
        isakit.compile_shader(text + " return z[int(v.x)]; }", stage="fragment", language="cg")
    assert not tried


def test_the_file_is_the_same_wherever_objects_lie_in_memory() -> None:
    """Compile again and again while the heap grows: values of one price leave internal registers in one order."""
    kept: list[list[bytearray]] = []
    for seed, stage, near, target in CROWDED:
        text = program(random_glsl_lines(seed, stage), stage, near)
        made: set[bytes] = set()
        for k in range(5):
            kept.append([bytearray(37 * j % 200 + 1) for j in range(997 * k)])
            made.add(build_shader(text, stage=stage, language="glsl", target=target).data)
        assert len(made) == 1
