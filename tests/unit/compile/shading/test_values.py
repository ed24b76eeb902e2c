"""What shaders compute: the form that the front end makes is run by an evaluator of the tests."""

import math

import numpy as np
import pytest

from support.runners.shader_programs import cg, glsl, run

V = [[0.25, -2.0, 3.5, 1.0]]


def close(got, want, tolerance=1e-5):
    assert got == pytest.approx(want, rel=tolerance, abs=tolerance)


# --- operators and swizzles of Cg ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("v", [0.25, -2, 3.5, 1]),
        ("v.wzyx", [1, 3.5, -2, 0.25]),
        ("v.rgba + v.aaaa", [1.25, -1, 4.5, 2]),
        ("float4(v.xy, 1.f, 1.)", [0.25, -2, 1, 1]),
        ("float4(v.x)", [0.25] * 4),
        ("float4(float3(v), 7)", [0.25, -2, 3.5, 7]),
        ("float4(float2(v) * 2, v.zw)", [0.5, -4, 3.5, 1]),
        ("v * 2 - 1", [-0.5, -5, 6, 1]),
        ("v / 2", [0.125, -1, 1.75, 0.5]),
        ("1 / v", [4, -0.5, 1 / 3.5, 1]),
        ("-v", [-0.25, 2, -3.5, -1]),
        ("v.x > 0 ? v : v.wwww", [0.25, -2, 3.5, 1]),
        ("v > 0 ? float4(1) : float4(2)", [1, 2, 1, 1]),
        ("float4(7 / 2, -7 / 2, 7 % 4, -7 % 4)", [3, -3, 3, -3]),
        ("float4(int(v.z), int(v.y), (int)-1.5, (int)2.9)", [3, -2, -1, 2]),
        ("float4(1 << 4, 255 >> 3, 6 & 3, 6 ^ 3)", [16, 31, 2, 5]),
        ("float4(true, false, !true, v.x == 0.25)", [1, 0, 0, 1]),
        ("float4(v.x < v.y || v.x > v.y, v.x > 0 && v.y > 0, !(v.x > 0), 1)", [1, 0, 0, 1]),
        ("(half4)v * 2.0h", [0.5, -4, 7, 2]),
        ("half4(1.0 / 3.0)", [float(np.float16(1 / 3))] * 4),
        ("fixed4(0.5)", [0.5] * 4),
        ("v.xxxx.xyzw.wzyx", [0.25] * 4),
        ("float4(0x10, 010, 3u, 1e2)", [16, 8, 3, 100]),
    ],
)
def test_cg_expressions(expression, want):
    close(cg(f"return {expression};", v=V), want)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("float4 r = v; r.yw = float2(8, 9); return r;", [0.25, 8, 3.5, 9]),
        ("float4 r = 0; r.zx += v.xy; return r;", [-2, 0, 0.25, 0]),
        ("float4 r = v; r.x++; --r.y; return r;", [1.25, -3, 3.5, 1]),
        ("float4 r = v; float a = r.x++; return float4(a, r.xyz);", [0.25, 1.25, -2, 3.5]),
        ("float4 r; r[0] = 1; r[1] = 2; r[2] = 3; r[3] = r[1]; return r;", [1, 2, 3, 2]),
        ("float a[4] = {1, 2, 3, 4}; int i = int(v.z); a[i] = 9; return float4(a[0], a[i], a[2], a[1]);", [1, 9, 3, 2]),
        ("int2 a = int2(3, 4); a.yx = a; return float4(a, a.x == 4, 0);", [4, 3, 1, 0]),
        ("float r = 0; for (int i = 0; i < 4; i++) r += i; return r;", [6] * 4),
        ("float r = 0; for (float i = 0; i < 1; i += 0.25) r += i; return r;", [1.5] * 4),
        ("float r = 0; for (int i = 0; i < 9; i++) { if (i == 2) continue; if (i == 5) break; r += i; } return r;",
         [8] * 4),
        ("float r = 0; for (int i = 0; i < int(v.z); i++) { r += 2; } return r;", [6] * 4),
        ("float r = 0; int i = 0; while (i < int(v.z)) { i++; if (i == 2) continue; r += i; } return r;", [4] * 4),
        ("float r = 0; do { r += v.z; } while (r < 10); return r;", [10.5] * 4),
        ("float r = 0; for (int i = 0; i < 200; i++) r += v.w; return r;", [200] * 4),
        ("float r = 1; if (v.x > 0) { r = 2; if (v.y > 0) r = 3; else r = 4; } return r;", [4] * 4),
        ("if (v.x > 0) return v.z; return v.y;", [3.5] * 4),
        ("if (v.x < 0) { return v.z; } else { return v.y; }", [-2] * 4),
        ("bool b = v.x > 0; b = b && v.y > 0; return b ? 1 : 2;", [2] * 4),
        ("short s = 32767; s++; unsigned short u = 65535; u++; return float4(s, u, 0, 0);", [-32768, 0, 0, 0]),
        ("float4 r = 1; { float4 r = 2; r += 1; } return r;", [1] * 4),
        ("const float PI = 3.0; static const int N = 2; float a[N]; a[N - 1] = PI; return a[1];", [3] * 4),
        ("float3x3 m = float3x3(1,2,3, 4,5,6, 7,8,9); return float4(m[1], m[2][0]);", [4, 5, 6, 7]),
        ("float2x2 m = float2x2(1,2,3,4); return float4(m._m01_m10, m._22_11);", [2, 3, 4, 1]),
        ("float2x2 m = float2x2(1,2,3,4); m._m01 = 7; m[1] *= 2; return float4(m[0], m[1]);", [1, 7, 6, 8]),
        ("float2x2 m = float2x2(1,2,3,4); return float4(mul(m, float2(1,10)), mul(float2(1,10), m));",
         [21, 43, 31, 42]),
        ("float2x2 m = transpose(mul(float2x2(1,2,3,4), float2x2(0,1,1,0))); return float4(m[0], m[1]);", [2, 4, 1, 3]),
        ("float2x2 m = inverse(float2x2(1,2,3,4)); return float4(m[0], m[1]);", [-2, 1, 1.5, -0.5]),
        ("return determinant(float3x3(2,0,1, 1,3,0, 0,1,1));", [7] * 4),
        ("float3x3 m = float3x3(float4x4(1,2,3,4, 5,6,7,8, 9,10,11,12, 13,14,15,16)); return float4(m[2], 0);",
         [9, 10, 11, 0]),
    ],
)  # fmt: skip
def test_cg_statements(body, want):
    close(cg(body, v=V), want)


def test_unary_minus_of_zero_and_negative_division():
    assert cg("return float4(int(v.z) / 2, -int(v.z) / 2, int(v.z) % 2, -int(v.z) % 2);", v=V) == [1, -1, 1, -1]


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (100000007, 13), (5, 100), (-2147483647, 3)])
def test_integer_division_cuts(a, b):
    got = cg("return float4(a / b == q, a % b == r, 0, 0);", a=[a], b=[b], q=[int(a / b)], r=[a - int(a / b) * b])
    assert got == [1, 1, 0, 0]


# --- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "body", "want"),
    [
        ("float f(float x) { return x * 2; }", "return f(v.x);", [0.5] * 4),
        ("float f(float x) { if (x > 1) return 1; return x; }", "return f(v.z) + f(v.x);", [1.25] * 4),
        ("void f(float4 inout x, out float y) { x += 1; y = x.x; }",
         "float4 a = v; float b; f(a, b); return float4(a.xyz, b);", [1.25, -1, 4.5, 1.25]),
        ("void f(out float2 x) { x = float2(5, 6); }", "float4 a = v; f(a.wy); return a;", [0.25, 6, 3.5, 5]),
        ("float f(int x) { return 1; } float f(float x) { return 2; } float f(float2 x) { return 3; }",
         "return float4(f(1), f(v.x), f(v.xy), f(1.5));", [1, 2, 3, 2]),
        ("float inverse(float x) { return 1 / x; }", "return inverse(4);", [0.25] * 4),
        ("float f(float x); float g(float x) { return f(x) + 1; } float f(float x) { return x; }",
         "return g(1);", [2] * 4),
        ("struct S { float2 a; float b[2]; }; S f(float x) { S s; s.a = x; s.b[0] = 3; s.b[1] = x; return s; }",
         "S s = f(7); s.a.y = 1; return float4(s.a, s.b[0], s.b[1]);", [7, 1, 3, 7]),
        ("static float count = 1; void f() { count += 1; }", "f(); f(); return count;", [3] * 4),
        ("static float t = 0; void f(float x) { t += x; }", "for (int i = 0; i < int(v.z); i++) f(v.w); return t;",
         [3] * 4),
        ("float f(float x) { for (int i = 0; i < 5; i++) { if (i > x) return i; } return -1; }",
         "return float4(f(v.x), f(v.z), f(9), 0);", [1, 4, -1, 0]),
    ],
)  # fmt: skip
def test_functions(before, body, want):
    close(cg(body, before, v=V), want)


INTRINSICS = [
    ("abs(v)", [0.25, 2, 3.5, 1]), ("sign(v)", [1, -1, 1, 1]), ("floor(v)", [0, -2, 3, 1]),
    ("ceil(v)", [1, -2, 4, 1]), ("frac(v)", [0.25, 0, 0.5, 0]), ("trunc(-v)", [0, 2, -3, -1]),
    ("round(float4(0.5, 1.5, -0.4, 2.6))", [0, 2, 0, 3]), ("saturate(v)", [0.25, 0, 1, 1]),
    ("clamp(v, -1, 2)", [0.25, -1, 2, 1]), ("min(v, 0.5)", [0.25, -2, 0.5, 0.5]), ("max(v, v.wzyx)", [1, 3.5, 3.5, 1]),
    ("lerp(v, 1, 0.5)", [0.625, -0.5, 2.25, 1]), ("step(0.5, v)", [0, 0, 1, 1]),
    ("smoothstep(0, 1, v)", [0.15625, 0, 1, 1]), ("dot(v, v)", [17.3125] * 4), ("dot(v.xy, float2(1, 2))", [-3.75] * 4),
    ("float4(cross(v.xyz, float3(1, 2, 3)), 0)", [-13, 2.75, 2.5, 0]), ("length(float2(3, 4))", [5] * 4),
    ("distance(v.xy, float2(3.25, 2))", [5] * 4), ("float4(normalize(float2(3, 4)), 0, 0)", [0.6, 0.8, 0, 0]),
    ("pow(v, 2)", [0.0625, 4, 12.25, 1]), ("pow(abs(v), 0.5)", [0.5, math.sqrt(2), math.sqrt(3.5), 1]),
    ("sqrt(float4(0, 4, 9, 2))", [0, 2, 3, math.sqrt(2)]), ("rsqrt(4)", [0.5] * 4), ("rcp(4)", [0.25] * 4),
    ("exp(v)", [math.exp(x) for x in V[0]]), ("log(abs(v))", [math.log(abs(x)) for x in V[0]]),
    ("exp2(v)", [2**x for x in V[0]]), ("log2(abs(v))", [math.log2(abs(x)) for x in V[0]]),
    ("log10(100)", [2] * 4), ("sin(v)", [math.sin(x) for x in V[0]]), ("tan(v)", [math.tan(x) for x in V[0]]),
    ("fmod(float4(5.5, -5.5, 5.5, -5.5), float4(2, 2, -2, -2))", [1.5, -1.5, 1.5, -1.5]),
    ("reflect(float4(1, -1, 0, 0), float4(0, 1, 0, 0))", [1, 1, 0, 0]),
    ("faceforward(v, v, float4(-1))", [0.25, -2, 3.5, 1]), ("radians(180)", [math.pi] * 4),
    ("degrees(3.14159265)", [180] * 4), ("mad(v, 2, 1)", [1.5, -3, 8, 3]), ("any(v < 0)", [1] * 4),
    ("all(v > -3)", [1] * 4), ("lit(0.5, 0.5, 2)", [1, 0.5, 0.25, 1]),
    ("isnan(float4(v.x - v.x) / 0)", None),
    ("asfloat(asint(v))", [0.25, -2, 3.5, 1]), ("float4(asint(1.0) == 0x3f800000)", [1] * 4),
    ("float4(bit_cast<short2>(v.z), 0, 0)", [0, 0x4060, 0, 0]),
    ("tanh(v)", [math.tanh(x) for x in V[0]]), ("sinh(v)", [math.sinh(x) for x in V[0]]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "want"), [x for x in INTRINSICS if x[1]])
def test_cg_intrinsics(expression, want):
    close(cg(f"return {expression};", v=V), want, 2e-5)


@pytest.mark.parametrize("x", [-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 8.0])
def test_arcs(x):
    inside = max(-1.0, min(1.0, x))
    got = cg("return float4(atan(u.x), atan2(u.x, u.y), asin(u.z), acos(u.z));", u=[[x, -0.7, inside, 0]])
    close(got, [math.atan(x), math.atan2(x, -0.7), math.asin(inside), math.acos(inside)], 1e-4)


# --- GLSL ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("c = v.stpq;", [0.25, -2, 3.5, 1]),
        ("c = vec4(v.xy, ivec2(3.7, -3.7));", [0.25, -2, 3, -3]),
        ("c = mix(v, vec4(1.0), 0.5);", [0.625, -0.5, 2.25, 1]),
        ("c = mix(v, vec4(9.0), lessThan(v, vec4(0.0)));", [0.25, 9, 3.5, 1]),
        ("c = mod(v, 2.0);", [0.25, 0, 1.5, 1]),
        ("c = vec4(mat2(1, 2, 3, 4) * vec2(1, 10), vec2(1, 10) * mat2(1, 2, 3, 4));", [31, 42, 21, 43]),
        ("mat2 m = mat2(1, 2, 3, 4) * mat2(0, 1, 1, 0); c = vec4(m[0], m[1]);", [3, 4, 1, 2]),
        ("mat2 m = mat2(3.0); c = vec4(m);", [3, 0, 0, 3]),
        ("mat3 m = mat3(mat2(1, 2, 3, 4)); c = vec4(m[1], m[2].z);", [3, 4, 0, 1]),
        ("mat2x3 m = mat2x3(1, 2, 3, 4, 5, 6); c = vec4(m * vec2(1, 1), transpose(m)[0].y);", [5, 7, 9, 4]),
        ("mat2 m = outerProduct(vec2(1, 2), vec2(3, 4)); c = vec4(m);", [3, 6, 4, 8]),
        ("mat2 m = matrixCompMult(mat2(1, 2, 3, 4), mat2(5, 6, 7, 8)); c = vec4(m);", [5, 12, 21, 32]),
        ("mat2 m = inverse(mat2(1, 2, 3, 4)); c = vec4(m);", [-2, 1, 1.5, -0.5]),
        ("c = vec4(any(lessThan(v, vec4(0.0))), all(lessThan(v, vec4(0.0))), not(bvec2(true, false)));", [1, 0, 0, 1]),
        ("c = vec4(v == v, v != v, true ^^ true, true ^^ false);", [1, 0, 0, 1]),
        ("float a[3] = float[3](1.0, 2.0, 3.0); c = vec4(a[2], a.length(), a == float[](1.0, 2.0, 3.0), 0);",
         [3, 3, 1, 0]),
        ("struct S { vec2 a; float b; }; S s = S(vec2(1, 2), 3.0); S t = s; t.b = 4.0; c = vec4(s.a, t.b, s == t);",
         [1, 2, 4, 0]),
        ("int i = int(v.z); switch (i) { case 1: c = vec4(1.0); break; case 3: c = vec4(3.0); case 4: c.x = 4.0; "
         "break; default: c = vec4(9.0); }", [4, 3, 3, 3]),
        ("switch (7) { case 1: c = vec4(1.0); break; default: c = vec4(9.0); }", [9] * 4),
        ("uint u = 7u; c = vec4(u / 2u, u % 4u, u >> 1, float(u << 30u) / 1073741824.0);", [3, 3, 3, 3]),
        ("c = vec4(unpackHalf2x16(packHalf2x16(vec2(0.1, 70000.0))), 0, 0);", [float(np.float16(0.1)), math.inf, 0, 0]),
        ("uint u = packHalf2x16(vec2(1.5, -0.1)) + 0u; c = vec4(unpackHalf2x16(u), u & 0xffffu, 0);",
         [1.5, float(np.float16(-0.1)), 0x3E00, 0]),
        ("c = vec4(unpackHalf2x16(0x00010200u), 0, 0) * 16777216.0;", [512, 1, 0, 0]),
        ("c = unpackUnorm4x8(packUnorm4x8(vec4(0.0, 0.5, 1.0, 2.0)));", [0, 128 / 255, 1, 1]),
        ("c = vec4(uintBitsToFloat(floatBitsToUint(v.x)), intBitsToFloat(floatBitsToInt(v.y)), fma(2.0, 3.0, 1.0), 0);",
         [0.25, -2, 7, 0]),
        ("c = vec4(roundEven(2.5), round(-1.2), trunc(-1.5), fract(-0.25));", [2, -1, -1, 0.75]),
        ("float r = 0.0; for (;;) { r += 1.0; if (r > v.z) break; } c = vec4(r);", [4] * 4),
        ("c = vec4(refract(vec2(0.6, -0.8), vec2(0, 1), 0.5), inversesqrt(4.0), exp2(3.0));",
         [0.3, -math.sqrt(1 - 0.09), 0.5, 8]),
    ],
)  # fmt: skip
def test_glsl(body, want):
    close(glsl(body, v=V), want)


# --- programs --------------------------------------------------------------------------------------------------------
def test_a_vertex_program_of_cg():
    done, interface = run(
        """void main(float3 aPosition, float2 aUv : TEXCOORD0, uniform float4x4 wvp, float4 out p : POSITION,
        float2 out uv : TEXCOORD0, out float4 c : COLOR) {
        p = mul(float4(aPosition, 1.f), wvp); uv = aUv * 2; c = 1; }""",
        "vertex",
        inputs={"aPosition": [1, 2, 3], "aUv": [0.5, 0.25]},
        uniforms={"wvp": np.arange(16).reshape(4, 4)},
    )
    assert list(done.outputs["p"]) == [44, 51, 58, 65]
    assert list(done.outputs["uv"]) == [1, 0.5]
    assert [(o.name, o.semantic, o.components) for o in interface.outputs] == [
        ("p", "POSITION", 4), ("uv", "TEXCOORD0", 2), ("c", "COLOR0", 4)]  # fmt: skip
    assert [(i.name, i.semantic, i.components) for i in interface.inputs] == [
        ("aPosition", "", 3), ("aUv", "TEXCOORD0", 2)]  # fmt: skip
    assert [(u.name, u.components, u.array) for u in interface.uniforms] == [("wvp", 4, 4)]


@pytest.mark.parametrize("where", ["column_major float4x4 m", "float4x4 m"])
@pytest.mark.parametrize("product", ["mul(m, v)", "mul(v, m)", "mul(transpose(m), v)"])
def test_matrices_in_memory(where, product):
    """A matrix that is stored by columns is the transpose of one that is stored by rows."""
    stored = np.arange(16).reshape(4, 4)
    done, _ = run(
        f"uniform {where}; uniform float4 v; float4 main() : COLOR {{ return {product}; }}",
        uniforms={"m": stored, "v": [[1, 2, 3, 4]]},
    )
    m, v = (stored.T if "column" in where else stored), np.array([1, 2, 3, 4])
    m = m.T if "transpose" in product else m
    assert list(done.outputs["main"]) == list(v @ m if "mul(v" in product else m @ v)


def test_uniforms_by_a_computed_index():
    text = """uniform float4 a[4]; uniform float3x3 m[2]; uniform float i;
    float4 main() : COLOR { return a[i] + m[i - 1][2].xyzz; }"""
    done, interface = run(
        text, uniforms={"a": np.arange(16).reshape(4, 4), "m": np.arange(18).reshape(6, 3), "i": [[2]]}
    )
    assert list(done.outputs["main"]) == [8 + 15, 9 + 16, 10 + 17, 11 + 17]
    assert [(u.name, u.components, u.array) for u in interface.uniforms] == [("a", 4, 4), ("m", 3, 6), ("i", 1, 1)]


def test_structures_of_uniforms_and_inputs():
    text = """struct L { float4 c; float k[2]; }; struct I { float4 c : COLOR; float2 uv : TEXCOORD1; };
    uniform L l[2]; float4 main(I IN) : COLOR { return l[1].c * l[0].k[1] + IN.c + IN.uv.xyxy; }"""
    done, interface = run(
        text,
        inputs={"IN.c": [1, 2, 3, 4], "IN.uv": [10, 20]},
        uniforms={"l[1].c": [[1, 1, 1, 2]], "l[0].k": [[5], [7]]},
    )
    assert list(done.outputs["main"]) == [18, 29, 20, 38]
    assert [u.name for u in interface.uniforms] == ["l[0].c", "l[0].k", "l[1].c", "l[1].k"]
    assert [(i.name, i.semantic) for i in interface.inputs] == [("IN.c", "COLOR0"), ("IN.uv", "TEXCOORD1")]


def test_a_structure_as_the_result():
    text = """struct O { float4 p : POSITION; float2 uv[2] : TEXCOORD3; float clip[2] : CLP0; };
    O main(float4 a) { O o; o.p = a; o.uv[0] = a.xy; o.uv[1] = a.zw; o.clip[0] = 1; o.clip[1] = 2; return o; }"""
    done, interface = run(text, "vertex", inputs={"a": [1, 2, 3, 4]})
    assert [(o.name, o.semantic) for o in interface.outputs] == [
        ("p", "POSITION"), ("uv[0]", "TEXCOORD3"), ("uv[1]", "TEXCOORD4"), ("clip[0]", "CLP0"), ("clip[1]", "CLP1")
    ]  # fmt: skip
    assert list(done.outputs["uv[1]"]) == [3, 4]


def test_uniforms_and_inputs_of_cg_may_be_assigned():
    text = "float4 main(float2 uv : TEXCOORD0, uniform float4 u) : COLOR { uv.x = 5; u *= 2; return float4(uv, u.xy); }"
    done, _ = run(text, inputs={"uv": [1, 2]}, uniforms={"u": [[3, 4, 5, 6]]})
    assert list(done.outputs["main"]) == [5, 2, 6, 8]


def test_varyings_outside_of_main():
    text = "varying in float4 v : TEXCOORD2; varying out float4 gl_FragColor : COLOR; void main() { gl_FragColor = v; }"
    done, interface = run(text, inputs={"v": [1, 2, 3, 4]})
    assert (interface.inputs[0].semantic, list(done.outputs["gl_FragColor"])) == ("TEXCOORD2", [1, 2, 3, 4])


def test_textures():
    asked = []

    def sampler(name, kind, lod, given):
        asked.append((name, kind, lod, [list(map(float, g)) for g in given]))
        return [0.25, 0.5, 0.75, 1]

    text = """uniform samplerCUBE env; float4 sub(sampler2D s, float2 uv) { return tex2D(s, uv); }
    float4 main(float4 uv : TEXCOORD0, uniform sampler2D t[2] : TEXUNIT3) : COLOR {
      float4 r = sub(t[1], uv.xy) + tex2Dproj(t[0], uv) + tex2Dproj(t[0], uv.xyz) + texCUBE(env, uv.xyz);
      r += tex2Dbias(t[0], float4(uv.xy, 0, 2)) + tex2Dlod(t[0], uv);
      for (int i = 0; i < 2; i++) r += tex2D(t[i], uv.xy, uv.zw, uv.wz);
      return r; }"""
    done, interface = run(text, inputs={"uv": [1, 2, 3, 4]}, sampler=sampler)
    assert asked == [
        ("t[1]", "2d", "", [[1, 2]]), ("t[0]", "proj", "", [[1, 2, 4]]), ("t[0]", "proj", "", [[1, 2, 3]]),
        ("env", "cube", "", [[1, 2, 3]]), ("t[0]", "2d", "bias", [[1, 2], [2]]), ("t[0]", "2d", "lod", [[1, 2], [4]]),
        ("t[0]", "2d", "grad", [[1, 2], [3, 4], [4, 3]]), ("t[1]", "2d", "grad", [[1, 2], [3, 4], [4, 3]]),
    ]  # fmt: skip
    assert list(done.outputs["main"]) == [2, 4, 6, 8]
    assert [(s.name, s.kind, s.unit, s.array) for s in interface.samplers] == [
        ("env", "cube", None, 1),
        ("t", "2d", 3, 2),
    ]


@pytest.mark.parametrize(("v", "gone"), [(0.2, True), (0.7, False)])
@pytest.mark.parametrize(
    "body", ["if (v.x < 0.5) discard;", "if (v.x < 0.5) { v.y = 1; discard; }", "clip(v.x - 0.5);", "clip(v - 0.5);"]
)
def test_discard(body, v, gone):
    done, _ = run(f"float4 main(float4 v : COLOR) : COLOR {{ {body} return v; }}", inputs={"v": [v, 1, 1, 1]})
    assert done.discarded == gone


def test_glsl_of_es_1():
    text = """#extension GL_OES_standard_derivatives : enable
    precision mediump float; varying vec2 uv; varying lowp vec4 tint; uniform sampler2D tex;
    void main() { vec4 t = texture2D(tex, uv); if (t.a < 0.1) discard; gl_FragColor = t * tint; }"""
    done, interface = run(
        text,
        language="glsl",
        inputs={"tint": [1, 2, 3, 4]},
        sampler=lambda *a: [0.5, 0.5, 0.5, 1],
        varyings={"tint": "COLOR0"},
    )
    assert [(i.name, i.semantic) for i in interface.inputs] == [("uv", "TEXCOORD0"), ("tint", "COLOR0")]
    assert list(done.outputs["gl_FragColor"]) == [0.5, 1, 1.5, 4]


def test_glsl_built_in_variables():
    text = """void main() { vec4 p = gl_FragCoord; float f = gl_FrontFacing ? 1.0 : 2.0;
    gl_FragData[0] = vec4(p.x, f, gl_PointCoord); gl_FragDepth = 0.5; }"""
    done, interface = run(
        text,
        language="glsl",
        inputs={"gl_FragCoord": [7, 8, 0, 1], "gl_FrontFacing": [-1], "gl_PointCoord": [0.25, 0.75]},
    )
    assert list(done.outputs["gl_FragData[0]"]) == [7, 2, 0.25, 0.75]
    assert {(o.name, o.semantic) for o in interface.outputs} == {
        ("gl_FragData[0]", "COLOR0"),
        ("gl_FragDepth", "DEPTH"),
    }
    assert {i.semantic for i in interface.inputs} == {"WPOS", "FACE", "SPRITECOORD"}


def test_glsl_of_a_vertex_program():
    text = """#version 300 es
    layout(location = 0) in vec3 position; in mediump vec2 uv; uniform mat4 mvp;
    layout(location = 3) out vec2 a; out vec4 b; uniform Block { vec4 tint; float scale; };
    void main() { gl_Position = mvp * vec4(position, 1.0); gl_PointSize = scale; a = uv; b = tint; }"""
    done, interface = run(
        text,
        "vertex",
        "glsl",
        inputs={"position": [1, 2, 3]},
        uniforms={"mvp": np.arange(16).reshape(4, 4), "scale": [[3]]},
    )
    assert list(done.outputs["gl_Position"]) == [44, 51, 58, 65]
    assert {(o.name, o.semantic) for o in interface.outputs} == {
        ("gl_Position", "POSITION"), ("gl_PointSize", "PSIZE"), ("a", "TEXCOORD3"), ("b", "TEXCOORD0")
    }  # fmt: skip


def test_both_languages_make_the_same_of_the_same():
    """The differences are tables: a text of both gives the same operations."""
    one = (
        "uniform float4 u; float4 main(float2 v : TEXCOORD0) : COLOR { return lerp(u, v.xyxy, frac(v.x)) * dot(u, u); }"
    )
    two = """uniform vec4 u; in vec2 texcoord0; out vec4 c; void main() {
    c = mix(u, texcoord0.xyxy, fract(texcoord0.x)) * dot(u, u); }"""
    given = {"v": [0.3, 0.6], "texcoord0": [0.3, 0.6]}
    a, _ = run(one, inputs=given, uniforms={"u": [[1, 2, 3, 4]]})
    b, _ = run(two, language="glsl", inputs=given, uniforms={"u": [[1, 2, 3, 4]]})
    assert list(a.outputs["main"]) == list(b.outputs["c"])


def test_uniforms_of_integers_are_words():
    text = """uniform int2 a[3]; uniform bool b; uniform int i;
    float4 main() : COLOR { return float4(a[1], a[i].y, b ? 7 : 8); }"""
    done, interface = run(text, uniforms={"a": [1, 2, 3, 4, 5, 6], "b": [1], "i": [2]})
    assert list(done.outputs["main"]) == [3, 4, 6, 7]
    assert [(u.name, u.components, u.type, u.array) for u in interface.uniforms] == [
        ("a", 2, "s32", 3), ("b", 1, "s32", 1), ("i", 1, "s32", 1)]  # fmt: skip


def test_the_bound_of_a_loop_may_change_in_it() -> None:
    """The number of turns was counted with the value that the bound had before the loop."""
    text = """static int more = 0; void grow() { more = 2; }
    float4 main() : COLOR {
      int turns = 0, end = 2, others = 0;
      for (int i = 0; i < end; i++) { turns++; if (i == 1) end = 5; }
      for (int k = 0; k < more + 2; k++) { others++; grow(); }
      return float4(turns, others, end, more); }"""
    assert list(run(text)[0].outputs["main"]) == [5, 4, 5, 2]


def test_what_the_step_of_a_loop_and_functions_in_it_change() -> None:
    text = """static int i; void next() { i = i + 1; } static float seen;
    void look() { seen = seen * 2 + 1; }
    float4 main(uniform float n) : COLOR {
      float turns = 0, j = 0, sum = 0;
      for (i = 0; i < 4; i++) { turns += 1; next(); }
      for (int k = 0; k < n; k += 1, j += 2) sum += j;
      seen = 1;
      for (int m = 0; m < n; m += 1) { sum += seen * 100; look(); }
      return float4(turns, sum, j, seen); }"""
    done, _ = run(text, uniforms={"n": [[3]]})
    assert list(done.outputs["main"]) == [2, 0 + 2 + 4 + 100 * (1 + 3 + 7), 6, 15]
