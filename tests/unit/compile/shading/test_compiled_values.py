"""Shaders from text to pixels: what the simulator computes against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.debug.compare_shaders import compare_shaders

ODD = """
uniform float4 u;
float4 main(half2 a : TEXCOORD0_HALF, float4 c : COLOR) : COLOR {
    float4 r = c;
    if (u.x > 0) { r = r * a.x; float s = sqrt(u.y); if (s > 2) r += s; }
    return r + c;
}
"""


@pytest.mark.parametrize("u", [(-1, 0), (1, 1), (1, 9)])
def test_a_colour_that_begins_at_an_odd_register_is_read_two_channels_at_a_time(u: tuple[float, float]) -> None:
    """A copy of it into an internal register once read that register, which nothing had written."""
    rng = np.random.default_rng(1)
    c, a = rng.random((64, 4), np.float32), rng.random((64, 1), np.float32).astype(np.float16)
    shader = isakit.compile_shader(ODD, stage="fragment", language="cg")
    uniforms = {"u": np.array([*u, 0, 0], np.float32)}
    (got,) = isakit.usse.run(shader, varyings={"color0": c, "texcoord0": a}, uniforms=uniforms).values()
    r = c
    if u[0] > 0:
        r = r * a.astype(np.float32)
        r = r + np.float32(u[1] ** 0.5) if u[1] > 4 else r
    np.testing.assert_allclose(np.asarray(got, np.float32), r + c, rtol=1e-3)


def test_the_end_of_a_program_is_its_last_block() -> None:
    """A loop in one way of a branch may be laid out behind what follows the branch."""
    text = """uniform float4 u[5]; uniform int n;
    float4 main(float2 a : TEXCOORD0, float4 c : COLOR) : COLOR { float4 p = c; int j = 1;
      if (n <= 7) p.xy = a;
      else { p.x = u[3].x * a.x; for (int z = 0; z < n; z++) { if (u[0].x == u[1].y) continue; p *= 0.5; j = j ^ z; } }
      return p + j; }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    given = {"u": np.arange(20, dtype=np.float32).reshape(5, 4)}
    varyings = {"texcoord0": np.full((1, 2), 3, np.float32), "color0": np.ones((1, 4), np.float32)}
    for n, want in ((3, [4, 4, 2, 2]), (9, [1 + 36 / 512, 1 + 1 / 512, 1 + 1 / 512, 1 + 1 / 512])):
        got = isakit.usse.run(shader, varyings=varyings, uniforms={**given, "n": np.array([n])}, max_instructions=500)
        j = 1
        for z in range(n if n > 7 else 0):
            j ^= z
        assert np.array_equal(got["color"][0], np.array(want) - 1 + j)


@pytest.mark.parametrize(
    ("statements", "want"),
    [
        ("int z = 0; while (z++ < 3) { if (c.x > 5) continue; s += 1; } s += z * 10;", 43),
        ("int z = 5; for (; z-- > 0;) s += z;", 10),
        ("int z = 0; do s += 1; while (++z < n); s += z * 10;", 33),
        ("int z = 5, y = 0; while ((y += 2) < 9 && z-- > 0) s += z; s += y * 100;", 1010),
    ],
)
def test_a_condition_that_counts_is_computed_in_every_turn(statements: str, want: float) -> None:
    """What a condition assigned to was taken for the constant it had before the loop: the loop had no end."""
    text = f"uniform int n; float4 main(float4 c : COLOR) : COLOR {{ float s = 0; {statements} return s + n * 0; }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    uniforms = {"n": np.array([3])} if shader.parameters else {}
    got = isakit.usse.run(shader, varyings={"color0": np.ones((1, 4), np.float32)}, uniforms=uniforms, count=1,
                          max_instructions=2000)  # fmt: skip
    assert got["color"][0, 0] == want


def test_products_of_integers_that_are_known_to_be_short() -> None:
    text = """#version 300 es
    precision highp float; uniform int n; uniform uint u; out vec4 c;
    void main() { c = vec4(float((n & 31) * (n & 7)), float((u & 0xfffffu) * (u & 0x3ffu) & 0xffffu),
                           float((n & 0xffff) * 3), float((n >> 28) * (n >> 30))); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    for n in (13, -7, 70000, -(1 << 31)):
        u = n * 77777 & 0xFFFF_FFFF
        got = isakit.usse.run(shader, count=1, uniforms={"n": np.array([n]), "u": np.array([u], np.uint32)})
        want = [(n & 31) * (n & 7), (u & 0xFFFFF) * (u & 0x3FF) & 0xFFFF, (n & 0xFFFF) * 3, (n >> 28) * (n >> 30)]
        assert got["color"][0].tolist() == want


@pytest.mark.parametrize("seed", range(12))
def test_half_vectors_of_elements_that_others_share(seed: int) -> None:
    """One of two halves of a register that was written second once took the whole register."""
    rng = np.random.default_rng(seed)
    scalars = {"t.x": 0, "t.y": 1, "t.x * 2": 2, "t.y * 3": 3, "t.x + t.y": 4, "5": 5, "-t.x": 6, "abs(t.y)": 7}
    made: dict[str, list[str]] = {}
    for k in range(4):
        size = int(rng.integers(1, 5))
        made[f"o{k}"] = [str(e) for e in rng.choice(list(scalars), size)]
    outputs = ", ".join(f"out half{len(e)} o{k} : TEXCOORD{k}" for k, e in enumerate(made.values()))
    body = " ".join(f"{name} = half{len(e)}({', '.join(e)});" for name, e in made.items())
    text = f"void main(float2 t, out float4 p : POSITION, {outputs}) {{ p = t.xyxy; {body} }}"
    shader = isakit.compile_shader(text, stage="vertex", language="cg")
    t = np.arange(-3, 5, dtype=np.float32).reshape(4, 2)
    x, y = t.T
    values = [x, y, x * 2, y * 3, x + y, np.full(4, 5), -x, abs(y)]
    got = isakit.usse.run(shader, attributes={"t": t})
    for k, elements in enumerate(made.values()):
        want = np.stack([values[scalars[e]] for e in elements], axis=1)
        assert np.array_equal(got[f"texcoord{k}"][:, : len(elements)], want), (k, body)


def test_an_element_by_a_variable_index_is_one_channel_of_a_vector() -> None:
    """It went to the first channel of an internal register, whichever it belonged to."""
    text = """#version 310 es
    precision highp float;
    in vec4 c; out vec4 o; uniform float ks[3]; uniform int n;
    void main() { int j = n; switch (n) { case 2: j = 5; case 1: j ^= 3; }
      o = abs(vec4(c.x, c.y, ks[(j & 1) + 1], c.w)); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    c = np.array([[1, -2, 3, -4]], np.float32)
    for n, want in ((0, 5), (1, 5), (2, 5), (3, 6)):
        uniforms = {"ks": np.array([[3], [-5], [6]], np.float32), "n": np.array([n])}
        got = isakit.usse.run(shader, varyings={"texcoord0": c}, uniforms=uniforms)
        assert got["color"][0].tolist() == [1, 2, want, 4]


def test_the_larger_and_the_smaller_of_unsigned_numbers() -> None:
    text = """#version 300 es
    precision highp float;
    uniform uint a; uniform uint b; out vec4 o;
    void main() { o = vec4(max(a, b) >> 16, min(a, b) >> 16, max(b, 2u) & 255u, clamp(a, 1u, 7u)); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    for a, b in ((5, 0x9000_0001), (0x8000_0000, 3), (0, 0)):
        got = isakit.usse.run(shader, count=1, uniforms={"a": np.array([a], np.uint32), "b": np.array([b], np.uint32)})
        want = [max(a, b) >> 16, min(a, b) >> 16, max(b, 2) & 255, min(max(a, 1), 7)]
        assert got["color"][0].tolist() == want


@pytest.mark.parametrize(
    ("name", "count", "least", "parts"),
    [("Snorm2x16", 2, -1, 32767), ("Unorm2x16", 2, 0, 65535), ("Snorm4x8", 4, -1, 127), ("Unorm4x8", 4, 0, 255)],
)
def test_fractions_are_packed_into_an_integer(name: str, count: int, least: int, parts: int) -> None:
    vector, zeros = f"vec{count}", ", 0.0, 0.0" if count == 2 else ""
    text = f"""#version 300 es
    precision highp float;
    in vec4 c; out vec4 o; uniform uint u;
    void main() {{ {vector} x = unpack{name}(pack{name}({vector}(c)) ^ u); o = vec4(x{zeros}); }}"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    c = np.array([[0.4, -0.7, 2, -3], [-1, 0.999, -0.001, 0.45]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": c}, uniforms={"u": np.array([0], np.uint32)})
    want = np.round(np.clip(c[:, :count], least, 1).astype(np.float64) * parts) / parts
    assert got["color"][:, :count] == pytest.approx(want, abs=1e-6)


def test_short_sides_of_a_branch_are_executed_under_a_predicate() -> None:
    text = """precision highp float;
    varying vec4 c; uniform float k;
    void main() { vec4 x = c; if (c.x > 0.5) x = c.wzyx; float y = 1.0; if (c.y > k) y = k * c.x; else y -= c.z;
      gl_FragColor = x * y; }"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    assert not [i for i in shader.primary if i.mnemonic == "br"]
    assert "per_instance" not in "".join(shader.directives())
    c = np.array([[1, 0, 3, 4], [0, 0, 3, 4], [1, 2, 3, 4], [0, 2, 3, 4]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": c}, uniforms={"k": np.array([0.5], np.float32)})
    x = np.where(c[:, :1] > 0.5, c[:, ::-1], c)
    y = np.where(c[:, 1] > 0.5, 0.5 * c[:, 0], 1 - c[:, 2])
    assert np.array_equal(got["color"], x * y[:, None])


@pytest.mark.parametrize("inside", ["x = texture2D(t, x.xy);", "x += dFdx(c);", "x = x * 2.0 + sin(x) - cos(x) * c;"])
def test_other_branches_stay(inside: str) -> None:
    """A texel is waited for, a derivative reads other pixels, and many instructions cost more than a branch."""
    text = f"""precision highp float;
    varying vec4 c; uniform sampler2D t;
    void main() {{ vec4 x = c; if (c.x > 0.5) {{ {inside} }} gl_FragColor = x; }}"""
    shader = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    assert [i for i in shader.primary if i.mnemonic == "br"]


HALVES = """
#version 420
in vec4 color0;
in vec2 texcoord0;
in float fog;
uniform vec4 tint;
uniform sampler2D tex;
out vec4 color_out;
float f16(float x) { return unpackHalf2x16(packHalf2x16(vec2(x, 0.0))).x; }
vec3 f16(vec3 x) { return vec3(f16(x.x), f16(x.y), f16(x.z)); }
vec4 f16(vec4 x) { return vec4(f16(x.x), f16(x.y), f16(x.z), f16(x.w)); }
void main() { color_out = %s; }
"""
"""A shader that rounds to halves itself."""


@pytest.mark.parametrize(
    ("result", "primary"),
    [
        ("f16(f16(texture(tex, texcoord0)) * f16(color0))", ["vmul.f16"]),
        ("f16(f16(min(f16(color0), f16(tint))) + 1.5)", ["vmin.f16", "vadd.f16"]),
        ("vec4(f16(f16(color0.xyz) * f16(fog)), f16(color0.w))", ["vmul.f16", "vmul.f16", "vmov.f32"]),
        ("f16(vec4(dot(f16(color0), f16(tint))))", ["vdp.f16", "vmov.f16"]),
        ("f16(f16(color0) * tint)", ["vpck.f32.f16", "vmul.f32", "vpck.f16.f32"]),  # tint is none
        ("f16(f16(color0) + 0.1)", ["vpck.f32.f16", "vadd.f32", "vpck.f16.f32"]),  # nor is 0.1
        ("f16(tint)", ["vpck.f16.f32"]),
    ],
)
def test_arithmetic_of_halves(result: str, primary: list[str]) -> None:
    """What is rounded after each operation is done on halves, with the results that f32 and a rounding give."""
    text = HALVES % result
    fast = isakit.compile_shader(text, stage="fragment", language="glsl")
    plain = isakit.compile_shader(text, stage="fragment", language="glsl", target="f32x4")
    same = compare_shaders(fast, plain, count=64)
    assert same, same.differences
    assert [i.mnemonic for i in fast.primary.instructions][1:] == primary


def test_multiply_add_under_a_predicate() -> None:
    """The form with pairs of registers knows predicate p0 only."""
    text = """float4 main(float4 c : TEXCOORD0, float4 d : TEXCOORD1, uniform float4 u, uniform float4 v) : COLOR {
        float2 r = c.xy;
        if (c.z > d.w) r = r * u.xy + v.xy; else r = r * v.zw + u.zw;
        return float4(r, c.zw); }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    assert [i.mnemonic for i in shader.primary.instructions].count("vmad2.f32") == 2
    assert not any(i.mnemonic.startswith("br") for i in shader.primary.instructions)
    rng = np.random.default_rng(2)
    c, d = rng.random((64, 4), np.float32), rng.random((64, 4), np.float32)
    u, v = rng.random(4, np.float32), rng.random(4, np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": c, "texcoord1": d}, uniforms={"u": u, "v": v})["color"]
    want = np.where((c[:, 2] > d[:, 3])[:, None], c[:, :2] * u[:2] + v[:2], c[:, :2] * v[2:] + u[2:])
    np.testing.assert_allclose(got, np.hstack([want, c[:, 2:]]), rtol=1e-6)


def test_a_copy_of_some_elements_does_not_take_the_places_of_the_others() -> None:
    """Two registers were copied to one before theirs, though the first of them was read later."""
    text = """float4 main(float4 g : TEXCOORD0, float4 a : TEXCOORD1) : COLOR {
        float3 q = g.xyz;
        for (int z = 0; z < 3; z++) { if (q.x > a.x) continue; q.xz = trunc(q.yz); }
        return q.xyzz; }"""
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    g, a = np.array([[-2.75, -2.5, 1, 0]], np.float32), np.array([[-0.5, 0, 0, 0]], np.float32)
    got = isakit.usse.run(shader, varyings={"texcoord0": g, "texcoord1": a})["color"]
    assert np.array_equal(got, [[-2, -2.5, 1, 1]])


@pytest.mark.parametrize("result", ["a.wzyx", "a.xxyy", "float4(0, 0, a.xx)", "-a.yxwz", "a", "float4(b.xy, a.xy)"])
def test_a_colour_made_of_an_input_in_its_place(result: str) -> None:
    """Both lie in the first registers: half of the colour was written before the other half was read."""
    text = f"float4 main(float4 a : TEXCOORD0, float4 b : TEXCOORD1) : COLOR {{ return {result}; }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    given = {"texcoord0": np.array([[1, 2, 3, 4]], np.float32), "texcoord1": np.array([[5, 6, 7, 8]], np.float32)}
    read = {n: v for n, v in given.items() if f".varying {n} " in shader.listing()}
    got = isakit.usse.run(shader, varyings=read)["color"][0]
    want = {"a.wzyx": [4, 3, 2, 1], "a.xxyy": [1, 1, 2, 2], "float4(0, 0, a.xx)": [0, 0, 1, 1], "a": [1, 2, 3, 4],
            "-a.yxwz": [-2, -1, -4, -3], "float4(b.xy, a.xy)": [5, 6, 1, 2]}  # fmt: skip
    assert np.array_equal(got, want[result])


@pytest.mark.parametrize("test", ["a.x - u.y <= 0", "-a.y + a.x > 0", "u.x - a.w == 0", "!(a.x - a.z < 0)"])
def test_a_difference_compared_with_zero_is_one_instruction(test: str) -> None:
    """The test subtracts; of infinities the difference is no number, as in the text."""
    text = f"float4 main(float4 a : TEXCOORD0, uniform float4 u) : COLOR {{ if ({test}) discard; return a * u; }}"
    shader = isakit.compile_shader(text, stage="fragment", language="cg", target="f32x4")
    assert not any(i.mnemonic.startswith("vadd") for i in shader.primary)
    a = np.random.default_rng(5).integers(-2, 3, (64, 4)).astype(np.float32)
    a[0], u = np.inf, np.array([0, 1, 2, 3], np.float32)
    with np.errstate(invalid="ignore"):
        difference = {"a.x - u.y <= 0": a[:, 0] - 1 <= 0, "-a.y + a.x > 0": a[:, 0] - a[:, 1] > 0,
                      "u.x - a.w == 0": 0 - a[:, 3] == 0, "!(a.x - a.z < 0)": ~(a[:, 0] - a[:, 2] < 0)}  # fmt: skip
    got = isakit.usse.run(shader, varyings={"texcoord0": a}, uniforms={"u": u})["discard"]
    assert np.array_equal(got, difference[test])
