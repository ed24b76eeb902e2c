"""Shaders printed: a sketch of expressions, or GLSL that compiles."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.decompile.interface import WIDTHS, Fetch, Interface, Output, Symbol
from isakit.decompile.loops import SymbolicLoop, variable
from isakit.decompile.paths import ALWAYS
from isakit.decompile.symbolic import ProgramOutcome, SymbolicExecution, bits
from isakit.decompile.terms import Term, Terms, every
from isakit.decompile.typed import Typing
from isakit.decompile.vectors import Folding
from isakit.errors import NotModelled
from isakit.formats import Shader
from isakit.runtime.usse_layout import SCALES
from isakit.sem.value import Value, const

LONGEST = 100
"""Characters of an expression from which on a part of it gets a name."""
PRECEDENCE = {"?:": 1, "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
              "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "-x": 12, "!": 12, "~": 12}  # fmt: skip
ATOM = 20
_PREFIX = {"-x": "-", "!": "!", "~": "~"}
_SPREADS = {"+", "-", "*", "/"}
"""Operators that take a scalar beside a vector."""
_TYPES = {"float": "vec", "int": "ivec", "uint": "uvec", "bool": "bvec"}
_LODS = {"none": "texture", "bias": "texture", "replace": "textureLod", "gradient": "textureGrad"}
HELPERS = {
    "f16": "float f16(float x) { return unpackHalf2x16(packHalf2x16(vec2(x, 0.0))).x; }",
    "packHalf": "uint packHalf(float x) { return packHalf2x16(vec2(x, 0.0)); }",
    "unpackHalf": "float unpackHalf(uint x) { return unpackHalf2x16(x).x; }",
    **{
        f"unorm{n}": f"float unorm{n}(float x) {{ return roundEven(clamp(x, 0.0, 1.0) * {float((1 << n) - 1)}) "
        f"/ {float((1 << n) - 1)}; }}"
        for n in (8, 16)
    },
}
"""Functions that GLSL does not have."""
_BUILT_IN = {"position": "gl_Position", "pointsize": "gl_PointSize"}
_RESERVED = {"attribute", "const", "uniform", "varying", "buffer", "shared", "in", "out", "inout", "float", "int",
             "bool", "true", "false", "discard", "return", "struct", "void", "if", "else", "for", "while", "do",
             "break", "continue", "sample", "patch", "input", "output", "texture", "main", "filter", "half", "fixed",
             "lowp", "mediump", "highp", "precision", "color_out"}  # fmt: skip


@dataclass(frozen=True)
class ShaderResult:
    """A result of a shader by name, as a term."""

    output: Output
    term: Term


@dataclass(frozen=True)
class LoopVariable:
    """A register that a loop changes: its name after the loop and inside of it, its value before, and after a turn."""

    name: str
    inside: str
    before: Term
    after: Term


@dataclass(frozen=True)
class LoopTerms:
    """A loop: whether it begins, its variables, the loops inside of it, whether there is another iteration."""

    entered: Term
    variables: list[LoopVariable]
    inner: list[LoopTerms]
    again: Term

    @property
    def body(self) -> list[Term]:
        """What is computed in an iteration, loops inside of it apart."""
        return [*(v.after for v in self.variables), self.again, *(t for x in self.inner for t in x.outside)]

    @property
    def outside(self) -> list[Term]:
        """What is computed before it."""
        return [self.entered, *(v.before for v in self.variables)]

    @property
    def everything(self) -> list[Term]:
        """All its terms."""
        return [*self.outside, *self.body, *(t for x in self.inner for t in x.everything)]

    def used(self, names: set[str]) -> LoopTerms:
        """With those variables only that `names`, read after the loop, depend on; adds to `names` what they read."""
        chosen: dict[str, LoopVariable] = {}
        terms = [self.again]
        inner: list[LoopTerms] = []
        count = -1
        while count != len(names) + len(chosen):
            count = len(names) + len(chosen)
            names |= symbols(terms)
            chosen |= {v.name: v for v in self.variables if v.name in names or v.inside in names}
            inner = []
            for x in reversed(self.inner):
                inner.insert(0, x.used(names | symbols([v.after for v in chosen.values()])))
            terms = [self.again, *(v.after for v in chosen.values()), *(t for x in inner for t in x.everything)]
        names |= symbols([self.entered, *(v.before for v in chosen.values())])
        return LoopTerms(self.entered, list(chosen.values()), inner, self.again)


def symbols(terms: Sequence[Term]) -> set[str]:
    """Names that terms read."""
    return {
        t.attr.vector[0] if isinstance(t.attr, Symbol) else t.attr[0][0] for t in every(list(terms)) if t.op == "symbol"
    }


class Decompiled:
    """A shader's results as terms. Raises NotModelled where something has no expression, and says what and where."""

    def __init__(self, shader: Shader, exact: bool, rules: Rules = DEFAULT) -> None:
        self.shader = shader
        self.interface = Interface(shader)
        execution = SymbolicExecution(self.interface, rules)
        registers = self.interface.registers()
        before = execution.run(shader.secondary, registers) if len(shader.secondary) else ProgramOutcome(registers)
        given = {k: v for k, v in before.registers.items() if k[0] == "sa"}
        given |= {k: v for k, v in registers.items() if k[0] == "pa"}
        self.outcome = execution.run(shader.primary, given)
        self.terms = Terms()
        typing = Typing(self.terms, exact)
        outputs = self.interface.outputs()
        components: list[list[Term]] = []
        for o in outputs:
            left = [execution.pruned(execution.one(v), self.outcome.path) for v in self._components(o)]
            components.append(typing.result(left, o.ty, SCALES.get(o.ty)))
        self.discard = typing.condition(execution.pruned(self.outcome.killed, ALWAYS))
        if self.outcome.depth is not None:
            outputs.append(Output("depth", "", 0, 1, "f32"))
            components.append([typing.float(self.outcome.depth)])
        typed = [self._typed(loop, typing, execution) for loop in execution.loops]
        names = symbols([t for c in components for t in c] + [self.discard])
        used = [loop.used(names) for loop in reversed(typed)][::-1]
        folding = Folding(self.terms)
        everything = [*components, [self.discard], *([t] for loop in used for t in loop.everything)]
        folding.learn(everything)
        self.results = [ShaderResult(o, folding.fold(c)) for o, c in zip(outputs, components, strict=True)]
        self.discard = folding.fold([self.discard])
        self.loops = [_folded(loop, folding) for loop in used if loop.variables]

    def _typed(self, loop: SymbolicLoop, typing: Typing, execution: SymbolicExecution) -> LoopTerms:
        """A loop as terms."""
        variables: list[LoopVariable] = []
        for key, after in loop.after.items():
            read = typing.float if key in loop.floats else typing.uint
            before, after = (v.zext(32) if v.width < 32 else v for v in (loop.before[key], after))
            out, inside = (variable(loop.number, key, k, key in loop.floats).name for k in (False, True))
            variables.append(
                LoopVariable(out, inside, read(before), read(execution.pruned(execution.one(after), ALWAYS)))
            )
        inner = [self._typed(x, typing, execution) for x in loop.inner]
        return LoopTerms(typing.condition(loop.entered), variables, inner, typing.condition(loop.again))

    def _components(self, o: Output) -> Iterable[Value]:
        if o.ty not in WIDTHS:
            raise NotModelled(f"an expression for a result of type {o.ty}")
        width = WIDTHS[o.ty]
        for k in range(o.size):
            word = self.outcome.registers.get((o.file, o.register + k * width // 32), const(0, 32))
            yield bits(word, k * width % 32, width)

    @property
    def roots(self) -> list[Term]:
        """All terms that are printed, those inside of loops apart."""
        return [*(r.term for r in self.results), self.discard, *(t for x in self.loops for t in x.outside)]


def _folded(loop: LoopTerms, folding: Folding) -> LoopTerms:
    def one(t: Term) -> Term:
        return folding.fold([t])

    variables = [LoopVariable(v.name, v.inside, one(v.before), one(v.after)) for v in loop.variables]
    inner = [_folded(x, folding) for x in loop.inner if x.variables]
    return LoopTerms(one(loop.entered), variables, inner, one(loop.again))


class Printer:
    """Prints terms; what is used several times, or gets long, is named before, in a statement of its own.

    `lines`: the statements so far. `helpers`: functions that they call.
    """

    def __init__(self, roots: Sequence[Term], exact: bool, samplers: dict[int, tuple[str, bool]]) -> None:
        self.exact, self.samplers = exact, samplers
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._uses: Counter[int] = Counter(id(a) for t in every(list(roots)) for a in t.args)
        self._uses.update(id(r) for r in roots)
        self._names: dict[int, str] = {}
        self._texts: dict[int, tuple[str, int]] = {}

    def text(self, root: Term) -> str:
        """A term as an expression."""
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
        """Condition and the two values, where a statement is better than an operator."""
        if t.op != "?:":
            return None
        c, a, b = (self._texts[id(x)][0] for x in t.args)
        return c, a, b

    def assign(self, target: str, root: Term) -> None:
        """Print a statement that gives a term to a variable."""
        text = self.text(root)
        choice = None if id(root) in self._names else self._written_choice(root)
        self.lines += assignment(target, root, text, choice)

    # --- one term ----------------------------------------------------------------------------------------------------
    def _written(self, t: Term) -> tuple[str, int]:
        if t.op == "number":
            return _number(t)
        if t.op == "symbol":
            (name, element), _ = t.attr
            name = identifier(name)
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
        elif name in _TYPES:
            name = glsl_type(t)
        return f"{name}({', '.join(self._operand(a, 0) for a in t.args)})"

    def _sample(self, t: Term) -> str:
        fetch: Fetch = t.attr
        name, cube = self.samplers.get(fetch.unit, (f"unit{fetch.unit}", False))
        function, coordinate = _LODS[fetch.lod], t.args[0]
        args = [identifier(name), self._operand(coordinate, 0), *(self._operand(a, 0) for a in t.args[1:])]
        if fetch.projective and not cube:
            function = function.replace("texture", "textureProj")
        return f"{function}({', '.join(args)})"

    def _operand(self, t: Term, level: int) -> str:
        text, own = self._texts[id(t)]
        return text if own >= level else f"({text})"

    def _spread(self, t: Term, of: Term, level: int) -> str:
        """An operand of an operator: a scalar beside a vector needs no constructor."""
        if t.op == "splat" and (of.op in _SPREADS or of.op == "fma") and id(t) not in self._names:
            return self._operand(t.args[0], level)
        return self._operand(t, level)


def assignment(target: str, t: Term, text: str, choice: tuple[str, str, str] | None, name: str = "") -> list[str]:
    """The statements that give a value to a variable; a choice becomes an `if`."""
    if choice is None or len(text) < LONGEST // 2:
        return [f"{target} = {text};"]
    condition, yes, no = choice
    declared = [f"{target};"] if name else []
    left = name or target
    return [*declared, f"if ({condition}) {left} = {yes};", f"else {left} = {no};"]


def glsl_type(t: Term) -> str:
    """The type of a term."""
    return t.type if t.size == 1 else f"{_TYPES[t.type]}{t.size}"


def identifier(name: str) -> str:
    """A name of the file as an identifier."""
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", name, flags=re.ASCII))
    if not name or name[0].isdigit() or name in _RESERVED or (name.startswith("gl_") and name != "gl_VertexID"):
        name = f"u{name}" if name.startswith("_") else f"u_{name}"
    return name


def _number(t: Term) -> tuple[str, int]:
    if t.type == "bool":
        return ("true" if t.attr else "false"), ATOM
    if t.type == "float":
        text = _float(t.attr)
    else:
        text = str(t.attr) if t.type == "int" or t.attr < 10 else hex(t.attr)
        text += "u" if t.type == "uint" else ""
    return text, 12 if text.startswith("-") else ATOM


def _float(value: float) -> str:
    """The shortest decimal that is this f32."""
    import numpy as np

    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    return (
        np.format_float_positional(np.float32(value), trim="0") if 1e-4 <= abs(value) < 1e7 else str(np.float32(value))
    )


# --- the two products ------------------------------------------------------------------------------------------------
def expressions(shader: Shader, rules: Rules = DEFAULT) -> str:
    """A shader as one expression per result: a sketch for readers, not for a compiler.

    Temporaries `t0` ... are what is used more than once. `f16(x)` is x rounded to half precision, `unorm8(x)` x
    rounded to a byte's fraction. Loops whose number of iterations is not known are written as loops. Raises NotModelled
    for what has no expression (computed registers, calls, stores), and names it.
    """
    d = Decompiled(shader, False, rules)
    printer = Printer(d.roots, False, d.interface.samplers)
    body = _body(d, printer, {})
    return "".join(f"{line}\n" for line in body)


def glsl(shader: Shader, rules: Rules = DEFAULT) -> str:
    """A shader as GLSL 4.20 that compiles: the same inputs, uniforms and samplers by name.

    Differences to the machine: varyings and attributes arrive as f32 whatever their type in the registers, textures
    sampled without a conversion are taken to have 8 bits per component, and precision of `dot`, `exp2`, `log2`,
    `inversesqrt` and divisions is that of the GLSL implementation. Raises NotModelled as `expressions` does.
    """
    d = Decompiled(shader, True, rules)
    printer = Printer(d.roots, True, d.interface.samplers)
    vertex = shader.stage == "vertex"
    body = _body(d, printer, {r.output.name: _target(r.output.name, vertex) for r in d.results})
    lines = ["#version 420", *_declarations(d, printer, vertex), "void main() {"]
    if not vertex and any(g.name == "position" for g in d.interface.given):
        lines.append("    vec4 position = gl_FragCoord;")
    lines += [f"    {line}" for line in body]
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _loop(loop: LoopTerms, printer: Printer) -> None:
    """Print the statements of a loop. In an iteration everything is computed from what the one before has left."""
    for v in loop.variables:
        text = printer.text(v.before)
        printer.lines.append(f"{v.before.type} {v.name} = {text};")
    entered = printer.text(loop.entered)
    inside = Printer(loop.body, printer.exact, printer.samplers)
    inside.lines += [f"{v.before.type} {v.inside} = {v.name};" for v in loop.variables]
    for x in loop.inner:
        _loop(x, inside)
    for v in loop.variables:
        inside.assign(v.name, v.after)
    again = inside.text(loop.again)
    inside.lines.append(f"if (!({again})) break;")
    printer.helpers |= inside.helpers
    always = loop.entered.op == "number" and loop.entered.attr
    printer.lines.append("for (;;) {" if always else f"if ({entered}) for (;;) {{")
    printer.lines += [*(f"    {line}" for line in inside.lines), "}"]


def _body(d: Decompiled, printer: Printer, names: dict[str, str]) -> list[str]:
    for x in d.loops:
        _loop(x, printer)
    if d.discard.op != "number" or d.discard.attr:
        text = printer.text(d.discard)
        printer.lines.append(f"if ({text}) discard;")
    for r in d.results:
        printer.assign(names.get(r.output.name, r.output.name), r.term)
    return printer.lines


def _target(name: str, vertex: bool) -> str:
    if name.startswith("clip"):
        return f"gl_ClipDistance[{name[4:]}]"
    if name == "depth":
        return "gl_FragDepth"
    return _BUILT_IN.get(name, f"v_{name}") if vertex else f"{name}_out"


def _declarations(d: Decompiled, printer: Printer, vertex: bool) -> list[str]:
    out: list[str] = []
    for g in d.interface.given:
        if g.name in ("gl_VertexID", "position") and (g.name == "gl_VertexID" or not vertex):
            continue
        base = "uint" if g.ty[0] in "us" else "float"
        ty = base if g.size == 1 else f"{_TYPES[base]}{g.size}"
        array = f"[{g.array}]" if g.array else ""
        kind = "uniform" if g.kind == "uniform" else "flat in" if base == "uint" and not vertex else "in"
        out.append(f"{kind} {ty} {identifier(g.name)}{array};")
    for name, cube in d.interface.samplers.values():
        out.append(f"uniform {'samplerCube' if cube else 'sampler2D'} {identifier(name)};")
    for r in d.results:
        target = _target(r.output.name, vertex)
        if not target.startswith("gl_"):
            out.append(f"out {glsl_type(r.term)} {target};")
    clips = [r for r in d.results if r.output.name.startswith("clip")]
    if vertex and clips:
        out.append(f"out float gl_ClipDistance[{1 + max(int(r.output.name[4:]) for r in clips)}];")
    for name in sorted(printer.helpers):
        out.append(HELPERS[name])
        out += [_overload(HELPERS[name], name, n) for n in (2, 3, 4)]
    return out


def _overload(helper: str, name: str, size: int) -> str:
    result, given = helper.split(" ", 1)[0], helper[helper.index("(") + 1 :].split(" ", 1)[0]
    parts = ", ".join(f"{name}(x.{c})" for c in "xyzw"[:size])
    return f"{_TYPES[result]}{size} {name}({_TYPES[given]}{size} x) {{ return {_TYPES[result]}{size}({parts}); }}"
