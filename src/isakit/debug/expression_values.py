"""The meaning of expressions, as values of `isakit.sem`: evaluated for a thread, or compiled for all of them.

`value_of` defines each operator once. If the leaves of an expression are constants, as in `evaluate`, the value folds
to a constant; if they are nodes, an engine compiles it (`tesla_conditions`). Floating point is IEEE double precision:
by integer definitions that every engine has, and for constants by the host's, which a test compares.
"""

from __future__ import annotations

import math
import operator as host
import struct
from collections.abc import Callable
from typing import NamedTuple, Protocol

from isakit.debug.expressions import (
    TYPES,
    Binary,
    Cast,
    ExpressionError,
    Load,
    NamedRegister,
    Node,
    Number,
    NumberTerm,
    ThreadFacts,
    Unary,
    Variable,
    walk,
)
from isakit.engine.codegen import function_of
from isakit.errors import NotModelled
from isakit.sem.fp.ieee import float_to_int, ieee_add, ieee_compare, ieee_convert, ieee_mul, int_to_float
from isakit.sem.value import Value, const, param, select, signed

_LESS, _EQUAL, _GREATER, _UNORDERED = 1, 2, 4, 8
"""Results of `ieee_compare`."""
_REAL = {"==": _EQUAL, "!=": _LESS | _GREATER | _UNORDERED, "<": _LESS, "<=": _LESS | _EQUAL, ">": _GREATER,
         ">=": _GREATER | _EQUAL}  # fmt: skip
_HOST: dict[str, Callable[[float, float], float]] = {
    "==": host.eq, "!=": host.ne, "<": host.lt, "<=": host.le, ">": host.gt, ">=": host.ge,
    "+": host.add, "-": host.sub, "*": host.mul,
    "/": lambda a, b: a / b if b else 0.0,
    "%": lambda a, b: math.nan if b and math.isinf(a) else math.fmod(a, b) if b else 0.0,
}  # fmt: skip
"""Operators on doubles that are constant."""
_SIGN = 1 << 63
_ALL = (1 << 64) - 1
LAST_ADDRESS = 0xFF_FFFF_FFFF
"""Larger addresses are clamped to this one, where there is no memory, so that they do not wrap around to 0."""


class TypedValue(NamedTuple):
    """A 64-bit value, and whether it is a double or else a signed integer."""

    bits: Value
    real: bool


class Scope(Protocol):
    """Values of the names in an expression; raises for names that do not exist."""

    def register(self, name: str) -> Value:
        """Return the content of a register, of at most 64 bits."""
        ...

    def variable(self, name: str) -> Value:
        """Return a variable of the thread, of at most 64 bits."""
        ...

    def memory(self, space: str, address: Value, size: int) -> Value:
        """Return `size` bytes from a byte address on, the first one lowest."""
        ...


def value_of(node: Node, scope: Scope) -> TypedValue:
    """Return the value of an expression; operands of `&&` and `||` are short-circuited.

    Raises NotModelled for a quotient or a remainder of doubles that are not constant.
    """
    match node:
        case NumberTerm(number):
            return _constant(number)
        case NamedRegister(name):
            return TypedValue(_wide(scope.register(name)), False)
        case Variable(name):
            return TypedValue(_wide(scope.variable(name)), False)
        case Load(space, address, kind):
            place = _whole(value_of(address, scope))
            place = select(place.ugt(LAST_ADDRESS), const(LAST_ADDRESS, 64), place)
            return _as(kind, scope.memory(space, place, TYPES[kind][0]))
        case Cast(kind, operand):
            return _cast(kind, value_of(operand, scope))
        case Unary(operator, operand):
            return _unary(operator, value_of(operand, scope))
        case Binary(("&&" | "||") as operator, left, right):
            first = truth(value_of(left, scope))
            decides = operator == "||"
            if first.op == "const" and bool(first.attr) == decides:
                return _flag(first)
            second = truth(value_of(right, scope))
            return _flag(first | second if decides else first & second)
        case Binary(operator, left, right):
            return _binary(operator, value_of(left, scope), value_of(right, scope))


def truth(v: TypedValue) -> Value:
    """Return whether a value is not zero, as one bit; a NaN is not zero."""
    return ~((v.bits << 1) if v.real else v.bits).is_zero


def _constant(number: Number) -> TypedValue:
    if isinstance(number, float):
        return TypedValue(_bits_of(number), True)
    return TypedValue(const(number, 64), False)


def _bits_of(number: float) -> Value:
    return const(int.from_bytes(struct.pack("<d", number), "little"), 64)


def _known(v: Value) -> float:
    """Return the double of a constant."""
    return struct.unpack("<d", v.number.to_bytes(8, "little"))[0]


def _wide(v: Value) -> Value:
    return v.resize(64)


def _flag(v: Value) -> TypedValue:
    return TypedValue(v.zext(64), False)


def _whole(v: TypedValue) -> Value:
    """Return a double truncated to a 64-bit integer; 0 for one that is too large, and for NaN."""
    if not v.real:
        return v.bits
    if v.bits.op == "const":
        number = _known(v.bits)
        return const(int(number) if math.isfinite(number) and abs(number) < _SIGN else 0, 64)
    fits = v.bits.bits(52, 11).ult(1023 + 63)
    return select(fits, float_to_int(v.bits, source="f64", to="s64", rounding="rz"), 0)


def _double(v: TypedValue) -> Value:
    if v.real:
        return v.bits
    if v.bits.op == "const":
        return _bits_of(float(signed(v.bits.number, 64)))
    return int_to_float(v.bits, source="s64", to="f64")


def _as(kind: str, bits: Value) -> TypedValue:
    """Return the number represented by bits of a type's size."""
    size, letter = TYPES[kind]
    if letter in "ef":
        if bits.op == "const":
            return TypedValue(_bits_of(struct.unpack("<" + letter, bits.number.to_bytes(size, "little"))[0]), True)
        return TypedValue(ieee_convert(bits, source="f16" if letter == "e" else "f32", to="f64"), True)
    if letter == "d":
        return TypedValue(bits, True)
    if bits.width == 64:
        return TypedValue(bits, False)
    return TypedValue(bits.sext(64) if kind[0] == "s" else bits.zext(64), False)


def _cast(kind: str, v: TypedValue) -> TypedValue:
    size, letter = TYPES[kind]
    if v.real and letter in "efd":
        return v
    return _as(kind, _whole(v).resize(8 * size))


def _unary(operator: str, v: TypedValue) -> TypedValue:
    if operator == "!":
        return _flag(~truth(v))
    if operator == "~":
        return TypedValue(~_whole(v), False)
    return TypedValue(v.bits ^ _SIGN if v.real else -v.bits, v.real)


def _binary(operator: str, a: TypedValue, b: TypedValue) -> TypedValue:
    if operator in _BITS:
        return TypedValue(_BITS[operator](_whole(a), _whole(b)), False)
    if a.real or b.real:
        return _of_doubles(operator, _double(a), _double(b))
    return TypedValue(_WHOLE[operator](a.bits, b.bits).resize(64), False)


def _quotient(x: Value, y: Value) -> Value:
    """Return a quotient rounded towards zero; 0 for division by zero."""
    size = [select(v.sign, -v, v) for v in (x, y)]
    q = size[0].udiv(size[1])
    return select(y.is_zero, 0, select(x.sign ^ y.sign, -q, q))


_BITS: dict[str, Callable[[Value, Value], Value]] = {
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    "<<": lambda x, y: select(y.ult(64), x << y, 0),
    ">>": lambda x, y: select(y.ult(64), x >> y, 0),
}  # fmt: skip
"""Operators on the bits of numbers."""
_WHOLE: dict[str, Callable[[Value, Value], Value]] = {
    "==": lambda x, y: x == y, "!=": lambda x, y: ~(x == y),
    "<": lambda x, y: x.slt(y), "<=": lambda x, y: ~y.slt(x), ">": lambda x, y: y.slt(x), ">=": lambda x, y: ~x.slt(y),
    "+": host.add, "-": host.sub, "*": host.mul, "/": _quotient,
    "%": lambda x, y: select(y.is_zero, 0, x - y * _quotient(x, y)),
}  # fmt: skip
"""Operators on whole numbers: a number, or a bit that says whether it is so."""
_IEEE: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda x, y: ieee_add(x, y, format="f64"), "-": lambda x, y: ieee_add(x, y ^ _SIGN, format="f64"),
    "*": lambda x, y: ieee_mul(x, y, format="f64"),
}  # fmt: skip
"""Operators on doubles that are not constant, besides comparisons."""


def _of_doubles(operator: str, x: Value, y: Value) -> TypedValue:
    if x.op == "const" and y.op == "const":
        return _constant(_HOST[operator](_known(x), _known(y)))
    if operator in _REAL:
        return _flag((ieee_compare(x, y, format="f64") & _REAL[operator]).ugt(0))
    if operator in _IEEE:
        return TypedValue(_IEEE[operator](x, y), True)
    raise NotModelled(f"`{operator}` of doubles that are not known", "each thread is asked for its own")


# --- evaluation -------------------------------------------------------------------------------------------------------
class _OfThread:
    """The names of an expression as constants: their values in one thread."""

    def __init__(self, facts: ThreadFacts) -> None:
        self.facts = facts

    def register(self, name: str) -> Value:
        return const(self.facts.register(name), 64)

    def variable(self, name: str) -> Value:
        return const(_variable(self.facts, name), 64)

    def memory(self, space: str, address: Value, size: int) -> Value:
        return const(int.from_bytes(self.facts.memory(space, address.number, size), "little"), 8 * size)


def _variable(facts: ThreadFacts, name: str) -> int:
    try:
        return facts.variable(name)
    except KeyError as e:
        raise ExpressionError(f"no {name!r} here; {e.args[0]}") from None


def evaluate(node: Node, facts: ThreadFacts) -> Number:
    """Return the value for a thread. Raises ExpressionError for an unknown name, and everything `facts` raises."""
    match node:  # as they are, however wide
        case NamedRegister(name):
            return facts.register(name)
        case Variable(name):
            return _variable(facts, name)
        case _:
            got = value_of(node, _OfThread(facts))
            return _known(got.bits) if got.real else signed(got.bits.number, 64)


# --- conditions -------------------------------------------------------------------------------------------------------
class _Reads:
    """Names as formal arguments of a function, with functions that read them for a thread."""

    def __init__(self) -> None:
        self.formals: list[Value] = []
        self.readers: list[Callable[[ThreadFacts, list[int]], int]] = []

    def _formal(self, reader: Callable[[ThreadFacts, list[int]], int], width: int) -> Value:
        formal = param(f"a{len(self.formals)}", width)
        self.formals.append(formal)
        self.readers.append(reader)
        return formal

    def register(self, name: str) -> Value:
        return self._formal(lambda facts, _: facts.register(name) & _ALL, 64)

    def variable(self, name: str) -> Value:
        return self._formal(lambda facts, _: _variable(facts, name) & _ALL, 64)

    def memory(self, space: str, address: Value, size: int) -> Value:
        before = len(self.formals)
        place = function_of(self.formals[:before], address, "scalar", "evaluate")
        return self._formal(
            lambda facts, read: int.from_bytes(facts.memory(space, place(*read[:before]), size), "little"), 8 * size
        )


def condition(node: Node) -> Callable[[ThreadFacts], bool]:
    """Compile an expression to a function that returns whether it is true of a thread and raises as `evaluate` does."""
    if isinstance(node, NamedRegister | Variable):
        return lambda facts: evaluate(node, facts) != 0
    return _compiled(node)


def _compiled(node: Node) -> Callable[[ThreadFacts], bool]:
    match node:
        case Binary("&&", left, right):
            a, b = _compiled(left), _compiled(right)
            return lambda facts: a(facts) and b(facts)
        case Binary("||", left, right):
            a, b = _compiled(left), _compiled(right)
            return lambda facts: a(facts) or b(facts)
        case _:
            pass
    if any(_is_interpreted(n) for n in walk(node)):
        return lambda facts: truth(value_of(node, _OfThread(facts))).number != 0
    reads = _Reads()
    function = function_of(reads.formals, truth(value_of(node, reads)), "scalar", "evaluate")
    readers = reads.readers

    def holds(facts: ThreadFacts) -> bool:
        read: list[int] = []
        for reader in readers:
            read.append(reader(facts, read))
        return bool(function(*read))

    return holds


def _is_interpreted(node: Node) -> bool:
    """Return whether a node has doubles, which the host computes faster, or short-circuits operands."""
    match node:
        case NumberTerm(number):
            return isinstance(number, float)
        case Load(_, _, kind) | Cast(kind, _):
            return kind[0] == "f"
        case Binary(operator):
            return operator in ("&&", "||")
        case _:
            return False


__all__ = ["Scope", "TypedValue", "condition", "evaluate", "truth", "value_of"]
