"""The text of routines to statements; see `routine_expressions` for what stands in them."""

from __future__ import annotations

import ast
from dataclasses import replace

from isakit.errors import DefinitionError
from isakit.sem import value as v
from isakit.sem.operation import Statics
from isakit.sem.routine_code import (
    LOCAL,
    Assign,
    If,
    PointAt,
    RaiseStatement,
    Return,
    RoutineCode,
    Store,
    Translatable,
    While,
)  # fmt: skip
from isakit.sem.routine_expressions import LaneNumbers, RecordPointer, RecordRows, RoutineExpressions, Static
from isakit.sem.value import Value


def translate(routine: Translatable, statics: Statics) -> RoutineCode:
    """Return the statements of a routine. Raises DefinitionError for constructs outside of the language."""
    if missing := set(routine.statics) ^ set(statics):
        raise DefinitionError(f"{routine.name} needs the static {', '.join(sorted(missing))}")
    return Translation(routine, statics).code


class Translation(RoutineExpressions):
    """Translates one routine."""

    def __init__(self, routine: Translatable, statics: Statics) -> None:
        super().__init__(routine, statics)
        self._block(routine.tree.body)

    # --- statements -------------------------------------------------------------------------------------------------
    def _block(self, body: list[ast.stmt]) -> bool:
        """Translate statements in order; returns whether their end is reached."""
        return all(self._statement(s) for s in body)

    def _statement(self, s: ast.stmt) -> bool:
        match s:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self._do(call)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, ast.copy_location(ast.BinOp(_loaded(target), op, value), s))
            case ast.If():
                return self._if(s)
            case ast.While():
                self._while(s)
            case ast.For():
                self._for(s)
            case ast.Return(value=None):
                self.statements.append(Return(None))
                return False
            case ast.Return(value=value) if value is not None:
                self.statements.append(Return(self._number(self._rvalue(value), self.routine.width, value)))
                return False
            case ast.Raise(exc=ast.Call(func=f, args=args)):
                kind = self._expression(f)
                assert isinstance(kind, Static)
                self.statements.append(RaiseStatement(kind.thing, tuple(self._text(a) for a in args)))
                return False
            case _:
                self._fail(s, "not in the language")
        return True

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                got = self._rvalue(value, name)
                if isinstance(got, RecordPointer):
                    self.names[name] = self._renamed(got, name)
                    return
                if isinstance(got, RecordRows | LaneNumbers):
                    self.names[name] = got
                    return
                if isinstance(got, Static) and name in self._once and name not in self.names:
                    self.names[name] = got
                    return
                old = self.names.get(name)
                width = old.width if isinstance(old, Value) else got.width if isinstance(got, Value) else 32
                if isinstance(got, Value) and got.op == LOCAL and got.attr == name:
                    self.names[name] = got  # a call has set it
                    return
                self.statements.append(Assign(name, self._number(got, width, value)))
                self.names[name] = Value(LOCAL, width, (), name)
            case ast.Attribute(value=base, attr=attr):
                got, where = self._rvalue(value), self._expression(base)
                if not isinstance(where, RecordPointer):
                    self._fail(target, "only fields of records are set")
                f = self._field(where, attr, target)
                self.statements.append(Store(where.name, f, self._number(got, f.width, value)))
            case ast.Subscript(value=base, slice=index):
                got, where = self._rvalue(value), self._expression(base)
                if not isinstance(where, RecordRows) or where.within is None or where.element is not None:
                    self._fail(target, "not a row of numbers")
                at = self._number(self._expression(index), 64, index)
                number = self._number(got, where.within.width, value)
                self.statements.append(Store(where.base, where.within, number, at))
            case _:
                self._fail(target, "cannot be assigned to")

    def _renamed(self, p: RecordPointer, name: str) -> RecordPointer:
        """Rename the record that has just been found to the name that the text gives it."""
        last = self.statements[-1] if self.statements else None
        if not isinstance(last, PointAt) or last.name != p.name or name not in self._once:
            return p
        self.statements[-1] = replace(last, name=name)
        return RecordPointer(name, p.record)

    def _if(self, s: ast.If) -> bool:
        condition = self._condition(s.test)
        if isinstance(condition, bool):
            return self._block(s.body if condition else s.orelse)
        then, goes_on = self._within(lambda: self._block(s.body))
        otherwise, goes_on_too = self._within(lambda: self._block(s.orelse))
        self.statements.append(If(condition, then, otherwise))
        return goes_on or goes_on_too

    def _while(self, s: ast.While) -> None:
        tested: list[Value] = []

        def test() -> bool:
            condition = self._condition(s.test)
            tested.append(v.u1(condition) if isinstance(condition, bool) else condition)
            return True

        before, _ = self._within(test)
        body, _ = self._within(lambda: self._block(s.body))
        self.statements.append(While(before, tested[0], body))

    def _for(self, s: ast.For) -> None:
        """Translate `for name in range(...)`."""
        match s:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds)):
                first = bounds[0] if len(bounds) > 1 else ast.Constant(0)
                last = self._expression(bounds[1] if len(bounds) > 1 else bounds[0])
                width = last.width if isinstance(last, Value) else 32
                counter = Value(LOCAL, width, (), name)
                self.statements.append(Assign(name, self._number(self._expression(first), width, s)))
                self.names[name] = counter
                body, _ = self._within(lambda: self._block(s.body))
                body.append(Assign(name, counter + 1))
                self.statements.append(While([], counter.ult(self._number(last, width, s)), body))
            case _:
                self._fail(s, "only range() is counted through")


def _loaded(target: ast.expr) -> ast.expr:
    """Return the target of an assignment as an expression that reads it."""
    return ast.parse(ast.unparse(target), mode="eval").body
