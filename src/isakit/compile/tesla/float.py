"""Rules for floating point."""

from __future__ import annotations

from isakit.compile.ir import Ins, NoAttributes
from isakit.compile.lower.form import ZERO, OperandReg, PooledLiteral
from isakit.compile.ops import (
    CMPD,
    CMPF,
    COS,
    CVT,
    DADD,
    DFMA,
    DMAX,
    DMIN,
    DMUL,
    EX2,
    FADD,
    FMAD,
    FMAX,
    FMIN,
    FMUL,
    LG2,
    RCP,
    RSQRT,
    SIN,
    SLCTF,
    CompareDouble,
    CompareFloat,
    Conversion,
    DoubleFma,
    DoubleProduct,
    DoubleSum,
    FloatMad,
    FloatProduct,
    FloatSum,
)
from isakit.compile.simplify import SWAPPED
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.plan import Folds
from isakit.compile.tesla.selection import TeslaSelection, half_of, rule

SIGN = 0x8000_0000


def _word(word: str, wanted: bool) -> str:
    """Return a modifier if it is wanted, else ""."""
    return word if wanted else ""


# --- single precision ------------------------------------------------------------------------------------------------
@rule(FADD, folds=Folds.PAIR, guardable=True)
def add(s: TeslaSelection, i: Ins, attrs: FloatSum) -> None:
    """Emit an addition; a negated constant is folded."""
    a, b, swapped = s.pair(i)
    n1, n2 = (attrs.neg2, attrs.neg1) if swapped else (attrs.neg1, attrs.neg2)
    if isinstance(b, PooledLiteral) and n2:
        b, n2 = PooledLiteral(b.value ^ SIGN), False
    s.emit(hw.ADD_F32, sat=_word("sat", attrs.sat), rounding=_word("rz", attrs.rz), dst=s.result(i),
           neg1=_word("neg", n1), src1=s.plain(a), neg2=_word("neg", n2), src2=b).literal = not attrs.rz  # fmt: skip


@rule(FMUL, folds=Folds.PAIR, guardable=True)
def multiply(s: TeslaSelection, i: Ins, attrs: FloatProduct) -> None:
    """Emit a multiplication; a negated constant is folded."""
    a, b, _swapped = s.pair(i)
    neg = attrs.neg
    if isinstance(b, PooledLiteral) and neg:
        b, neg = PooledLiteral(b.value ^ SIGN), False
    s.emit(hw.MUL_F32, sat=_word("sat", attrs.sat), rounding=_word("rz", attrs.rz), dst=s.result(i), src1=s.plain(a),
           neg2=_word("neg", neg), src2=b).literal = not attrs.rz  # fmt: skip


@rule(FMAD, folds=Folds.MAD, guardable=True)
def multiply_add(s: TeslaSelection, i: Ins, attrs: FloatMad) -> None:
    """Multiply and add."""
    order = (1, 0) if i in s.plan.swapped else (0, 1)
    a, b, c = s.source(i, order[0]), s.source(i, order[1]), s.source(i, 2)
    s.emit(hw.MAD_F32, sat=_word("sat", attrs.sat), dst=s.result(i), neg1=_word("neg", attrs.neg), src1=s.plain(a),
           src2=b, neg2=_word("neg", attrs.negc), src3=c)  # fmt: skip


@rule(FMIN, FMAX, folds=Folds.PAIR, guardable=True)
def extreme(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a minimum or maximum."""
    a, b, _swapped = s.pair(i)
    s.emit(hw.MIN_F32 if i.op is FMIN else hw.MAX_F32, dst=s.result(i), src1=s.plain(a), src2=b)


@rule(CMPF, folds=Folds.PAIR)
def compare(s: TeslaSelection, i: Ins, attrs: CompareFloat) -> None:
    """Compare floats."""
    a, b, swapped = s.pair(i)
    cond, absolute = attrs.cond, _word("abs", attrs.abs1)
    if swapped:
        s.set(i, hw.SET_F32, cond=SWAPPED.get(cond, cond), src1=s.plain(a), abs2=absolute, src2=b)
    else:
        s.set(i, hw.SET_F32, cond=cond, abs1=absolute, src1=s.plain(a), src2=b)


@rule(SLCTF)
def choose_by_sign(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a select by the sign of the third operand."""
    a, b, c = (s.reg(v) for v in i.args)
    s.emit(hw.SLCT, dst=s.result(i), src1=a, src2=b, src3=c)


_FUNCTIONS = {RCP: hw.RCP, RSQRT: hw.RSQRT, LG2: hw.LG2}
_PREPARED = {EX2: (hw.PREEX2, hw.EX2), SIN: (hw.PRESIN, hw.SIN), COS: (hw.PRESIN, hw.COS)}


@rule(*_FUNCTIONS, guardable=True)
def function(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit an instruction of the special function unit."""
    s.emit(_FUNCTIONS[i.op], dst=s.result(i), src=s.reg(i.args[0]))


@rule(*_PREPARED, folds=Folds.FIRST_WORD)
def prepared_function(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a function of the special function unit after reducing its argument."""
    before, op = _PREPARED[i.op]
    t, dst = s.temporary(), s.result(i)
    s.emit(before, dst=t, src=s.source(i, 0))
    s.emit(op, dst=dst, src=t)


# --- conversions -----------------------------------------------------------------------------------------------------
@rule(CVT, folds=Folds.CONVERTED)
def convert(s: TeslaSelection, i: Ins, attrs: Conversion) -> None:
    """Emit a conversion; an exact one states no rounding unless it rounds to an integer."""
    to, source, rnd = attrs.to, attrs.source, attrs.rnd
    exact = to[0] == "f" and (to == source or (to, source) in (("f64", "f32"), ("f32", "f16")))
    if exact and not rnd.endswith("i"):
        rnd = ""
    src = s.source(i, 0)
    if src is ZERO and (source == "f16" or i.args[0].kind != "r"):
        src = s.register(i.args[0])
    dst = s.result(i)
    if source == "f16":
        assert isinstance(src, OperandReg)
        src = half_of(src.v)
    if to == "f16":
        dst = half_of(dst.v)
    s.emit(hw.CVT, neg=_word("neg", attrs.neg), abs=_word("abs", attrs.abs), sat=_word("sat", attrs.sat), rounding=rnd,
           to=to, dst=dst, source=source, src=src)  # fmt: skip


# --- double precision ------------------------------------------------------------------------------------------------
@rule(DADD)
def add_double(s: TeslaSelection, i: Ins, attrs: DoubleSum) -> None:
    """Add."""
    a, b = (s.reg(v) for v in i.args)
    s.emit(hw.ADD_F64, rounding=attrs.rnd, dst=s.result(i), neg1=_word("neg", attrs.neg1), src1=a,
           neg2=_word("neg", attrs.neg2), src2=b)  # fmt: skip


@rule(DMUL)
def multiply_double(s: TeslaSelection, i: Ins, attrs: DoubleProduct) -> None:
    """Multiply."""
    a, b = (s.reg(v) for v in i.args)
    s.emit(hw.MUL_F64, rounding=attrs.rnd, dst=s.result(i), neg1=_word("neg", attrs.neg), src1=a, src2=b)


@rule(DFMA)
def multiply_add_double(s: TeslaSelection, i: Ins, attrs: DoubleFma) -> None:
    """Multiply and add, rounding once."""
    a, b, c = (s.reg(v) for v in i.args)
    s.emit(hw.FMA_F64, rounding=attrs.rnd, dst=s.result(i), neg1=_word("neg", attrs.negp), src1=a, src2=b,
           neg3=_word("neg", attrs.negc), src3=c)  # fmt: skip


@rule(DMIN, DMAX)
def extreme_double(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a minimum or maximum."""
    a, b = (s.reg(v) for v in i.args)
    s.emit(hw.MIN_F64 if i.op is DMIN else hw.MAX_F64, dst=s.result(i), src1=a, src2=b)


@rule(CMPD)
def compare_double(s: TeslaSelection, i: Ins, attrs: CompareDouble) -> None:
    """Compare doubles."""
    a, b = (s.reg(v) for v in i.args)
    s.set(i, hw.SET_F64, cond=attrs.cond, src1=a, src2=b)
