"""Double precision (G200): fma, add, mul, min, max, set, and the conversions with a 64-bit side.

Operands are register pairs only. IEEE with denormals: nothing is flushed, NaNs are quieted and keep their payload.
Source: [000] "5. TBD"; encodings and rules in [tesla] 5.6 and 5.7.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla import convert as single
from isakit.arch.tesla.convert import ABS, CLASS, LARGE, NEG, SAT, SIGNED, SOURCE_WIDE, WIDE
from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.float32 import ABS1, ABS2, FLOAT_CONDITIONS, NEG1, NEG2, SAT_NAN_RULE
from isakit.arch.tesla.forms import Long, long
from isakit.arch.tesla.operands import LDST, MCDST, flags, gpr, lsrc1, result_flags
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value
from isakit.sem.fp import convert, convert64, f32, f64
from isakit.spec import Enum, Field, Literal, Ref, bits, choice, when

_SEE = [Ref("tesla", "5.7")]
DST, SRC1, SRC2, SRC3 = (gpr(f, 64) for f in (Long.dst, Long.src1, Long.src2, Long.src3))
MODES = {0: "rn", 1: "rm", 2: "rp", 3: "rz"}


def _arithmetic(syntax: str, sub: int, rounding: Field, **parts: Any) -> list[Any]:
    return [long(syntax, {Long.op: 0xE, Long.sub: sub}, needs="fp64", rounding=Enum(rounding, MODES), cdst=MCDST,
                 dst=DST, neg1=NEG1, src1=SRC1, **parts)]  # fmt: skip


def modified(source: Any, negate: bool, take_absolute: bool = False) -> Value:
    """An f64 operand with its modifiers, absolute value first; a NaN stays as it is."""
    return f64.f64_modified(source.read(), absolute_if=take_absolute, negate_if=negate)


def _finish(result: Value, dst: Any, cdst: Any) -> None:
    dst.write(result)
    if cdst:
        cdst.write(f64.f64_flags(result))


@tesla.insn(
    _arithmetic(
        "fma {rounding} f64 {cdst} {dst} {neg1} {src1} {src2} {neg3} {src3}",
        2,
        w1(22, 23),
        src2=SRC2,
        neg3=NEG2,
        src3=SRC3,
    ),
    ref=Ref("000", "5. TBD: fma f64"),
    see=_SEE,
)
def fma_f64(rounding, dst, neg1, src1, src2, neg3, src3, cdst=None):
    """Fused multiply-add: DST = SRC1 * SRC2 + SRC3, rounded once. Of several NaNs SRC2 wins, then SRC3, then SRC1."""
    result = f64.f64_fma(modified(src1, neg1), src2.read(), modified(src3, neg3), rounding=rounding)
    _finish(result, dst, cdst)


@tesla.insn(
    _arithmetic("add {rounding} f64 {cdst} {dst} {neg1} {src1} {neg2} {src2}", 3, bits(16, 17), neg2=NEG2, src2=SRC3),
    ref=Ref("001", "Opcode map: add f64"),
    see=_SEE,
)
def add_f64(rounding, dst, neg1, src1, neg2, src2, cdst=None):
    """Add f64 numbers: DST = SRC1 + SRC2; an exactly zero sum is -0 in rm. Of two NaNs the second operand wins."""
    _finish(f64.f64_add(modified(src1, neg1), modified(src2, neg2), rounding=rounding), dst, cdst)


@tesla.insn(
    _arithmetic("mul {rounding} f64 {cdst} {dst} {neg1} {src1} {src2}", 4, w1(17, 18), src2=SRC2),
    ref=Ref("001", "Opcode map: mul f64"),
    see=_SEE,
    notes=["w1.27 is ignored, so only the first operand can be negated. [tesla] 13 no. 10"],
)
def mul_f64(rounding, dst, neg1, src1, src2, cdst=None):
    """Multiply f64 numbers: DST = SRC1 * SRC2."""
    _finish(f64.f64_mul(modified(src1, neg1), src2.read(), rounding=rounding), dst, cdst)


@tesla.insn(
    [
        long(
            f"{name} f64 {{cdst}} {{dst}} {{neg1}} {{abs1}} {{src1}} {{neg2}} {{abs2}} {{src2}}",
            {Long.op: 0xE, Long.sub: sub},
            needs="fp64",
            minimum=name == "min",
            cdst=MCDST,
            dst=DST,
            neg1=NEG1,
            abs1=ABS1,
            src1=SRC1,
            neg2=NEG2,
            abs2=ABS2,
            src2=SRC2,
        )
        for sub, name in ((5, "min"), (6, "max"))
    ],
    ref=Ref("001", "Opcode map: min f64, max f64"),
    see=_SEE,
)
def min_max_f64(minimum, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """The smaller (min) or larger (max) of two f64 numbers; -0 counts as smaller than +0.

    A NaN loses against a number; of two NaNs SRC2 wins, without its modifiers.
    """
    a, b = modified(src1, neg1, abs1), modified(src2, neg2, abs2)
    _finish(f64.f64_min(a, b) if minimum else f64.f64_max(a, b), dst, cdst)


@tesla.insn(
    [
        long(
            "set {cdst} {dst} {cond} f64 {neg1} {abs1} {src1} {neg2} {abs2} {src2}",
            {Long.op: 0xE, Long.sub: 7},
            needs="fp64",
            cdst=MCDST,
            dst=LDST,
            cond=FLOAT_CONDITIONS,
            neg1=NEG1,
            abs1=ABS1,
            src1=SRC1,
            neg2=NEG2,
            abs2=ABS2,
            src2=SRC2,
        )
    ],
    ref=Ref("001", "Opcode map: set f64"),
    see=_SEE,
)
def set_f64(cond, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """Compare f64 numbers: the 32-bit DST = all ones where the condition holds, else 0; $c as in the f32 comparison."""
    true = f32.holds(f64.f64_compare(modified(src1, neg1, abs1), modified(src2, neg2, abs2)), cond)
    dst.write(true.sext(32))
    if cdst:
        cdst.write(f32.set_flags(true))


# --- conversions ------------------------------------------------------------------------------------------------------

_CVT = [Ref("tesla", "5.6")]
_NARROW = {WIDE: 0, SOURCE_WIDE: 0}
_DESTINATION = choice(when({WIDE: 0}, LDST), when({WIDE: 1}, DST))
_OPERAND = choice(when({SOURCE_WIDE: 0}, lsrc1(32, strict=False)), when({SOURCE_WIDE: 1}, SRC1))
_FLOAT = {0: "f32", 1: "f64"}


def _large(syntax: str, kind: int, **parts: Any) -> list[Any]:
    """The form of a conversion class with a 64-bit side; one of the two selectors must be set."""
    fixed = {Long.op: 0xA, CLASS: kind, LARGE: 1}
    return [long(syntax, fixed, needs="fp64", unless=[_NARROW], neg=NEG, abs=ABS, cdst=MCDST, dst=_DESTINATION,
                 src=_OPERAND, **parts)]  # fmt: skip


def _float_flags(result: Value) -> Value:
    """$c of an f32 or f64 result; a denormal is not zero here."""
    return f64.f64_flags(result if result.width == 64 else convert64.f2f64(result, source="f32", to="f64"))


@tesla.insn(
    _large(
        "cvt {neg} {abs} {rounding} {to} {cdst} {dst} {source} {src}",
        1,
        rounding=single.ROUNDING,
        to=Enum(WIDE, _FLOAT),
        source=Enum(SOURCE_WIDE + w1(16), {0: "u32", 1: "u64", 2: "s32", 3: "s64"}),
    ),
    ref=single.REF,
    see=_CVT,
    notes=[
        "the saturation bit w1.19 is ignored",
        "the rounding of an unsigned source is not mirrored by the negation: as the checked models do. "
        "[tesla] 13 no. 18",
    ],
)
def cvt_i2f64(neg, abs, rounding, to, dst, source, src, cdst=None):
    """Convert a 32- or 64-bit integer to f64, or a 64-bit integer to f32."""
    result = convert64.i2f64(src.read(), source=source, to=to, rounding=rounding, absolute=abs, negate=neg)
    dst.write(result)
    if cdst:
        cdst.write(_float_flags(result))


@tesla.insn(
    _large(
        "cvt {neg} {abs} {rounding} {to} {cdst} {dst} {source} {src}",
        2,
        rounding=single.TO_INTEGRAL,
        to=Enum(WIDE + SIGNED, {0: "u32", 1: "u64", 2: "s32", 3: "s64"}),
        source=Enum(SOURCE_WIDE, _FLOAT),
    ),
    ref=single.REF,
    see=_CVT,
    notes=["whether O is set for a magnitude of exactly 0xffffffff is uncertain; it is not set. [tesla] 14"],
)
def cvt_f2i64(neg, abs, rounding, to, dst, source, src, cdst=None):
    """Convert f64 to a 32- or 64-bit integer, or f32 to a 64-bit integer: rounded, then clamped.

    NaN gives the top bit alone. O tells that the number did not fit, but not for one too large for u64.
    """
    x, statics = src.read(), {"source": source, "to": to, "rounding": rounding, "absolute": abs, "negate": neg}
    result = convert64.f2i64(x, **statics)
    dst.write(result)
    if cdst:
        cdst.write(flags(result.is_zero, result.sign, o=convert64.f2i64_overflow(x, **statics)))


# f64 to f64 rounds only to integral values, f64 to f32 always, f32 to f64 never: other bits are not told.
_ROUNDING = choice(
    when({WIDE: 1, SOURCE_WIDE: 1, SIGNED: 1},
         Enum(w1(17, 18), {n: f"{m}i" for n, m in MODES.items()}, {n: (m, True) for n, m in MODES.items()})),
    when({WIDE: 1, SOURCE_WIDE: 1, SIGNED: 0}, Literal("", ("rn", False))),
    when({WIDE: 0}, Enum(w1(17, 18), MODES, {n: (m, False) for n, m in MODES.items()})),
    when({WIDE: 1, SOURCE_WIDE: 0}, Literal("", ("rn", False))),
)  # fmt: skip


@tesla.insn(
    _large(
        "cvt {neg} {abs} {rounding} {to} {cdst} {dst} {source} {src}",
        3,
        rounding=_ROUNDING,
        to=Enum(WIDE, _FLOAT),
        source=Enum(SOURCE_WIDE, _FLOAT),
    ),
    ref=single.REF,
    see=_CVT,
)
def cvt_f2f64(neg, abs, rounding, to, dst, source, src, cdst=None):
    """Convert between f32 and f64, or round an f64 to an integral value. Denormals are kept on both sides.

    A NaN is quieted and keeps what fits of its payload; the modifiers do not touch it.
    """
    mode, integral = rounding
    result = convert64.f2f64(src.read(), source=source, to=to, rounding=mode, integral=integral, absolute=abs,
                             negate=neg)  # fmt: skip
    dst.write(result)
    if cdst:
        cdst.write(_float_flags(result))


# --- the fp64 class without a 64-bit side -----------------------------------------------------------------------------


def _mixed(syntax: str, kind: int, **parts: Any) -> list[Any]:
    fixed = {Long.op: 0xA, CLASS: kind, LARGE: 1} | _NARROW
    return [long(syntax, fixed, needs="fp64", neg=NEG, abs=ABS, cdst=MCDST, dst=LDST, src=gpr(Long.src1, 32), **parts)]


_MIXED_NOTES = ["no compiler uses these words; only the low half of the result is known, the high half is written as 0"]


@tesla.insn(
    _mixed(
        "cvt {neg} {abs} {sat} {rounding} f16 b32 {cdst} {dst} {source} {src}",
        1,
        sat=SAT,
        rounding=single.ROUNDING,
        source=Enum(w1(15, 16), {0: "u32", 1: "u8", 2: "s32", 3: "s8"}),
    ),
    ref=single.REF,
    see=_CVT,
    notes=_MIXED_NOTES,
)
def cvt_i2f_mixed(neg, abs, sat, rounding, dst, source, src, cdst=None):
    """Convert an integer to f16 in a full register: what the fp64 class does without a 64-bit operand."""
    result = convert.i2f(src.read(), source=source, to="f16", rounding=rounding, absolute=abs, negate=neg,
                         saturate=sat)  # fmt: skip
    dst.write(result.zext(32))
    if cdst:
        cdst.write(convert.f16_flags(result))


@tesla.insn(
    _mixed(
        "cvt {neg} {abs} {rounding} {to} b32 {cdst} {dst} f32 {src}",
        2,
        rounding=single.TO_INTEGRAL,
        to=Enum(SIGNED, {0: "u16", 1: "s16"}),
    ),
    ref=single.REF,
    see=_CVT,
    notes=_MIXED_NOTES,
)
def cvt_f2i_mixed(neg, abs, rounding, to, dst, src, cdst=None):
    """Convert an f32 to a 16-bit integer in a full register: the fp64 class without a 64-bit operand."""
    result = convert.f2i(src.read(), source="f32", to=to, rounding=rounding, absolute=abs, negate=neg)
    dst.write(result.zext(32))
    if cdst:
        cdst.write(result_flags(result))


@tesla.insn(
    _mixed(
        "cvt {neg} {abs} {sat} {rounding} f16 b32 {cdst} {dst} f32 {src} {rule}",
        3,
        sat=SAT,
        rounding=choice(
            when(
                {SIGNED: 1},
                Enum(w1(17, 18), {n: f"{m}i" for n, m in MODES.items()}, {n: (m, True) for n, m in MODES.items()}),
            ),
            when({SIGNED: 0}, Enum(w1(17, 18), MODES, {n: (m, False) for n, m in MODES.items()})),
        ),
        rule=SAT_NAN_RULE,
    ),
    ref=single.REF,
    see=_CVT,
    notes=_MIXED_NOTES,
)
def cvt_f2f_mixed(neg, abs, sat, rounding, dst, src, rule, cdst=None):
    """Convert an f32 to f16 in a full register: the fp64 class without a 64-bit operand."""
    x, (mode, integral) = src.read(), rounding
    result = single.saturating(
        lambda nan_to_zero: convert.f2f(x, source="f32", to="f16", rounding=mode, integral=integral, saturate=sat,
                                        nan_to_zero=nan_to_zero, absolute=abs, negate=neg), sat, rule)  # fmt: skip
    dst.write(result.zext(32))
    if cdst:
        cdst.write(convert.f16_flags(result))
