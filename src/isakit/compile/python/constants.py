"""Constant expressions of Python kernels: folded by walking the syntax tree, so that no text is ever evaluated.

A kernel may come from a stranger. Only numbers, names of numbers and the operators below are constant, and every step
is bounded: time and memory are proportional to the size of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

Number = int | float

BITS = 256
"""Bits a constant may have on its way to the at most 64 of a value."""


class NotFoldable(Exception):
    """A constant expression without a value that a kernel can have; the message says why. `node` is the expression."""

    def __init__(self, message: str, node: ast.expr) -> None:
        super().__init__(message)
        self.node = node


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b, ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b, ast.LShift: lambda a, b: a << b, ast.RShift: lambda a, b: a >> b,
    ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b, ast.BitXor: lambda a, b: a ^ b,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: lambda a: -a, ast.UAdd: lambda a: +a, ast.Invert: lambda a: ~a, ast.Not: lambda a: int(not a)
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b, ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
}  # fmt: skip


class ConstantFolding:
    """Values of constant expressions among given names; those of `own` are variables and not constant."""

    def __init__(self, names: Mapping[str, object], own: Collection[str] = ()) -> None:
        self._names = {k: _plain(v) for k, v in names.items() if isinstance(v, Number) and k not in own}
        self._folded: dict[ast.expr, Number | None] = {}

    def fold(self, node: ast.expr) -> Number | None:
        """Return the value of a constant expression, or None for an expression that is not constant.

        Raises NotFoldable for a constant that has too many bits, divides an integer by zero or shifts by a negative
        number. Results are cached: nested expressions are walked once.
        """
        if node not in self._folded:
            value = self._value(node)
            if isinstance(value, int) and value.bit_length() > BITS:
                raise NotFoldable(f"this number has more than {BITS} bits", node)
            self._folded[node] = value
        return self._folded[node]

    def _value(self, node: ast.expr) -> Number | None:
        match node:
            case ast.Constant(value=int() | float() as value):
                return _plain(value)
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.UnaryOp(op=op, operand=operand):
                a = self.fold(operand)
                return None if a is None else _applied(_UNARY[type(op)], a)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self.fold(left), self.fold(right)
                return None if a is None or b is None else _combined(node, op, a, b)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                a, b = self.fold(left), self.fold(right)
                return None if a is None or b is None else int(_COMPARISONS[type(op)](a, b))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.fold(test)
                return None if chosen is None else self.fold(body if chosen else orelse)
            case _:
                return None


def _plain(value: Number) -> Number:
    """Return a number as Python's own int, float or bool, whatever its class."""
    return int(value) if isinstance(value, int) else float(value)


def _combined(node: ast.BinOp, op: ast.operator, a: Number, b: Number) -> Number | None:
    """Return the value of a binary operation after bounding its size, None if it has none."""
    if isinstance(a, int) and isinstance(b, int):
        _check(node, op, a, b)
    return _applied(_BINARY[type(op)], a, b) if type(op) in _BINARY else None


def _check(node: ast.BinOp, op: ast.operator, a: int, b: int) -> None:
    """Raise NotFoldable for an integer operation without a value, or whose value would be too large."""
    match op:
        case ast.FloorDiv() | ast.Mod() if b == 0:
            raise NotFoldable("an integer is divided by zero", node)
        case ast.LShift() | ast.RShift() if b < 0:
            raise NotFoldable("a shift by a negative number", node)
        case ast.LShift() if a:
            bits = a.bit_length() + b
        case ast.Pow() if b > 0 and abs(a) > 1:
            bits = (a.bit_length() - 1) * b + 1  # at least
        case _:
            return
    if bits > BITS:
        raise NotFoldable(f"this number has more than {BITS} bits", node)


def _applied(operation: Callable[..., object], *values: Number) -> Number | None:
    """Return the result of an operation, None where it has none, as `1.5 << 2` and `1 / 0`."""
    try:
        value = operation(*values)
    except (TypeError, ArithmeticError):
        return None
    return value if isinstance(value, Number) else None  # a root of a negative number is complex


def variables(function: ast.FunctionDef) -> set[str]:
    """Return the names a function assigns to, its parameters included."""
    own: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                own.add(name)
            case _:
                pass
    return own
