"""f32 arithmetic: add, mul, mad, set, min, max, slct, quadop.

Common to all: denormals are flushed on the way in and out, every NaN result is 0x7fffffff, $c receives the comparison
of the result with 0. Source: [000] "5. TBD"; encodings and corrections in [tesla] 5.3.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Imm, Long, Short, imm, long, short
from isakit.arch.tesla.operands import (
    CONDITION_NAMES,
    LDST,
    MCDST,
    SDST,
    gpr,
    immediate,
    isrc1,
    lsrc1,
    lsrc2,
    lsrc3,
    ssrc1,
    ssrc2,
)
from isakit.arch.tesla.requests import LANE, MP_FLAG, QUAD
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, const, select
from isakit.sem.fp import f32
from isakit.sem.fp.core import F32, absolute, is_flushed_zero, negated
from isakit.spec import Binder, Choice, Enum, Field, Flag, Nothing, Ref, bits, choice, when

_TBD = "5. TBD"
_SEE = [Ref("tesla", "5.3")]
NEG1, NEG2 = Flag(Long.m1, "neg"), Flag(Long.m2, "neg")
ABS1, ABS2 = Flag(w1(20), "abs"), Flag(w1(19), "abs")

# How a chip obeys the multiprocessor flag SAT_NAN: not at all, for every NaN, or (G200 fault) for NaN inputs only.
NO_SAT_NAN, SAT_NAN, SAT_NAN_INPUTS = 0, 1, 2
SAT_NAN_RULE = choice(
    when({}, Nothing(SAT_NAN), needs="gt215"),
    when({}, Nothing(SAT_NAN_INPUTS), needs="gt200"),
    when({}, Nothing(NO_SAT_NAN)),
)


class UniformEnum(Enum):
    """Named values that do not select a trace: bound to the field's value, the same in all lanes."""

    static = False

    def static_mask(self) -> int:
        return 0

    def bind(self, word: int, b: Binder) -> Any:
        return b.param(self.field)


def modified(source: Any, negate: bool = False, take_absolute: bool = False) -> Value:
    """An f32 operand with its modifiers: absolute value first, then negation."""
    v = source.read()
    if take_absolute:
        v = absolute(v)
    return negated(v) if negate else v


def saturated(result: Value, rule: int, *inputs: Value) -> Value:
    """A result clamped to [0, 1], under the chip's rule for NaN."""
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
    """The factors of a product under the MUL_ZERO_WINS flag: where one is zero, both become +0."""
    wins = MP_FLAG(name="mul_zero_wins") & (is_flushed_zero(a, F32) | is_flushed_zero(b, F32))
    return select(wins, 0, a), select(wins, 0, b)


def _saturation(f: Field, needs: str = "") -> Choice:
    """The saturation bit; chips without the feature ignore it."""
    return choice(when({}, Flag(f, "sat"), needs=needs), when({}, Nothing(False)))


def _modifiers(layout: Any, sat_needs: str = "") -> dict[str, Any]:
    """The three modifier bits of the short and immediate forms."""
    return {
        "sat": _saturation(layout.mod1, sat_needs),
        "neg1": Flag(layout.mod2, "neg"),
        "neg2": Flag(layout.mod3, "neg"),
    }


# --- add, mul, mad ----------------------------------------------------------------------------------------------------

_NEAREST_OR_ZERO = {0: "rn", 3: "rz"}


def _add_forms() -> list[Any]:
    syntax = "add {sat} f32 {dst} {neg1} {src1} {neg2} {src2} {rule}"
    return [
        short(syntax, {Short.op: 0xB}, **_modifiers(Short), dst=SDST, src1=ssrc1(), src2=ssrc2(), rule=SAT_NAN_RULE),
        imm(syntax, {Imm.op: 0xB}, **_modifiers(Imm), dst=SDST, src1=isrc1(), src2=immediate(), rule=SAT_NAN_RULE),
        long(
            "add {sat} {rounding} f32 {cdst} {dst} {neg1} {src1} {neg2} {src2} {rule}",
            {Long.op: 0xB, w1(30, 31): 0},
            sat=Flag(w1(29), "sat"), rounding=Enum(bits(16, 17), _NEAREST_OR_ZERO), cdst=MCDST, dst=LDST, neg1=NEG1,
            src1=lsrc1(), neg2=NEG2, src2=lsrc3(), rule=SAT_NAN_RULE,
        ),
    ]  # fmt: skip


@tesla.insn(
    _add_forms(),
    ref=Ref("000", f"{_TBD}: add f32"),
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


def _mul_forms() -> list[Any]:
    syntax = "mul {sat} f32 {dst} {neg1} {src1} {neg2} {src2} {rule}"
    return [
        short(syntax, {Short.op: 0xC}, **_modifiers(Short, "gt200+"), dst=SDST,
              src1=ssrc1(), src2=ssrc2(), rule=SAT_NAN_RULE),
        imm(syntax, {Imm.op: 0xC}, **_modifiers(Imm, "gt200+"), dst=SDST, src1=isrc1(),
            src2=immediate(), rule=SAT_NAN_RULE),
        long(
            "mul {sat} {rounding} f32 {cdst} {dst} {neg1} {src1} {neg2} {src2} {rule}", {Long.op: 0xC, Long.sub: 0},
            sat=_saturation(w1(20), "gt200+"), rounding=Enum(w1(14, 15), _NEAREST_OR_ZERO), cdst=MCDST, dst=LDST,
            neg1=NEG1, src1=lsrc1(), neg2=NEG2, src2=lsrc2(), rule=SAT_NAN_RULE,
        ),
    ]  # fmt: skip


@tesla.insn(
    _mul_forms(),
    ref=Ref("000", f"{_TBD}: mul f32"),
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


def _mad_forms() -> list[Any]:
    syntax = "add {sat} f32 {dst} {neg1} (mul {src1} {src2}) {neg2} {src3} {rule}"
    return [
        short(syntax, {Short.op: 0xE}, **_modifiers(Short), dst=SDST, src1=ssrc1(), src2=ssrc2(),
              src3=gpr(Short.dst, 32), rule=SAT_NAN_RULE),
        imm(syntax, {Imm.op: 0xE}, **_modifiers(Imm), dst=SDST, src1=isrc1(), src2=immediate(),
            src3=gpr(Imm.dst, 32), rule=SAT_NAN_RULE),
        long("add {sat} f32 {cdst} {dst} {neg1} (mul {src1} {src2}) {neg2} {src3} {rule}",
             {Long.op: 0xE, w1(30, 31): 0}, sat=Flag(w1(29), "sat"), cdst=MCDST, dst=LDST, neg1=NEG1, src1=lsrc1(),
             src2=lsrc2(), neg2=NEG2, src3=lsrc3(), rule=SAT_NAN_RULE),
    ]  # fmt: skip


@tesla.insn(
    _mad_forms(),
    ref=Ref("000", f"{_TBD}: mul and add f32"),
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

FLOAT_CONDITIONS = UniformEnum(w1(14, 17), dict(enumerate(CONDITION_NAMES[:16])))
"""The outcomes that make a comparison true: bits less, equal, greater, unordered."""


@tesla.insn(
    [
        long(
            "set {cdst} {dst} {cond} f32 {neg1} {abs1} {src1} {neg2} {abs2} {src2}",
            {Long.op: 0xB, Long.sub: 3},
            cdst=MCDST,
            dst=LDST,
            cond=FLOAT_CONDITIONS,
            neg1=NEG1,
            abs1=ABS1,
            src1=lsrc1(),
            neg2=NEG2,
            abs2=ABS2,
            src2=lsrc2(),
        )
    ],
    ref=Ref("001", "Opcode map: set f32"),
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
    [
        long(
            f"{name} f32 {{cdst}} {{dst}} {{neg1}} {{abs1}} {{src1}} {{neg2}} {{abs2}} {{src2}}",
            {Long.op: 0xB, Long.sub: sub},
            minimum=name == "min",
            cdst=MCDST,
            dst=LDST,
            neg1=NEG1,
            abs1=ABS1,
            src1=lsrc1(),
            neg2=NEG2,
            abs2=ABS2,
            src2=lsrc2(),
        )
        for sub, name in ((4, "max"), (5, "min"))
    ],
    ref=Ref("001", "Opcode map: max f32, min f32"),
    see=_SEE,
)
def min_max_f32(minimum, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """The smaller (min) or larger (max) of two f32 numbers; -0 counts as smaller than +0.

    A NaN loses against a number; two NaNs give 0x7fffffff.
    """
    a, b = modified(src1, neg1, abs1), modified(src2, neg2, abs2)
    result = f32.f32_min(a, b) if minimum else f32.f32_max(a, b)
    _finish(result, dst, cdst)


@tesla.insn(
    [
        long(
            "slct b32 {cdst} {dst} {src1} {src2} f32 {neg} {src3}",
            {Long.op: 0xC, w1(30, 31): 1},
            cdst=MCDST,
            dst=LDST,
            src1=lsrc1(),
            src2=lsrc2(),
            neg=Flag(w1(29), "neg"),
            src3=lsrc3(),
        )
    ],
    ref=Ref("000", f"{_TBD}: slct"),
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

_QUAD_OPS = {0: "add", 1: "subr", 2: "sub", 3: "mov2"}
_SUBR, _SUB, _MOV2 = 1, 2, 3
_BY_POSITION = bits(18)


def _quad_op(f: Field) -> UniformEnum:
    return UniformEnum(f, _QUAD_OPS)


@tesla.insn(
    [
        long(
            "quadop f32 {op0} {op1} {op2} {op3} {cdst} {dst} {lane} {src1} {src2} {fragment}",
            {Long.op: 0xC, Long.sub: 4},
            op0=_quad_op(w1(26, 27)),
            op1=_quad_op(w1(24, 25)),
            op2=_quad_op(w1(22, 23)),
            op3=_quad_op(bits(20, 21)),
            cdst=MCDST,
            dst=LDST,
            lane=choice(
                when(
                    {_BY_POSITION: 0},
                    Enum(bits(16, 17), {n: f"l{n}" for n in range(4)}, {n: ("lane", n) for n in range(4)}),
                ),
                when({_BY_POSITION: 1}, Enum(bits(16), {0: "dx", 1: "dy"}, {0: ("xor", 1), 1: ("xor", 2)})),
            ),
            src1=gpr(Long.src1, 32),
            src2=gpr(Long.src3, 32),
            fragment=choice(when({}, Nothing(True), needs="fragment"), when({}, Nothing(False))),
        )
    ],
    ref=Ref("000", f"{_TBD}: quadop"),
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


__all__ = ["ABS1", "NEG1", "SAT_NAN_RULE", "UniformEnum", "modified", "saturated"]
