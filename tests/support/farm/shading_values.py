"""Random programs of Cg: compiled and run, they give bit by bit what the front end's form of them gives.

Every stored value is brought back to a multiple of a quarter between -8 and 8, so that what is computed from a few of
them is exact, whatever order and whichever fused operations the compiler takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from isakit import usse
from isakit.compile.shading.compiled import build_shader
from isakit.compile.shading.front import front_end
from support.farm.campaign import Campaign, Wrong
from support.runners.form_evaluator import evaluate

LANES = 4
HEAD = """\
uniform float4 u[5]; uniform int n; uniform float2x3 m; uniform half4 h;
float w(float x) { return clamp(floor(x * 4) * 0.25, -8, 8); }
float2 w(float2 x) { return clamp(floor(x * 4) * 0.25, -8, 8); }
float3 w(float3 x) { return clamp(floor(x * 4) * 0.25, -8, 8); }
float4 w(float4 x) { return clamp(floor(x * 4) * 0.25, -8, 8); }
half3 w(half3 x) { return clamp(floor(x * 4) * 0.25h, -8, 8); }
float4 turned(float4 x, int k, inout float3 q) { if (k > 1) { q.x = w(q.x + k); return x.wzyx; } q = q.zxy; return -x; }
float part(float2 a, float b) { if (a.x > b) return a.y; return b - a.x; }
float4 main(float2 a : TEXCOORD0, half3 b : TEXCOORD1_HALF, float4 c : COLOR) : COLOR {
  float4 p = c; float3 q = float3(a, 1); float2 r = a; float s = a.x; half3 k = b; int i = n; int j = 1;
  float t[4] = { 1, 0.5, -2, 0 };
"""
TYPES = {"p": 4, "q": 3, "r": 2, "s": 1}


class Writer:
    """Writes statements at random."""

    def __init__(self, r: Random) -> None:
        self.r, self.loops = r, 0

    def scalar(self, deep: int) -> str:
        """Return an expression of a float."""
        r = self.r
        if deep <= 0 or r.random() < 0.3:
            index = r.choice(("0", "3", "i & 3", "j & 3", "(i + j) & 3"))
            return r.choice(("s", f"p.{r.choice('xyzw')}", f"q.{r.choice('xyz')}", f"r.{r.choice('xy')}", f"t[{index}]",
                             f"u[{r.randrange(5)}].{r.choice('xyzw')}", f"u[{index}].y", "0.25", "-1.5", "3", "k.y",
                             "(float)i", "h.w", f"m[{r.randrange(2)}][{r.randrange(3)}]"))  # fmt: skip
        n = r.choice((2, 3, 4))
        x, y = self.scalar(deep - 1), self.scalar(deep - 1)
        return r.choice((
            f"({x} + {y})", f"({x} - {y})", f"({x} * {r.choice(('0.5', '2', '-1', 's'))})", f"max({x}, {y})",
            f"min({x}, {y})", f"abs({x})", f"(- {x})", f"floor({x})", f"frac({x})", f"saturate({x})",
            f"({self.condition(deep - 1)} ? {x} : {y})", f"dot({self.vector(n, deep - 2)}, {self.vector(n, deep - 2)})",
            f"part({self.vector(2, deep - 2)}, {y})", f"step({x}, {y})", f"w({x}) * w({y})", f"sign({x})",
        ))  # fmt: skip

    def vector(self, n: int, deep: int) -> str:
        """Return an expression of a vector of floats."""
        r = self.r
        if n == 1:
            return self.scalar(deep)
        if deep <= 0 or r.random() < 0.25:
            swizzle = "".join(r.choice("xyzw") for _ in range(n))
            other = "".join(r.choice("xyz") for _ in range(n))
            return r.choice((f"p.{swizzle}", f"q.{other}", f"u[{r.randrange(5)}].{swizzle}", f"c.{swizzle}",
                             f"u[(i + {r.randrange(3)}) & 3].{swizzle}", f"(float{n})k.{other}"))  # fmt: skip
        x, y = self.vector(n, deep - 1), self.vector(n, deep - 1)
        made = ", ".join([self.scalar(deep - 2) for _ in range(n)])
        if n == 4 and r.random() < 0.2:
            return f"turned({x}, {self.whole(1)}, q)"
        if n == 3 and r.random() < 0.2:
            return f"mul({self.vector(2, deep - 2)}, m)"
        return r.choice((
            f"({x} + {y})", f"({x} - {y})", f"({x} * 0.5)", f"max({x}, {y})", f"min({x}, {y})", f"abs({x})", f"(- {x})",
            f"w({x}) * w({y})", f"lerp({x}, {y}, 0.5)", f"float{n}({made})", f"floor({x})",
            f"({self.condition(deep - 1)} ? {x} : {y})", f"saturate({x})",
            f"({x} > {y} ? {x} : {y} + 1)", f"clamp({x}, -1, {self.scalar(0)})",
        ))  # fmt: skip

    def whole(self, deep: int) -> str:
        """Return an expression of an int."""
        r = self.r
        if deep <= 0 or r.random() < 0.4:
            return r.choice(("i", "j", "n", "2", "-3", "7"))
        x, y = self.whole(deep - 1), self.whole(deep - 1)
        return r.choice((f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})",
                         f"({x} << 1)", f"({x} >> 1)", f"max({x}, {y})", f"abs({x})", f"({x} / 3)", f"({x} % 5)",
                         f"({self.condition(deep - 1)} ? {x} : {y})"))  # fmt: skip

    def condition(self, deep: int) -> str:
        """Return an expression of a bool."""
        r = self.r
        op = r.choice(("<", ">", "<=", ">=", "==", "!="))
        if deep > 0 and r.random() < 0.3:
            x, y = self.condition(deep - 1), self.condition(deep - 1)
            return r.choice((f"({x} && {y})", f"({x} || {y})", f"!{x}", f"(({x}) == ({y}))"))
        if r.random() < 0.3:
            return f"({self.whole(deep)} {op} {self.whole(deep)})"
        return f"({self.scalar(deep)} {op} {self.scalar(deep)})"

    def statement(self, deep: int) -> str:
        """Return a statement."""
        r = self.r
        kind = r.random()
        if kind < 0.45 or deep <= 0:
            name = r.choice("pqrs")
            n = TYPES[name]
            if n > 1 and r.random() < 0.4:
                size = r.randint(1, n)
                places = "".join(r.sample("xyzw"[:n], size))
                return f"{name}.{places} = w({self.vector(size, 2)});"
            return f"{name} = w({self.vector(n, 3)});"
        if kind < 0.55:
            return f"t[{r.choice(('0', '2', 'i & 3', 'j & 3'))}] = w({self.scalar(2)});"
        if kind < 0.62:
            return f"{r.choice('ij')} = clamp({self.whole(2)}, -9, 9);"
        if kind < 0.68:
            return f"k = w(k {r.choice('+-')} {r.choice(('k.zxy', 'h.xyz', '0.25h', 'k.y'))});"
        if kind < 0.85:
            other = f" else {{ {self.statements(deep - 1)} }}" if r.random() < 0.6 else ""
            return f"if ({self.condition(2)}) {{ {self.statements(deep - 1)} }}{other}"
        if self.loops >= 2:
            return f"s = w(s + {self.scalar(1)});"
        self.loops += 1
        leave = f"if ({self.condition(1)}) {r.choice(('break', 'continue'))};" if r.random() < 0.5 else ""
        end = r.choice(("3", "n", "5", "(n & 3) + 1"))
        v = f"z{self.loops}"
        return f"for (int {v} = 0; {v} < {end}; {v}++) {{ {leave} {self.statements(deep - 1)} j = j ^ {v}; }}"

    def statements(self, deep: int) -> str:
        """Return some statements."""
        return " ".join(self.statement(deep) for _ in range(self.r.randint(1, 3)))


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    lines = [Writer(r).statement(2) for _ in range(r.randint(2, 9))]
    if r.random() < 0.2:
        lines.append(f"if ({Writer(r).condition(1)}) discard;")
    return {"lines": lines, "numbers": seed}


def _text(case: dict[str, Any]) -> str:
    rest = "  return w(p + q.xyzz + r.yxyx + s + k.xyzz + t[0] + t[1] + t[2] * 2 + t[3] + i - j);\n}\n"
    return HEAD + "".join(f"  {line}\n" for line in case["lines"]) + rest


def _check(case: dict[str, Any]) -> Iterator[str]:
    text = _text(case)
    given = np.random.default_rng(case["numbers"])

    def quarters(*shape: int) -> np.ndarray:
        return (given.integers(-16, 17, shape) / 4).astype(np.float32)

    inputs = {"a": quarters(LANES, 2), "b": quarters(LANES, 3), "c": quarters(LANES, 4)}
    uniforms = {"u": quarters(5, 4), "n": np.array([int(given.integers(-3, 6))]), "m": quarters(2, 3),
                "h": quarters(1, 4)}  # fmt: skip
    form = front_end(text, stage="fragment", target="f32x4").function
    shader = build_shader(text, stage="fragment", language="cg", target="f32x4").shader
    names = {p.name for p in shader.parameters}
    varyings = {"texcoord0": inputs["a"], "texcoord1": inputs["b"], "color0": inputs["c"]}
    got = usse.run(shader, varyings=varyings, uniforms={k: v for k, v in uniforms.items() if k in names}, count=LANES)
    words = {k: list(v) for k, v in uniforms.items()}
    words["n"] = [int(uniforms["n"][0])]
    for lane in range(LANES):
        want = evaluate(form, {k: v[lane] for k, v in inputs.items()}, words)
        gone = bool(got["discard"][lane]) if "discard" in got else False
        if gone != want.discarded:
            raise Wrong(f"pixel {lane} is {'' if gone else 'not '}discarded")
        if not gone and not np.array_equal(got["color"][lane], want.outputs["main"]):
            raise Wrong(f"pixel {lane} is {got['color'][lane]}, not {want.outputs['main']}")
    yield f"{len(shader.primary) // 50 * 50} instructions"


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    lines = case["lines"]
    for k in range(len(lines)):
        yield {**case, "lines": [*lines[:k], *lines[k + 1 :]]}


HERE = [
    Campaign("shading-values", "values of random Cg programs", _make, lambda case: list(_check(case)), _smaller, 60.0)
]
