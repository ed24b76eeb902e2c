"""Operations on vectors of floating point numbers, and inputs, samples and outputs of shaders: rows as in `ops`.

A kind is the type of an element and their number: `f32`, `f32x2` to `f32x4`, `f16`, `f16x2` to `f16x4`; integers are
the scalar `r` of the other rows. An f16 operation computes in f32 and rounds its result. Operands of these rows have
kinds that depend on each other, so that each row has a function from them to the kinds of the results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, ParamSpec, TypeVar

from isakit.compile.ir import AnyOp, Attrs, Effect, Ins, IrOp, IrValue, NoAttributes, Operation, OpUniformity, PointsTo
from isakit.compile.ops import row
from isakit.errors import DefinitionError

P = ParamSpec("P")
A = TypeVar("A", bound=tuple[object, ...])
Kinds = tuple[str, ...]
Typed = Callable[[Kinds, Any], Kinds]
"""The kinds of the results for (kinds of the arguments, attributes). Raises KindError."""

ELEMENTS = ("f32", "f16")
CHANNELS = "xyzw"
CONSTANTS = {"0": 0.0, "1": 1.0, "2": 2.0, "h": 0.5}
"""The constants that the letters of a swizzle select."""
CONDITIONS = ("eq", "ne", "lt", "le", "gt", "ge")
ONE = {"f32": 0x3F80_0000, "f16": 0x3C00, "r": 1}
SIGN = {"f32": 0x8000_0000, "f16": 0x8000}
DIGITS = {
    "f32": {"0": 0, "1": 0x3F80_0000, "2": 0x4000_0000, "h": 0x3F00_0000},
    "f16": {"0": 0, "1": 0x3C00, "2": 0x4000, "h": 0x3800},
}
"""The bits of the constants that the letters of a swizzle select."""


class KindError(Exception):
    """An operation does not exist for these kinds of arguments."""


class Pattern(NamedTuple):
    """A channel of the argument for every element of the result: letters of xyzw, and 0, 1, 2, h for constants."""

    pattern: str


class Condition(NamedTuple):
    """A comparison: eq, ne, lt, le, gt, ge."""

    cond: str


class Element(NamedTuple):
    """The type of an element: f32 or f16."""

    to: str


class Sign(NamedTuple):
    """Signedness of an integer."""

    signed: bool


class Kind(NamedTuple):
    """A kind."""

    kind: str


class InputName(NamedTuple):
    """An input of the shader, and the kind it is read as."""

    name: str
    kind: str


class UniformName(NamedTuple):
    """An element of a uniform (0 where it is no array; a matrix is an array of its stored rows), and its kind."""

    name: str
    element: int
    kind: str


class OutputName(NamedTuple):
    """An output of the shader."""

    name: str


class Sampling(NamedTuple):
    """Request to a sampler.

    Attributes:
        sampler: its name.
        kind: `2d`, `cube`, or `proj` (2d; the last coordinate divides the first two).
        lod: empty (from the derivatives), `bias`, `lod` (each with a second argument f32), `grad` (with two arguments
            of the kind of the coordinate's first two or three components).
        to: kind of the result: a vector of one to four elements.
    """

    sampler: str
    kind: str
    lod: str
    to: str


# --- kinds -----------------------------------------------------------------------------------------------------------
@cache
def element(kind: str) -> str:
    """Return the type of an element: `f32` for f32x3, `r` for r."""
    return kind.partition("x")[0]


@cache
def count(kind: str) -> int:
    """Return the number of elements."""
    return int(kind.partition("x")[2] or 1)


def vector(of: str, n: int) -> str:
    """Return the kind of `n` elements of a type. Raises KindError."""
    if of not in (*ELEMENTS, "r") or not 1 <= n <= (4 if of in ELEMENTS else 1):
        raise KindError(f"there is no kind of {n} {of}")
    return of if n == 1 else f"{of}x{n}"


def _float(kind: str) -> str:
    if element(kind) not in ELEMENTS:
        raise KindError(f"{kind} is not a floating point kind")
    return kind


def _same(kinds: Kinds, attrs: Attrs) -> Kinds:
    """Return the one kind that all arguments have."""
    if any(k != kinds[0] for k in kinds):
        raise KindError(f"{' '.join(kinds)} are not alike")
    return (_float(kinds[0]),)


def _dot(kinds: Kinds, attrs: Attrs) -> Kinds:
    (kind,) = _same(kinds, attrs)
    if count(kind) < 2:
        raise KindError(f"a dot product of {kind}")
    return (element(kind),)


def _swizzle(kinds: Kinds, attrs: Pattern) -> Kinds:
    n = count(_float(kinds[0]))
    if any(c not in CONSTANTS and c not in CHANNELS[:n] for c in attrs.pattern):
        raise KindError(f"{kinds[0]} lacks channels of {attrs.pattern}")
    return (vector(element(kinds[0]), len(attrs.pattern)),)


def _join(kinds: Kinds, attrs: Attrs) -> Kinds:
    of = {element(_float(k)) for k in kinds}
    if len(of) != 1:
        raise KindError(f"{' '.join(kinds)} have not one type of elements")
    return (vector(of.pop(), sum(map(count, kinds))),)


def _compare(kinds: Kinds, attrs: Condition) -> Kinds:
    (kind,) = _same(kinds, attrs)
    if count(kind) != 1 or attrs.cond not in CONDITIONS:
        raise KindError(f"a comparison {attrs.cond} of {kind}")
    return ("p",)


def _choose_by_zero(kinds: Kinds, attrs: Condition) -> Kinds:
    if attrs.cond not in CONDITIONS:
        raise KindError(f"a comparison {attrs.cond}")
    return _same(kinds, attrs)


def _choose(kinds: Kinds, attrs: Attrs) -> Kinds:
    if kinds[0] != "p" or kinds[1] != kinds[2]:
        raise KindError(f"a choice by {kinds[0]} of {kinds[1]} and {kinds[2]}")
    return (kinds[1],)


def _convert(kinds: Kinds, attrs: Element) -> Kinds:
    return (vector(attrs.to, count(_float(kinds[0]))),)


def _from_integer(kinds: Kinds, attrs: Sign) -> Kinds:
    if kinds != ("r",):
        raise KindError(f"{kinds[0]} is not an integer")
    return ("f32",)


def _to_integer(kinds: Kinds, attrs: Sign) -> Kinds:
    if kinds != ("f32",):
        raise KindError(f"{kinds[0]} is not f32")
    return ("r",)


def _bits(kinds: Kinds, attrs: Kind) -> Kinds:
    if {kinds[0], attrs.kind} != {"f32", "r"}:
        raise KindError(f"the bits of {kinds[0]} as {attrs.kind}")
    return (attrs.kind,)


def _named(kinds: Kinds, attrs: InputName | UniformName) -> Kinds:
    if kinds not in ((), ("r",)):
        raise KindError(f"an index of kind {kinds[0]}")
    return (attrs.kind,)


def _written(kinds: Kinds, attrs: OutputName) -> Kinds:
    _float(kinds[0])
    return ()


def _sampled(kinds: Kinds, attrs: Sampling) -> Kinds:
    lods = {"": 0, "bias": 1, "lod": 1, "grad": 2}
    if attrs.kind not in ("2d", "cube", "proj") or attrs.lod not in lods or len(kinds) != 1 + lods[attrs.lod]:
        raise KindError(f"a texel of {attrs.kind} with {attrs.lod or 'no'} level from {' '.join(kinds)}")
    if count(_float(kinds[0])) < (2 if attrs.kind == "2d" else 3):
        raise KindError(f"a coordinate of kind {kinds[0]}")
    return (_float(attrs.to),)


def _condition(kinds: Kinds, attrs: Attrs) -> Kinds:
    if kinds != ("p",):
        raise KindError(f"a condition of kind {kinds[0]}")
    return ()


# --- rows ------------------------------------------------------------------------------------------------------------
TYPED: dict[AnyOp, Typed] = {}
"""The functions from kinds of arguments to kinds of results, for the operations of this table."""

SAME, NEVER, ALWAYS = OpUniformity.OPERANDS, OpUniformity.NEVER, OpUniformity.ALWAYS
NONE, STAYS = Effect.NONE, Effect.STAYS


def _row(
    name: str, arguments: int, typed: Callable[[Kinds, A], Kinds], uniformity: OpUniformity | None, effect: Effect,
    attributes: Callable[P, A], *, commutes: bool = False, flushes: bool = False,
) -> IrOp[P, A]:  # fmt: skip
    """Return a new row; `arguments` is their number, -1 for any."""
    outs = () if uniformity is None else ("*",)
    op = row(name, ("*",), outs, uniformity, effect, PointsTo.NUMBER, attributes, commutes=commutes, flushes=flushes)

    def checked(kinds: Kinds, attrs: A) -> Kinds:
        if arguments not in (-1, len(kinds)):
            raise KindError(f"{len(kinds)} arguments, not {arguments}")
        return typed(kinds, attrs)

    TYPED[op] = checked
    return op


def _elementwise(name: str, arguments: int, *, commutes: bool = False) -> IrOp[[], NoAttributes]:
    """Return the row of an operation on each element separately."""
    return _row(name, arguments, _same, SAME, NONE, NoAttributes, commutes=commutes)


VADD = _elementwise("vadd", 2, commutes=True)
VMUL = _elementwise("vmul", 2, commutes=True)
VMAD = _elementwise("vmad", 3)
"""a * b + c, rounded once."""
VMIN = _elementwise("vmin", 2, commutes=True)
VMAX = _elementwise("vmax", 2, commutes=True)
VNEG = _elementwise("vneg", 1)
VABS = _elementwise("vabs", 1)
VSAT = _elementwise("vsat", 1)
"""Between 0 and 1: the larger of the argument and 0, then the smaller of that and 1."""
VFRC = _elementwise("vfrc", 1)
"""a - floor(a)."""
VFLOOR = _elementwise("vfloor", 1)
VSUBFLOOR = _elementwise("vsubfloor", 2)
"""a - floor(b): what targets have for both."""
VRCP = _elementwise("vrcp", 1)
VRSQ = _elementwise("vrsq", 1)
VLOG2 = _elementwise("vlog2", 1)
VEXP2 = _elementwise("vexp2", 1)
VSIN = _elementwise("vsin", 1)
VCOS = _elementwise("vcos", 1)
VROUND8 = _elementwise("vround8", 1)
"""The nearest multiple of 1/255 between 0 and 1, ties to even."""
VDSX = _row("vdsx", 1, _same, NEVER, NONE, NoAttributes)
VDSY = _row("vdsy", 1, _same, NEVER, NONE, NoAttributes)
VDOT = _row("vdot", 2, _dot, SAME, NONE, NoAttributes, commutes=True)
"""Sum of the products from the first channel on, each product and sum rounded (to f32), and of two channels 0."""
SWIZZLE = _row("swizzle", 1, _swizzle, SAME, NONE, Pattern)
JOIN = _row("join", -1, _join, SAME, NONE, NoAttributes)
"""The elements of all arguments one after the other."""
VCMP = _row("vcmp", 2, _compare, SAME, NONE, Condition)
"""A comparison of the difference of two scalars with 0; a NaN is unequal, and otherwise up to the target."""
VCSEL = _row("vcsel", 3, _choose_by_zero, SAME, NONE, Condition)
"""In each channel the second argument where the first one compares with 0, else the third; of NaN as for `vcmp`."""
VSEL = _row("vsel", 3, _choose, SAME, NONE, NoAttributes)
"""The second argument where the first one (p) holds, else the third."""
VCVT = _row("vcvt", 1, _convert, SAME, NONE, Element)
I2F = _row("i2f", 1, _from_integer, SAME, NONE, Sign)
F2I = _row("f2i", 1, _to_integer, SAME, NONE, Sign)
"""Truncates; a result that does not fit is undefined."""
BITS = _row("bits", 1, _bits, SAME, NONE, Kind)
INPUT = _row("input", 0, _named, NEVER, NONE, InputName)
UNIFORM = _row("uniform", 0, _named, ALWAYS, NONE, UniformName)
UNIFORM_AT = _row("uniform_at", 1, _named, SAME, NONE, UniformName)
"""An element of an array at a dynamic index after the named one."""
UNIFORM_LOAD = _row("uniform_load", -1, _named, SAME, NONE, UniformName)
"""The same, with or without an index, for a uniform in memory."""
SAMPLE = _row("sample", -1, _sampled, NEVER, NONE, Sampling)
FACING = _row("facing", 0, lambda kinds, attrs: ("p",), NEVER, NONE, NoAttributes)
"""True if the back of the triangle is visible."""
OUTPUT = _row("output", 1, _written, None, STAYS, OutputName)
"""Write an output; if it has more elements, only its first ones."""
TARGET_COLOR = _row("target_color", 0, lambda kinds, attrs: ("f32x4",), NEVER, NONE, NoAttributes)
"""The previous colour of the tile, four fractions of bytes, before it is written."""
DISCARD = _row("discard", 1, _condition, None, STAYS, NoAttributes)
"""Discard the pixel if the condition holds."""


def channels_of(v: IrValue) -> tuple[IrValue, str]:
    """Return the vector that a value takes its channels from, and the letters of these channels."""
    if v.ins is not None and v.ins.op is SWIZZLE:
        return v.ins.args[0], SWIZZLE.of(v.ins).pattern
    return v, CHANNELS[: count(v.kind)]


def result_kinds(op: AnyOp, kinds: Kinds, attrs: Attrs) -> Kinds:
    """Return the kinds of the results of an operation of any table. Raises KindError."""
    typed = TYPED.get(op)
    if typed is not None:
        return typed(kinds, attrs)
    if "*" in op.outs:
        raise DefinitionError(f"the kinds of `{op}` do not follow from its arguments")
    if op.args != kinds:
        raise KindError(f"{' '.join(kinds)}, not {' '.join(op.args)}")
    return op.outs


def of_kind(i: Ins, kind: str) -> Operation:
    """Return the operation of an instruction that reads or samples, for a result of another kind."""
    attrs = i.attrs
    if isinstance(attrs, InputName | UniformName):
        attrs = attrs._replace(kind=kind)
    elif isinstance(attrs, Sampling):
        attrs = attrs._replace(to=kind)
    return Operation(i.op, attrs)
