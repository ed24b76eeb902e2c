"""Typed symbolic bit vectors: what a semantics function computes with.

A `Value` is an immutable node of a small SSA graph: an operation, a width in bits, arguments and static attributes.
All arithmetic is modulo 2**width; numbers are unsigned unless the operation's name says signed. Nodes whose inputs are
constants fold at once, so a graph only holds what really depends on the machine.

| op | args | attr | meaning |
|---|---|---|---|
| const | | value | a number |
| param | | name or Field | a field of the instruction word: the same for all lanes, known before execution |
| read | index | file name | a register, read before any write of the instruction |
| add sub mul and or xor | a, b | | same width |
| not | a | | complement |
| udiv | a, b | | unsigned quotient; division by 0 gives all ones |
| shl lshr ashr | a, count | | a count >= width gives 0 (ashr: sign fill) |
| eq ult slt | a, b | | 1-bit result |
| select | c, a, b | | c ? a : b, c has 1 bit |
| zext sext | a | | to the wider width |
| extract | a | low bit | `width` bits from `low` |
| concat | hi, lo | | |
| clz | a | | leading zero bits, `width` for 0 |
| table | index | Table | entry of a constant table |
| call | args | (Operation, statics) | a named operation with an integer definition (see `sem.operation`) |
| load | address | (space, bytes, ...) | memory read, an effect in program order (see `sem.trace`) |
| machine | args | name | something only the machine knows: lane number, other lanes' values, votes, counters |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol, TypeVar

from isakit.errors import IsakitError
from isakit.lean import dataclass


class SymbolicConditionError(IsakitError):
    """A Python `if` on a lane value: only static parts may be branched on, lane values need `select`."""


@dataclass(frozen=True, eq=False)
class Table:
    """A constant table of `width`-bit entries, looked up by an unsigned index below `len(entries)`."""

    name: str
    entries: tuple[int, ...]
    width: int


def mask(width: int) -> int:
    """Return all ones in `width` bits."""
    return (1 << width) - 1


def signed(value: int, width: int) -> int:
    """Return `value` read as a two's complement number of `width` bits."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def _shift_left(a: int, n: int, w: int) -> int:
    return (a << n) & mask(w) if n < w else 0


def _shift_right_signed(a: int, n: int, w: int) -> int:
    return (signed(a, w) >> min(n, w - 1)) & mask(w)


Meaning = Callable[[int, Sequence[int], Any, Sequence[int]], int]

# op -> exact integer meaning: (width of the result, widths of the arguments, attr, arguments) -> result
INTEGER_MEANING: dict[str, Meaning] = {
    "add": lambda w, _, __, x: (x[0] + x[1]) & mask(w),
    "sub": lambda w, _, __, x: (x[0] - x[1]) & mask(w),
    "mul": lambda w, _, __, x: (x[0] * x[1]) & mask(w),
    "and": lambda w, _, __, x: x[0] & x[1],
    "or": lambda w, _, __, x: x[0] | x[1],
    "xor": lambda w, _, __, x: x[0] ^ x[1],
    "not": lambda w, _, __, x: x[0] ^ mask(w),
    "udiv": lambda w, _, __, x: x[0] // x[1] if x[1] else mask(w),
    "shl": lambda w, _, __, x: _shift_left(x[0], x[1], w),
    "lshr": lambda w, _, __, x: x[0] >> x[1] if x[1] < w else 0,
    "ashr": lambda w, _, __, x: _shift_right_signed(x[0], x[1], w),
    "eq": lambda w, _, __, x: int(x[0] == x[1]),
    "ult": lambda w, _, __, x: int(x[0] < x[1]),
    "slt": lambda w, ws, __, x: int(signed(x[0], ws[0]) < signed(x[1], ws[0])),
    "select": lambda w, _, __, x: x[1] if x[0] else x[2],
    "zext": lambda w, _, __, x: x[0],
    "sext": lambda w, ws, __, x: signed(x[0], ws[0]) & mask(w),
    "extract": lambda w, _, low, x: (x[0] >> low) & mask(w),
    "concat": lambda w, ws, __, x: x[0] << ws[1] | x[1],
    "clz": lambda w, ws, __, x: ws[0] - x[0].bit_length(),
    "table": lambda w, _, table, x: table.entries[x[0]] if x[0] < len(table.entries) else 0,
}
UNIFORM_LEAVES = {"const", "param"}


class Value:
    """One node of the graph; see the module docstring for the operations.

    `uniform` is true when the node depends on instruction fields only and so is the same in every lane.
    """

    __slots__ = ("args", "attr", "op", "uniform", "width")

    def __init__(self, op: str, width: int, args: tuple[Value, ...] = (), attr: Any = None) -> None:
        self.op, self.width, self.args, self.attr = op, width, args, attr
        if op in INTEGER_MEANING or op == "call":
            self.uniform = all(a.uniform for a in args)
        else:
            self.uniform = op in UNIFORM_LEAVES

    # --- arithmetic -------------------------------------------------------------------------------------------------
    def __add__(self, o: Value | int) -> Value:
        return binary("add", self, o)

    def __sub__(self, o: Value | int) -> Value:
        return binary("sub", self, o)

    def __rsub__(self, o: int) -> Value:
        return binary("sub", const(o, self.width), self)

    def __mul__(self, o: Value | int) -> Value:
        return binary("mul", self, o)

    def __and__(self, o: Value | int) -> Value:
        return binary("and", self, o)

    def __or__(self, o: Value | int) -> Value:
        return binary("or", self, o)

    def __xor__(self, o: Value | int) -> Value:
        return binary("xor", self, o)

    __radd__, __rand__, __ror__, __rxor__, __rmul__ = __add__, __and__, __or__, __xor__, __mul__

    def __invert__(self) -> Value:
        return node("not", self.width, (self,))

    def __neg__(self) -> Value:
        return const(0, self.width) - self

    def __lshift__(self, n: Value | int) -> Value:
        return _shift("shl", self, n)

    def __rshift__(self, n: Value | int) -> Value:
        """Return the logical shift right; `sar` is the arithmetic one."""
        return _shift("lshr", self, n)

    def sar(self, n: Value | int) -> Value:
        """Return the arithmetic shift right."""
        return _shift("ashr", self, n)

    def udiv(self, o: Value | int) -> Value:
        """Return the unsigned quotient; all ones for a zero divisor."""
        return binary("udiv", self, o)

    # --- comparisons: 1-bit values ------------------------------------------------------------------------------------
    def __eq__(self, o: Value | int) -> Value:  # type: ignore[override]
        return compare("eq", self, o)

    def __ne__(self, o: Value | int) -> Value:  # type: ignore[override]
        return ~compare("eq", self, o)

    __hash__ = object.__hash__

    def ult(self, o: Value | int) -> Value:
        """Return self < o as one bit, both unsigned."""
        return compare("ult", self, o)

    def ule(self, o: Value | int) -> Value:
        """Return self <= o as one bit, both unsigned."""
        return ~compare("ult", _coerce(o, self.width), self)

    def ugt(self, o: Value | int) -> Value:
        """Return self > o as one bit, both unsigned."""
        return compare("ult", _coerce(o, self.width), self)

    def uge(self, o: Value | int) -> Value:
        """Return self >= o as one bit, both unsigned."""
        return ~compare("ult", self, o)

    def slt(self, o: Value | int) -> Value:
        """Return self < o as one bit, both signed."""
        return compare("slt", self, o)

    def sle(self, o: Value | int) -> Value:
        """Return self <= o as one bit, both signed."""
        return ~compare("slt", _coerce(o, self.width), self)

    def sgt(self, o: Value | int) -> Value:
        """Return self > o as one bit, both signed."""
        return compare("slt", _coerce(o, self.width), self)

    def sge(self, o: Value | int) -> Value:
        """Return self >= o as one bit, both signed."""
        return ~compare("slt", self, o)

    # --- pieces -------------------------------------------------------------------------------------------------------
    def zext(self, width: int) -> Value:
        """Extend to `width` bits with zeros."""
        return self if width == self.width else node("zext", width, (self,))

    def sext(self, width: int) -> Value:
        """Extend to `width` bits with the sign."""
        return self if width == self.width else node("sext", width, (self,))

    def trunc(self, width: int) -> Value:
        """Return the low `width` bits."""
        return self.bits(0, width)

    def bits(self, low: int, width: int) -> Value:
        """Return `width` bits starting at bit `low`."""
        if low == 0 and width == self.width:
            return self
        if low < 0 or width < 1 or low + width > self.width:
            raise ValueError(f"bits {low}..{low + width - 1} of a {self.width}-bit value")
        return node("extract", width, (self,), low)

    def resize(self, width: int) -> Value:
        """Truncate or zero-extend to `width` bits."""
        return self.trunc(width) if width < self.width else self.zext(width)

    def bit(self, n: int) -> Value:
        """Return bit `n` as a 1-bit value."""
        return self.bits(n, 1)

    @property
    def sign(self) -> Value:
        """The top bit."""
        return self.bit(self.width - 1)

    @property
    def is_zero(self) -> Value:
        """1 when all bits are 0."""
        return self == 0

    @property
    def clz(self) -> Value:
        """Number of leading zero bits, in the same width (`width` for 0)."""
        return node("clz", self.width, (self,))

    @property
    def smax(self) -> Value:
        """The largest signed number of this width."""
        return const(mask(self.width - 1), self.width)

    @property
    def smin(self) -> Value:
        """The smallest signed number of this width."""
        return const(1 << (self.width - 1), self.width)

    def read(self) -> Value:
        """Return the value itself: an immediate operand reads as itself."""
        return self

    @property
    def number(self) -> int:
        """The value of a constant node; anything else is an error."""
        if self.op != "const":
            raise SymbolicConditionError(f"{self} is not a constant")
        return self.attr

    def __bool__(self) -> bool:
        if self.op == "const":
            return bool(self.attr)
        raise SymbolicConditionError(
            f"a Python condition on the lane value {self}: use select(); only static parts may be branched on"
        )

    def __repr__(self) -> str:
        inner = ", ".join(repr(a) if len(a.args) == 0 else f"{a.op}(..)" for a in self.args)
        return f"{self.op}{self.width}({inner}{', ' if inner and self.attr is not None else ''}{self.attr or ''})"


def _coerce(v: Value | int, width: int) -> Value:
    if isinstance(v, Value):
        if v.width != width:
            raise ValueError(f"width mismatch: {v.width} and {width} bits")
        return v
    return const(v, width)


def const(value: int, width: int) -> Value:
    """Return a constant, reduced modulo 2**width."""
    return Value("const", width, (), value & mask(width))


def u1(value: int) -> Value:
    """Return a 1-bit constant."""
    return const(value, 1)


def param(name: Any, width: int) -> Value:
    """Return a field of the instruction word (`name`: a Field, or a string for a definition's formal argument)."""
    return Value("param", width, (), name)


def node(op: str, width: int, args: tuple[Value, ...], attr: Any = None) -> Value:
    """Build a pure node, folding constants and trivial identities."""
    if all(a.op == "const" for a in args):
        return const(INTEGER_MEANING[op](width, [a.width for a in args], attr, [a.attr for a in args]), width)
    if op == "select" and args[0].op == "const":
        return args[1] if args[0].attr else args[2]
    if op == "select" and args[1] is args[2]:
        return args[1]
    if op == "not" and args[0].op == "not":
        return args[0].args[0]
    if op == "extract" and args[0].op == "extract":
        return node("extract", width, args[0].args, attr + args[0].attr)
    if op == "extract" and args[0].op == "zext" and attr + width <= args[0].args[0].width:
        return args[0].args[0].bits(attr, width)
    if op == "extract" and args[0].op == "concat":
        hi, lo = args[0].args
        if attr + width <= lo.width:
            return lo.bits(attr, width)
        if attr >= lo.width:
            return hi.bits(attr - lo.width, width)
    return Value(op, width, args, attr)


_ABSORBING_ZERO = {"and", "mul"}
_NEUTRAL_ZERO = {"add", "or", "xor", "sub"}


def binary(op: str, a: Value, b: Value | int) -> Value:
    """Return a two-operand operation on equal widths; ints become constants of the other operand's width."""
    b = _coerce(b, a.width)
    for x, y in ((a, b), (b, a)):
        if y.op == "const" and (op != "sub" or y is b):
            if y.attr == 0 and op in _NEUTRAL_ZERO:
                return x
            if y.attr == 0 and op in _ABSORBING_ZERO:
                return y
            if y.attr == mask(a.width) and op == "and":
                return x
            if y.attr == mask(a.width) and op == "or":
                return y
            if y.attr == 1 and op == "mul" and a.width > 1:
                return x
    return node(op, a.width, (a, b))


_FOLDED_IN_PAIRS = {"add", "sub", "mul", "and", "or", "xor", "udiv"}


def on(n: Value, args: tuple[Value, ...]) -> Value:
    """Return the operation of a node on other arguments, folded if it is a pure one."""
    if n.op in _FOLDED_IN_PAIRS:
        return binary(n.op, *args)
    if n.op in INTEGER_MEANING:
        return node(n.op, n.width, args, n.attr)
    return Value(n.op, n.width, args, n.attr)


def compare(op: str, a: Value, b: Value | int) -> Value:
    """Return a comparison as a 1-bit value."""
    return node(op, 1, (a, _coerce(b, a.width)))


def _shift(op: str, a: Value, n: Value | int) -> Value:
    if isinstance(n, int):
        if n == 0:
            return a
        n = const(n, 32)
    return node(op, a.width, (a, n))


def select(condition: Value | int | bool, a: Value | int, b: Value | int) -> Value:
    """Return `condition ? a : b`; at least one of a, b must be a Value."""
    width = a.width if isinstance(a, Value) else b.width if isinstance(b, Value) else 0
    if not width:
        raise ValueError("select needs at least one Value to know the width")
    return node(
        "select",
        width,
        (
            _coerce(condition if isinstance(condition, Value) else int(condition), 1),
            _coerce(a, width),
            _coerce(b, width),
        ),
    )


def concat(*parts: Value) -> Value:
    """Return parts joined, most significant first."""
    return reduce(lambda high, low: node("concat", high.width + low.width, (high, low)), parts)


def lookup(table: Table, index: Value) -> Value:
    """Return entry `index` of a constant table (0 past its end)."""
    return node("table", table.width, (index,), table)


def uniform_number(value: Value, word: int) -> int:
    """Return the number a uniform value has in an instruction word."""
    if value.op == "const":
        return value.attr
    if value.op == "param":
        return value.attr.get(word)
    args = [uniform_number(a, word) for a in value.args]
    return INTEGER_MEANING[value.op](value.width, [a.width for a in value.args], value.attr, list(args))


def any_of(values: Sequence[Value]) -> Value:
    """Return OR of 1-bit values."""
    return reduce(Value.__or__, values, u1(0))


def all_of(values: Sequence[Value]) -> Value:
    """Return AND of 1-bit values."""
    return reduce(Value.__and__, values, u1(1))


def add_with_carry(a: Value, b: Value, carry: Value | int) -> tuple[Value, Value]:
    """Return (a + b + carry, carry out), both from the sum in one bit more."""
    w = a.width
    cin = carry.zext(w + 1) if isinstance(carry, Value) else const(carry, w + 1)
    total = a.zext(w + 1) + b.zext(w + 1) + cin
    return total.trunc(w), total.bit(w)


class HasArguments(Protocol):
    """A node of an expression."""

    @property
    def args(self) -> Sequence[Any]: ...


N = TypeVar("N", bound=HasArguments)


def postorder(root: N, done: dict[int, Any] | set[int]) -> list[N]:
    """Return nodes below `root` that are not in `done`, arguments first. A set is updated; a dict the caller fills."""
    out: list[N] = []
    local: set[int] = done if isinstance(done, set) else set()
    stack: list[tuple[N, bool]] = [(root, False)]
    while stack:
        n, ready = stack.pop()
        if ready:
            out.append(n)
        elif id(n) not in local and id(n) not in done:
            local.add(id(n))
            stack.append((n, True))
            stack.extend((a, False) for a in reversed(n.args))
    return out
