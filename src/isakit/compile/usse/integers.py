"""Rules of the USSE for integers: operations on words, and conversions from and to floats."""

from __future__ import annotations

from isakit.compile.ir import Const, Ins, IrValue, NoAttributes
from isakit.compile.lower.form import OperandReg
from isakit.compile.ops import (
    ABS,
    ADD,
    AND,
    MAXS,
    MAXU,
    MINS,
    MINU,
    MUL,
    MUL16,
    MUL24,
    NOT,
    OR,
    SAR,
    SEXT8,
    SEXT16,
    SHL,
    SHR,
    SUB,
    XOR,
    ZEXT8,
    ZEXT16,
    Product24,
    Signs16,
)
from isakit.compile.simplify import upper_bits
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.operands import FixedView, Source, View
from isakit.compile.usse.rules import two
from isakit.compile.usse.selection import UsseSelection, immediate, rule
from isakit.compile.vector_ops import (
    F2I,
    I2F,
    Sign,
)


def _multiply(s: UsseSelection, i: Ins, x: IrValue, y: IrValue, z: IrValue, neg2: bool = False) -> None:
    """Emit x * y + z, or x * y - z."""
    s.multiply(s.word_of(i), s.register_word(x), s.word(y), s.word(z), neg2)


@rule(ADD)
def _add(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x, y = i.args
    _multiply(s, i, x, Const(1), y)


@rule(SUB)
def _sub(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x, y = i.args
    _multiply(s, i, x, Const(1), y, neg2=True)


@rule(MUL)
def _mul(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    _multiply(s, i, i.args[0], i.args[1], Const(0))


@rule(MUL16)
def _mul16(s: UsseSelection, i: Ins, a: Signs16) -> None:
    _narrow_product(s, i, 16, tuple(a))


@rule(MUL24, when=lambda s, i: not MUL24.of(i).high)
def _mul24(s: UsseSelection, i: Ins, a: Product24) -> None:
    _narrow_product(s, i, 24, (a.sign, a.sign))


def _narrow_product(s: UsseSelection, i: Ins, bits: int, signs: tuple[bool, ...]) -> None:
    """Emit a product of the lower bits of two integers."""
    factors = [_lower_bits(s, v, bits, signed) for v, signed in zip(i.args, signs, strict=True)]
    s.multiply(s.word_of(i), factors[0], factors[1])


def _lower_bits(s: UsseSelection, v: IrValue, bits: int, signed: bool) -> OperandReg | FixedView:
    """Return the lower bits of an integer, extended; the integer itself if it has no others."""
    source = s.register_word(v)
    if not signed and upper_bits(v) >> bits == (1 << 32 - bits) - 1:
        return source
    t = s.temporary_word()
    shift = immediate(32 - bits)
    s.emit(hw.BITWISE["shl"], dst=t, src1=source, src2=shift)
    out = s.temporary_word()
    s.emit(hw.BITWISE["asr" if signed else "shr"], dst=out, src1=t, src2=shift)
    return out


_BITWISE = {AND: "and", OR: "or", XOR: "xor", SHL: "shl", SHR: "shr", SAR: "asr"}


@rule(AND, OR, XOR, SHL, SHR, SAR)
def _bitwise(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x, y = i.args
    dst = s.word_of(i)
    s.emit(hw.BITWISE[_BITWISE[i.op]], dst=dst, src1=s.register_word(x), src2=s.word(y, 0xFFFF))


_NARROW = {ZEXT8: 0xFF, ZEXT16: 0xFFFF}


@rule(ZEXT8, ZEXT16)
def _zero_extend(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    dst = s.word_of(i)
    s.emit(hw.BITWISE["and"], dst=dst, src1=s.register_word(i.args[0]), src2=immediate(_NARROW[i.op]))


@rule(SEXT8, SEXT16)
def _sign_extend(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    n = immediate(24 if i.op is SEXT8 else 16)
    t = s.temporary_word()
    s.emit(hw.BITWISE["shl"], dst=t, src1=s.register_word(i.args[0]), src2=n)
    s.emit(hw.BITWISE["asr"], dst=s.word_of(i), src1=t, src2=n)


@rule(NOT)
def _not(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    dst = s.word_of(i)
    s.emit(hw.BITWISE["xor"], dst=dst, src1=s.register_word(i.args[0]), src2=s.word(Const(0xFFFF_FFFF)))


@rule(MINS, MAXS, MINU, MAXU)
def _extreme(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x, y = i.args
    least = i.op in (MINS, MINU)
    test = hw.TEST_INTEGER["s32" if i.op in (MINS, MAXS) else "u32"]
    p, dst = s.m.vreg(s.registers.predicate), OperandReg(s.vreg(i.out))
    s.emit(test, cond="lt", dst=OperandReg(p), src1=s.word(x), src2=s.word(y))
    s.word_into(dst, y if least else x)
    with s.under((p, "")):
        s.word_into(dst, x if least else y)


@rule(ABS)
def _abs(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Flip all bits of a negative number, and add one."""
    x = i.args[0]
    t = s.temporary_word()
    u = s.temporary_word()
    dst = s.word_of(i)
    s.emit(hw.BITWISE["asr"], dst=t, src1=s.register_word(x), src2=immediate(31))
    s.emit(hw.BITWISE["xor"], dst=u, src1=s.register_word(x), src2=t)
    for name in ("", "step1"):
        s.emit(hw.IMAD, dst=dst, src0=u, src1=immediate(1), src2=dst if name else t, neg2=True, step=name)


@rule(I2F)
def _from_integer(s: UsseSelection, i: Ins, a: Sign) -> None:
    """Convert the halves, which is exact, and round their sum once."""
    x = s.register_word(i.args[0])
    low, high, d = s.temporary(), s.temporary(), s.result(i)
    short = upper_bits(i.args[0]) >> 16 == 0xFFFF
    for part, at, ty in ((d, 0, "u16"),) if short else ((low, 0, "u16"), (high, 1, "s16" if a.signed else "u16")):
        view = View((at,), "f16")
        source = FixedView(x.base, view) if isinstance(x, FixedView) else OperandReg(x.v, x.unit, 1, view=view)
        if isinstance(source, OperandReg):
            source.view = View((2 * x.unit + at,) if isinstance(x, OperandReg) else (at,), "f16")
        s.emit(hw.PACK["f32", ty], dst=s.destination(part), src1=source)
    if short:
        return
    s.vector(d, lambda d: [(hw.MAD2["f32"], (0, 1, 2))], s.read(high), Source(None, (0x4780_0000,), "f32"), s.read(low))


@rule(F2I)
def _to_integer(s: UsseSelection, i: Ins, a: Sign) -> None:
    """Convert the two halves of the truncated number: the upper one is the floor of the number divided by 65536."""
    x = s.source(i.args[0])
    if x.base is None or not x.plain or s.beyond_test(x, int(x.channels[0])):
        x = s.copied(x._replace(extent=(0, 0)), False)
    one, scale = Source(None, (0x3F80_0000,), "f32"), Source(None, (0x3780_0000,), "f32")
    zero = Source(None, (0,), "f32")
    t, down, high, low = (s.temporary() for _ in range(4))
    frc, mul = two(hw.FRC, commutes=False), two(hw.MUL)
    s.vector(down, frc, zero, x.absolute())  # minus the floor of the magnitude
    s.vector(t, mul, s.read(down).negated(), one)
    s.vector(down, mul, s.read(down), one)
    negative = s.m.vreg(s.registers.predicate)
    first = s.legal(hw.TEST["f32"].reach("src1"), x, (0,))
    nothing = s.legal(hw.TEST["f32"].reach("src1"), zero, (0,))
    s.emit(hw.TEST["f32"], cond="lt", dst=OperandReg(negative), src1=first, src2=nothing)
    with s.under((negative, "")):
        s.assign(t, s.read(down))
    whole, part = s.read(t), s.temporary()
    s.vector(part, mul, whole, scale)
    s.vector(high, frc, zero, s.read(part))
    s.vector(low, lambda d: [(hw.MAD2["f32"], (0, 1, 2))], s.read(high), Source(None, (0x4780_0000,), "f32"), whole)
    s.vector(high, mul, s.read(high).negated(), one)
    dst = OperandReg(s.vreg(i.out), 0, 1, view=View((0,), "f16"))
    s.emit(hw.PACK_F32["u16"], dst=dst, src1=s.legal(hw.PACK_F32["u16"].reach("src1"), s.read(low), (0,)))
    upper = OperandReg(dst.v, 0, 1, "part", View((1,), "f16"))
    s.emit(hw.PACK_F32["s16"], dst=upper, src1=s.legal(hw.PACK_F32["s16"].reach("src1"), s.read(high), (0,)))
