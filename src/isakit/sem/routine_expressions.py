"""The expressions of routines: what is static is computed, what is not becomes values, and calls become statements."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any, NoReturn, cast

from isakit.errors import DefinitionError
from isakit.lean import dataclass
from isakit.sem import value as v
from isakit.sem.operation import Statics
from isakit.sem.records import RecordField, StateRecord, layout_of, width_of
from isakit.sem.routine_code import (
    FIELD,
    ITEM,
    LANE,
    LOCAL,
    MATCHING,
    Assign,
    Callee,
    CallStatement,
    If,
    PointAt,
    RoutineArgument,
    RoutineCode,
    RowArgument,
    Statement,
    Text,
    Translatable,
)  # fmt: skip
from isakit.sem.routine_helpers import highest, lanes_equal, lowest, signed_less, wide
from isakit.sem.value import Value


@dataclass(frozen=True)
class Static:
    """Something known: a Python object, and which static parameter it is, if it is one."""

    thing: Any
    parameter: str = ""


@dataclass(frozen=True)
class RecordPointer:
    """A pointer to a record: the name of the variable that holds it."""

    name: str
    record: type[StateRecord]


@dataclass(frozen=True)
class RecordRows:
    """The elements of a field of the record `base`, or of the row `base`."""

    base: str
    within: RecordField | None
    element: type[StateRecord] | None


@dataclass(frozen=True)
class LaneNumbers:
    """One number per lane."""

    name: str


Operand = Static | Value | RecordPointer | RecordRows | LaneNumbers

_STATIC_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b, ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b, ast.RShift: lambda a, b: a >> b, ast.FloorDiv: lambda a, b: a // b,
}  # fmt: skip
_STATIC_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Value, Any], Value]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: Value.ult, ast.LtE: Value.ule, ast.Gt: Value.ugt,
    ast.GtE: Value.uge,
}  # fmt: skip


class RoutineExpressions:
    """Translates the expressions and calls of one routine."""

    def __init__(self, routine: Translatable, statics: Statics) -> None:
        self.routine = routine
        self.code = RoutineCode(routine, statics)
        self.names: dict[str, Operand] = {n: Static(x, n) for n, x in statics.items()}
        for p in routine.parameters:
            if p.lanes:
                self.names[p.name] = LaneNumbers(p.name)
            elif p.record is not None:
                self.names[p.name] = RecordRows(p.name, None, p.record) if p.row else RecordPointer(p.name, p.record)
            else:
                self.names[p.name] = Value(LOCAL, p.width, (), p.name)
        self._fresh = 0
        self.statements = self.code.statements
        tree = routine.tree
        assigned = [t.id for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.AugAssign | ast.For)
                    for t in _targets(n)]  # fmt: skip
        self._once = {n for n in assigned if assigned.count(n) == 1}

    def _fail(self, node: ast.AST, why: str) -> NoReturn:
        raise DefinitionError(f"{self.routine.name}, line {getattr(node, 'lineno', 0)}: {why} ({ast.unparse(node)})")

    def _within(self, translate: Callable[[], bool]) -> tuple[list[Statement], bool]:
        """Translate a part on its own and return it, and whether its end is reached.

        Names it binds are unknown after it.
        """
        outer, names = self.statements, dict(self.names)
        self.statements: list[Statement] = []
        goes_on = translate()
        inner, self.statements = self.statements, outer
        for name, old in list(self.names.items()):
            if name not in names and isinstance(old, Value) and name not in self._once:
                names[name] = old  # a local that several branches set
        self.names = names
        return inner, goes_on

    def _field(self, where: RecordPointer, name: str, node: ast.AST) -> RecordField:
        fields = layout_of(where.record).fields
        if name not in fields:
            self._fail(node, f"{where.record.__name__} has no {name}")
        return fields[name]

    # --- expressions ------------------------------------------------------------------------------------------------
    def _number(self, x: Operand, width: int, node: ast.AST) -> Value:
        """Convert to a number of `width` bits."""
        match x:
            case Value():
                return x.resize(width)
            case Static(thing=int()):
                return v.const(int(self._use(x)), width)
            case _:
                self._fail(node, "not a number")

    def _condition(self, node: ast.expr) -> Value | bool:
        got = self._rvalue(node)
        if isinstance(got, Static):
            return bool(self._use(got))
        if not isinstance(got, Value):
            self._fail(node, "not a condition")
        if got.op == "const":
            return bool(got.attr)
        return got if got.width == 1 else got != 0

    def _rvalue(self, node: ast.expr, name: str | None = None) -> Operand:
        """Translate an expression that may be a call, perhaps of `not`, all by itself."""
        match node:
            case ast.Call():
                return self._do(node, name)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
                return self._not(self._do(call), node)
            case _:
                return self._expression(node)

    def _expression(self, node: ast.expr) -> Operand:
        match node:
            case ast.Constant(value=thing):
                return Static(thing)
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Attribute(value=base, attr=attr):
                return self._attribute(self._expression(base), attr, node)
            case ast.Subscript(value=base, slice=index):
                return self._element(self._expression(base), self._expression(index), node)
            case ast.Tuple(elts=items):
                return Static(tuple(self._known(i) for i in items))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._expression(left), self._expression(right), node)
            case ast.UnaryOp(op=op, operand=inner):
                return self._unary(op, self._expression(inner), node)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self._expression(left), self._expression(right), node)
            case ast.BoolOp(op=op, values=values):
                return self._logical(isinstance(op, ast.And), values, node)
            case ast.IfExp(test=test, body=a, orelse=b):
                return self._choice(test, a, b, node)
            case ast.Call():
                return self._pure_call(node)
            case _:
                self._fail(node, "not in the language")

    def _known(self, node: ast.expr) -> Any:
        got = self._expression(node)
        if not isinstance(got, Static):
            self._fail(node, "not static")
        return self._use(got)

    def _use(self, s: Static) -> Any:
        """Return the value of a static argument, which from now on decides about the code."""
        if s.parameter:
            self.code.choices[s.parameter, ""] = s.thing
        return s.thing

    def _name(self, name: str, node: ast.AST) -> Operand:
        if name in self.names:
            return self.names[name]
        space = self.routine.function.__globals__
        if name in space:
            return Static(space[name])
        if hasattr(builtins, name):
            return Static(getattr(builtins, name))
        self._fail(node, f"{name} is not set here")

    def _attribute(self, base: Operand, attr: str, node: ast.AST) -> Operand:
        match base:
            case Static(thing=thing, parameter=parameter):
                got = getattr(thing, attr)
                if parameter:
                    self.code.choices[parameter, attr] = got
                return Static(got)
            case RecordPointer(name=name):
                f = self._field(base, attr, node)
                if f.many is not None:
                    return RecordRows(name, f, f.element)
                if f.element is not None:
                    return self._pointed(name, f, f.element, None)
                return Value(FIELD, f.width, (), (name, f))
            case _:
                self._fail(node, "has no fields")

    def _element(self, base: Operand, index: Operand, node: ast.AST) -> Operand:
        match base, index:
            case Static(), Static():
                return Static(self._use(base)[self._use(index)])
            case RecordRows(base=name, within=within, element=None), _:
                assert within is not None
                return Value(ITEM, within.width, (self._number(index, 64, node),), (name, within))
            case RecordRows(base=name, within=within, element=element), _:
                assert element is not None
                return self._pointed(name, within, element, self._number(index, 64, node))
            case LaneNumbers(name=name), _:
                return Value(LANE, 32, (self._number(index, 32, node),), name)
            case _:
                self._fail(node, "has no elements")

    def _pointed(
        self, base: str, within: RecordField | None, element: type[StateRecord], index: Value | None
    ) -> RecordPointer:
        self._fresh += 1
        made = f"at{self._fresh}"
        self.statements.append(PointAt(made, base, within, element, index))
        return RecordPointer(made, element)

    def _pair(self, a: Operand, b: Operand, node: ast.AST) -> tuple[Value, Value]:
        """Return two numbers of the same width."""
        width = max(x.width for x in (a, b) if isinstance(x, Value))
        return self._number(a, width, node), self._number(b, width, node)

    def _binary(self, op: ast.operator, a: Operand, b: Operand, node: ast.AST) -> Operand:
        if type(op) not in _STATIC_BINARY:
            self._fail(node, "not in the language")
        if isinstance(a, Static) and isinstance(b, Static):
            return Static(_STATIC_BINARY[type(op)](self._use(a), self._use(b)))
        if isinstance(op, ast.LShift | ast.RShift) and isinstance(a, Value) and isinstance(b, Static):
            return _STATIC_BINARY[type(op)](a, self._use(b))
        x, y = self._pair(a, b, node)
        if isinstance(op, ast.FloorDiv):
            return x.udiv(y)
        return _STATIC_BINARY[type(op)](x, y)

    def _unary(self, op: ast.unaryop, a: Operand, node: ast.AST) -> Operand:
        match op, a:
            case ast.Not(), _:
                return self._not(a, node)
            case ast.Invert(), Static():
                return Static(~self._use(a))
            case ast.USub(), Static():
                return Static(-self._use(a))
            case ast.Invert(), Value():
                return ~a
            case ast.USub(), Value():
                return -a
            case _:
                self._fail(node, "not in the language")

    def _not(self, a: Operand, node: ast.AST) -> Operand:
        if isinstance(a, Static):
            return Static(not self._use(a))
        if not isinstance(a, Value):
            self._fail(node, "not a condition")
        return ~a if a.width == 1 else a == 0

    def _compare(self, op: ast.cmpop, a: Operand, b: Operand, node: ast.AST) -> Operand:
        if isinstance(a, Static) and isinstance(b, Static):
            return Static(_STATIC_COMPARE[type(op)](self._use(a), self._use(b)))
        if isinstance(op, ast.In | ast.NotIn) and isinstance(a, Value) and isinstance(b, Static):
            hit = v.any_of([a == int(x) for x in self._use(b)])
            return hit if isinstance(op, ast.In) else ~hit
        if type(op) not in _COMPARE:
            self._fail(node, "not in the language")
        x, y = self._pair(a, b, node)
        return _COMPARE[type(op)](x, y)

    def _logical(self, both: bool, values: list[ast.expr], node: ast.AST) -> Operand:
        """Return `and`, `or`: what is on the right is only looked at where it counts."""
        first = self._expression(values[0])
        if isinstance(first, Static):
            known = self._use(first)
            if bool(known) != both:
                return Static(bool(known))
            return self._logical(both, values[1:], node) if len(values) > 1 else Static(bool(known))
        if not isinstance(first, Value):
            self._fail(node, "not a condition")
        left = first if first.width == 1 else first != 0
        if len(values) == 1:
            return left
        right: list[Operand] = []

        def rest() -> bool:
            right.append(self._logical(both, values[1:], node))
            return True

        looked, _ = self._within(rest)
        got = right[0]
        if isinstance(got, Static):
            return left if bool(got.thing) == both else Static(not both)
        assert isinstance(got, Value)
        if not looked:
            return left & got if both else left | got
        self._fresh += 1
        name = f"t{self._fresh}"
        self.statements.append(Assign(name, left))
        local = Value(LOCAL, 1, (), name)
        looked.append(Assign(name, got))
        self.statements.append(If(local if both else ~local, looked, []))
        return local

    def _choice(self, test: ast.expr, a: ast.expr, b: ast.expr, node: ast.AST) -> Operand:
        condition = self._condition(test)
        if isinstance(condition, bool):
            return self._expression(a if condition else b)
        x, y = self._expression(a), self._expression(b)
        if isinstance(x, Static) and isinstance(y, Static):
            return v.select(condition, v.const(int(self._use(x)), 32), v.const(int(self._use(y)), 32))
        p, q = self._pair(x, y, node)
        return v.select(condition, p, q)

    # --- calls ------------------------------------------------------------------------------------------------------
    def _do(self, call: ast.Call, name: str | None = None) -> Operand:
        """Translate a call that may do something; `name`: the local that gets the result."""
        f = self._called_by(call)
        if isinstance(f, Translatable) and _returned(f) is None:
            given = self._given(call, f)
            arguments = [self._argument(given[p.name], p.width, call) for p in f.parameters]
            statics = {n: self._passed(given[n], n, call) for n in f.statics}
            code = f.code(**statics)
            for (parameter, attr), what in code.choices.items():
                origin = given[parameter]
                assert isinstance(origin, Static)
                if origin.parameter:
                    self.code.choices[origin.parameter, attr] = what
            return self._called(f, arguments, statics, f.width, name)
        if isinstance(f, Callee):
            given_args = [self._expression(a) for a in call.args]
            arguments = [self._argument(a, a.width if isinstance(a, Value) else 64, call) for a in given_args]
            return self._called(f, arguments, {}, f.width, name)
        return self._pure_call(call)

    def _called_by(self, call: ast.Call) -> Translatable | Callable[..., Any]:
        """Return the function that a call names."""
        callee = self._expression(call.func)
        if not isinstance(callee, Static) or not callable(callee.thing):
            self._fail(call, "not a routine")
        return cast("Translatable | Callable[..., Any]", callee.thing)

    def _called(
        self, f: Callee, arguments: list[RoutineArgument], statics: Statics, width: int, name: str | None
    ) -> Operand:
        if not width:
            self.statements.append(CallStatement(f, arguments, statics))
            return Static(None)
        if name is None or name not in self._once:
            self._fresh += 1
            name = f"t{self._fresh}"
        self.statements.append(CallStatement(f, arguments, statics, name))
        return Value(LOCAL, width, (), name)

    def _given(self, call: ast.Call, f: Translatable) -> dict[str, Operand]:
        """Return the arguments by the names of the parameters."""
        order = [a.arg for a in f.tree.args.args]
        given = {n: self._expression(a) for n, a in zip(order, call.args, strict=False)}
        given |= {k.arg: self._expression(k.value) for k in call.keywords if k.arg is not None}
        if set(given) != set(order):
            self._fail(call, f"{f.name} takes {', '.join(order)}")
        return given

    def _passed(self, a: Operand, name: str, node: ast.AST) -> Any:
        if not isinstance(a, Static):
            self._fail(node, f"{name} must be static")
        return a.thing

    def _argument(self, a: Operand, width: int, node: ast.AST) -> RoutineArgument:
        match a:
            case RecordPointer(name=name) | LaneNumbers(name=name):
                return name
            case RecordRows(base=base, within=within):
                return RowArgument(base, within)
            case _:
                return self._number(a, width, node)

    def _pure_call(self, call: ast.Call) -> Operand:
        """Translate a call that computes a value of its operands."""
        f = self._called_by(call)
        if isinstance(f, Translatable):
            returned = _returned(f)
            if returned is None:
                self._fail(call, f"{f.name} does something: its call must stand alone")
            return self._inside(f, returned, call)
        args = [self._expression(a) for a in call.args]
        match f, args:
            case _, _ if all(isinstance(a, Static) for a in args):
                return Static(f(*(self._use(a) for a in args if isinstance(a, Static))))
            case _, [LaneNumbers(name=name), Value() as n] if f is lanes_equal:
                return Value(MATCHING, 32, (n,), name)
            case _, [Value() as mask] if f is lowest:
                return v.const(mask.width - 1, mask.width) - (mask & -mask).clz
            case _, [Value() as mask] if f is highest:
                return v.const(mask.width - 1, mask.width) - mask.clz
            case _, [Value() as a, Value() as b] if f is signed_less:
                return a.slt(b)
            case _, [Value() as n] if f is wide:
                return n.resize(64)
            case _, [Value() as n] if f is bool:
                return n if n.width == 1 else n != 0
            case _, [Value() as n] if width_of(f) is not None:
                return n.resize(width_of(f) or 0)
            case _:
                self._fail(call, "not in the language")

    def _inside(self, f: Translatable, returned: ast.expr, call: ast.Call) -> Operand:
        """Translate a routine that only computes something, as part of an expression."""
        given = self._given(call, f)
        names, routine = self.names, self.routine
        self.names, self.routine = dict(given), f
        try:
            for p in f.parameters:
                if p.width:
                    self.names[p.name] = self._number(given[p.name], p.width, call)
            got = self._expression(returned)
            return self._number(got, f.width, call) if f.width else got
        finally:
            self.names, self.routine = names, routine

    def _text(self, node: ast.expr) -> Any:
        """Translate an argument of an exception."""
        if not isinstance(node, ast.JoinedStr):
            got = self._expression(node)
            return got if isinstance(got, Value) else self._known(node)
        pieces: list[Any] = []
        for part in node.values:
            match part:
                case ast.Constant(value=text):
                    pieces.append(text)
                case ast.FormattedValue(value=ast.Call(func=f, args=[arg])):
                    got = self._expression(arg)
                    function = self._known(f)
                    pieces.append(str(function(got.thing)) if isinstance(got, Static) else (function, got))
                case ast.FormattedValue(value=inner):
                    got = self._expression(inner)
                    pieces.append(str(self._use(got)) if isinstance(got, Static) else got)
                case _:
                    self._fail(node, "not in the language")
        return Text(tuple(pieces))


def _returned(f: Translatable) -> ast.expr | None:
    """Return the expression of a routine that consists of one `return` and calls nothing with an effect."""
    if f.shared:
        return None
    body = [s for s in f.tree.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Return(value=value)] if value is not None:
            return value
        case _:
            return None


def _targets(n: ast.Assign | ast.AugAssign | ast.For) -> list[ast.Name]:
    targets = n.targets if isinstance(n, ast.Assign) else [n.target]
    twice = 2 if isinstance(n, ast.For) else 1  # a counter is set by its loop, again and again
    return [t for t in targets if isinstance(t, ast.Name)] * twice
