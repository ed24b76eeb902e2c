"""Shaders printed: a sketch of expressions, or GLSL that compiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from isakit.arch.usse.arithmetic import DEFAULT, Rules
from isakit.decompile.interface import WIDTHS, DeclaredInput, Interface, Output, Symbol
from isakit.decompile.loops import SymbolicLoop, variable
from isakit.decompile.names import LONGEST
from isakit.decompile.paths import ALWAYS
from isakit.decompile.printer import HELPERS, VECTORS, Printer, glsl_type
from isakit.decompile.simplify import bits
from isakit.decompile.symbolic import ProgramOutcome, SymbolicExecution
from isakit.decompile.terms import Term, Terms, every
from isakit.decompile.typed import Typing
from isakit.decompile.vectors import Folding
from isakit.errors import NotModelled
from isakit.formats import Shader
from isakit.runtime.usse_layout import SCALES
from isakit.sem.value import Value, const

_BUILT_IN = {"position": "gl_Position", "pointsize": "gl_PointSize"}


@dataclass(frozen=True)
class ShaderResult:
    """A result of a shader by name, as a term."""

    output: Output
    term: Term


@dataclass(frozen=True)
class LoopVariable:
    """A register that a loop changes: its names after and inside of it, its value before, and after an iteration."""

    name: str
    inside: str
    before: Term
    after: Term


@dataclass(frozen=True)
class LoopTerms:
    """A loop: its entry condition, its variables, its inner loops, and the condition of another iteration."""

    entered: Term
    variables: list[LoopVariable]
    inner: list[LoopTerms]
    again: Term

    @property
    def body(self) -> list[Term]:
        """The terms of an iteration, except those of loops inside of it."""
        return [*(v.after for v in self.variables), self.again, *(t for x in self.inner for t in x.outside)]

    @property
    def outside(self) -> list[Term]:
        """The terms that are computed before the loop."""
        return [self.entered, *(v.before for v in self.variables)]

    @property
    def everything(self) -> list[Term]:
        """All terms of the shader."""
        return [*self.outside, *self.body, *(t for x in self.inner for t in x.everything)]

    def used(self, names: set[str]) -> LoopTerms:
        """Return the loop with only the variables that `names` depend on; add the names that these read to `names`."""
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
    """Return the names that terms read."""
    return {
        t.attr.vector[0] if isinstance(t.attr, Symbol) else t.attr[0][0] for t in every(list(terms)) if t.op == "symbol"
    }


class Decompiled:
    """A shader's results as terms. Raises NotModelled, with the reason and place, if something has no expression."""

    def __init__(self, shader: Shader, exact: bool, rules: Rules = DEFAULT) -> None:
        try:
            self._execute(shader, exact, rules)
        except RecursionError:
            raise NotModelled("an expression for this program", "its values are computed in too many steps") from None

    def _execute(self, shader: Shader, exact: bool, rules: Rules) -> None:
        self.shader = shader
        self.interface = Interface(shader)
        execution = SymbolicExecution(self.interface, rules)
        registers = self.interface.registers()
        before = execution.run(shader.secondary, registers) if len(shader.secondary) else ProgramOutcome(registers)
        given = {k: v for k, v in before.registers.items() if k[0] == "sa"}
        given |= {k: v for k, v in registers.items() if k[0] != "sa"}
        self.outcome = execution.run(shader.primary, given)
        self.terms = Terms()
        typing = Typing(self.terms, exact)
        outputs = [self._written(o) for o in self.interface.outputs()]
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
        """Return a loop as terms."""
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

    def _written(self, o: Output) -> Output:
        """Return a result without the components at its end that a vertex program never writes.

        Only where it has the same registers without them: fog and colours, and coordinates of two components.
        """
        shorter = o.name in ("fog", "color0", "color1") or (o.name.startswith("texcoord") and o.size == 2)
        while shorter and o.size > 1 and (o.file, o.register + o.size - 1) not in self.outcome.registers:
            o = replace(o, size=o.size - 1)
        return o

    def _components(self, o: Output) -> Iterable[Value]:
        if o.ty not in WIDTHS:
            raise NotModelled(f"an expression for a result of type {o.ty}")
        width = WIDTHS[o.ty]
        for k in range(o.size):
            word = self.outcome.registers.get((o.file, o.register + k * width // 32), const(0, 32))
            yield bits(word, k * width % 32, width)

    @property
    def roots(self) -> list[Term]:
        """All printed terms outside of loops."""
        return [*(r.term for r in self.results), self.discard, *(t for x in self.loops for t in x.outside)]


def _folded(loop: LoopTerms, folding: Folding) -> LoopTerms:
    def one(t: Term) -> Term:
        return folding.fold([t])

    variables = [LoopVariable(v.name, v.inside, one(v.before), one(v.after)) for v in loop.variables]
    inner = [_folded(x, folding) for x in loop.inner if x.variables]
    return LoopTerms(one(loop.entered), variables, inner, one(loop.again))


# --- the two products ------------------------------------------------------------------------------------------------
def expressions(shader: Shader, rules: Rules = DEFAULT) -> str:
    """Return a shader as one expression per result: a sketch for readers, not for a compiler.

    Temporaries `t0`, ... are values used more than once. `f16(x)` is x rounded to half precision, `unorm8(x)` x rounded
    to a byte's fraction. Loops whose number of iterations is not known are written as loops. Raises NotModelled, with
    the reason, for constructs without an expression (computed registers, calls, stores).
    """
    d = Decompiled(shader, False, rules)
    printer = Printer(d.roots, False, d.interface.samplers)
    body = _body(d, printer, {})
    return "".join(f"{line}\n" for line in body)


def file_names(shader: Shader) -> list[str]:
    """Return the names of inputs, uniforms and samplers in the file. Raises NotModelled as `glsl` does."""
    interface = Interface(shader)
    interface.registers()
    return [x.source for x in (*interface.given, *interface.samplers.values()) if x.source]


def glsl(shader: Shader, rules: Rules = DEFAULT) -> str:
    """Return a shader as GLSL 4.20 that compiles: the same inputs, uniforms and samplers by name.

    Values passed as f16 are rounded where they are read. Differences from the machine: textures sampled without a
    conversion are assumed to have 8 bits per component, and precision of `dot`, `exp2`, `log2`, `inversesqrt` and
    divisions is that of the GLSL implementation. Raises NotModelled as `expressions` does.
    """
    d = Decompiled(shader, True, rules)
    vertex = shader.stage == "vertex"
    if vertex:
        _check_vertex(d)
    printer = Printer(d.roots, True, d.interface.samplers)
    body = _body(d, printer, {r.output.name: _target(r.output.name, vertex) for r in d.results})
    lines = ["#version 420", *_extensions(d), *_file_names(d), *_declarations(d, printer, vertex), "void main() {"]
    place = _place(d)
    if place is not None:
        lines.append(f"    {_declared(place)} = gl_FragCoord.{'xyzw'[: place.size]};")
    lines += [f"    {line}" for line in body]
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _loop(loop: LoopTerms, printer: Printer) -> None:
    """Print the statements of a loop. In an iteration, everything is computed from the previous iteration's values."""
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


_LONGEST_SOURCE = 80
"""Longest name of the file in a comment, in characters."""


def _check_vertex(d: Decompiled) -> None:
    """Raise NotModelled for operations that GLSL has in fragment shaders only."""
    names = {"dFdx": "a difference to a neighbour", "dFdy": "a difference to a neighbour"}
    everything = [*(r.term for r in d.results), *(t for loop in d.loops for t in loop.everything)]
    found = [names[t.op] for t in every(everything) if t.op in names]
    found += ["a sample with a bias" for t in every(everything) if t.op == "texel" and t.attr.lod == "bias"]
    if d.discard.op != "number" or d.discard.attr:
        found.append("a discarded pixel")
    if any(r.output.name == "depth" for r in d.results):
        found.append("the depth of a pixel")
    if found:
        raise NotModelled(f"GLSL for {found[0]} in a vertex program")


def _place(d: Decompiled) -> DeclaredInput | None:
    """Return the input of a fragment program that is the position of the pixel, None if there is none."""
    return next((g for g in d.interface.given if g.kind == "varying" and g.source == "position"), None)


def _extensions(d: Decompiled) -> list[str]:
    """Return the directives of the extensions that the expressions need."""
    terms = [*d.roots, *(t for loop in d.loops for t in loop.everything)]
    reads = "gl_LastFragData" in symbols(terms)
    return ["#extension GL_EXT_shader_framebuffer_fetch : require"] if reads else []


def _declared(g: DeclaredInput) -> str:
    """Return the type and name of an input."""
    base = "uint" if g.ty[0] in "us" else "float"
    return f"{base if g.size == 1 else f'{VECTORS[base]}{g.size}'} {g.name}{f'[{g.array}]' if g.array else ''}"


def _renamed(name: str, source: str | None) -> str:
    """Return a comment with the name in the file, if the identifier differs."""
    if source is None:
        return "  // no sampler of the file"
    return "" if name == source else f"  // {source[:_LONGEST_SOURCE]!a} in the file"


_NAMEABLE = re.compile(rf"[A-Za-z_][\w.\[\]]{{,{LONGEST}}}", re.ASCII)


def _file_names(d: Decompiled) -> list[str]:
    """Return the directives that tell `isakit cc` the names in the file, and which attributes are read unconverted."""
    known = [p.name for p in d.interface.shader.parameters]
    known += [g.source for g in d.interface.given if g.kind == "varying" and g is not _place(d)]
    given = [(g.name, g.source) for g in (*d.interface.given, *d.interface.samplers.values())]
    raw = [f"#pragma isakit raw({g.name})" for g in d.interface.given if g.kind == "attribute" and g.ty[0] in "us"]
    return raw + [
        f"#pragma isakit name({name}) {source}" for name, source in given
        if source is not None and name != source and known.count(source) == 1 and _NAMEABLE.fullmatch(source)
    ]  # fmt: skip


def _declarations(d: Decompiled, printer: Printer, vertex: bool) -> list[str]:
    out: list[str] = []
    for g in d.interface.given:
        if g is not _place(d):
            flat = not vertex and g.ty[0] in "us"
            kind = "uniform" if g.kind == "uniform" else "flat in" if flat else "in"
            out.append(f"{kind} {_declared(g)};{_renamed(g.name, g.source)}")
    for s in d.interface.samplers.values():
        out.append(f"uniform sampler{s.kind or '2D'} {s.name};{_renamed(s.name, s.source)}")
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
    return f"{VECTORS[result]}{size} {name}({VECTORS[given]}{size} x) {{ return {VECTORS[result]}{size}({parts}); }}"
