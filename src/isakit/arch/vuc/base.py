"""Base instructions: arithmetic, comparison, clamping, bits, shifts, logic.

All data are 16 bits; S(x) below is x as a signed number. Results wrap to 16 bits. Source: [vuc] 3, corrections of the
seed in [vuc] 15.
"""

from __future__ import annotations

from isakit.arch.vuc.forms import forms
from isakit.arch.vuc.predicates import MOVE_GUARD, SELECT_GUARD
from isakit.arch.vuc.vuc import vuc
from isakit.sem import Value, const, select, u1
from isakit.spec import Ref

BASE_REF = Ref("vuc", "3")

RESULT_BIT = "the predicate output is bit 0 of the result"


@vuc.insn(
    forms("base  slct {pdst} {dst} {sel} {src1} {src2}  .... .. .... .... .... .... ... 00000", guard=SELECT_GUARD),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "2 Field sharing")],
    notes=[
        RESULT_BIT,
        "both sources are read whatever the selector says: naming $cstop pops the call stack",
        "the selector stands in PRED, so a predicate output or a guard must be the same predicate",
    ],
    group="move",
)
def slct(name, pdst, dst, sel, src1, src2):
    """Select one of two sources: DST = SEL ? SRC1 : SRC2."""
    a, b = src1.read(), src2.read()
    result = select(sel.read(), a, b)
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms("base  mov {pdst} {dst} {src}  .... .. .... .... .... .... ... 00001", guard=MOVE_GUARD),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "2 Operand encodings")],
    notes=[
        RESULT_BIT,
        "there is no move from a special register: read one with `or $r1 $sr 0`",
        "constants are zero-extended; 0x3fff is the largest, 0xfff into a special register",
    ],
    group="move",
)
def mov(name, pdst, dst, src):
    """Copy a register or a constant: DST = SRC."""
    result = src.read()
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms(
        """
        base  add {pdst} {dst} {src1} {src2}   .... .. .... .... .... .... ... 00100
        base  sub {pdst} {dst} {src1} {src2}   .... .. .... .... .... .... ... 00101
        base  subr {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 00110  | needs !vp3+
        """
    ),
    ref=BASE_REF,
    status="known",
    notes=[RESULT_BIT],
)
def add(name, pdst, dst, src1, src2):
    """Add or subtract: DST = SRC1 + SRC2, SRC1 - SRC2 (sub) or SRC2 - SRC1 (subr, VP2 only), modulo 2^16."""
    a, b = src1.read(), src2.read()
    result = {"add": a + b, "sub": a - b, "subr": b - a}[name]
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms(
        """
        base  avgs {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 00110  | needs vp3+
        base  avgu {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 00111  | needs vp3+
        """
    ),
    ref=BASE_REF,
    status="known",
    notes=[RESULT_BIT],
)
def avg(name, pdst, dst, src1, src2):
    """Average of two numbers, rounded up: DST = (SRC1 + SRC2 + 1) >> 1, signed (avgs) or unsigned (avgu).

    The sum has 17 bits, so that nothing is lost.
    """
    a, b = src1.read(), src2.read()
    wide = (a.sext(17) + b.sext(17)) if name == "avgs" else (a.zext(17) + b.zext(17))
    result = (wide + 1).bits(1, 16)
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms(
        """
        base  setgt,setsg {pdst} {src1=only1} {src2}    .... .. .... .... .... .... ... 01000
        base  setlt,setsl {pdst} {src1=only1} {src2}    .... .. .... .... .... .... ... 01001
        base  seteq,setse {pdst} {src1=only1} {src2}    .... .. .... .... .... .... ... 01010
        base  setlep,setsle {pdst} {src1=only1} {src2}  .... .. .... .... .... .... ... 01011
        """
    ),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 items 11, 22")],
)
def set_compare(name, pdst, src1, src2):
    """Compare signed numbers: SRC1 > SRC2 (setgt), SRC1 < SRC2 (setlt), equal (seteq), 0 <= SRC1 <= SRC2 (setlep).

    There is no data result; the answer is the predicate output.
    """
    a, b = src1.read(), src2.read()
    pdst.write({"setgt": a.sgt(b), "setlt": a.slt(b), "seteq": a == b, "setlep": ~a.sign & a.sle(b)}[name])


@vuc.insn(
    forms("base  setzero {pdst} {src1=only1} {src2}  .... .. .... .... .... .... ... 01111  | needs !vp3+"),
    ref=BASE_REF,
    status="known",
)
def setzero(name, pdst, src1, src2):
    """Test two numbers for zero: the predicate output is 1 when SRC1 and SRC2 are both 0. VP2 only."""
    pdst.write(src1.read().is_zero & src2.read().is_zero)


@vuc.insn(
    forms("base  clamplep,minsz {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 01100"),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 item 10")],
    notes=["both tests look at SRC1 itself and the second wins: SRC1 = -1 and SRC2 = -5 give -5"],
)
def clamplep(name, pdst, dst, src1, src2):
    """Clamp to 0..SRC2: 0 where SRC1 is negative, SRC2 where SRC1 > SRC2 (signed). Predicate output: it was clamped."""
    a, b = src1.read(), src2.read()
    above = a.sgt(b)
    dst.write(select(above, b, select(a.sign, const(0, 16), a)))
    pdst.write(above | a.sign)


@vuc.insn(
    forms("base  clamps,clampsex {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 01101"),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 item 2")],
    notes=["n = 15 never clamps"],
)
def clamps(name, pdst, dst, src1, src2):
    """Clamp to a signed range: -2^n .. 2^n - 1 with n = the low 4 bits of SRC2. Predicate output: it was clamped."""
    a, n = src1.read(), src2.read() & 15
    low = const(0xFFFF, 16) << n
    below, above = a.slt(low), a.sgt(~low)
    dst.write(select(below, low, select(above, ~low, a)))
    pdst.write(below | above)


@vuc.insn(
    forms("base  sext,sex {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 01110"),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 item 3")],
    notes=["SRC2 = 7 sign-extends a byte"],
)
def sext(name, pdst, dst, src1, src2):
    """Sign-extend from bit n = the low 4 bits of SRC2: bits n to 15 become bit n. Predicate output: that bit."""
    n = src2.read() & 15
    up = const(15, 16) - n
    result = (src1.read() << up).sar(up)
    dst.write(result)
    pdst.write(result.sign)


@vuc.insn(
    forms("base  div2s {pdst} {dst} {src1}  .... .. .... .... .... .... ... 01111  | needs vp3+"),
    ref=BASE_REF,
    status="known",
    notes=["-1 gives 0, -3 gives -1"],
)
def div2s(name, pdst, dst, src1):
    """Halve a signed number, rounding towards 0. Predicate output: the result is negative. VP3 and VP4."""
    a = src1.read()
    result = (a.sext(17) + a.sign.zext(17)).bits(1, 16)
    dst.write(result)
    pdst.write(result.sign)


@vuc.insn(
    forms(
        """
        base  bset {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 10000
        base  bclr {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 10001
        """
    ),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 item 4")],
    notes=[RESULT_BIT, "the bit number is taken modulo 16"],
)
def bit_write(name, pdst, dst, src1, src2):
    """Set (bset) or clear (bclr) bit SRC2 of SRC1."""
    a, single = src1.read(), const(1, 16) << (src2.read() & 15)
    result = a | single if name == "bset" else a & ~single
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms("base  btest {pdst} {src1=only1} {src2}  .... .. .... .... .... .... ... 10010"),
    ref=BASE_REF,
    status="known",
    notes=["the bit number is taken modulo 16"],
)
def btest(name, pdst, src1, src2):
    """Test a bit: the predicate output is bit SRC2 of SRC1."""
    pdst.write((src1.read() >> (src2.read() & 15)).bit(0))


@vuc.insn(
    forms("base  hswap,rot8 {pdst} {dst} {src1}  .... .. .... .... .... .... ... 10100"),
    ref=BASE_REF,
    status="known",
    notes=[RESULT_BIT],
)
def hswap(name, pdst, dst, src1):
    """Swap the two bytes of SRC1."""
    a = src1.read()
    result = a << 8 | a >> 8
    dst.write(result)
    pdst.write(result.bit(0))


def _last_bit_out(wide: Value, n: Value, at: int) -> Value:
    """Bit `at` of a shifted value, 0 for a shift by 0."""
    return select(n == 0, u1(0), wide.bit(at))


@vuc.insn(
    forms(
        """
        base  shl {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 10101
        base  shr {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 10110
        base  sar {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 10111
        """
    ),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 items 5, 6, 7")],
    notes=["the count is taken modulo 16"],
)
def shift(name, pdst, dst, src1, src2):
    """Shift SRC1 by SRC2 bits: left (shl), right with zeros (shr), right with the sign (sar).

    Predicate output: the last bit that was shifted out, 0 for a shift by 0.
    """
    a, n = src1.read(), src2.read() & 15
    if name == "shl":
        wide = a.zext(17) << n
        dst.write(wide.trunc(16))
        pdst.write(wide.bit(16))
        return
    longer = a.zext(17) << 1  # one more bit below catches what is shifted out
    wide = longer >> n if name == "shr" else longer.sar(n)
    dst.write(wide.bits(1, 16))
    pdst.write(_last_bit_out(wide, n, 0))


@vuc.insn(
    forms(
        """
        base  and {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 11000
        base  or {pdst} {dst} {src1} {src2}   .... .. .... .... .... .... ... 11001
        base  xor {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 11010
        """
    ),
    ref=BASE_REF,
    status="known",
    see=[Ref("vuc", "15 item 8")],
    notes=[RESULT_BIT, "`or $r1 $sr 0` is the way to read a special register"],
)
def logic(name, pdst, dst, src1, src2):
    """Bitwise AND, OR and exclusive OR of two sources."""
    a, b = src1.read(), src2.read()
    result = {"and": a & b, "or": a | b, "xor": a ^ b}[name]
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms("base  not {pdst} {dst} {src1} {unused}  .... .. .... .... .... .... ... 11011"),
    ref=BASE_REF,
    status="known",
    notes=[RESULT_BIT, "a second source is printed, as the public tables do, but has no effect; it may be left out"],
)
def not_(name, pdst, dst, src1, unused):
    """Complement of SRC1."""
    result = ~src1.read()
    dst.write(result)
    pdst.write(result.bit(0))


@vuc.insn(
    forms(
        """
        base  min {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 11101  | needs vp3+
        base  max {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 11110  | needs vp3+
        """
    ),
    ref=BASE_REF,
    status="known",
)
def min_max(name, pdst, dst, src1, src2):
    """Signed minimum or maximum. Predicate output: SRC2 was chosen (for equal numbers max chooses it, min does not).

    VP3 and VP4.
    """
    a, b = src1.read(), src2.read()
    second = b.slt(a) if name == "min" else b.sge(a)
    dst.write(select(second, b, a))
    pdst.write(second)
