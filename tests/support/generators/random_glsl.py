"""Random programs of GLSL: their results are exact, whatever order and whichever fused operations a compiler takes.

Every stored number is brought back to a multiple of a quarter between -8 and 8. What is not exact (roots, sines) goes
into the variable `e` alone, from which nothing else is computed.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np

Array = np.ndarray
UNIFORMS = {"u": ("vec4", 5), "m3": ("mat3", 0), "m2": ("mat2x3", 0), "h": ("vec3", 0), "k": ("float", 0),
            "n": ("int", 0), "ks": ("float", 3), "un": ("uvec2", 0)}  # fmt: skip
"""The members of the block of uniforms: type, and length of arrays."""
HEAD = """\
#version 450
layout(binding = 0) uniform sampler2D tex;
layout(binding = 1, std140) uniform Block {
  vec4 u[5]; mat3 m3; mat2x3 m2; vec3 h; float k; int n; float ks[3]; uvec2 un;
};
struct Part { vec3 a; float b[2]; int n; };
const vec2 table[3] = vec2[](vec2(1, -0.5), vec2(0.25), vec2(-2, 3));
float w(float x) { return clamp(floor(x * 4.0) * 0.25, -8.0, 8.0); }
vec2 w(vec2 x) { return clamp(floor(x * 4.0) * 0.25, -8.0, 8.0); }
vec3 w(vec3 x) { return clamp(floor(x * 4.0) * 0.25, -8.0, 8.0); }
vec4 w(vec4 x) { return clamp(floor(x * 4.0) * 0.25, -8.0, 8.0); }
vec4 turned(vec4 x, int by, inout vec3 y, out float z) {
  z = w(y.x);
  if (by > 1) { y.x = w(y.x + float(by)); return x.wzyx; }
  y = y.zxy;
  return -x;
}
float sought(vec2 x, float y) {
  for (int s = 0; s < 3; s++) { if (table[s].x > y) return table[s].y + x.x; y += 1.0; }
  return x.y;
}
Part changed(Part x, int at) { x.b[at & 1] = w(x.a.y); x.n ^= at; x.a = x.a.zzx; return x; }
"""
STAGES = {
    "fragment": (
        "layout(location = 0) in vec4 c;\nlayout(location = 1) in vec3 g;\nlayout(location = 2) in vec2 a;\n",
        "layout(location = 0) out vec4 result;\n",
    ),
    "vertex": (
        "layout(location = 0) in vec4 c;\nlayout(location = 1) in vec3 g;\nlayout(location = 2) in vec2 a;\n",
        "layout(location = 0) out vec4 result;\nlayout(location = 1) out vec4 near;\n",
    ),
}
START = """\
void main() {
  vec4 p = c; vec3 q = g; vec2 r = a; float s = a.x; int i = n; int j = 1; uint o = un.x; bool b = a.x > a.y;
  ivec3 iv = ivec3(n, 2, -1); mat3 m = m3; float t[4] = float[4](1.0, 0.5, -2.0, 0.0); vec4 e = vec4(0.0);
  Part x = Part(g.zyx, float[2](a.y, 1.0), 3); vec3 l[3]; l[0] = g; l[1] = vec3(1.0); l[2] = h;
"""
SUM = """\
  p = w(p + q.xyzz + r.yxyx + s + vec4(t[0], t[1], t[2], t[3]));
  p = w(p + vec4(i - j, iv) + float(o & 7u) + vec4(x.a, x.b[0]) + x.b[1] + float(x.n));
  p = w(p + vec4(w(m[0]), b ? 1.0 : 0.0) + vec4(w(m[1]), 0.0) + w(m[2]).zyxx + w(l[0] + l[1] + l[2]).xyzx);
"""
LOCALS = {"p": "vec4", "q": "vec3", "r": "vec2", "s": "float", "i": "int", "j": "int", "o": "uint", "b": "bool",
          "iv": "ivec3", "m": "mat3"}  # fmt: skip
_INEXACT = ("sqrt(abs(X))", "inversesqrt(abs(X) + 0.5)", "exp2(X)", "log2(abs(X) + 0.25)", "exp(X * 0.25)", "sin(X)",
            "cos(X)", "tan(X * 0.125)", "asin(X * 0.125)", "acos(X * 0.125)", "atan(X)", "atan(X, Y + 0.125)",
            "log(abs(X) + 1.0)", "pow(abs(X) + 0.25, Y * 0.5)", "X / (abs(Y) + 0.75)", "mod(X, abs(Y) + 0.3)",
            "smoothstep(-2.0, 3.0, X)", "normalize(X + 9.0)", "vec4(length(X), distance(X, Y), X.xy)", "reflect(X, Y)",
            "refract(normalize(X + 9.0), normalize(Y + 9.5), 0.75)", "mix(X, Y, 0.3)", "faceforward(X, Y, X.wzyx)",
            "radians(X)", "degrees(X)", "sinh(X * 0.25)", "cosh(X * 0.25)", "tanh(X)", "asinh(X)",
            "acosh(abs(X) + 1.125)", "atanh(X * 0.0625)", "vec4(inverse(mat2(X.x + 9.0, X.yz, 9.5)))",
            "vec4(inverse(mat3(9.0)) * X.xyz, determinant(mat3(X.xyz, Y.xyz, X.wyx)))",
            "vec4(unpackHalf2x16(packHalf2x16(X.xy * 1.3)), X.zw)", "unpackUnorm4x8(packUnorm4x8(X * 0.1))",
            "fma(X, Y, vec4(0.3))", "roundEven(X)",
            "unpackSnorm4x8(packSnorm4x8(X * 0.11))",
            "vec4(unpackUnorm2x16(packUnorm2x16(X.xy * 0.1)), X.zw)",
            "vec4(unpackSnorm2x16(packSnorm2x16(X.zw * 0.1)), X.xy)",
            "inverse(mat4(9.0) + outerProduct(X, Y) * 0.015625) * Y")  # fmt: skip
"""Functions whose results are rounded; X and Y are vectors of four."""


class Sizes(NamedTuple):
    """A type's kind of numbers, and how many there are."""

    kind: str
    count: int


def sizes(type: str) -> Sizes:
    """Take a name of a scalar or vector type apart."""
    for prefix, kind in (("ivec", "int"), ("uvec", "uint"), ("bvec", "bool"), ("vec", "float")):
        if type.startswith(prefix):
            return Sizes(kind, int(type[-1]))
    return Sizes(type, 1)


def named(kind: str, count: int) -> str:
    """Return the name of a type."""
    return kind if count == 1 else {"int": "i", "uint": "u", "bool": "b", "float": ""}[kind] + f"vec{count}"


class Writer:
    """Writes statements at random."""

    def __init__(self, r: Random, stage: str) -> None:
        self.r, self.stage, self.loops, self.depth = r, stage, 0, 0

    def any(self, *choices: str) -> str:
        """Choose a text."""
        return self.r.choice(choices)

    def letters(self, of: int, count: int, distinct: bool = False) -> str:
        """Return a swizzle of a vector."""
        names = self.any("xyzw", "xyzw", "rgba", "stpq")[:of]
        return "".join(self.r.sample(names, count) if distinct else [self.r.choice(names) for _ in range(count)])

    def index(self, length: int) -> str:
        """Return an index that lies within an array."""
        if length == 3:
            return self.any("0", "1", "2", "(i & 1)", "(j & 1) + 1", "int(o % 3u)")
        mask = length - 1
        return self.any("0", str(mask), f"i & {mask}", f"j & {mask}", f"(i + j) & {mask}", f"int(o & {mask}u)")

    def floats(self, n: int, deep: int) -> str:
        """Return an expression of a float or a vector of floats."""
        if deep <= 0 or self.r.random() < 0.22:
            return self._leaf(n)
        x, y = self.floats(n, deep - 1), self.floats(n, deep - 1)
        type = named("float", n)
        plain = [
            f"({x} + {y})", f"({x} - {y})", f"({x} * {self.any('0.5', '2.0', '-1.0')})", f"max({x}, {y})",
            f"min({x}, {y})", f"abs({x})", f"(- {x})", f"floor({x})", f"fract({x})", f"clamp({x}, -1.0, 2.5)",
            f"({self.bools(1, deep - 1)} ? {x} : {y})", f"step({x}, {y})", f"w({x}) * w({y})", f"sign({x})",
            f"ceil({x})", f"trunc({x})", f"mix({x}, {y}, 0.5)", f"{type}({self.ints('int', n, deep - 2)})",
            f"mod(w({x}), {self.any('2.0', '4.0', '0.5')})", f"(w({x}) / {self.any('2.0', '-4.0', '0.25')})",
            f"{type}({self.bools(n, deep - 2)})", f"mix({x}, {y}, {self.bools(n, deep - 1)})",
            f"clamp({x}, {type}(-2.0), max({self._leaf(n)}, -2.0))", f"(w({x}) * 3.0 - {y})", f"+{self._leaf(n)}",
            f"fma(w({x}), w({y}), {self._leaf(n)})", f"{type}(uint(o & 15u))",
        ]  # fmt: skip
        if n == 1:
            k = self.r.choice((2, 3, 4))
            plain += [
                f"dot(w({self.floats(k, deep - 2)}), w({self.floats(k, deep - 2)}))", f"t[{self.index(4)}]",
                f"sought({self.floats(2, deep - 2)}, {y})", f"p[{self.index(4)}]",
                f"m[{self.index(3)}][{self.index(3)}]",
                "determinant(mat2(w(r), w(q.xy)))", f"float({self.ints('uint', 1, deep - 2)} & 63u)",
                f"({self.floats(k, deep - 2)}).{self.letters(k, 1)}",
                "intBitsToFloat(floatBitsToInt(s))", "uintBitsToFloat(floatBitsToUint(q.y) & 0x7fffffffu)",
                f"(q == l[{self.index(3)}] ? 1.0 : {x})", "(x.b == float[2](1.0, 0.5) ? 2.0 : s)",
            ]  # fmt: skip
        else:
            made = ", ".join(self.floats(1, deep - 2) for _ in range(n))
            parted = f"{type}({self.floats(n - 1, deep - 1)}, {self.floats(1, deep - 2)})"
            plain += [
                f"{type}({made})", parted, f"{type}({self.floats(1, deep - 1)})", f"({x} * {self._leaf(1)})",
                f"(w({x}) + {self._leaf(1)})", f"({self._leaf(1)} - w({x}))", f"{type}({self._leaf(4)})",
                f"({self.floats(4, deep - 2)}).{self.letters(4, n)}", f"max({x}, {self._leaf(1)})",
            ]  # fmt: skip
        if n == 3:
            plain += [f"(m * w({x}))", f"(w({x}) * m)", f"cross(w({x}), w({y}))",
                      f"(m2 * w({self.floats(2, deep - 2)}))",
                      f"(transpose(m) * w({x}))", f"outerProduct(w({x}), w({y}))[{self.index(3)}]",
                      f"matrixCompMult(m, m3)[{self.index(3)}]", f"(mat3(2.0) * {x})", f"(m3 + m)[{self.index(3)}]",
                      f"(m - 0.5)[{self.r.randrange(3)}]", f"mat3(p, s, w({x}), s)[{self.index(3)}]"]  # fmt: skip
        if n == 2:
            plain += [f"(w({self.floats(3, deep - 2)}) * m2)", f"(mat2(w(p)) * w({x}))", f"(mat2(m) * w({x}))",
                      f"(mat3x2(q, q) * w({self.floats(3, deep - 2)}))"]  # fmt: skip
        if n == 4:
            plain += [f"(mat4(m) * w({x}))", f"(mat4x3(p, q, r, q) * p).{self.letters(3, 4)}",
                      "texture(tex, r * 0.125 + 0.015625)", "textureLod(tex, q.yz * 0.125 + 0.015625, 0.0)",
                      f"textureProj(tex, vec3({self._leaf(2)} + 0.125, 8.0))"]  # fmt: skip
        return self.r.choice(plain)

    def _leaf(self, n: int) -> str:
        r = self.r
        if n == 1:
            return self.any("s", f"p.{self.letters(4, 1)}", f"q.{self.letters(3, 1)}", f"r.{self.letters(2, 1)}",
                            f"t[{self.index(4)}]", f"u[{r.randrange(5)}].{self.letters(4, 1)}", f"u[{self.index(4)}].y",
                            "0.25", "-1.5", "3.", "k", "float(i)", f"x.b[{self.index(2)}]", f"ks[{self.index(3)}]",
                            f"m[{r.randrange(3)}].{self.letters(3, 1)}", f"l[{self.index(3)}].z", "float(b)",
                            f"m2[{r.randrange(2)}][{r.randrange(3)}]", f"table[{self.index(3)}].y")  # fmt: skip
        own = {2: "r", 3: self.any("q", "x.a", "h", f"l[{self.index(3)}]", f"m[{self.index(3)}]"), 4: "p"}[n]
        return self.any(own, own, f"p.{self.letters(4, n)}", f"q.{self.letters(3, n)}", f"c.{self.letters(4, n)}",
                        f"u[{r.randrange(5)}].{self.letters(4, n)}", f"r.{self.letters(2, n)}",
                        f"u[{self.index(4)}].{self.letters(4, n)}", f"x.a.{self.letters(3, n)}",
                        f"{named('float', n)}({self.any('1', '0.5', 's', 'i')})")  # fmt: skip

    def ints(self, kind: str, n: int, deep: int) -> str:
        """Return an expression of integers."""
        type, u = named(kind, n), "u" if kind == "uint" else ""
        if deep <= 0 or self.r.random() < 0.3:
            if n == 1:
                return self.any(*{"int": ("i", "j", "n", "2", "-3", "7", "x.n", f"iv.{self.letters(3, 1)}", "int(o)"),
                                  "uint": ("o", "un.x", "un.y", "3u", "0x1fu", "uint(j)")}[kind])  # fmt: skip
            if kind == "uint":
                return self.any(f"un.{self.letters(2, n)}", f"{type}(o)", f"{type}(iv.{self.letters(3, n)})")
            return self.any(f"iv.{self.letters(3, n)}", f"{type}(i)", f"{type}(j)",
                            f"{type}({', '.join(self.any('i', '1', 'j') for _ in range(n))})")  # fmt: skip
        x, y = self.ints(kind, n, deep - 1), self.ints(kind, n, deep - 1)
        plain = [f"({x} {op} {y})" for op in "+-*&|^"]
        plain += [f"({x} << {self.any('1', '3', '5')}{u})", f"({x} >> {self.any('1', '2')}{u})", f"max({x}, {y})",
                  f"min({x}, {y})", f"(~{x})", f"clamp({x}, {self.any('1', '2')}{u}, 9{u})",
                  f"({self.bools(1, deep - 1)} ? {x} : {y})", f"({x} << ({self.ints('int', n, 0)} & 7))",
                  f"{type}({self.bools(n, deep - 1)})"]  # fmt: skip
        if kind == "uint":
            plain += [f"({x} / {self.any('3u', '10u', '7u')})", f"({x} % {self.any('5u', '8u')})",
                      f"{type}({self.ints('int', n, deep - 1)})", f"({x} / max({y} & 15u, 1u))"]  # fmt: skip
        else:
            plain += [f"abs({x})", f"(- {x})", f"sign({x})", f"(({x} & 1023) / {self.any('3', '-5')})",
                      f"(({x} & 255) % {self.any('5', '8')})", f"{type}(w({self.floats(n, deep - 1)}))",
                      f"{type}({self.ints('uint', n, deep - 1)})", f"({x} * {self.any('3', '-1')})",
                      f"(({x} >> 1) / 4)"]  # fmt: skip
        if n == 1:
            plain += ["t.length()" if not u else "uint(t.length())"]
        return self.r.choice(plain)

    def bools(self, n: int, deep: int) -> str:
        """Return an expression of a bool or of several."""
        if n > 1:
            name = self.any("lessThan", "greaterThan", "lessThanEqual", "greaterThanEqual", "equal", "notEqual")
            if deep > 0 and self.r.random() < 0.3:
                return self.any(f"not({self.bools(n, deep - 1)})", f"bvec{n}({self.ints('int', n, 0)})",
                                f"equal({self.bools(n, deep - 1)}, {self.bools(n, deep - 1)})",
                                f"bvec{n}({self.bools(1, deep - 1)})")  # fmt: skip
            if self.r.random() < 0.25:
                kind = self.any("int", "uint")
                return f"{name}({self.ints(kind, n, deep - 1)}, {self.ints(kind, n, deep - 1)})"
            return f"{name}({self.floats(n, deep - 1)}, {self.floats(n, deep - 1)})"
        op = self.any("<", ">", "<=", ">=", "==", "!=")
        if deep > 0 and self.r.random() < 0.35:
            x, y, k = self.bools(1, deep - 1), self.bools(1, deep - 1), self.r.choice((2, 3, 4))
            return self.any(f"({x} && {y})", f"({x} || {y})", f"!{x}", f"({x} == {y})", f"({x} ^^ {y})",
                            f"any({self.bools(k, deep - 1)})", f"all({self.bools(k, deep - 1)})", "bool(i)", "bool(s)",
                            f"({self.floats(k, 1)} {self.any('==', '!=')} {self.floats(k, 0)})",
                            f"({self.ints('int', k, 0)} == {self.ints('int', k, 0)})", "isnan(s)", "isinf(q.x)",
                            "(m == m3)", f"({x} != {y})")  # fmt: skip
        if self.r.random() < 0.15:
            return "b"
        if self.r.random() < 0.3:
            kind = self.any("int", "int", "uint")
            return f"({self.ints(kind, 1, deep)} {op} {self.ints(kind, 1, deep)})"
        return f"({self.floats(1, deep)} {op} {self.floats(1, deep)})"

    def assignment(self) -> str:
        """Return a statement that stores a number."""
        r = self.r
        kind = r.random()
        if kind < 0.5:
            name = self.any("p", "q", "r", "s")
            n = sizes(LOCALS[name]).count
            if n > 1 and r.random() < 0.4:
                size = r.randint(1, n)
                places = self.letters(n, size, distinct=True)
                op = self.any("=", "=", "=", "+=", "-=")
                value = f"w({self.floats(size, 2)})"
                return f"{name}.{places} {op} {value}; {name} = w({name});"
            return f"{name} = w({self.floats(n, 3)});"
        if kind < 0.58:
            return f"t[{self.index(4)}] = w({self.floats(1, 2)});"
        if kind < 0.66:
            name = self.any("i", "j", "i", "x.n")
            return self.any(f"{name} = clamp({self.ints('int', 1, 2)}, -9, 9);", f"{name}++;", f"--{name};",
                            f"{name} ^= {self.ints('int', 1, 1)}; {name} &= 15;")  # fmt: skip
        if kind < 0.71:
            return self.any(f"iv = clamp({self.ints('int', 3, 2)}, -9, 9);", f"o = {self.ints('uint', 1, 3)};",
                            f"iv.{self.letters(3, 1)} = clamp({self.ints('int', 1, 2)}, -9, 9);", "o >>= 1u;",
                            f"iv[{self.index(3)}] = 4;")  # fmt: skip
        if kind < 0.76:
            return f"b = {self.bools(1, 2)};"
        if kind < 0.83:
            column = self.index(3)
            return self.any(f"m[{column}] = w({self.floats(3, 2)});", f"m[{column}].{self.letters(3, 1)} = w(s);",
                            "m = transpose(m);", f"m[{column}][{self.index(3)}] = w({self.floats(1, 1)});",
                            "m *= 0.5; m[0] = w(m[0]); m[1] = w(m[1]); m[2] = w(m[2]);",
                            "m = mat3(2.0);", "m = mat3(w(q), w(p.yzw), w(q * 2.0));")  # fmt: skip
        if kind < 0.9:
            return self.any(f"x.a = w({self.floats(3, 2)});", f"x.b[{self.index(2)}] = w({self.floats(1, 2)});",
                            f"x = changed(x, {self.ints('int', 1, 1)}); x.n &= 7;",
                            "x = Part(q, float[2](s, r.x), 2);", f"x.a.{self.letters(3, 2, True)} = r;")  # fmt: skip
        if kind < 0.95:
            return self.any(f"l[{self.index(3)}] = w({self.floats(3, 2)});", f"l[{self.index(3)}].y = w(s);",
                            f"l[{self.index(3)}] = l[{self.index(3)}];", "{ float z; q = w(modf(q, l[1])); }",
                            f"p[{self.index(4)}] = w({self.floats(1, 2)});")  # fmt: skip
        return f"{{ float z; p = w(turned({self.floats(4, 1)}, {self.ints('int', 1, 0)}, q, z)); s = z; }}"

    def statement(self, deep: int) -> str:
        """Return a statement."""
        r = self.r
        kind = r.random()
        if kind < 0.55 or deep <= 0:
            return self.assignment()
        if kind < 0.63:
            f = r.choice(_INEXACT).replace("X", f"w({self.floats(4, 1)})").replace("Y", f"w({self.floats(4, 1)})")
            return f"e = {f} + e * 0.5;"
        if kind < 0.8:
            other = f" else {{ {self.statements(deep - 1)} }}" if r.random() < 0.6 else ""
            return f"if ({self.bools(1, 2)}) {{ {self.statements(deep - 1)} }}{other}"
        if kind < 0.85:
            return self.switch(deep)
        if self.loops >= 2:
            return f"s = w(s + {self.floats(1, 1)});"
        return self.loop(deep)

    def switch(self, deep: int) -> str:
        """Return a `switch`."""
        cases = self.r.sample(range(-2, 6), self.r.randint(1, 4))
        parts: list[str] = []
        for label in cases:
            end = self.any("break;", "break;", "", f"if ({self.bools(1, 1)}) break;")
            parts.append(f"case {label}: {self.statements(deep - 1)} {end}")
        if self.r.random() < 0.7:
            last = f"default: {self.statements(deep - 1)} {self.any('break;', '')}"
            parts.insert(self.r.randrange(len(parts) + 1), last)
        return f"switch ({self.ints('int', 1, 1)}) {{ {' '.join(parts)} s += 0.0; }}"

    def loop(self, deep: int) -> str:
        """Return a loop."""
        self.loops += 1
        self.depth += 1
        v = f"z{self.loops}"
        leave = f"if ({self.bools(1, 1)}) {self.any('break', 'continue')};" if self.r.random() < 0.5 else ""
        late = f"if ({self.bools(1, 1)}) break;" if self.r.random() < 0.2 else ""
        end = self.any("3", "n", "5", "(n & 3) + 1", "min(i, 4)")
        inside = f"{leave} {self.statements(deep - 1)} j = j ^ {v}; {late}"
        self.depth -= 1
        kind = self.r.random()
        if kind < 0.6:
            return f"for (int {v} = 0; {v} < {end}; {v}++) {{ {inside} }}"
        if kind < 0.8:
            return f"{{ int {v} = 0; while ({v}++ < {self.any('3', 'n')}) {{ {inside} }} }}"
        return f"{{ int {v} = 0; do {{ {inside} }} while (++{v} < {self.any('3', 'n')}); }}"

    def statements(self, deep: int) -> str:
        """Return some statements."""
        return " ".join(self.statement(deep) for _ in range(self.r.randint(1, 3)))


def random_glsl_lines(seed: int, stage: str) -> list[str]:
    """Return the statements of a random program."""
    r = Random(seed)
    lines = [Writer(r, stage).statement(2) for _ in range(r.randint(1, 5))]
    if stage == "fragment" and r.random() < 0.2:
        lines.insert(r.randrange(len(lines) + 1), f"if ({Writer(r, stage).bools(1, 1)}) discard;")
    return lines


def program(lines: list[str], stage: str, near: bool) -> str:
    """Return the text of a program.

    `near`: a fragment program's colour is what was rounded on the way, and not what is exact. A vertex program has
    both.
    """
    inputs, outputs = STAGES[stage]
    last = {"fragment": f"  result = {'e' if near else 'p'};\n",
            "vertex": "  gl_Position = vec4(r, s, 1.0); result = p; near = e;\n"}[stage]  # fmt: skip
    return HEAD + inputs + outputs + START + "".join(f"  {line}\n" for line in lines) + SUM + last + "}\n"


def quarters(given: np.random.Generator, *shape: int) -> Array:
    """Return random multiples of a quarter between -4 and 4."""
    return (given.integers(-16, 17, shape) / 4).astype(np.float32)


def inputs(seed: int, count: int) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Return inputs by name, uniforms by name (matrices as columns), and texels [4, 4, 4]."""
    given = np.random.default_rng(seed)
    shapes = {"c": 4, "g": 3, "a": 2}
    vectors: dict[str, Array] = {name: quarters(given, count, n) for name, n in shapes.items()}
    uniforms: dict[str, Array] = {
        "u": quarters(given, 5, 4), "m3": quarters(given, 3, 3), "m2": quarters(given, 2, 3), "h": quarters(given, 3),
        "k": quarters(given, 1), "n": given.integers(-3, 6, 1).astype(np.int32), "ks": quarters(given, 3),
        "un": given.integers(0, 40, 2).astype(np.uint32),
    }  # fmt: skip
    return vectors, uniforms, quarters(given, 4, 4, 4)
