"""Conversions between integers of 8 to 32 bits, f16 and f32.

Source: [000] "5. TBD: cvt"; encodings, order of the modifiers and hardware faults in [tesla] 5.5 and 5.9. The
conversions with a 64-bit side are in `float64`.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.arch.tesla.float32 import NO_SAT_NAN, SAT_NAN_RULE
from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import result_flags
from isakit.arch.tesla.requests import MP_FLAG
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, select
from isakit.sem.fp import convert, f32
from isakit.spec import Literal, Ref, cases, words

# The letters of all conversions: n negate, a absolute, w wide and s signed destination, b a byte destination or
# saturation, r rounding, f a wide source, t a signed one, u a byte. The first two bits of word 1 are the class: i2i,
# i2f, f2i, f2f. Bit l selects the fp64 class; chips without fp64 ignore it.
_CHIPS = """
    L  chips
    l  needs fp64 | unless l=1
    .  needs !fp64
"""
MODES = ("rn", "rm", "rp", "rz")
ROUNDING = words(*MODES, on="r")
TO_INTEGRAL = words(*(f"{m}i" for m in MODES), values=MODES, on="r")

REF = Ref("000", "5. TBD: cvt")
SEE = [Ref("tesla", "5.5")]

_cvt = forms.knowing(
    float=words("f16", "f32"),
    integer=cases({"f=0": words("u16", "u8", "s16", "s8", on="tu"), "f=1": words("u32", "u8", "s32", "s8", on="tu")}),
    integer_of_type=cases({"f=0 t=0 u=0": "only1:u16", "f=0 t=1 u=0": "only1:s16", "f=0 u=1": "only1:b8",
                           "f=1 u=0": "only1:b32", "f=1 u=1": "r1"}),
)  # fmt: skip


# --- integer to integer -----------------------------------------------------------------------------------------------


@tesla.insn(
    _cvt(
        """
        long  cvt {neg:n} {abs:a} {to} {cdst} {dst=result} {source=integer} {src=integer_of_type}
              1010 .... . ....... ....... ....... ..  00n .sw .... . ab..tuf .. ..... .......
        """,
        to=cases(
            {
                "w=0": words("u16", "s16", "u8", "s8", values=[(t, 16) for t in ("u16", "s16", "u8", "s8")], on="bs"),
                "w=1": words("u32", "s32", "u8", "s8", values=[(t, 32) for t in ("u32", "s32", "u8", "s8")], on="bs"),
            }
        ),
        result=cases({"w=0 b=0": "dst:b16", "w=0 b=1": "half", "w=1": "dst:b32"}),
    ),
    ref=REF,
    status="known",
    see=SEE,
    notes=["a byte that is extended to 16 bits and discarded or sent to o[] prints #h and oh[], as no register tells"],
)
def cvt_i2i(neg, abs, to, dst, source, src, cdst=None):
    """Convert integers: absolute value, negation, then clamping to the range of the destination type.

    All exact: only the clamp can change the number. 8-bit results are extended to the 16- or 32-bit destination by
    their own signedness. Z and S of $c describe the whole destination register.
    """
    kind, register = to  # the type, and the width of the register it is extended to
    result = convert.i2i(src.read(), source=source, to=kind, register=register, absolute=abs, negate=neg)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


# --- integer to float -------------------------------------------------------------------------------------------------


def float_flags(result: Value) -> Value:
    """$c of an f16 or f32 result."""
    return f32.f32_flags(result) if result.width == 32 else convert.f16_flags(result)


@tesla.insn(
    _cvt(
        """
        long  cvt {neg:n} {abs:a} {sat:b} {rounding} {to=float:w} {cdst} {dst:w} {source=integer} {src=integer_of_type}
              1010 .... . ....... ....... ....... ..  01n ..w ...L . abrrtuf .. ..... .......  | <chips>
        """,
        _CHIPS,
        rounding=ROUNDING,
    ),
    ref=REF,
    status="known",
    see=[*SEE, Ref("tesla", "5.9")],
    notes=["to f16 the hardware drops high bits of large numbers; the fault is reproduced. [tesla] 5.9"],
)
def cvt_i2f(neg, abs, sat, rounding, to, dst, source, src, cdst=None):
    """Convert an integer to f16 or f32: absolute value, negation, rounding; `sat` clamps to 0 .. 1."""
    result = convert.i2f(src.read(), source=source, to=to, rounding=rounding, absolute=abs, negate=neg, saturate=sat)
    dst.write(result)
    if cdst:
        cdst.write(float_flags(result))


# --- float to integer -------------------------------------------------------------------------------------------------


@tesla.insn(
    _cvt(
        """
        long  cvt {neg:n} {abs:a} {rounding} {to=type:sw} {cdst} {dst:w} {source=float:f} {src=only1:f}
              1010 .... . ....... ....... ....... ..  10n .sw ...L . a.rr..f .. ..... .......  | <chips>
        """,
        _CHIPS,
        rounding=TO_INTEGRAL,
    ),
    ref=REF,
    status="known",
    see=SEE,
    notes=["there is no conversion to 8 bits: the hardware ignores w1.19 here"],
)
def cvt_f2i(neg, abs, rounding, to, dst, source, src, cdst=None):
    """Convert f16 or f32 to an integer: round as the modifier says, clamp to the range of the type; NaN gives 0."""
    result = convert.f2i(src.read(), source=source, to=to, rounding=rounding, absolute=abs, negate=neg)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


# --- float to float ---------------------------------------------------------------------------------------------------

ROUNDED = words(*MODES, values=[(m, False) for m in MODES], on="r")
ROUNDED_TO_INTEGRAL = words(*(f"{m}i" for m in MODES), values=[(m, True) for m in MODES], on="r")
"""Bound to (rounding, whether to an integral value). In this class the bit s asks for an integral value."""


def saturating(make: Callable[[bool], Value], sat: bool, rule: int) -> Value:
    """Return a conversion that obeys the SAT_NAN flag; `make(nan_to_zero)` builds it.

    The G200 fault does not affect conversions.
    """
    if not sat or rule == NO_SAT_NAN:
        return make(False)
    return select(MP_FLAG(name="sat_nan"), make(True), make(False))


@tesla.insn(
    _cvt(
        """
        long  cvt {neg:n} {abs:a} {sat:b} {rounding} {to=float:w} {cdst} {dst:w} {source=float:f} {src=only1:f} {rule}
              1010 .... . ....... ....... ....... ..  11n .sw ...L . abrr..f .. ..... .......  | <chips>
        """,
        _CHIPS,
        # without an integral value the rounding only matters, and is only told, where an f32 becomes an f16
        rounding=cases({"s=1": ROUNDED_TO_INTEGRAL, "s=0 w=0 f=1": ROUNDED, "s=0": Literal("", ("rn", False))}),
        rule=SAT_NAN_RULE,
    ),
    ref=REF,
    status="known",
    see=SEE,
    notes=[
        "saturation comes before the rounding to an integral value. [tesla] 13 no. 9",
        "f16 to f16 rounds nothing unless asked for an integral value",
    ],
)
def cvt_f2f(neg, abs, sat, rounding, to, dst, source, src, rule, cdst=None):
    """Convert between f16 and f32, or round to an integral value (rni, rmi, rpi, rzi).

    Absolute value, negation, flush of f32 denormals, `sat` to 0 .. 1, integral rounding, then rounding to f16.
    """
    x, (mode, integral) = src.read(), rounding
    result = saturating(
        lambda nan_to_zero: convert.f2f(
            x,
            source=source,
            to=to,
            rounding=mode,
            integral=integral,
            saturate=sat,
            nan_to_zero=nan_to_zero,
            absolute=abs,
            negate=neg,
        ),
        sat,
        rule,
    )
    dst.write(result)
    if cdst:
        cdst.write(float_flags(result))
