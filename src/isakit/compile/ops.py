"""The operations of the intermediate form: one row states everything that passes and targets need to know.

A row states kinds of arguments and results, whether results vary by lane, effects, and what a result points to; none of
these has a default, because a wrong one makes wrong code. `fold` computes an operation on constants; the same functions
serve as reference for the selected code. The attributes of an operation are a record with named fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from isakit.compile.ir import AnyOp, Attrs, Effect, IrOp, NoAttributes, OpUniformity, PointsTo
from isakit.errors import DefinitionError

M32 = 0xFFFF_FFFF
P = ParamSpec("P")
A = TypeVar("A", bound=tuple[object, ...])

SAME, MEMORY, ALWAYS, NEVER = OpUniformity.OPERANDS, OpUniformity.MEMORY, OpUniformity.ALWAYS, OpUniformity.NEVER
NONE, READS, WRITES, STAYS = Effect.NONE, Effect.READS, Effect.WRITES, Effect.STAYS
NUMBER, SUM, CHOICE = PointsTo.NUMBER, PointsTo.SUM, PointsTo.CHOICE


# --- attributes ------------------------------------------------------------------------------------------------------
class Signs16(NamedTuple):
    """Signedness of each 16-bit factor."""

    s1: bool
    s2: bool


class Product24(NamedTuple):
    """Signedness of 24-bit factors, and whether the result is the upper 32 bits of the product."""

    sign: bool
    high: bool


class Signed(NamedTuple):
    """Signedness of the operands."""

    s: bool


class Compare(NamedTuple):
    """A comparison of integers: condition and type."""

    cond: str
    ty: str


class CompareFloat(NamedTuple):
    """A comparison of f32; `abs1` compares the magnitude of the first operand."""

    cond: str
    abs1: bool = False


class CompareDouble(NamedTuple):
    """A comparison of f64."""

    cond: str


class FloatSum(NamedTuple):
    """A sum of f32. `loose`: no rounding is stated, so a product may be fused into it."""

    neg1: bool = False
    neg2: bool = False
    sat: bool = False
    rz: bool = False
    loose: bool = False


class FloatProduct(NamedTuple):
    """A product of f32. `loose`: no rounding is stated, so it may be fused into a sum."""

    neg: bool = False
    sat: bool = False
    rz: bool = False
    loose: bool = False


class FloatMad(NamedTuple):
    """a * b + c of f32, with a truncated product."""

    neg: bool = False
    negc: bool = False
    sat: bool = False


class DoubleSum(NamedTuple):
    """A sum of f64."""

    rnd: str
    neg1: bool = False
    neg2: bool = False
    loose: bool = False


class DoubleProduct(NamedTuple):
    """A product of f64."""

    rnd: str
    neg: bool = False
    loose: bool = False


class DoubleFma(NamedTuple):
    """A product and a sum of f64, rounded once."""

    rnd: str
    negp: bool = False
    negc: bool = False


class Conversion(NamedTuple):
    """A conversion from `source` to `to`, after `abs` and then `neg`. `again`: keep it although it seems redundant."""

    to: str
    source: str
    rnd: str = ""
    sat: bool = False
    neg: bool = False
    abs: bool = False
    again: bool = False


class Word(NamedTuple):
    """The index of a word in a wider value."""

    i: int


class Parameter(NamedTuple):
    """An offset in the launch header or parameters, the type it is read as, and the space it points to, if known."""

    offset: int
    mode: str
    to: str = ""


class Symbol(NamedTuple):
    """The name of a variable."""

    name: str


class Space(NamedTuple):
    """The space an address belongs to."""

    space: str


class Load(NamedTuple):
    """A load: space, offset, type in memory."""

    space: str
    offset: int
    ty: str
    volatile: bool


class Store(NamedTuple):
    """A store: space, offset, type in memory."""

    space: str
    offset: int
    ty: str


class Atomic(NamedTuple):
    """An atomic operation: what it does, the type, space and offset."""

    op: str
    ty: str
    space: str
    offset: int


class AddressShift(NamedTuple):
    """An address register computed as a value shifted left, plus a constant."""

    shift: int
    step: int


class AddressStep(NamedTuple):
    """A constant added to an address register."""

    step: int


class TextureAccess(NamedTuple):
    """A texture, the instruction that samples it, and whether it is a cube map."""

    texture: str
    how: str
    cube: bool


class Numbered(NamedTuple):
    """The number of a barrier or an event."""

    id: int


class Vote(NamedTuple):
    """A vote over all lanes: all, any."""

    kind: str


# --- the table -------------------------------------------------------------------------------------------------------
OPS: dict[str, AnyOp] = {}
KINDS = "rdqpfa*"
"""The kinds of values but for vectors; `*` is any number of any kind."""


def row(
    name: str,
    args: str | tuple[str, ...],
    outs: str | tuple[str, ...],
    uniformity: OpUniformity | None,
    effect: Effect,
    points_to: PointsTo,
    attributes: Callable[P, A],
    fold: Callable[..., int] | None = None,
    *,
    commutes: bool = False,
    flushes: bool = False,
    tests_zero: str = "",
) -> IrOp[P, A]:
    """Return a new row of the table. Raises DefinitionError for a duplicate name or inconsistent properties."""
    fields: tuple[str, ...] = getattr(attributes, "_fields")  # noqa: B009
    folded = (*args, *fields) if fold in (None, min, max) else tuple(inspect.signature(fold).parameters)
    wrong = {
        "only an operation without results has no uniformity": (uniformity is None) != (not outs),
        "is already defined": name in OPS,
        f"`fold` does not take the attributes {', '.join(fields)}": folded[len(args) :] != fields,
        f"`fold` does not take {len(args)} arguments": len(folded) != len(args) + len(fields),
        f"kinds are {' '.join(KINDS)}": isinstance(args, str) and not {*args, *outs} <= {*KINDS},
        "without arguments and attributes it is NEVER or ALWAYS uniform": uniformity is SAME and not (args or fields),
    }  # fmt: skip
    if any(wrong.values()):
        raise DefinitionError(f"operation {name!r}: {next(what for what, holds in wrong.items() if holds)}")
    op = IrOp[P, A](name, tuple(args), tuple(outs), uniformity, effect, points_to, attributes, fold)
    op.commutes, op.flushes, op.tests_zero = commutes, flushes, tests_zero
    OPS[name] = op
    return op


def plain(
    name: str, args: str, outs: str, points_to: PointsTo, *, f1: Callable[[int], int] | None = None,
    f2: Callable[[int, int], int] | None = None, f3: Callable[[int, int, int], int] | None = None,
    commutes: bool = False, flushes: bool = False, tests_zero: str = "",
) -> IrOp[[], NoAttributes]:  # fmt: skip
    """Return a new row for a pure operation: its results depend on its arguments only."""
    fold = f1 or f2 or f3
    return row(name, args, outs, SAME, NONE, points_to, NoAttributes, fold, commutes=commutes, flushes=flushes,
               tests_zero=tests_zero)  # fmt: skip


def signed(v: int, bits: int = 32) -> int:
    """Return the low `bits` of a number as a signed one."""
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> bits - 1 else v


def _shift(a: int, n: int, kind: str) -> int:
    if n >= 32:
        return -1 if kind == "sar" and a >> 31 else 0
    return a << n if kind == "shl" else a >> n if kind == "shr" else signed(a) >> n


def _address(a: int, space: str) -> int:
    return a


def _saturated(v: int) -> int:
    return max(-(1 << 31), min(v, (1 << 31) - 1))


def _mul16(a: int, b: int, s1: bool, s2: bool) -> int:
    return (signed(a, 16) if s1 else a & 0xFFFF) * (signed(b, 16) if s2 else b & 0xFFFF)


def _mul24(a: int, b: int, sign: bool, high: bool) -> int:
    x, y = (signed(a, 24), signed(b, 24)) if sign else (a & 0xFF_FFFF, b & 0xFF_FFFF)
    return x * y >> 16 if high else x * y


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "e": lambda a, b: a == b, "lg": lambda a, b: a != b, "l": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "g": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _sad(a: int, b: int, c: int, s: bool) -> int:
    return (abs(signed(a) - signed(b)) if s else abs(a - b)) + c


def _compare(a: int, b: int, cond: str, ty: str) -> int:
    if ty[0] == "s":
        a, b = signed(a), signed(b)
    return int(_COMPARE[cond](a, b))


ADD = plain("add", "rr", "r", SUM, f2=lambda a, b: a + b, commutes=True, tests_zero="always")
SUB = plain("sub", "rr", "r", SUM, f2=lambda a, b: a - b, tests_zero="always")
ADDSAT = plain("addsat", "rr", "r", NUMBER, f2=lambda a, b: _saturated(signed(a) + signed(b)), commutes=True)
SUBSAT = plain("subsat", "rr", "r", NUMBER, f2=lambda a, b: _saturated(signed(a) - signed(b)))
MUL = plain("mul", "rr", "r", NUMBER, f2=lambda a, b: a * b, commutes=True)
MULHU = plain("mulhu", "rr", "r", NUMBER, f2=lambda a, b: a * b >> 32, commutes=True)
MULHS = plain("mulhs", "rr", "r", NUMBER, f2=lambda a, b: signed(a) * signed(b) >> 32, commutes=True)
MUL16 = row("mul16", "rr", "r", SAME, NONE, NUMBER, Signs16, _mul16)
MUL24 = row("mul24", "rr", "r", SAME, NONE, NUMBER, Product24, _mul24, commutes=True)
AND = plain("and", "rr", "r", SUM, f2=lambda a, b: a & b, commutes=True, tests_zero="always")
OR = plain("or", "rr", "r", SUM, f2=lambda a, b: a | b, commutes=True, tests_zero="always")
XOR = plain("xor", "rr", "r", NUMBER, f2=lambda a, b: a ^ b, commutes=True, tests_zero="always")
NOT = plain("not", "r", "r", NUMBER, f1=lambda a: ~a, tests_zero="always")
SHL = plain("shl", "rr", "r", NUMBER, f2=lambda a, b: _shift(a, b, "shl"), tests_zero="constant")
SHR = plain("shr", "rr", "r", NUMBER, f2=lambda a, b: _shift(a, b, "shr"), tests_zero="constant")
SAR = plain("sar", "rr", "r", NUMBER, f2=lambda a, b: _shift(a, b, "sar"), tests_zero="constant")
MINU = plain("minu", "rr", "r", NUMBER, f2=min, commutes=True)
MAXU = plain("maxu", "rr", "r", NUMBER, f2=max, commutes=True)
MINS = plain("mins", "rr", "r", NUMBER, f2=lambda a, b: min(signed(a), signed(b)), commutes=True)
MAXS = plain("maxs", "rr", "r", NUMBER, f2=lambda a, b: max(signed(a), signed(b)), commutes=True)
ABS = plain("abs", "r", "r", NUMBER, f1=lambda a: abs(signed(a)))
SEXT8 = plain("sext8", "r", "r", NUMBER, f1=lambda a: signed(a, 8))
ZEXT8 = plain("zext8", "r", "r", NUMBER, f1=lambda a: a & 0xFF)
SEXT16 = plain("sext16", "r", "r", NUMBER, f1=lambda a: signed(a, 16))
ZEXT16 = plain("zext16", "r", "r", NUMBER, f1=lambda a: a & 0xFFFF)
SAD = row("sad", "rrr", "r", SAME, NONE, NUMBER, Signed, _sad)
ADDX = plain("addx", "rr", "rf", SUM, commutes=True)
SUBX = plain("subx", "rr", "rf", SUM)
ADC = plain("adc", "rrf", "rf", SUM)
CMP = row("cmp", "rr", "p", SAME, NONE, NUMBER, Compare, _compare)
CMPF = row("cmpf", "rr", "p", SAME, NONE, NUMBER, CompareFloat)
CMPD = row("cmpd", "dd", "p", SAME, NONE, NUMBER, CompareDouble)
PAND = plain("pand", "pp", "p", NUMBER, f2=lambda a, b: a & b, commutes=True)
POR = plain("por", "pp", "p", NUMBER, f2=lambda a, b: a | b, commutes=True)
PXOR = plain("pxor", "pp", "p", NUMBER, f2=lambda a, b: a ^ b, commutes=True)
PNOT = plain("pnot", "p", "p", NUMBER, f1=lambda a: 1 - (a & 1))
MASK = plain("mask", "p", "r", NUMBER, f1=lambda a: -(a & 1))
SEL = plain("sel", "prr", "r", CHOICE, f3=lambda p, a, b: a if p & 1 else b)
FADD = row("fadd", "rr", "r", SAME, NONE, NUMBER, FloatSum, flushes=True)
FMUL = row("fmul", "rr", "r", SAME, NONE, NUMBER, FloatProduct, flushes=True)
FMAD = row("fmad", "rrr", "r", SAME, NONE, NUMBER, FloatMad, flushes=True)
FMIN = plain("fmin", "rr", "r", NUMBER, flushes=True)
FMAX = plain("fmax", "rr", "r", NUMBER, flushes=True)
SLCTF = plain("slctf", "rrr", "r", NUMBER)
RCP = plain("rcp", "r", "r", NUMBER, flushes=True)
RSQRT = plain("rsqrt", "r", "r", NUMBER, flushes=True)
LG2 = plain("lg2", "r", "r", NUMBER, flushes=True)
SIN = plain("sin", "r", "r", NUMBER, flushes=True)
COS = plain("cos", "r", "r", NUMBER, flushes=True)
EX2 = plain("ex2", "r", "r", NUMBER, flushes=True)
CVT = row("cvt", "*", "*", SAME, NONE, NUMBER, Conversion)
DADD = row("dadd", "dd", "d", SAME, NONE, NUMBER, DoubleSum)
DMUL = row("dmul", "dd", "d", SAME, NONE, NUMBER, DoubleProduct)
DFMA = row("dfma", "ddd", "d", SAME, NONE, NUMBER, DoubleFma)
DMIN = plain("dmin", "dd", "d", NUMBER)
DMAX = plain("dmax", "dd", "d", NUMBER)
PACK = plain("pack", "rr", "d", CHOICE)
PACK4 = plain("pack4", "rrrr", "q", CHOICE)
WORD = row("word", "*", "r", SAME, NONE, CHOICE, Word)
COPY = plain("copy", "r", "r", CHOICE, f1=lambda a: a)
PHI = plain("phi", "*", "*", CHOICE)
ADDR = row("addr", "r", "a", SAME, NONE, NUMBER, AddressShift)
STEP = row("step", "a", "a", SAME, NONE, NUMBER, AddressStep)
PARAM = row("param", "", "r", SAME, NONE, PointsTo.OUTSIDE, Parameter)
TID = row("tid", "", "r", NEVER, NONE, NUMBER, NoAttributes)
ADDRESS = row("address", "", "r", SAME, NONE, PointsTo.NAMED, Symbol)
GENERIC = row("generic", "r", "r", SAME, NONE, PointsTo.NAMED, Space, _address)
LDC = row("ldc", "*", "*", SAME, NONE, PointsTo.OUTSIDE, Load)
CLOCK = row("clock", "", "r", NEVER, STAYS, NUMBER, NoAttributes)
PHYSID = row("physid", "", "r", NEVER, NONE, NUMBER, NoAttributes)
LD = row("ld", "*", "*", MEMORY, READS, PointsTo.STORED, Load)
ST = row("st", "*", "", None, WRITES, NUMBER, Store)
ATOM = row("atom", "*", "*", NEVER, WRITES, PointsTo.OUTSIDE, Atomic)
TEX = row("tex", "*", "q", MEMORY, READS, NUMBER, TextureAccess)
BAR = row("bar", "", "", None, WRITES, NUMBER, Numbered)
FENCE = row("fence", "", "", None, WRITES, NUMBER, NoAttributes)
VOTE = row("vote", "p", "p", ALWAYS, STAYS, NUMBER, Vote)
BRKPT = row("brkpt", "", "", None, STAYS, NUMBER, NoAttributes)
TRAP = row("trap", "", "", None, STAYS, NUMBER, NoAttributes)
PMEVENT = row("pmevent", "", "", None, STAYS, NUMBER, Numbered)


def fold(op: AnyOp, values: list[int], attrs: Attrs) -> int | None:
    """Return the result of an operation on constants, None if it cannot be computed here."""
    return None if op.fold is None else int(op.fold(*values, *attrs)) & M32
