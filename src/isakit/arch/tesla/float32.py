"""f32 arithmetic: add, mul, mad, set, min, max, slct, quadop.

Common to all: denormals are flushed on the way in and out, every NaN result is 0x7fffffff, $c receives the comparison
of the result with 0. Source: [000] "5. TBD"; encodings and corrections in [tesla] 5.3.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import CONDITION_NAMES
from isakit.arch.tesla.requests import LANE, MP_FLAG, QUAD
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, const, select
from isakit.sem.fp import f32
from isakit.sem.fp.core import F32, absolute, is_flushed_zero, negated
from isakit.spec import Nothing, Ref, cases, choice, flag, when, words

_TBD = "5. TBD"
_SEE = [Ref("tesla", "5.3")]
# How a chip obeys the multiprocessor flag SAT_NAN: not at all, for every NaN, or (G200 fault) for NaN inputs only.
NO_SAT_NAN, SAT_NAN, SAT_NAN_INPUTS = 0, 1, 2
SAT_NAN_RULE = choice(
    when({}, Nothing(SAT_NAN), needs="gt215"),
    when({}, Nothing(SAT_NAN_INPUTS), needs="gt200"),
    when({}, Nothing(NO_SAT_NAN)),
)


def modified(source: Any, negate: bool = False, take_absolute: bool = False) -> Value:
    """Return an f32 operand with its modifiers: absolute value first, then negation."""
    v = source.read()
    if take_absolute:
        v = absolute(v)
    return negated(v) if negate else v


def saturated(result: Value, rule: int, *inputs: Value) -> Value:
    """Return a result clamped to [0, 1], under the chip's rule for NaN."""
    plain = f32.f32_saturate(result)
    if rule == NO_SAT_NAN:
        return plain
    special = f32.f32_saturated(result, *inputs, nan_to_zero=True, from_inputs=rule == SAT_NAN_INPUTS)
    return select(MP_FLAG(name="sat_nan"), special, plain)


def _finish(result: Value, dst: Any, cdst: Any) -> None:
    """Write a result and, where there is a condition register to set, its flags."""
    dst.write(result)
    if cdst:
        cdst.write(f32.f32_flags(result))


def winning_zeros(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the factors of a product under the MUL_ZERO_WINS flag: where one is zero, both become +0."""
    wins = MP_FLAG(name="mul_zero_wins") & (is_flushed_zero(a, F32) | is_flushed_zero(b, F32))
    return select(wins, 0, a), select(wins, 0, b)


# --- add, mul, mad ----------------------------------------------------------------------------------------------------

_NEAREST_OR_ZERO = words("rn", None, None, "rz")


@tesla.insn(
    forms(
        """
        short,imm  add {sat:s} f32 {dst} {neg1=neg:m} {src1} {neg2=neg:n} {src2} {rule}
                   1011 .... . n...... m...... s...... ..
        long       add {sat:s} {rounding:r} f32 {cdst} {dst} {neg1=neg:m} {src1} {neg2=neg:n} {src2=src3} {rule}
                   1011 .... . .....rr ....... ....... ..  00s .nm .... . ....... .. ..... .......
        """,
        rounding=_NEAREST_OR_ZERO,
        rule=SAT_NAN_RULE,
    ),
    ref=Ref("000", f"{_TBD}: add f32"),
    status="known",
    see=_SEE,
    notes=["rounding codes 1 and 2 were never tried on a chip; taken as illegal. [tesla] 4"],
)
def add_f32(sat, dst, neg1, src1, neg2, src2, rule, rounding="rn", cdst=None):
    """Add f32 numbers: DST = SRC1 + SRC2. The short and immediate forms round to nearest.

    An exactly zero sum is +0 unless both addends are negative zeros, in either mode. Overflow gives infinity (rn) or
    the largest number (rz). `sat` clamps the result to 0 .. 1.
    """
    a, b = modified(src1, neg1), modified(src2, neg2)
    result = f32.f32_add(a, b, rounding=rounding)
    if sat:
        result = saturated(result, rule, a, b)
    _finish(result, dst, cdst)


@tesla.insn(
    forms(
        """
        short,imm  mul {sat} f32 {dst} {neg1=neg:m} {src1} {neg2=neg:n} {src2} {rule}
                   1100 .... . n...... m...... s...... ..
        long       mul {sat} {rounding:r} f32 {cdst} {dst} {neg1=neg:m} {src1} {neg2=neg:n} {src2} {rule}
                   1100 .... . ....... ....... ....... ..  000 .nm .... . s....rr .. ..... .......
        """,
        sat=cases({"| needs gt200+": flag("sat", on="s"), "": Nothing(False)}),
        rounding=_NEAREST_OR_ZERO,
        rule=SAT_NAN_RULE,
    ),
    ref=Ref("000", f"{_TBD}: mul f32"),
    status="known",
    see=_SEE,
    notes=[
        "chips before GT200 ignore the saturation bit",
        "rounding codes 1 and 2 were never tried on a chip; taken as illegal. [tesla] 4",
    ],
)
def mul_f32(sat, dst, neg1, src1, neg2, src2, rule, rounding="rn", cdst=None):
    """Multiply f32 numbers: DST = SRC1 * SRC2. The short and immediate forms round to nearest.

    Under the multiprocessor flag MUL_ZERO_WINS a zero factor gives +0 even against infinity and NaN.
    """
    a, b = modified(src1, neg1), modified(src2, neg2)
    result = f32.f32_mul(*winning_zeros(a, b), rounding=rounding)
    if sat:
        result = saturated(result, rule, a, b)
    _finish(result, dst, cdst)


@tesla.insn(
    forms(
        """
        short,imm  add {sat:s} f32 {dst} {neg1=neg:m} (mul {src1} {src2}) {neg2=neg:n} {src3} {rule}
                   1110 .... . n...... m...... s...... ..
        long       add {sat:s} f32 {cdst} {dst} {neg1=neg:m} (mul {src1} {src2}) {neg2=neg:n} {src3} {rule}
                   1110 .... . ....... ....... ....... ..  00s .nm .... . ....... .. ..... .......
        """,
        rule=SAT_NAN_RULE,
    ),
    ref=Ref("000", f"{_TBD}: mul and add f32"),
    status="known",
    see=_SEE,
    notes=[
        "compilers set rounding bits w1[23:22], hardware ignores them; they share w1[25:22] with the number "
        "of a c[] space. [tesla] 13 no. 11",
        "the long form under MUL_ZERO_WINS was not compared with a chip; it follows the short one",
    ],
)
def mad_f32(sat, dst, neg1, src1, src2, neg2, src3, rule, cdst=None):
    """Multiply and add f32 numbers: DST = SRC1 * SRC2 + SRC3; not fused: the product is cut to 24 bits first.

    The cut product keeps any exponent; the sum rounds to nearest. Where a factor or the addend is zero, the product is
    rounded to nearest instead. Short and immediate forms add to their destination register.
    """
    a, b, c = modified(src1, neg1), modified(src2), modified(src3, neg2)
    result = f32.f32_mad(*winning_zeros(a, b), c)
    if sat:
        result = saturated(result, rule, a, b, c)
    _finish(result, dst, cdst)


# --- comparison and selection -----------------------------------------------------------------------------------------

FLOAT_CONDITIONS = words(*CONDITION_NAMES[:16], uniform=True)
"""The outcomes that make a comparison true: bits less, equal, greater, unordered."""


@tesla.insn(
    forms(
        """
        long  set {cdst} {dst} {cond:c} f32 {neg1=neg:m} {abs1=abs:a} {src1} {neg2=neg:n} {abs2=abs:b} {src2}
              1011 .... . ....... ....... ....... ..  011 .nm .... . ab.cccc .. ..... .......
        """,
        cond=FLOAT_CONDITIONS,
    ),
    ref=Ref("001", "Opcode map: set f32"),
    status="known",
    see=_SEE,
)
def set_f32(cond, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """Compare f32 numbers: DST = all ones where the condition holds, else 0.

    The condition is any set of less, equal, greater and unordered (u: one operand is a NaN). $c becomes 2 for true and
    1 for false.
    """
    true = f32.holds(f32.f32_compare(modified(src1, neg1, abs1), modified(src2, neg2, abs2)), cond)
    dst.write(true.sext(32))
    if cdst:
        cdst.write(f32.set_flags(true))


@tesla.insn(
    forms(
        """
        long  {name} f32 {cdst} {dst} {neg1=neg:m} {abs1=abs:a} {src1} {neg2=neg:n} {abs2=abs:b} {src2}
              1011 .... . ....... ....... ....... ..  100 .nm .... . ab..... .. ..... .......  | name=max
        long  {name} f32 {cdst} {dst} {neg1=neg:m} {abs1=abs:a} {src1} {neg2=neg:n} {abs2=abs:b} {src2}
              1011 .... . ....... ....... ....... ..  101 .nm .... . ab..... .. ..... .......  | name=min
        """
    ),
    ref=Ref("001", "Opcode map: max f32, min f32"),
    status="known",
    see=_SEE,
)
def min_max_f32(name, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """Take the smaller (min) or larger (max) of two f32 numbers; -0 counts as smaller than +0.

    A NaN loses against a number; two NaNs give 0x7fffffff.
    """
    a, b = modified(src1, neg1, abs1), modified(src2, neg2, abs2)
    result = f32.f32_min(a, b) if name == "min" else f32.f32_max(a, b)
    _finish(result, dst, cdst)


@tesla.insn(
    forms(
        """
        long  slct b32 {cdst} {dst} {src1} {src2} f32 {neg:n} {src3}
              1100 .... . ....... ....... ....... ..  01n ... .... . ....... .. ..... .......
        """
    ),
    ref=Ref("000", f"{_TBD}: slct"),
    status="known",
    see=_SEE,
)
def slct(dst, src1, src2, neg, src3, cdst=None):
    """Select by sign: DST = SRC1 where the f32 SRC3 is at least 0 (also -0), SRC2 where it is negative or NaN.

    The selected bits are copied unchanged; $c says whether they are a zero of either sign (1) or have the sign bit (2).
    """
    selected = select(f32.f32_slct_test(modified(src3, neg)), src1.read(), src2.read())
    dst.write(selected)
    if cdst:
        cdst.write(f32.f32_slct_flags(selected))


# --- quads ------------------------------------------------------------------------------------------------------------

_SUBR, _SUB, _MOV2 = 1, 2, 3


@tesla.insn(
    forms(
        """
        long  quadop f32 {op0=op:d} {op1=op:e} {op2=op:f} {op3=op:g} {cdst} {dst} {lane} {src1=r1} {src2=r3} {fragment}
              1100 .... . .gg.phl ....... ....... ..  100 .dd eeff . ....... .. ..... .......
        """,
        op=words("add", "subr", "sub", "mov2", uniform=True),
        lane=cases(
            {
                "p=0": words("l0", "l1", "l2", "l3", values=[("lane", n) for n in range(4)], on="hl"),
                "p=1": words("dx", "dy", values=[("xor", 1), ("xor", 2)], on="l"),
            }
        ),
    ),
    ref=Ref("000", f"{_TBD}: quadop"),
    status="known",
    see=_SEE,
    notes=[
        "an inactive lane's SRC1 is its register: a decision, [tesla] 14",
        "the lane selector codes 6 and 7 are dx and dy again, with a bit that means nothing",
    ],
)
def quadop(op0, op1, op2, op3, dst, lane, src1, src2, fragment, cdst=None):
    """Exchange f32 values between the four lanes of a quad: DST = SRC1 of another lane (x) with SRC2 of this one.

    Lane n of the quad uses operation n: x + SRC2 (add), SRC2 - x (subr), x - SRC2 (sub) or SRC2 + 0 (mov2). The other
    lane is l0 .. l3, or the horizontal (dx) or vertical (dy) neighbour. dx and dy only work in fragment programs;
    outside, the result is +0, or +infinity under the multiprocessor flag NONFP_DERIV.
    """
    how, number = lane
    s = src2.read()
    if how == "xor" and not fragment:
        result = select(MP_FLAG(name="nonfp_deriv_inf"), const(F32.infinity, 32), const(0, 32))
    else:
        position = LANE()
        x = QUAD(src1.read(), position ^ number if how == "xor" else const(number, 32))
        op = select(position.bit(1), select(position.bit(0), op3, op2), select(position.bit(0), op1, op0))
        total = f32.f32_add(select(op == _SUBR, negated(x), x), select(op == _SUB, negated(s), s))
        result = select(op == _MOV2, f32.f32_mov2(s), total)
    _finish(result, dst, cdst)


__all__ = ["SAT_NAN_RULE", "modified", "saturated"]
