"""Damaged texts of Cg and GLSL: each gives a shader file that loads, or errors at lines of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from isakit.compile.shading.compiled import build_shader
from isakit.errors import CompileError
from isakit.formats import parse_gxp
from support.farm.campaign import Campaign, Wrong, pieces_left_out

CG = """\
#define SCALE(x) ((x) * 2.0f)
#if defined(SCALE) && LIGHTS > 0
uniform float4 lights[LIGHTS];
#endif
struct Given { float2 uv : TEXCOORD0; half4 color : COLOR; };
static const float k[3] = { 0.5, 1., 2.f };
float shade(float3 n, float4 inout sum, int i) {
    float d = max(dot(normalize(n), lights[i].xyz), 0);
    if (d > 0.5h) sum.rgb += d * lights[i].w; else return 0;
    return pow(d, k[i]);
}
float4 main(Given IN, uniform sampler2D tex[2] : TEXUNIT0, uniform float3x3 turn, uniform int2 n) : COLOR {
    float4 sum = tex2D(tex[0], IN.uv);
    if (sum.a < 0.1) discard;
    for (short i = 0; i < 3; i++) sum.w += shade(mul(turn, sum.xyz), sum, i);
    int j = n.x / 3;
    while (j-- > 0 && sum.x < n.y) { sum *= SCALE(sum.wzyx); if (j == 2) break; }
    sum.zx = float2x2(1, 2, 3, 4)._m01_m10 + (n > 1 ? sum.xy : 0);
    return lerp(sum, IN.color, tex2Dproj(tex[1], float3(IN.uv, 1)).x);
}
"""
GLSL = """\
#version 300 es
precision mediump float;
#define N 4
layout(location = 1) in vec3 v;
in vec4 tint;
uniform sampler2D s;
uniform mat4 m;
uniform Block { vec4 u[N]; float t; };
out vec4 c;
struct S { vec2 a; float b[2]; };
vec3 f(in vec3 p, out float q) { q = p.x; return cross(p, vec3(u[1])) / 3.0; }
void main() {
    float q;
    S x = S(v.xy, float[2](t, 1.0));
    vec3 p = f(v, q) + mat3(m) * v;
    for (int i = 0; i < N; ++i) { if (p.x > u[i].y) continue; p += u[i].xyz; x.b[i & 1] -= 1.0; }
    switch (int(t)) { case 1: p.y = 1.0; break; case 2: case 3: p = -p; default: q = 2.0; }
    uint b = packHalf2x16(p.xy) >> 3u;
    c = any(lessThan(p, v)) ? texture(s, x.a + q) : mix(tint, vec4(p, unpackHalf2x16(b).x), 0.5);
}
"""
PIECES = [
    "float4", "vec4", "int", "bool", "uniform ", "const ", "out ", "in ", "struct ", "return ", "discard;",
    "if (", "else ", "for (;;)", "while (1)", "do ", "break;", "continue;", "{", "}", "(", ")", "[", "]", ";",
    ",", ".", ".xyzw", ".x", "?", ":", "=", "+=", "++", "--", "<<", ">>", "&&", "||", "^^", "!", "~", "-",
    "*", "/", "%", "1", "0", "-1", "1e38", "1e-38", "99999999999", "0xffffffff", "1.5h", "08", "#if 1\n",
    "#endif\n", "#else\n", "#define A A B\n", "#define F(a) a##a\n", "F(", "#include \"a\"\n", "#line 7\n",
    "#error x\n", "\\\n", "/*", "//", "\n", "\0", "é", "\ufeff", "'", "\"", "@", "main", "tex", "lights",
    "sum", "sampler2D", ": COLOR", ": TEXCOORD9", "float[3](", "bit_cast<",
]  # fmt: skip
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    language = ("cg", "glsl")[seed % 2]
    tokens = _TOKEN.findall(CG if language == "cg" else GLSL)
    for _ in range(r.choice((0, 1, 1, 1, 2, 8))):
        at = r.randrange(len(tokens))
        size = r.choice((0, 1, 1, 2, 5))
        others = [r.choice(PIECES) for _ in range(r.choice((0, 1, 1, 2)))]
        if r.random() < 0.3:
            start = r.randrange(len(tokens))
            others = tokens[start : start + r.choice((1, 3, 10))]
        tokens[at : at + size] = others * r.choice((1, 1, 1, 1, 2, 40))
    return {"language": language, "text": "".join(tokens), "lights": r.choice((3, 3, 3, 5, 0)), "stage": "fragment"}


def _check(case: dict[str, Any]) -> Iterator[str]:
    text = case["text"]
    try:
        made = build_shader(
            text, stage=case["stage"], language=case["language"], defines={"LIGHTS": str(case["lights"])}
        )
    except CompileError as e:
        lines = text.count("\n") + 1
        for d in e.diagnostics:
            if not 1 <= d.line <= lines + 7 or d.column < 1 or not d.message:  # `#line 7` moves them
                raise Wrong(f"an error at {d.line}:{d.column} of {lines} lines: {d.message}") from e
        yield "refused"
        return
    parse_gxp(made.data)
    yield "compiled"


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for text in pieces_left_out(case["text"]):
        yield {**case, "text": text}


HERE = [
    Campaign("shading-texts", "damaged texts of Cg and GLSL", _make, lambda case: list(_check(case)), _smaller, 20.0)
]
