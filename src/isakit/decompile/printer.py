"""Terms printed as expressions and statements of GLSL."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from isakit.decompile.interface import Fetch, Sampler
from isakit.decompile.terms import Term, every

LONGEST = 100
"""Length of an expression in characters from which on a part of it gets a name."""
PRECEDENCE = {"?:": 1, "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
              "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "-x": 12, "!": 12, "~": 12}  # fmt: skip
ATOM = 20
_PREFIX = {"-x": "-", "!": "!", "~": "~"}
_SPREADS = {"+", "-", "*", "/"}
"""Operators that take a scalar beside a vector."""
VECTORS = {"float": "vec", "int": "ivec", "uint": "uvec", "bool": "bvec"}
_LODS = {"none": "texture", "bias": "texture", "replace": "textureLod", "gradient": "textureGrad"}
HELPERS = {
    "f16": "float f16(float x) { return unpackHalf2x16(packHalf2x16(vec2(x, 0.0))).x; }",
    "packHalf": "uint packHalf(float x) { return packHalf2x16(vec2(x, 0.0)); }",
    "unpackHalf": "float unpackHalf(uint x) { return unpackHalf2x16(x).x; }",
    "unorm8": "float unorm8(float x) { return unpackUnorm4x8(packUnorm4x8(vec4(x))).x; }",
    "unorm16": "float unorm16(float x) { return unpackUnorm2x16(packUnorm2x16(vec2(x))).x; }",
}
"""Functions that GLSL does not have."""
_BUILT_IN_INPUTS = {
    "gl_VertexID": "uint(gl_VertexID)",
    "gl_InstanceID": "uint(gl_InstanceID)",
    "gl_FrontFacing": "uint(!gl_FrontFacing)",
}
"""The content of a register, in terms of GLSL's variable for it."""


class Printer:
    """Prints terms; a term that is used several times, or gets long, is named in a statement of its own before.

    `lines`: the statements so far. `helpers`: functions that they call.
    """

    def __init__(self, roots: Sequence[Term], exact: bool, samplers: Mapping[int, Sampler]) -> None:
        self.exact, self.samplers = exact, samplers
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._uses: Counter[int] = Counter(id(a) for t in every(list(roots)) for a in t.args)
        self._uses.update(id(r) for r in roots)
        self._names: dict[int, str] = {}
        self._texts: dict[int, tuple[str, int]] = {}

    def text(self, root: Term) -> str:
        """Return a term as an expression."""
        for t in every([root]):
            if id(t) in self._texts:
                continue
            text, level = self._written(t)
            if t is not root and self._named(t, text):
                name = self._names[id(t)] = f"t{len(self._names)}"
                self.lines += assignment(f"{glsl_type(t)} {name}", t, text, self._written_choice(t), name)
                text, level = name, ATOM
            self._texts[id(t)] = text, level
        return self._texts[id(root)][0]

    def _named(self, t: Term, text: str) -> bool:
        if t.op in ("number", "symbol", "splat") or (t.op == "swizzle" and t.args[0].op == "symbol"):
            return False
        if t.op == "vector" and all(a.op == "number" for a in t.args):
            return False
        if t.op == "swizzle" and id(t.args[0]) in self._names:
            return False
        return (self._uses[id(t)] > 1 and t.op != "swizzle" and len(text) > 12) or len(text) > LONGEST

    def _written_choice(self, t: Term) -> tuple[str, str, str] | None:
        """Return the condition and the two values of a select, None for another term."""
        if t.op != "?:":
            return None
        c, a, b = (self._texts[id(x)][0] for x in t.args)
        return c, a, b

    def assign(self, target: str, root: Term) -> None:
        """Print a statement that assigns a term to a variable."""
        text = self.text(root)
        choice = None if id(root) in self._names else self._written_choice(root)
        self.lines += assignment(target, root, text, choice)

    # --- one term ----------------------------------------------------------------------------------------------------
    def _written(self, t: Term) -> tuple[str, int]:
        if t.op == "number":
            return _number(t)
        if t.op == "symbol":
            name: str = t.attr[0][0]
            element = t.attr[0][1]
            name = _BUILT_IN_INPUTS.get(name, name)
            return (name if element is None else f"{name}[{element}]"), ATOM
        if t.op == "swizzle":
            return f"{self._operand(t.args[0], ATOM)}.{t.attr}", ATOM
        if t.op == "splat":
            return f"{glsl_type(t)}({self._operand(t.args[0], 0)})", ATOM
        if t.op == "vector":
            return f"{glsl_type(t)}({', '.join(self._operand(a, 0) for a in t.args)})", ATOM
        if t.op == "texel":
            return self._sample(t), ATOM
        if t.op in _PREFIX:
            return _PREFIX[t.op] + self._operand(t.args[0], 13), 12
        if t.op == "?:":
            c, a, b = t.args
            return f"{self._operand(c, 2)} ? {self._operand(a, 2)} : {self._operand(b, 1)}", 1
        if t.op == "fma" and not self.exact:
            a, b, c = t.args
            return f"{self._spread(a, t, 11)} * {self._spread(b, t, 12)} + {self._spread(c, t, 10)}", 10
        if t.op in PRECEDENCE:
            level = PRECEDENCE[t.op]
            a, b = t.args
            both = (self._spread(a, t, level), self._spread(b, t, level + 1))
            if t.op in _SPREADS and a.op == b.op == "splat":
                both = (self._operand(a, level), self._operand(b, level + 1))
            return f" {t.op} ".join(both), level
        return self._function(t), ATOM

    def _function(self, t: Term) -> str:
        name = t.op
        if name in HELPERS:
            self.helpers.add(name)
        elif name in VECTORS:
            name = glsl_type(t)
        return f"{name}({', '.join(self._operand(a, 0) for a in t.args)})"

    def _sample(self, t: Term) -> str:
        fetch: Fetch = t.attr
        function, coordinate = _LODS[fetch.lod], t.args[0]
        args = [self.samplers[fetch.unit].name, *(self._operand(a, 0) for a in (coordinate, *t.args[1:]))]
        if fetch.projective:
            function = function.replace("texture", "textureProj")
        return f"{function}({', '.join(args)})"

    def _operand(self, t: Term, level: int) -> str:
        text, own = self._texts[id(t)]
        return text if own >= level else f"({text})"

    def _spread(self, t: Term, of: Term, level: int) -> str:
        """Return an operand of an operator: a scalar beside a vector needs no constructor."""
        if t.op == "splat" and (of.op in _SPREADS or of.op == "fma") and id(t) not in self._names:
            return self._operand(t.args[0], level)
        return self._operand(t, level)


def assignment(target: str, t: Term, text: str, choice: tuple[str, str, str] | None, name: str = "") -> list[str]:
    """Return the statements that assign a value to a variable; a select becomes an `if`."""
    if choice is None or len(text) < LONGEST // 2:
        return [f"{target} = {text};"]
    condition, yes, no = choice
    declared = [f"{target};"] if name else []
    left = name or target
    return [*declared, f"if ({condition}) {left} = {yes};", f"else {left} = {no};"]


def glsl_type(t: Term) -> str:
    """Return the type of a term."""
    return t.type if t.size == 1 else f"{VECTORS[t.type]}{t.size}"


def _number(t: Term) -> tuple[str, int]:
    if t.type == "bool":
        return ("true" if t.attr else "false"), ATOM
    if t.type == "float":
        text = _float(t.attr)
    else:
        text = str(t.attr) if t.type == "int" or t.attr < 10 else hex(t.attr)
        text += "u" if t.type == "uint" else ""
        if t.attr == -(1 << 31):  # the number behind the minus is none of GLSL
            return "int(0x80000000u)", ATOM
    return text, 12 if text.startswith("-") else ATOM


def _float(value: float) -> str:
    """Return the shortest decimal number that rounds to this f32."""
    import numpy as np

    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    return (
        np.format_float_positional(np.float32(value), trim="0") if 1e-4 <= abs(value) < 1e7 else str(np.float32(value))
    )
