"""Rules for integers; the sequences for products are those of NVIDIA's compiler in [corpus]."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Const, Ins, IrValue, NoAttributes
from isakit.compile.lower.form import SINK, ZERO, FixedNumber, MemoryReference, OperandReg, PooledLiteral
from isakit.compile.ops import (
    ABS,
    ADC,
    ADD,
    ADDSAT,
    ADDX,
    AND,
    MAXS,
    MAXU,
    MINS,
    MINU,
    MUL,
    MUL16,
    MUL24,
    MULHS,
    MULHU,
    NOT,
    OR,
    SAD,
    SAR,
    SEXT8,
    SEXT16,
    SHL,
    SHR,
    SUB,
    SUBSAT,
    SUBX,
    XOR,
    ZEXT8,
    ZEXT16,
    Product24,
    Signed,
    Signs16,
)
from isakit.compile.simplify import upper_bits
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.plan import Folds
from isakit.compile.tesla.selection import Source, TeslaSelection, half_of, rule


# --- additions -------------------------------------------------------------------------------------------------------
def of_a_product(s: TeslaSelection, i: Ins) -> bool:
    """Return whether a sum is fused with a product."""
    return i in s.plan.fused


@rule(ADD, SUB, when=of_a_product, priority=1)
def multiply_add(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply and add. `sub` subtracts the addend from the product, `subr` the product from the addend."""
    k, p = s.plan.fused[i]
    kind, a, b = _factors(s, p)
    c = s.source(i, 1 - k)
    name = "add" if i.op is ADD else "sub" if k == 0 else "subr"
    s.emit(hw.MAD, name=name, kind=kind, dst=s.result(i), src1=a, src2=b, src3=c)


@rule(ADD, SUB, folds=Folds.PAIR, guardable=True)
def add(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit an addition or subtraction, in either order."""
    a, b, swapped = s.pair(i)
    name = "add" if i.op is ADD else "subr" if swapped else "sub"
    if name == "sub" and a is ZERO:
        name, a, b = "subr", b, ZERO
    if a is ZERO and name == "add":
        a, b = b, a
    a = s.plain(a)
    ops = s.tested(i)
    s.emit(hw.ADD, name=name, ty="b32", src1=a, src2=b, **ops).literal = "cdst" not in ops


@rule(ADDSAT, folds=Folds.PAIR)
@rule(SUBSAT, folds=Folds.ORDERED)
def add_saturated(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Add or subtract and saturate."""
    a, b, _swapped = s.pair(i)
    s.emit(hw.ADD, name="add" if i.op is ADDSAT else "sub", ty="b32", sat="sat", dst=s.result(i), src1=a, src2=b)


_CARRYING = {ADDX: "add", SUBX: "sub", ADC: "addc"}


@rule(ADDX, folds=Folds.PAIR)
@rule(SUBX, folds=Folds.ORDERED)
@rule(ADC, folds=Folds.CARRIED)
def add_with_carry(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit an addition or subtraction that produces a carry, or adds one."""
    a, b, _swapped = s.pair(i)
    carry = OperandReg(s.vreg(i.args[2])) if i.op is ADC else None
    made = OperandReg(s.vreg(i.outs[1])) if len(i.outs) > 1 and s.plan.uses.get(i.outs[1], 0) else None
    dst = s.result(i) if s.plan.uses[i.outs[0]] else SINK
    s.emit(hw.ADD, name=_CARRYING[i.op], ty="b32", dst=dst, src1=a, src2=b, carry=carry, cdst=made)


# --- narrow products -------------------------------------------------------------------------------------------------
def _factors(s: TeslaSelection, p: Ins) -> tuple[str, Source, Source]:
    """Return the kind and factors of a product of 16 or 24 bits; extensions are folded into the operands."""
    order = (1, 0) if p in s.plan.swapped else (0, 1)
    if isinstance(p.attrs, Product24):
        kind = ("high " if p.attrs.high else "") + ("s24" if p.attrs.sign else "u24")
        a, b = (s.source(p, k) for k in order)
        return kind, s.plain(a), b
    signs = MUL16.of(p)
    values: list[Source] = []
    for n, k in enumerate(order):
        v = p.args[k]
        if (p, k) not in s.plan.folded:
            values.append(s.half(v))
        elif isinstance(v, Const):
            values.append(PooledLiteral(v.value, half=True) if n else s.half(v))
        else:
            place = s.memory(v)
            if place.mode in ("u16", "s16"):
                place.mode = "s16" if signs[k] else "u16"
            values.append(place)
    return "s16" if signs.s1 else "u16", values[0], values[1]


@rule(MUL16, folds=Folds.HALVES, guardable=True)
def multiply_halves(s: TeslaSelection, i: Ins, attrs: Signs16) -> None:
    """Multiply 16 bits by 16."""
    _, a, b = _factors(s, i)
    s1, s2 = attrs[::-1] if i in s.plan.swapped else attrs
    s.emit(hw.MUL, dst=s.result(i), sign1="s16" if s1 else "u16", src1=a, sign2="s16" if s2 else "u16",
           src2=b).literal = True  # fmt: skip


@rule(MUL24, folds=Folds.PAIR, guardable=True)
def multiply_24(s: TeslaSelection, i: Ins, _: Product24) -> None:
    """Multiply 24 bits by 24."""
    kind, a, b = _factors(s, i)
    s.emit(hw.MUL, dst=s.result(i), wide=kind, src1=a, src2=b).literal = True


def _mul16(s: TeslaSelection, dst: OperandReg, a: Source, b: Source) -> None:
    s.emit(hw.MUL, dst=dst, sign1="u16", src1=a, sign2="u16", src2=b).literal = True


def _mad16(s: TeslaSelection, dst: OperandReg, a: Source, b: Source, c: Source) -> None:
    s.emit(hw.MAD, name="add", kind="u16", dst=dst, src1=a, src2=b, src3=c)


def _shl(s: TeslaSelection, dst: OperandReg, a: Source, count: int) -> None:
    s.emit(hw.SHL, ty="b32", dst=dst, src1=a, count=FixedNumber(count))


def _by_halves(s: TeslaSelection, i: Ins, a: IrValue, one: bool, low: Source, high: Source | None) -> None:
    """Add products of the halves of two factors; `one`: that of the upper half of the first with the lower is 0."""
    t, u = s.temporary(), s.temporary()
    if high is None:
        _mul16(s, t, s.half(a, True), low)
    elif one:
        _mul16(s, t, s.half(a), high)
    else:
        r = s.temporary()
        _mul16(s, r, s.half(a), high)
        _mad16(s, t, s.half(a, True), low, r)
    _shl(s, u, t, 16)
    _mad16(s, s.result(i), s.half(a), low, u)


# --- products of 32 bits by a constant -------------------------------------------------------------------------------
def _narrower_first(i: Ins) -> tuple[IrValue, IrValue, int, int]:
    """Return the factors, one of 16 bits first if there is only one, and masks of the upper bits of each that are 0."""
    a, b = i.args
    za, zb = upper_bits(a), upper_bits(b)
    return (b, a, zb, za) if zb >> 16 == 0xFFFF and za >> 16 != 0xFFFF else (a, b, za, zb)


def _factor(i: Ins) -> tuple[IrValue, int | None, int]:
    """Return a factor, the other one if it is constant, and the upper bits of the first that are 0."""
    a, b, za, _ = _narrower_first(i)
    return a, b.value if isinstance(b, Const) else None, za


def by(what: str, test: Callable[[int, int], bool]) -> Callable[[TeslaSelection, Ins], bool]:
    """Return the condition that a factor is a constant that passes a test, given the zero upper bits of the other."""

    def condition(s: TeslaSelection, i: Ins) -> bool:
        _, v, zeros = _factor(i)
        return v is not None and test(v, zeros)

    condition.__name__ = f"by_{what}"
    return condition


@rule(MUL, when=by("24_bits", lambda v, zeros: zeros >> 24 == 0xFF and v < 1 << 24), priority=6)
def multiply_by_24_bits(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply 24 bits by a constant of 24."""
    a, v, _za = _factor(i)
    s.emit(hw.MUL, dst=s.result(i), wide="u24", src1=s.reg(a), src2=PooledLiteral(v or 0)).literal = True


@rule(MUL, when=by("two_bits", lambda v, _: v.bit_count() == 2), priority=5)
def multiply_by_two_bits(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply by 2^m + 2^n: add two shifts."""
    a, v, _za = _factor(i)
    assert v is not None
    t, n = s.temporary(), (v & -v).bit_length() - 1
    _shl(s, t, s.reg(a), v.bit_length() - 1)
    other = s.reg(a)
    if n:
        other = s.temporary()
        _shl(s, other, s.reg(a), n)
    s.emit(hw.ADD, name="add", ty="b32", dst=s.result(i), src1=t, src2=other)


@rule(MUL, when=by("ones", lambda v, _: v & 1 == 1 and v + 1 & v == 0), priority=4)
def multiply_by_ones(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply by 2^m - 1: subtract the factor from its shift by m."""
    a, v, _za = _factor(i)
    assert v is not None
    t = s.temporary()
    _shl(s, t, s.reg(a), v.bit_length())
    s.emit(hw.ADD, name="sub", ty="b32", dst=s.result(i), src1=t, src2=s.reg(a))


@rule(MUL, when=by("constant", lambda v, _: True), priority=3)
def multiply_by_constant(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply halves by those of a constant."""
    a, v, za = _factor(i)
    assert v is not None
    low, high = PooledLiteral(v, half=True), PooledLiteral(v >> 16, half=True)
    _by_halves(s, i, a, za >> 16 == 0xFFFF or not low.value, low, high if high.value else None)


# --- products of 32 bits ---------------------------------------------------------------------------------------------
def narrow(bits: int) -> Callable[[TeslaSelection, Ins], bool]:
    """Return the condition that both factors fit into `bits` bits."""
    above = 0xFFFF_FFFF >> bits
    return lambda s, i: all(zeros >> bits == above for zeros in _narrower_first(i)[2:])


@rule(MUL, when=narrow(16), priority=2)
def multiply_narrow(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply 16 bits by 16."""
    a, b, *_zeros = _narrower_first(i)
    _mul16(s, s.result(i), s.half(a), s.half(b))


@rule(MUL, when=narrow(24), priority=1)
def multiply_24_narrow(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Multiply 24 bits by 24."""
    a, b, *_zeros = _narrower_first(i)
    s.emit(hw.MUL, dst=s.result(i), wide="u24", src1=s.reg(a), src2=s.reg(b))


@rule(MUL)
def multiply(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Add products of halves."""
    a, b, za, _zb = _narrower_first(i)
    _by_halves(s, i, a, za >> 16 == 0xFFFF, s.half(b), s.half(b, True))


def _high(s: TeslaSelection, i: Ins) -> OperandReg:
    """Return the high 32 bits of an unsigned product."""
    hx, hy = (_halves(s, v) for v in i.args)
    lo, ls, m1, ml, m2, h, h1, h2 = (s.temporary() for _ in range(8))
    _mul16(s, lo, hx[0], hy[0])
    s.emit(hw.SHR, ty="u32", dst=ls, src1=lo, count=FixedNumber(16))
    _mad16(s, m1, hx[1], hy[0], ls)
    ml.v.low = m1.v.low = m2.v.low = True
    s.emit(hw.CVT, to="u32", dst=ml, source="u16", src=OperandReg(m1.v, half="l"))
    _mad16(s, m2, hx[0], hy[1], ml)
    s.emit(hw.SHR, ty="u32", dst=h1, src1=m1, count=FixedNumber(16))
    s.emit(hw.SHR, ty="u32", dst=h2, src1=m2, count=FixedNumber(16))
    _mad16(s, h, hx[1], hy[1], h1)
    out = s.temporary()
    s.emit(hw.ADD, name="add", ty="b32", dst=out, src1=h, src2=h2)
    return out


def _halves(s: TeslaSelection, v: IrValue) -> tuple[OperandReg, OperandReg]:
    r = s.register(v).v
    return half_of(r), half_of(r, "h")


@rule(MULHU)
def multiply_high(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Add the upper halves of products of halves."""
    dst = s.result(i)
    s.move(dst, _high(s, i))


@rule(MULHS)
def multiply_high_signed(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Subtract, for each negative factor, the other one from the unsigned high product."""
    dst = s.result(i)
    value = _high(s, i)
    for a, b in ((i.args[0], i.args[1]), (i.args[1], i.args[0])):
        sign, t, new = s.temporary(), s.temporary(), s.temporary()
        s.emit(hw.SHR, ty="s32", dst=sign, src1=s.reg(a), count=FixedNumber(31))
        s.emit(hw.AND, ty="b32", dst=t, src1=sign, src2=s.reg(b))
        s.emit(hw.ADD, name="sub", ty="b32", dst=new, src1=value, src2=t)
        value = new
    s.move(dst, value)


# --- logic, shifts, extensions ---------------------------------------------------------------------------------------
_LOGIC = {AND: hw.AND, OR: hw.OR, XOR: hw.XOR}
_SHIFTS = {SHL: (hw.SHL, "b32"), SHR: (hw.SHR, "u32"), SAR: (hw.SHR, "s32")}
_EXTENSIONS = {ZEXT16: ("u32", "u16"), SEXT16: ("s32", "s16"), ZEXT8: ("u32", "u8"), SEXT8: ("s32", "s8")}
_EXTREMES = {MINU: (hw.MIN, "u32"), MAXU: (hw.MAX, "u32"), MINS: (hw.MIN, "s32"), MAXS: (hw.MAX, "s32")}


@rule(*_LOGIC, folds=Folds.PAIR, guardable=True)
def logic(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Combine bits."""
    a, b, _swapped = s.pair(i)
    if a is ZERO:
        a, b = b, a
    a = s.plain(a)
    ops = s.tested(i)
    s.emit(_LOGIC[i.op], ty="b32", src1=a, src2=b, **ops).literal = "cdst" not in ops


@rule(NOT, folds=Folds.FIRST, guardable=True)
def invert(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit an inversion as a move; operands in memory, and tests, need `xor` with all ones."""
    a = s.source(i, 0)
    ops = s.tested(i)
    if isinstance(a, MemoryReference) or "cdst" in ops:
        ones = PooledLiteral(0xFFFF_FFFF)
        s.emit(hw.XOR, ty="b32", src1=a, src2=ones, **ops).literal = "cdst" not in ops
    else:
        s.emit(hw.MOV2, ty="b32", dst=ops["dst"], src1=a, not2="not", src2=a)


@rule(*_SHIFTS, folds=Folds.FIRST, guardable=True)
def shift(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Shift by a constant or a register."""
    op, ty = _SHIFTS[i.op]
    n = i.args[1]
    a = s.source(i, 0)
    if a is ZERO:
        a = s.register(Const(0))
    count = FixedNumber(min(n.value, 127)) if isinstance(n, Const) else s.reg(n)
    s.emit(op, ty=ty, src1=a, count=count, **s.tested(i))


@rule(ZEXT16, SEXT16, folds=Folds.FIRST_HALF, guardable=True)
@rule(ZEXT8, SEXT8, guardable=True)
def extend(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Extend 8 or 16 bits to 32."""
    to, source = _EXTENSIONS[i.op]
    v = i.args[0]
    src: OperandReg | MemoryReference
    if (i, 0) in s.plan.folded:
        src = s.memory(v)
        if src.mode in ("u16", "s16"):  # the load may have been meant otherwise
            src.mode = source
    else:
        src = s.half(v)
        if src.half == "h" and source in ("u8", "s8"):
            src = half_of(s.vreg(v))
    s.emit(hw.CVT, to=to, dst=s.result(i), source=source, src=src)


@rule(ABS, folds=Folds.FIRST_WORD, guardable=True)
def absolute(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit the magnitude as a conversion."""
    s.emit(hw.CVT, abs="abs", to="u32", dst=s.result(i), source="s32", src=s.source(i, 0))


@rule(*_EXTREMES, folds=Folds.PAIR, guardable=True)
def extreme(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a minimum or maximum."""
    op, ty = _EXTREMES[i.op]
    a, b, _swapped = s.pair(i)
    if isinstance(a, PooledLiteral):
        a, b = b, a
    s.emit(op, ty=ty, dst=s.result(i), src1=a, src2=b)


@rule(SAD)
def sum_of_difference(s: TeslaSelection, i: Ins, attrs: Signed) -> None:
    """Emit the sum of an absolute difference and a word."""
    a, b, c = (s.reg(v) for v in i.args)
    s.emit(hw.SAD, ty="s32" if attrs.s else "u32", dst=s.result(i), src1=a, src2=b, src3=c)
