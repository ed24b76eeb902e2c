"""Algebraic simplification: cheaper equivalents of an operation, by identities that hold for every argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from isakit.compile.ir import AnyOp, Attrs, Const, Ins, IrOp, IrValue, Operation, PlainOp
from isakit.compile.ops import (
    ADD,
    AND,
    CMP,
    CMPF,
    COS,
    CVT,
    EX2,
    FADD,
    FMAD,
    FMAX,
    FMIN,
    FMUL,
    LD,
    LG2,
    MASK,
    MUL,
    MUL16,
    MUL24,
    NOT,
    OPS,
    OR,
    PACK,
    PACK4,
    PAND,
    PARAM,
    PNOT,
    POR,
    PXOR,
    RCP,
    RSQRT,
    SAR,
    SEL,
    SEXT8,
    SEXT16,
    SHL,
    SHR,
    SIN,
    SUB,
    WORD,
    XOR,
    ZEXT8,
    ZEXT16,
    Compare,
    CompareDouble,
    CompareFloat,
    Conversion,
    FloatMad,
    FloatProduct,
    FloatSum,
    NoAttributes,
    Signs16,
    Word,
    fold,
)

Better = IrValue | tuple[PlainOp | Operation, list[IrValue]]
Args = list[IrValue]
Values = list[int | None]
A = TypeVar("A", bound=tuple[object, ...])
Rule = Callable[[IrOp[..., A], Args, Values, A], Better | None]
"""A simplification rule: (operation, arguments, which of them are constant, attributes) to an equivalent, or None."""

SWAPPED = {"l": "g", "g": "l", "le": "ge", "ge": "le", "lu": "gu", "gu": "lu", "leu": "geu", "geu": "leu"}
"""Conditions to those that hold when the operands are exchanged; others are symmetric."""
INVERTED = {"e": "lg", "lg": "e", "l": "ge", "ge": "l", "g": "le", "le": "g"}
FLOAT_INVERTED = {"l": "geu", "le": "gu", "g": "leu", "ge": "lu", "e": "lgu", "lg": "eu", "lge": "u", "geu": "l",
                  "gu": "le", "leu": "g", "lu": "ge", "lgu": "e", "eu": "lg", "u": "lge"}  # fmt: skip


def simplifies(*ops: IrOp[..., A]) -> Callable[[Rule[A]], Rule[A]]:
    """Return the decorator that adds a simplification rule to the rows of operations."""

    def put(rule: Rule[A]) -> Rule[A]:
        for op in ops:
            op.simplify = rule
        return rule

    return put


def simplify(op: AnyOp, args: Args, attrs: Attrs) -> Better | None:
    """Return an equal value or a cheaper equal operation; None if there is neither."""
    if op.simplify is None and not all(type(a) is Const for a in args):
        return None
    values = [a.value if type(a) is Const else None for a in args]
    if args and None not in values:
        got = fold(op, [v for v in values if v is not None], attrs)
        if got is not None:
            return Const(got & 1, "p") if op.outs == ("p",) else Const(got)
    return None if op.simplify is None else op.simplify(op, args, values, attrs)


def _commuted(op: AnyOp, args: Args, values: Values, attrs: Attrs) -> Better | None:
    """Put the constant operand of a commutative operation second."""
    return (Operation(op, attrs), [args[1], args[0]]) if values[0] is not None and values[1] is None else None


@simplifies(ADD)
def _add(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    a = args[0]
    if values[1] == 0:
        return a
    inner = a.ins
    if values[1] is not None and inner is not None and inner.op is ADD and isinstance(inner.args[1], Const):
        return ADD, [inner.args[0], Const(inner.args[1].value + values[1])]
    return _commuted(op, args, values, attrs)


@simplifies(SUB)
def _sub(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    if values[1] is not None:
        return ADD, [args[0], Const(-values[1])]
    return Const(0) if args[0] is args[1] else None


@simplifies(MUL)
def _mul(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    v = values[1]
    if v is None:
        return _commuted(op, args, values, attrs) or _narrow_product(args)
    if v == 0:
        return args[1]
    if v == 1:
        return args[0]
    if v & v - 1 == 0:
        return SHL, [args[0], Const(v.bit_length() - 1)]
    return _narrow_product(args)


def _narrow_product(args: list[IrValue]) -> Better | None:
    """Replace a product whose factors fit 24 bits: one instruction multiplies them, and can also add."""
    known = upper_bits(args[0]) & upper_bits(args[1])
    if known >> 16 == 0xFFFF:
        return MUL16(s1=False, s2=False), args
    return (MUL24(sign=False, high=False), args) if known >> 24 == 0xFF else None


@simplifies(MUL16)
def _mul16(op: AnyOp, args: Args, values: Values, attrs: Signs16) -> Better | None:
    """Drop the extension of an operand: only the low halves count."""
    new = [_low_half(a) for a in args]
    if new != args:
        return MUL16(*attrs), new
    if values[0] is not None and values[1] is None:
        return MUL16(s1=attrs.s2, s2=attrs.s1), [args[1], args[0]]
    v = values[1]
    if v is not None and not v & 0xFFFF:
        return Const(0)
    return None


def _low_half(v: IrValue) -> IrValue:
    while v.ins is not None and v.ins.op in (ZEXT16, SEXT16):
        v = v.ins.args[0]
    return v


@simplifies(AND)
def _and(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    v = values[1]
    if v == 0:
        return args[1]
    if v == 0xFFFF_FFFF or args[0] is args[1]:
        return args[0]
    inner = args[0].ins
    if v is not None and inner is not None:
        if inner.op is AND and isinstance(inner.args[1], Const):
            return AND, [inner.args[0], Const(inner.args[1].value & v)]
        if upper_bits(args[0]) | v == 0xFFFF_FFFF:
            return args[0]
    if v == 0xFFFF:
        return ZEXT16, [args[0]]
    return _commuted(op, args, values, attrs)


@simplifies(OR)
def _or(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    if values[1] == 0 or args[0] is args[1]:
        return args[0]
    return _commuted(op, args, values, attrs)


@simplifies(XOR)
def _xor(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    if values[1] == 0:
        return args[0]
    if values[1] == 0xFFFF_FFFF:
        return NOT, [args[0]]
    return Const(0) if args[0] is args[1] else _commuted(op, args, values, attrs)


@simplifies(NOT)
def _not(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    inner = args[0].ins
    return inner.args[0] if inner is not None and inner.op is op else None


@simplifies(SHL, SHR, SAR)
def _shift(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    n = values[1]
    if n == 0 or values[0] == 0:
        return args[0]
    if n is not None and n >= 32:
        return Const(0) if op is not SAR else (SAR, [args[0], Const(31)]) if n > 32 else None
    inner = args[0].ins
    if op is SHR and n == 31 and inner is not None and inner.op is SAR:
        return SHR, [inner.args[0], args[1]]  # the sign is the sign
    if n is not None and inner is not None and inner.op is op and isinstance(inner.args[1], Const):
        return Operation(op, attrs), [inner.args[0], Const(min(n + inner.args[1].value, 32 if op is not SAR else 31))]
    return None


def memory_type(i: Ins) -> str:
    """Return the memory type that a load, or a read of a parameter, extends to 32 bits; "" for other operations."""
    return LD.of(i).ty if i.op is LD else PARAM.of(i).mode if i.op is PARAM else ""


def upper_bits(v: IrValue) -> int:
    """Return a mask of bits that are known to be zero."""
    if isinstance(v, Const):
        return ~v.value & 0xFFFF_FFFF
    i = v.ins
    if i is None:
        return 0
    ty = memory_type(i)
    if i.op is ZEXT16 or ty == "u16":
        return 0xFFFF_0000
    if i.op is ZEXT8 or ty == "u8":
        return 0xFFFF_FF00
    if i.op is AND and isinstance(i.args[1], Const):
        return ~i.args[1].value & 0xFFFF_FFFF
    if i.op is SHR and isinstance(i.args[1], Const):
        return ~(0xFFFF_FFFF >> min(i.args[1].value, 32)) & 0xFFFF_FFFF
    return 0


@simplifies(ZEXT8, ZEXT16)
def _zext(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    keep = 0xFF if op is ZEXT8 else 0xFFFF
    if upper_bits(args[0]) | keep == 0xFFFF_FFFF:
        return args[0]
    i = args[0].ins
    if i is not None and (i.op in (ZEXT16, SEXT16) or (i.op is op) or (op is ZEXT8 and i.op is SEXT8)):
        return Operation(op, attrs), [i.args[0]]
    if i is not None and i.op is AND and isinstance(i.args[1], Const) and i.args[1].value & keep == keep:
        return Operation(op, attrs), [i.args[0]]
    return None


@simplifies(SEXT8, SEXT16)
def _sext(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    limit = 0xFFFF_FF80 if op is SEXT8 else 0xFFFF_8000
    if upper_bits(args[0]) & limit == limit:
        return args[0]
    i = args[0].ins
    if i is None:
        return None
    if i.op is op or (op is SEXT16 and i.op is SEXT8):
        return args[0]
    ty = memory_type(i)
    if ty == ("s8" if op is SEXT8 else "s16") or (i.op is LD and op is SEXT16 and ty == "s8"):
        return args[0]
    if i.op in (ZEXT16, SEXT16) or (op is SEXT8 and i.op is ZEXT8):
        return Operation(op, attrs), [i.args[0]]
    return None


@simplifies(CMPF)
def _cmpf(op: AnyOp, args: Args, values: Values, attrs: CompareFloat) -> Better | None:
    if values[0] is not None and values[1] is None and not attrs.abs1:
        return CMPF(SWAPPED.get(attrs.cond, attrs.cond)), [args[1], args[0]]
    return None


@simplifies(CMP)
def _cmp(op: AnyOp, args: Args, values: Values, attrs: Compare) -> Better | None:
    cond, ty = attrs
    if values[0] is not None and values[1] is None:
        return CMP(SWAPPED.get(cond, cond), ty), [args[1], args[0]]
    i, v = args[0].ins, values[1]
    if i is None or v is None:
        return None
    unsigned = ty[0] == "u"
    if cond in ("e", "lg") or unsigned:
        # a mask, or a mask negated, compared with 0 is the condition again
        truth: bool | None = None
        inner = i.args[0] if i.args else args[0]
        if i.op is MASK:
            truth = {0: False, 0xFFFF_FFFF: True}.get(v)
        elif i.op is SUB and isinstance(i.args[0], Const) and i.args[0].value == 0:
            m = i.args[1].ins
            if m is not None and m.op is MASK:
                truth, inner = {0: False, 1: True}.get(v), m.args[0]
        elif i.op is SEL and isinstance(i.args[1], Const) and isinstance(i.args[2], Const):
            yes, no = i.args[1].value, i.args[2].value
            if cond in ("e", "lg") and yes != no and v in (yes, no):
                truth, inner = v == yes, i.args[0]
        if truth is not None and cond in ("e", "lg"):
            return inner if truth == (cond == "e") else (PNOT, [inner])
    if cond == "g" and unsigned and v == 0:
        return CMP("lg", ty), args
    return None


@simplifies(PNOT)
def _pnot(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    i = args[0].ins
    if i is None:
        return None
    if i.op is PNOT:
        return i.args[0]
    opposite = inverted(i)
    return (opposite, list(i.args)) if opposite else None


def inverted(i: Ins) -> Operation | None:
    """Return the comparison that is the exact negation of another one; None if it is not a comparison."""
    if i.op is CMP:
        return Operation(CMP, CMP.of(i)._replace(cond=INVERTED[CMP.of(i).cond]))
    if isinstance(i.attrs, CompareFloat | CompareDouble) and i.attrs.cond in FLOAT_INVERTED:
        return Operation(i.op, i.attrs._replace(cond=FLOAT_INVERTED[i.attrs.cond]))
    return None


@simplifies(PAND, POR, PXOR)
def _logic(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    if args[0] is args[1]:
        return Const(0, "p") if op is PXOR else args[0]
    v = values[1]
    if v is None:
        return _commuted(op, args, values, attrs)
    if op is PAND:
        return args[0] if v & 1 else args[1]
    if op is POR:
        return args[1] if v & 1 else args[0]
    return (PNOT, [args[0]]) if v & 1 else args[0]


@simplifies(SEL)
def _sel(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    p, a, b = args
    if isinstance(p, Const):
        return a if p.value & 1 else b
    if a is b or (values[1] is not None and values[1] == values[2]):
        return a
    if p.ins is not None and p.ins.op is PNOT:
        return SEL, [p.ins.args[0], b, a]
    if values[1] == 0xFFFF_FFFF and values[2] == 0:
        return MASK, [p]
    return None


def _absorbed(v: IrValue, neg: bool) -> tuple[IrValue, bool]:
    """Skip conversions of f32 that a sign modifier of the reader can replace; return the source and its sign."""
    while v.ins is not None and v.ins.op is CVT:
        a = CVT.of(v.ins)
        if a.to != "f32" or a.source != "f32" or a.rnd or a.sat or a.abs:
            break
        neg ^= a.neg
        v = v.ins.args[0]
    return v, neg


@simplifies(FADD)
def _float_sum(op: AnyOp, args: Args, values: Values, attrs: FloatSum) -> Better | None:
    a, n1 = _absorbed(args[0], attrs.neg1)
    b, n2 = _absorbed(args[1], attrs.neg2)
    if values[0] is not None and values[1] is None:
        return Operation(op, attrs._replace(neg1=n2, neg2=n1)), [b, a]
    if isinstance(b, Const) and n2:
        return Operation(op, attrs._replace(neg1=n1, neg2=False)), [a, Const(b.value ^ 0x8000_0000)]
    if a is not args[0] or b is not args[1]:
        return Operation(op, attrs._replace(neg1=n1, neg2=n2)), [a, b]
    return None


@simplifies(FMUL, FMAD)
def _float_product(op: AnyOp, args: Args, values: Values, attrs: FloatProduct | FloatMad) -> Better | None:
    a, neg = _absorbed(args[0], attrs.neg)
    b, neg = _absorbed(args[1], neg)
    rest = list(args[2:])
    if isinstance(attrs, FloatMad):
        c, negc = _absorbed(args[2], attrs.negc)
        rest, attrs = [c], attrs._replace(negc=negc)
    if isinstance(a, Const) and not isinstance(b, Const):
        a, b = b, a
    if isinstance(b, Const) and neg:
        b, neg = Const(b.value ^ 0x8000_0000), False
    return (Operation(op, attrs._replace(neg=neg)), [a, b, *rest]) if [a, b, *rest] != args else None


@simplifies(FMIN, FMAX, RCP, RSQRT, LG2, SIN, COS, EX2)
def _float_function(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    """Drop a conversion that only flushes operands of minima, maxima and functions, which flush them anyway."""
    new = [_absorbed(a, False) for a in args]
    if any(v is not a and not n for (v, n), a in zip(new, args, strict=True)):
        return Operation(op, attrs), [v if not n else a for (v, n), a in zip(new, args, strict=True)]
    return None


@simplifies(CVT)
def _cvt(op: AnyOp, args: Args, values: Values, attrs: Conversion) -> Better | None:
    """Drop a conversion of f32 to itself after an operation whose results are flushed and canonical already."""
    same = attrs.to == attrs.source == "f32"
    plain = same and not (attrs.rnd or attrs.sat or attrs.neg or attrs.abs)
    i = args[0].ins
    if same and not plain:
        v, neg = _absorbed(args[0], False)
        if v is not args[0] and (not neg or attrs.neg or attrs.abs):
            return Operation(op, attrs._replace(neg=attrs.neg if attrs.abs else attrs.neg != neg)), [v]
    if attrs.again:
        return None
    if plain and i is not None:
        if i.op.flushes or (i.op is CVT and CVT.of(i).to == "f32"):
            return args[0]
        if i.op is SEL and all(isinstance(a, Const) and clean_float(a.value) for a in i.args[1:]):
            return args[0]
    if plain and isinstance(args[0], Const) and clean_float(args[0].value):
        return args[0]
    return None


def tells_zero(i: Ins) -> bool:
    """Return whether the instruction of an operation can also set a flag if its result is 0."""
    return i.op.tests_zero == "always" or (i.op.tests_zero == "constant" and isinstance(i.args[1], Const))


def clean_float(bits: int) -> bool:
    """Return whether an f32 is neither a denormal nor a NaN."""
    exponent = bits >> 23 & 0xFF
    return exponent not in (0, 255) or not bits & 0x7F_FFFF


@simplifies(WORD)
def _word(op: AnyOp, args: Args, values: Values, attrs: Word) -> Better | None:
    i = args[0].ins
    return i.args[attrs.i] if i is not None and i.op in (PACK, PACK4) else None


@simplifies(PACK)
def _pack(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    a, b = args[0].ins, args[1].ins
    words = a and b and a.op is b.op is WORD and a.args[0] is b.args[0] and a.args[0].kind == "d"
    if a and b and words and WORD.of(a).i == 0 and WORD.of(b).i == 1:
        return a.args[0]
    return None


for _op in OPS.values():
    if _op.commutes and _op.simplify is None:
        _op.simplify = _commuted
