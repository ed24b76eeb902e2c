"""Double precision (G200): fma, add, mul, min, max, set, and the conversions with a 64-bit side.

Operands are register pairs only. IEEE with denormals: nothing is flushed, NaNs are quieted and keep their payload.
Source: [000] "5. TBD"; encodings and rules in [tesla] 5.6 and 5.7.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla import convert as single
from isakit.arch.tesla.float32 import FLOAT_CONDITIONS, SAT_NAN_RULE
from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import flags, result_flags
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value
from isakit.sem.fp import convert, convert64, f32, f64
from isakit.spec import Literal, Ref, cases, words

_SEE = [Ref("tesla", "5.7")]
_ROUNDING = words(*single.MODES)


def modified(source: Any, negate: bool, take_absolute: bool = False) -> Value:
    """Return an f64 operand with its modifiers, absolute value first; a NaN stays as it is."""
    return f64.f64_modified(source.read(), absolute_if=take_absolute, negate_if=negate)


def _finish(result: Value, dst: Any, cdst: Any) -> None:
    dst.write(result)
    if cdst:
        cdst.write(f64.f64_flags(result))


@tesla.insn(
    forms(
        """
        long  fma {rounding:r} f64 {cdst} {dst=pd} {neg1=neg:m} {src1=p1} {src2=p2} {neg3=neg:n} {src3=p3}
              1110 .... . ....... ....... ....... ..  010 .nm ..rr . ....... .. ..... .......  | needs fp64
        """,
        rounding=_ROUNDING,
    ),
    ref=Ref("000", "5. TBD: fma f64"),
    status="known",
    see=_SEE,
)
def fma_f64(rounding, dst, neg1, src1, src2, neg3, src3, cdst=None):
    """Fused multiply-add: DST = SRC1 * SRC2 + SRC3, rounded once. Of several NaNs SRC2 wins, then SRC3, then SRC1."""
    result = f64.f64_fma(modified(src1, neg1), src2.read(), modified(src3, neg3), rounding=rounding)
    _finish(result, dst, cdst)


@tesla.insn(
    forms(
        """
        long  add {rounding:r} f64 {cdst} {dst=pd} {neg1=neg:m} {src1=p1} {neg2=neg:n} {src2=p3}
              1110 .... . .....rr ....... ....... ..  011 .nm .... . ....... .. ..... .......  | needs fp64
        """,
        rounding=_ROUNDING,
    ),
    ref=Ref("001", "Opcode map: add f64"),
    status="known",
    see=_SEE,
)
def add_f64(rounding, dst, neg1, src1, neg2, src2, cdst=None):
    """Add f64 numbers: DST = SRC1 + SRC2; an exactly zero sum is -0 in rm. Of two NaNs the second operand wins."""
    _finish(f64.f64_add(modified(src1, neg1), modified(src2, neg2), rounding=rounding), dst, cdst)


@tesla.insn(
    forms(
        """
        long  mul {rounding:r} f64 {cdst} {dst=pd} {neg1=neg:m} {src1=p1} {src2=p2}
              1110 .... . ....... ....... ....... ..  100 ..m .... . ..rr... .. ..... .......  | needs fp64
        """,
        rounding=_ROUNDING,
    ),
    ref=Ref("001", "Opcode map: mul f64"),
    status="known",
    see=_SEE,
    notes=["w1.27 is ignored, so only the first operand can be negated. [tesla] 13 no. 10"],
)
def mul_f64(rounding, dst, neg1, src1, src2, cdst=None):
    """Multiply f64 numbers: DST = SRC1 * SRC2."""
    _finish(f64.f64_mul(modified(src1, neg1), src2.read(), rounding=rounding), dst, cdst)


@tesla.insn(
    forms(
        """
        long  {name} f64 {cdst} {dst=pd} {neg1=neg:m} {abs1=abs:a} {src1=p1} {neg2=neg:n} {abs2=abs:b} {src2=p2}
              1110 .... . ....... ....... ....... ..  101 .nm .... . ab..... .. ..... .......  | needs fp64 | name=min
        long  {name} f64 {cdst} {dst=pd} {neg1=neg:m} {abs1=abs:a} {src1=p1} {neg2=neg:n} {abs2=abs:b} {src2=p2}
              1110 .... . ....... ....... ....... ..  110 .nm .... . ab..... .. ..... .......  | needs fp64 | name=max
        """
    ),
    ref=Ref("001", "Opcode map: min f64, max f64"),
    status="known",
    see=_SEE,
)
def min_max_f64(name, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """Take the smaller (min) or larger (max) of two f64 numbers; -0 counts as smaller than +0.

    A NaN loses against a number; of two NaNs SRC2 wins, without its modifiers.
    """
    a, b = modified(src1, neg1, abs1), modified(src2, neg2, abs2)
    _finish(f64.f64_min(a, b) if name == "min" else f64.f64_max(a, b), dst, cdst)


@tesla.insn(
    forms(
        """
        long  set {cdst} {dst} {cond:c} f64 {neg1=neg:m} {abs1=abs:a} {src1=p1} {neg2=neg:n} {abs2=abs:b} {src2=p2}
              1110 .... . ....... ....... ....... ..  111 .nm .... . ab.cccc .. ..... .......  | needs fp64
        """,
        cond=FLOAT_CONDITIONS,
    ),
    ref=Ref("001", "Opcode map: set f64"),
    status="known",
    see=_SEE,
)
def set_f64(cond, dst, neg1, abs1, src1, neg2, abs2, src2, cdst=None):
    """Compare f64 numbers: the 32-bit DST = all ones where the condition holds, else 0; $c as in the f32 comparison."""
    true = f32.holds(f64.f64_compare(modified(src1, neg1, abs1), modified(src2, neg2, abs2)), cond)
    dst.write(true.sext(32))
    if cdst:
        cdst.write(f32.set_flags(true))


# --- conversions ------------------------------------------------------------------------------------------------------

# The letters are those of `convert`.
_CVT = [Ref("tesla", "5.6")]
_large = forms.knowing(
    float=words("f32", "f64"),
    result=cases({"w=0": "dst:b32", "w=1": "pd"}),
    source_of_size=cases({"f=0": "only1:b32", "f=1": "p1"}),
)


def _float_flags(result: Value) -> Value:
    """$c of an f32 or f64 result; a denormal is not zero here."""
    return f64.f64_flags(result if result.width == 64 else convert64.f2f64(result, source="f32", to="f64"))


@tesla.insn(
    _large(
        """
        long  cvt {neg:n} {abs:a} {rounding} {to=float:w} {cdst} {dst=result} {source:tf} {src=source_of_size}
              1010 .... . ....... ....... ....... ..  01n ..w ...1 . a.rrt.f .. ..... .......
              | needs fp64 | unless w=0 f=0
        """,
        rounding=single.ROUNDING,
        source=words("u32", "u64", "s32", "s64"),
    ),
    ref=single.REF,
    status="known",
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
        """
        long  cvt {neg:n} {abs:a} {rounding} {to:sw} {cdst} {dst=result} {source=float:f} {src=source_of_size}
              1010 .... . ....... ....... ....... ..  10n .sw ...1 . a.rr..f .. ..... .......
              | needs fp64 | unless w=0 f=0
        """,
        rounding=single.TO_INTEGRAL,
        to=words("u32", "u64", "s32", "s64"),
    ),
    ref=single.REF,
    status="known",
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


@tesla.insn(
    _large(
        """
        long  cvt {neg:n} {abs:a} {rounding} {to=float:w} {cdst} {dst=result} {source=float:f} {src=source_of_size}
              1010 .... . ....... ....... ....... ..  11n .sw ...1 . a.rr..f .. ..... .......
              | needs fp64 | unless w=0 f=0
        """,
        # f64 to f64 rounds only to integral values, f64 to f32 always, f32 to f64 never: other bits are not told
        rounding=cases(
            {
                "w=1 f=1 s=1": single.ROUNDED_TO_INTEGRAL,
                "w=1 f=1 s=0": Literal("", ("rn", False)),
                "w=0": single.ROUNDED,
                "w=1 f=0": Literal("", ("rn", False)),
            }
        ),
    ),
    ref=single.REF,
    status="known",
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


_MIXED_NOTES = ["no compiler uses these words; only the low half of the result is known, the high half is written as 0"]


@tesla.insn(
    forms(
        """
        long  cvt {neg:n} {abs:a} {sat:b} {rounding} f16 b32 {cdst} {dst} {source:tu} {src=r1}
              1010 .... . ....... ....... ....... ..  01n ..0 ...1 . abrrtu0 .. ..... .......  | needs fp64
        """,
        rounding=single.ROUNDING,
        source=words("u32", "u8", "s32", "s8"),
    ),
    ref=single.REF,
    status="known",
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
    forms(
        """
        long  cvt {neg:n} {abs:a} {rounding} {to:s} b32 {cdst} {dst} f32 {src=r1}
              1010 .... . ....... ....... ....... ..  10n .s0 ...1 . a.rr..0 .. ..... .......  | needs fp64
        """,
        rounding=single.TO_INTEGRAL,
        to=words("u16", "s16"),
    ),
    ref=single.REF,
    status="known",
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
    forms(
        """
        long  cvt {neg:n} {abs:a} {sat:b} {rounding} f16 b32 {cdst} {dst} f32 {src=r1} {rule}
              1010 .... . ....... ....... ....... ..  11n .s0 ...1 . abrr..0 .. ..... .......  | needs fp64
        """,
        rounding=cases({"s=1": single.ROUNDED_TO_INTEGRAL, "s=0": single.ROUNDED}),
        rule=SAT_NAN_RULE,
    ),
    ref=single.REF,
    status="known",
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
