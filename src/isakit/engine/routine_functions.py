"""Routines as Python functions: the same statements, on objects of the declared records."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from typing import Any

from isakit.engine.codegen import bare, compiled_operation
from isakit.engine.lower_scalar import scalar_expression
from isakit.errors import DefinitionError
from isakit.sem.operation import Operation
from isakit.sem.records import RecordField
from isakit.sem.routine import AnyRoutine
from isakit.sem.routine_code import (
    LOCAL,
    Assign,
    CallStatement,
    If,
    PointAt,
    RaiseStatement,
    Return,
    RoutineArgument,
    RoutineCode,
    RowArgument,
    Statement,
    Store,
    Text,
    Translatable,
    While,
)  # fmt: skip
from isakit.sem.routine_helpers import lanes_equal
from isakit.sem.value import Value, mask, node, postorder

MadeFunction = Callable[..., Any]
"""A Python function of a routine, with the parameters of the routine."""
_made: dict[int, tuple[RoutineCode, MadeFunction]] = {}
"""Functions by the code they were generated from, which is kept alive so that no other object takes its `id`."""

_COMPARED = {"eq": "!=", "ult": ">="}
"""The opposites of comparisons."""


def python_function(routine: AnyRoutine, **statics: object) -> MadeFunction:
    """Make a function of a routine for some static arguments; it takes the others in their order."""
    return _function(routine.code(**statics))


def _function(code: RoutineCode) -> MadeFunction:
    found = _made.get(id(code))
    if found is None:
        found = _made[id(code)] = code, _Writer(code).function()
    return found[1]


@cache
def _expression(code: RoutineCode, widths: tuple[int, ...]) -> MadeFunction:
    result = code.statements[0]
    if len(code.statements) != 1 or not isinstance(result, Return) or result.value is None:
        raise DefinitionError(f"{code.routine.name} does more than compute a value")
    value, names = result.value, [p.name for p in code.routine.parameters]

    def definition(*formals: Value) -> Value:
        given, done = dict(zip(names, formals, strict=True)), dict[int, Value]()
        for n in postorder(value, set()):
            if n.op == LOCAL:
                done[id(n)] = given[n.attr]
            else:
                done[id(n)] = n if not n.args else node(n.op, n.width, tuple(done[id(a)] for a in n.args), n.attr)
        return done[id(value)]

    definition.__name__ = code.routine.name
    return compiled_operation(Operation(definition), (), widths, "numpy")


def numpy_function(routine: AnyRoutine, **statics: object) -> MadeFunction:
    """Return a function on arrays of numbers for a pure routine."""
    return _expression(routine.code(**statics), tuple(p.width for p in routine.parameters))


def source_of(routine: AnyRoutine, **statics: object) -> str:
    """Return the text of that function."""
    return "\n".join(_Writer(routine.code(**statics)).lines())


class _Writer:
    """Writes one function."""

    def __init__(self, code: RoutineCode) -> None:
        self.code = code
        self.space: dict[str, Any] = {}
        self.text: list[str] = []

    def function(self) -> MadeFunction:
        text = "\n".join(self.lines()) + "\n"
        name = f"<routine {self.code.routine.name} {self.code.key} {id(self.code):x}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec"), self.space)
        return self.space[self.code.routine.name]

    def lines(self) -> list[str]:
        names = ", ".join(p.name for p in self.code.routine.parameters)
        self.text = [f"def {self.code.routine.name}({names}):"]
        self._block(self.code.statements, 1)
        return self.text

    def _line(self, text: str, depth: int) -> None:
        self.text.append("    " * depth + text)

    # --- statements -------------------------------------------------------------------------------------------------
    def _block(self, statements: list[Statement], depth: int) -> None:
        if not statements:
            self._line("pass", depth)
        for s in statements:
            self._statement(s, depth)

    def _statement(self, s: Statement, depth: int) -> None:
        match s:
            case Assign(name, value):
                self._line(f"{name} = {self._bare(value)}", depth)
            case PointAt(name, base, within, _, index):
                row = base if within is None else f"{base}.{within.name}"
                self._line(f"{name} = {row}" if index is None else f"{name} = {row}[{self._bare(index)}]", depth)
            case Store(base, within, value, index):
                at = f"[{self._bare(index)}]" if index is not None else ""
                self._line(f"{base}.{within.name}{at} = {self._bare(value)}", depth)
            case If(condition, then, otherwise):
                if not then:
                    condition, then, otherwise = ~condition, otherwise, []
                self._line(f"if {self._bare(condition)}:", depth)
                self._block(then, depth + 1)
                if otherwise:
                    self._line("else:", depth)
                    self._block(otherwise, depth + 1)
            case While(before, condition, body):
                if before:
                    self._line("while True:", depth)
                    self._block(before, depth + 1)
                    self._line(f"if {self._bare(~condition)}:", depth + 1)
                    self._line("break", depth + 2)
                else:
                    self._line(f"while {self._bare(condition)}:", depth)
                self._block(body, depth + 1)
            case Return(value):
                self._line("return" if value is None else f"return {self._bare(value)}", depth)
            case CallStatement():
                self._do(s, depth)
            case RaiseStatement(kind, arguments):
                listed = ", ".join(self._text(a) for a in arguments)
                self._line(f"raise {self._named(kind, 'kind')}({listed})", depth)

    def _do(self, s: CallStatement, depth: int) -> None:
        if isinstance(s.callee, Translatable):
            function = self._named(_function(s.callee.code(**s.statics)), s.callee.name)
        else:
            function = self._named(s.callee.function, s.callee.name)
        call = f"{function}({', '.join(self._passed(a) for a in s.arguments)})"
        self._line(call if s.name is None else f"{s.name} = {call}", depth)

    def _passed(self, a: RoutineArgument) -> str:
        match a:
            case str():
                return a
            case RowArgument(base, within):
                return base if within is None else f"{base}.{within.name}"
            case _:
                return self._bare(a)

    def _text(self, a: object) -> str:
        if isinstance(a, Value):
            return self._bare(a)
        if not isinstance(a, Text):
            return repr(a) if isinstance(a, str | int) else self._named(a, "thing")
        out = ""
        for piece in a.pieces:
            match piece:
                case str():
                    out += piece.replace("{", "{{").replace("}", "}}")
                case Value():
                    out += f"{{{self._of(piece)}}}"
                case function, value:
                    out += f"{{{self._named(function, 'text')}({self._bare(value)})}}"
        return "f" + repr(out)

    def _named(self, thing: object, hint: str) -> str:
        """Return the global name of an object. Locals of routines have no leading underscore."""
        name = f"_{hint}"
        while self.space.setdefault(name, thing) is not thing:
            name += "_"
        return name

    # --- expressions ------------------------------------------------------------------------------------------------
    def _bare(self, n: Value) -> str:
        """Return an expression without its outer parentheses."""
        return bare(self._of(n))

    def _of(self, n: Value) -> str:
        match n.op:
            case "local":
                return n.attr
            case "field":
                base, within = n.attr
                return f"{base}.{_name(within)}"
            case "item":
                base, within = n.attr
                return f"{base}.{_name(within)}[{self._bare(n.args[0])}]"
            case "lane":
                return f"int({n.attr}[{self._bare(n.args[0])}])"
            case "matching":
                return f"{self._named(lanes_equal, 'lanes_equal')}({n.attr}, {self._bare(n.args[0])})"
            case "not" if n.width == 1 and n.args[0].op in _COMPARED:
                a, b = (self._of(x) for x in n.args[0].args)
                return f"({a} {_COMPARED[n.args[0].op]} {b})"
            case "not" if n.width == 1:
                return f"(not {self._of(n.args[0])})"
            case "clz" if n.args[0].op == "and":
                return f"({n.width} - {self._of(n.args[0])}.bit_length())"
            case "and" if n.args[1].op == "const" and n.args[0].op == "add":  # the sum need not be cut before
                a, b = (self._of(x) for x in n.args[0].args)
                return f"(({a} + {b}) & {self._of(n.args[1])})"
            case "and" | "or" if n.width == 1:
                return f" {n.op} ".join(self._of(a) for a in n.args).join("()")
            case _:
                args = [self._of(a) for a in n.args]
                return scalar_expression(n, args, self._bound, self._constant)

    def _bound(self, n: Value) -> int:
        if n.op == "const":
            return n.attr
        if n.op == "zext":
            return self._bound(n.args[0])
        if n.op == "and":
            return min(self._bound(a) for a in n.args)
        if n.op == "lshr" and n.args[1].op == "const":
            return self._bound(n.args[0]) >> n.args[1].attr
        return mask(n.width)

    def _constant(self, thing: object, hint: str) -> str:
        return self._named(thing, hint)


def _name(within: RecordField) -> str:
    return within.name


__all__ = ["numpy_function", "python_function", "source_of"]
