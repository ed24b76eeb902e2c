"""Random programs of loops, as trees: written as Cg or GLSL, and run step by step in Python.

All numbers are ints between -64 and 64, so that every result is exact. Every loop ends: its own counter only goes up,
and its condition has a bound for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

Tree = tuple[Any, ...]
"""A statement or an expression: what it is, and its parts."""
Program = dict[str, Any]
"""`functions`: name to (way of the second parameter, body); `body`: that of the main one."""
LOCALS = ("i", "j", "k")
GLOBAL = "g"
LEAST, MOST = -64, 64
_BINARY = ("+", "-", "&", "|", "^", "min", "max")
_RELATIONS = ("<", ">", "<=", ">=", "==", "!=")


# --- at random -------------------------------------------------------------------------------------------------------
class _Writer:
    """Makes the statements of one function."""

    def __init__(self, r: Random, names: Sequence[str], callable: Sequence[str]) -> None:
        self.r, self.names, self.callable = r, names, callable
        self.counters: list[str] = []
        self.loops = self.made = 0

    def expression(self, deep: int) -> Tree:
        r = self.r
        if deep <= 0 or r.random() < 0.3:
            if r.random() < 0.15:
                return ("at", self.expression(0)) if r.random() < 0.5 else ("part", r.choice("xyzw"))
            names = (*self.names, *self.names, GLOBAL, "n", *self.counters)
            return ("number", r.randint(-4, 9)) if r.random() < 0.25 else ("name", r.choice(names))
        if r.random() < 0.15:
            return ("?", self.condition(deep - 1), self.expression(deep - 1), self.expression(deep - 1))
        return (r.choice(_BINARY), self.expression(deep - 1), self.expression(deep - 1))

    def condition(self, deep: int) -> Tree:
        r = self.r
        if deep > 0 and r.random() < 0.3:
            return (r.choice(("&&", "||")), self.condition(deep - 1), self.condition(deep - 1))
        if r.random() < 0.2:
            return (r.choice(("==", "<")), ("&", self.expression(1), ("number", r.choice((1, 3)))), ("number", 1))
        return (r.choice(_RELATIONS), self.expression(deep), self.expression(deep))

    def bound(self) -> Tree:
        r = self.r
        if r.random() < 0.3:
            return ("number", r.randint(0, 7))
        if r.random() < 0.4:
            return ("name", "n")
        return ("+", ("&", self.expression(1), ("number", r.choice((1, 3, 7)))), ("number", r.randint(0, 2)))

    def loop(self, deep: int) -> Iterator[Tree]:
        """Give a loop, and the declaration of its counter before it where it has none of its own."""
        r = self.r
        self.made += 1
        counter, kind = f"c{self.made}", r.choice(("for", "for", "for", "while", "do"))
        if kind == "for":
            more = [(name, self.expression(1)) for name in r.sample(self.names, r.choice((0, 0, 1)))]
            wanted: Tree = ("<", ("name", counter), self.bound())
            wanted = ("&&", wanted, self.condition(1)) if r.random() < 0.3 else wanted
            self.counters.append(counter)
            steps: list[Tree] = [r.choice((("++", counter), ("+=", counter, r.choice((1, 2)))))]
            if self.callable and r.random() < 0.35:
                steps = [("bump", counter, self.expression(1))]
            steps += [("=", r.choice(self.names), self.expression(1))] if r.random() < 0.4 else []
            body = self.inside(deep)
            if r.random() < 0.15:
                body.append(("if", self.condition(1), [("++", counter)], []))
            yield ("for", counter, more, wanted, steps, body)
            self.counters.pop()
        else:
            yield ("int", counter)
            turn: Tree = ("turn", counter, r.randint(1, 8))
            both = [turn, self.condition(1)]
            r.shuffle(both)
            wanted = turn if r.random() < 0.3 else ("&&", *both)
            if kind == "while" and r.random() < 0.4:
                wanted = ("true",)
            body = self.inside(deep)
            if wanted == ("true",):
                body.insert(r.randint(0, min(1, len(body))), ("if", ("!", turn), [("break",)], []))
                body = body if body[0][0] == "if" and body[0][1] == ("!", turn) else [body[1], body[0], *body[2:]]
            yield (kind, wanted, body)

    def inside(self, deep: int) -> list[Tree]:
        self.loops += 1
        body = self.statements(deep - 1)
        self.loops -= 1
        return body

    def leaving(self) -> Tree:
        r = self.r
        ways = [("break",), ("break",), ("continue",), ("continue",)] if self.loops else []
        ways += [("return", self.expression(1))]
        ways += [("discard",)] if r.random() < 0.3 else []
        return r.choice(ways)

    def call(self) -> Tree:
        name = self.r.choice(self.callable)
        return ("call", name, self.r.choice(self.names), self.expression(1), self.r.choice(self.names))

    def statement(self, deep: int) -> Iterator[Tree]:
        r = self.r
        kind = r.random()
        if kind < 0.4 or deep <= 0:
            if r.random() < 0.15:
                yield ("put", self.expression(1), self.expression(2))
            elif r.random() < 0.2:
                yield ("into", r.choice("xyzw"), self.expression(2))
            elif self.callable and r.random() < 0.3:
                yield self.call()
            else:
                yield ("=", r.choice((*self.names, *self.names, GLOBAL)), self.expression(2))
        elif kind < 0.55:
            yield ("if", self.condition(1), [*self.statements(0)[:1], self.leaving()], [])
        elif kind < 0.7:
            other = self.statements(deep - 1) if r.random() < 0.5 else []
            yield ("if", self.condition(1), self.statements(deep - 1), other)
        else:
            yield from self.loop(deep)

    def statements(self, deep: int) -> list[Tree]:
        return [s for _ in range(self.r.randint(1, 3)) for s in self.statement(deep)]


def loop_program(seed: int) -> Program:
    """Return a program at random."""
    r = Random(seed)
    functions: dict[str, Any] = {}
    for k in range(r.choice((0, 1, 1, 2))):
        w = _Writer(r, ("a", "b", "d"), list(functions))
        functions[f"f{k}"] = (r.choice(("inout", "inout", "out")), w.statements(r.choice((1, 2, 2))))
    w = _Writer(r, LOCALS, list(functions))
    return {"functions": functions, "body": [s for _ in range(r.randint(1, 3)) for s in w.loop(r.choice((1, 2, 3)))]}


# --- as text ---------------------------------------------------------------------------------------------------------
def text_of(program: Program, language: str) -> str:
    """Return the program in Cg or GLSL."""
    glsl = language == "glsl"
    result = f"{'vec4' if glsl else 'float4'}(i, j, k, g + dot(p, p.wzyx + 1.0) + t[0] - t[1] + t[2] * 2 - t[3])"
    if glsl:
        result = "vec4(float(i), float(j), float(k), float(g + t[0] - t[1] + t[2] * 2 - t[3]) + dot(p, p.wzyx + 1.0))"
    leave = f"result = {result}; return;" if glsl else f"return {result};"
    vec4, static = ("vec4", "") if glsl else ("float4", "static ")
    head = "#version 300 es\nprecision highp float; precision highp int;\nin vec2 xy; uniform int n; out vec4 result;\n"
    if not glsl:
        head = "uniform int n;\n"
    head += f"{static}int g = 0; {static}int t[4]; {static}{vec4} p;\n"
    head += f"int lim(int x) {{ return clamp(x, {LEAST}, {MOST}); }}\n"
    head += "void bump(inout int c, int by) { c += 1; if (by > 2) c += 1; }\n"
    for name, (way, body) in program["functions"].items():
        start = "b = 1; " if way == "out" else ""
        head += f"int {name}(int a, {way} int b) {{ {start}int d = 2; {_block(body, None)} return lim(a + d); }}\n"
    start = f"p = {vec4}(1.0); t[0] = 1; t[1] = 2; t[2] = 3; t[3] = 4; g = 0; int k = 1;"
    given = "int i = int(xy.x); int j = int(xy.y);"
    main = "void main()" if glsl else "float4 main(float2 xy : TEXCOORD0) : COLOR"
    return f"{head}{main} {{ {given} {start}\n  {_block(program['body'], leave, chr(10) + '  ')}\n  {leave}\n}}\n"


def _block(statements: Sequence[Tree], leave: str | None, between: str = " ") -> str:
    return between.join(_line(s, leave) for s in statements)


def _line(s: Tree, leave: str | None) -> str:
    kind = s[0]
    if kind in ("break", "continue", "discard"):
        return f"{kind};"
    if kind == "int":
        return f"int {s[1]} = 0;"
    if kind == "put":
        return f"t[({_term(s[1])}) & 3] = lim({_term(s[2])});"
    if kind == "into":
        return f"p.{s[1]} = float(lim({_term(s[2])}));"
    if kind == "return":
        return leave if leave is not None else f"return lim({_term(s[1])});"
    if kind == "call":
        return f"{s[2]} = {s[1]}({_term(s[3])}, {s[4]});"
    if kind == "if":
        other = f" else {{ {_block(s[3], leave)} }}" if s[3] else ""
        return f"if ({_term(s[1])}) {{ {_block(s[2], leave)} }}{other}"
    if kind == "while":
        return f"while ({_term(s[1])}) {{ {_block(s[2], leave)} }}"
    if kind == "do":
        return f"do {{ {_block(s[2], leave)} }} while ({_term(s[1])});"
    if kind == "for":
        _, counter, more, wanted, steps, body = s
        before = "".join(f"{name} = lim({_term(x)}); " for name, x in more)
        step = ", ".join(_step(x) for x in steps)
        return f"{before}for (int {counter} = 0; {_term(wanted)}; {step}) {{ {_block(body, leave)} }}"
    return f"{_step(s)};"


def _step(s: Tree) -> str:
    if s[0] == "++":
        return f"{s[1]}++"
    if s[0] == "bump":
        return f"bump({s[1]}, {_term(s[2])})"
    return f"{s[1]} += {s[2]}" if s[0] == "+=" else f"{s[1]} = lim({_term(s[2])})"


def _term(e: Tree) -> str:
    kind, *parts = e
    if kind in ("number", "name"):
        return f"({parts[0]})" if kind == "number" and parts[0] < 0 else str(parts[0])
    if kind == "true":
        return "true"
    if kind == "turn":
        return f"({parts[0]}++ < {parts[1]})"
    if kind == "part":
        return f"int(p.{parts[0]})"
    x = [_term(p) for p in parts]
    if kind == "at":
        return f"t[{x[0]} & 3]"
    if kind == "?":
        return f"({x[0]} ? {x[1]} : {x[2]})"
    if kind == "!":
        return f"!{x[0]}"
    return f"{kind}({x[0]}, {x[1]})" if kind in ("min", "max") else f"({x[0]} {kind} {x[1]})"


# --- step by step ----------------------------------------------------------------------------------------------------
class _BreakLoop(Exception): ...


class _ContinueLoop(Exception): ...


class _LeaveFunction(Exception): ...


class _DiscardPixel(Exception): ...


def results(program: Program, x: int, y: int, n: int) -> list[int] | None:
    """Return the four numbers that a pixel gets; None if it is discarded."""
    run = _Run(program, n)
    names = {"i": x, "j": y, "k": 1}
    try:
        run.block(program["body"], names)
    except _LeaveFunction:
        pass
    except _DiscardPixel:
        return None
    p, t = [run.p[c] for c in "xyzw"], run.t
    dot = sum(a * (b + 1) for a, b in zip(p, reversed(p), strict=True))
    return [names["i"], names["j"], names["k"], run.g + dot + t[0] - t[1] + t[2] * 2 - t[3]]


def _limited(x: int) -> int:
    return min(max(x, LEAST), MOST)


class _Run:
    """Runs a program for one pixel."""

    def __init__(self, program: Program, n: int) -> None:
        self.functions, self.n, self.g = program["functions"], n, 0
        self.t, self.p = [1, 2, 3, 4], dict.fromkeys("xyzw", 1)

    def block(self, statements: Sequence[Tree], names: dict[str, int]) -> None:
        for s in statements:
            self.statement(s, names)

    def statement(self, s: Tree, names: dict[str, int]) -> None:
        kind = s[0]
        if kind == "break":
            raise _BreakLoop
        if kind == "continue":
            raise _ContinueLoop
        if kind == "discard":
            raise _DiscardPixel
        if kind == "return":
            names["result"] = _limited(self.value(s[1], names))
            raise _LeaveFunction
        if kind == "int":
            names[s[1]] = 0
        elif kind == "++":
            names[s[1]] += 1
        elif kind == "+=":
            names[s[1]] += s[2]
        elif kind == "bump":
            names[s[1]] += 2 if self.value(s[2], names) > 2 else 1
        elif kind == "=":
            self.store(s[1], _limited(self.value(s[2], names)), names)
        elif kind == "put":
            self.t[self.value(s[1], names) & 3] = _limited(self.value(s[2], names))
        elif kind == "into":
            self.p[s[1]] = _limited(self.value(s[2], names))
        elif kind == "if":
            self.block(s[2] if self.value(s[1], names) else s[3], names)
        elif kind == "call":
            self.call(s, names)
        else:
            self.loop(s, names)

    def store(self, name: str, value: int, names: dict[str, int]) -> None:
        if name == GLOBAL:
            self.g = value
        else:
            names[name] = value

    def call(self, s: Tree, names: dict[str, int]) -> None:
        _, function, target, given, changed = s
        way, body = self.functions[function]
        inner = {"a": self.value(given, names), "b": 1 if way == "out" else names[changed], "d": 2}
        try:
            self.block(body, inner)
            inner["result"] = _limited(inner["a"] + inner["d"])
        except _LeaveFunction:
            pass
        names[changed] = inner["b"]
        names[target] = inner["result"]

    def loop(self, s: Tree, names: dict[str, int]) -> None:
        kind = s[0]
        if kind == "for":
            _, counter, more, wanted, steps, body = s
            for name, x in more:
                self.store(name, _limited(self.value(x, names)), names)
            names[counter] = 0
        else:
            (_, wanted, body), steps = s, []
        first = kind == "do"
        while first or self.value(wanted, names):
            first = False
            try:
                self.block(body, names)
            except _BreakLoop:
                return
            except _ContinueLoop:
                pass
            self.block(steps, names)

    def value(self, e: Tree, names: dict[str, int]) -> int:
        kind, *parts = e
        if kind == "number":
            return parts[0]
        if kind == "name":
            return {GLOBAL: self.g, "n": self.n}.get(parts[0], names.get(parts[0], 0))
        if kind == "true":
            return 1
        if kind == "part":
            return self.p[parts[0]]
        if kind == "turn":
            names[parts[0]] += 1
            return names[parts[0]] - 1 < parts[1]
        if kind == "?":
            return self.value(parts[1] if self.value(parts[0], names) else parts[2], names)
        if kind in ("&&", "||"):
            first = self.value(parts[0], names)
            return self.value(parts[1], names) if bool(first) == (kind == "&&") else first
        if kind == "at":
            return self.t[self.value(parts[0], names) & 3]
        x, *rest = (self.value(p, names) for p in parts)
        return _CALCULATED[kind](x, *rest)


_CALCULATED: dict[str, Any] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "&": lambda x, y: x & y, "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y, "min": min, "max": max, "<": lambda x, y: x < y, ">": lambda x, y: x > y,
    "<=": lambda x, y: x <= y, ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
    "!": lambda x: not x,
}  # fmt: skip
