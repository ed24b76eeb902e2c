"""Conversions between integers of 8 to 32 bits, f16 and f32.

Source: [000] "5. TBD: cvt"; encodings, order of the modifiers and hardware faults in [tesla] 5.5 and 5.9. The
conversions with a 64-bit side are in `float64`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.float32 import NO_SAT_NAN, SAT_NAN_RULE
from isakit.arch.tesla.forms import Long, long
from isakit.arch.tesla.operands import LDST, LHDST, LHDST_UNTYPED, MCDST, gpr, lsrc1, result_flags
from isakit.arch.tesla.requests import MP_FLAG
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, select
from isakit.sem.fp import convert, f32
from isakit.spec import Enum, Flag, Literal, Ref, choice, when

CLASS = w1(30, 31)
"""i2i 0, i2f 1, f2i 2, f2f 3; bit 29 below it is the negation."""
LARGE = w1(22)
"""The fp64 class; chips without fp64 ignore it."""
WIDE, SIGNED, BYTE = Long.m1, Long.m2, w1(19)
SOURCE_WIDE, SOURCE_TYPE = w1(14), w1(15, 16)

NEG, ABS, SAT = Flag(w1(29), "neg"), Flag(w1(20), "abs"), Flag(BYTE, "sat")
_MODES = {0: "rn", 1: "rm", 2: "rp", 3: "rz"}
ROUNDING = Enum(w1(17, 18), _MODES)
TO_INTEGRAL = Enum(w1(17, 18), {n: f"{m}i" for n, m in _MODES.items()}, _MODES)
DESTINATION = choice(when({WIDE: 0}, LHDST), when({WIDE: 1}, LDST))

REF = Ref("000", "5. TBD: cvt")
SEE = [Ref("tesla", "5.5")]


def plain(syntax: str, kind: int, **parts: Any) -> list[Any]:
    """The forms of a class without a 64-bit side; its selector must be 0 where fp64 exists, elsewhere it is ignored."""
    fixed = {Long.op: 0xA, CLASS: kind}
    return [
        long(syntax, fixed, needs="fp64", unless=[{LARGE: 1}], **parts),
        long(syntax, fixed, needs="!fp64", **parts),
    ]


# --- types ------------------------------------------------------------------------------------------------------------

INTEGER_SOURCE = choice(
    when({SOURCE_WIDE: 0}, Enum(SOURCE_TYPE, {0: "u16", 1: "u8", 2: "s16", 3: "s8"})),
    when({SOURCE_WIDE: 1}, Enum(SOURCE_TYPE, {0: "u32", 1: "u8", 2: "s32", 3: "s8"})),
)
INTEGER_OPERAND = choice(
    when({SOURCE_WIDE: 0, SOURCE_TYPE: 0}, lsrc1(16, "u", strict=False)),
    when({SOURCE_WIDE: 0, SOURCE_TYPE: 2}, lsrc1(16, "s", strict=False)),
    when({SOURCE_WIDE: 0, w1(15): 1}, lsrc1(16, "8", strict=False)),
    when({SOURCE_WIDE: 1, w1(15): 0}, lsrc1(32, strict=False)),
    when({SOURCE_WIDE: 1, w1(15): 1}, gpr(Long.src1, 32)),
)
FLOAT_SOURCE = Enum(SOURCE_WIDE, {0: "f16", 1: "f32"})
FLOAT_OPERAND = choice(when({SOURCE_WIDE: 0}, lsrc1(16, strict=False)), when({SOURCE_WIDE: 1}, lsrc1(32, strict=False)))
_INTEGER_DESTINATION = choice(
    when({WIDE: 0}, Enum(SIGNED + BYTE, {0: "u16", 1: "s16", 2: "u8", 3: "s8"},
                         {0: ("u16", 16), 1: ("s16", 16), 2: ("u8", 16), 3: ("s8", 16)})),
    when({WIDE: 1}, Enum(SIGNED + BYTE, {0: "u32", 1: "s32", 2: "u8", 3: "s8"},
                         {0: ("u32", 32), 1: ("s32", 32), 2: ("u8", 32), 3: ("s8", 32)})),
)  # fmt: skip
"""Bound to the type and the width of the register it is extended to."""
_BYTE_OR_MORE = choice(when({WIDE: 0, BYTE: 0}, LHDST), when({WIDE: 0, BYTE: 1}, LHDST_UNTYPED), when({WIDE: 1}, LDST))


# --- integer to integer -----------------------------------------------------------------------------------------------


@tesla.insn(
    [
        long(
            "cvt {neg} {abs} {to} {cdst} {dst} {source} {src}",
            {Long.op: 0xA, CLASS: 0},
            neg=NEG,
            abs=ABS,
            to=_INTEGER_DESTINATION,
            cdst=MCDST,
            dst=_BYTE_OR_MORE,
            source=INTEGER_SOURCE,
            src=INTEGER_OPERAND,
        )
    ],
    ref=REF,
    see=SEE,
    notes=["a byte that is extended to 16 bits and discarded or sent to o[] prints #h and oh[], as no register tells"],
)
def cvt_i2i(neg, abs, to, dst, source, src, cdst=None):
    """Convert integers: absolute value, negation, then clamping to the range of the destination type.

    All exact: only the clamp can change the number. 8-bit results are extended to the 16- or 32-bit destination by
    their own signedness. Z and S of $c describe the whole destination register.
    """
    kind, register = to
    result = convert.i2i(src.read(), source=source, to=kind, register=register, absolute=abs, negate=neg)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


# --- integer to float -------------------------------------------------------------------------------------------------

_FLOAT_DESTINATION = Enum(WIDE, {0: "f16", 1: "f32"})


def float_flags(result: Value) -> Value:
    """$c of an f16 or f32 result."""
    return f32.f32_flags(result) if result.width == 32 else convert.f16_flags(result)


@tesla.insn(
    plain(
        "cvt {neg} {abs} {sat} {rounding} {to} {cdst} {dst} {source} {src}",
        1,
        neg=NEG,
        abs=ABS,
        sat=SAT,
        rounding=ROUNDING,
        to=_FLOAT_DESTINATION,
        cdst=MCDST,
        dst=DESTINATION,
        source=INTEGER_SOURCE,
        src=INTEGER_OPERAND,
    ),
    ref=REF,
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
    plain(
        "cvt {neg} {abs} {rounding} {to} {cdst} {dst} {source} {src}",
        2,
        neg=NEG,
        abs=ABS,
        rounding=TO_INTEGRAL,
        to=Enum(WIDE + SIGNED, {0: "u16", 1: "u32", 2: "s16", 3: "s32"}),
        cdst=MCDST,
        dst=DESTINATION,
        source=FLOAT_SOURCE,
        src=FLOAT_OPERAND,
    ),
    ref=REF,
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

INTEGRAL = SIGNED
"""In the float to float class this bit asks for an integral value."""
# (rounding, integral): bound as a pair. Without an integral value the rounding only matters, and is only told, where an
# f32 becomes an f16.
_FLOAT_ROUNDING = choice(
    when({INTEGRAL: 1}, Enum(w1(17, 18), {n: f"{m}i" for n, m in _MODES.items()},
                             {n: (m, True) for n, m in _MODES.items()})),
    when({INTEGRAL: 0, WIDE: 0, SOURCE_WIDE: 1}, Enum(w1(17, 18), _MODES, {n: (m, False) for n, m in _MODES.items()})),
    when({INTEGRAL: 0}, Literal("", ("rn", False))),
)  # fmt: skip


def saturating(make: Callable[[bool], Value], sat: bool, rule: int) -> Value:
    """A conversion under the SAT_NAN flag; `make(nan_to_zero)` builds it. The G200 fault does not show here."""
    if not sat or rule == NO_SAT_NAN:
        return make(False)
    return select(MP_FLAG(name="sat_nan"), make(True), make(False))


@tesla.insn(
    plain(
        "cvt {neg} {abs} {sat} {rounding} {to} {cdst} {dst} {source} {src} {rule}",
        3,
        neg=NEG,
        abs=ABS,
        sat=SAT,
        rounding=_FLOAT_ROUNDING,
        to=_FLOAT_DESTINATION,
        cdst=MCDST,
        dst=DESTINATION,
        source=FLOAT_SOURCE,
        src=FLOAT_OPERAND,
        rule=SAT_NAN_RULE,
    ),
    ref=REF,
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
