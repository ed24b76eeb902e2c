"""Tesla conversions between 8- to 32-bit integers, f16 and f32 ([tesla] 5.5, 5.9).

Every operation takes the source as a raw register value at least as wide as the source type and returns the value for
the destination register. `absolute` is applied before `negate`.
"""

from __future__ import annotations

from typing import Literal

from isakit.sem.fp import core
from isakit.sem.fp.core import (
    F16,
    F32,
    FloatFormat,
    Parts,
    Rounding,
    integral_part,
    is_nan,
    negated,
    round_pack,
    round_up,
    shift_right_sticky,
    signed_zero,
    unpack,
    with_sign,
)
from isakit.sem.fp.f32 import NAN, f32_flush, f32_saturate
from isakit.sem.operation import operation
from isakit.sem.value import Value, concat, const, mask, select, u1

Integer = Literal["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
Small = Literal["f16", "f32"]
F16_NAN = 0x7FFF
# Stored f32 exponents up to here give an f16 zero in every rounding mode.
_F16_VANISHES = 0x5D


def integer_width(kind: Integer) -> int:
    """Bits of an integer type."""
    return int(kind[1:])


def extend(x: Value, kind: Integer, width: int) -> Value:
    """The low bits of a register read as an integer of that type."""
    low = x.trunc(integer_width(kind))
    return low.sext(width) if kind[0] == "s" else low.zext(width)


@operation
def i2i(
    x: Value, *, source: Integer, to: Integer, register: int = 32, absolute: bool = False, negate: bool = False
) -> Value:
    """Integer to integer with clamping ([tesla] 5.5).

    Value of the source type, absolute value, negation, all exact, then clamped to the range of `to` (a negative value
    becomes 0 in an unsigned type) and extended to the `register` width by the signedness of `to`.
    """
    v = extend(x, source, 64)
    if absolute:
        v = select(v.sign, -v, v)
    if negate:
        v = -v
    width = integer_width(to)
    low, high = (-(1 << (width - 1)), mask(width - 1)) if to[0] == "s" else (0, mask(width))
    v = select(v.slt(low), low, select(v.sgt(high), high, v))
    return v.trunc(register)


def int_magnitude(x: Value, source: Integer, width: int) -> tuple[Value, Value]:
    """The sign of the source integer (1: negative), and its absolute value."""
    v = extend(x, source, width)
    if source[0] == "u":
        return u1(0), v
    return v.sign, select(v.sign, -v, v)


@operation
def i2f(
    x: Value,
    *,
    source: Integer,
    to: Small = "f32",
    rounding: Rounding = "rn",
    absolute: bool = False,
    negate: bool = False,
    saturate: bool = False,
) -> Value:
    """Integer (8 to 32 bits) to f32 or, with the hardware's faults, f16 ([tesla] 5.5, 5.9).

    To f32: the exact value rounded in the mode, saturated to [0, 1] if asked; zero is +0, or -0 with `negate`.

    To f16, m being the magnitude: (1) where the mode rounds magnitudes up or to nearest and bits 29..5 of m are all
    ones, m = 0; (2) n = 2 plus the leading zeros of the low 16 bits of m (of m - 1 if the source was negative), at most
    7; (3) the top n bits of the 32-bit m are cleared; (4) m becomes an f32 in the mode, is saturated, and becomes an
    f16 in the mode. So integers from 2**30 (or less) up lose their top bits.
    """
    negative, m = int_magnitude(x, source, 32)
    sign = u1(0) if absolute else negative
    if negate:
        sign = ~sign
    if to == "f16":
        lost = m.bits(5, 25) == mask(25)
        away = {"rn": u1(1), "rp": ~sign, "rm": sign, "rz": u1(0)}[rounding]
        m = select(lost & away, 0, m)
        zeros = (m.trunc(16) - negative.zext(16)).clz
        m = m & (const(mask(30), 32) >> select(zeros.ult(5), zeros, 5))
    single = round_pack(sign, const(F32.bias + 31, 32), m, F32, rounding)
    if saturate:
        single = f32_saturate.definition(single)
    return f32_to_f16(single, rounding) if to == "f16" else single


def f32_to_f16(v: Value, rounding: Rounding, overflow: Rounding | None = None) -> Value:
    """A flushed f32 to f16 ([tesla] 5.5).

    Rounded in the mode with denormal results, except that magnitudes below 2**-33 give a signed zero in every mode. Too
    large gives infinity, or 0x7bff with the sign where the mode points to zero. NaN gives 0x7fff.
    """
    x = unpack(v, F32, flushing=True)
    result = round_pack(
        x.sign, x.exponent - (F32.bias - F16.bias), x.significand << 8, F16, rounding, "gradual", overflow
    )
    result = select(x.exponent.ule(_F16_VANISHES), signed_zero(x.sign, F16), result)
    result = select(x.infinite, with_sign(x.sign, const(F16.infinity, 16)), result)
    return select(x.nan, F16_NAN, result)


def f16_to_f32(v: Value) -> Value:
    """Exact, denormals included; NaN gives 0x7fffffff ([tesla] 5.5)."""
    x = unpack(v, F16)
    exponent = x.exponent + (F32.bias - F16.bias)
    result = round_pack(x.sign, exponent, x.significand << 21, F32, "rz")
    result = select(x.infinite, with_sign(x.sign, const(F32.infinity, 32)), result)
    return select(x.nan, NAN, result)


def load_f32(x: Value, source: Small, absolute: bool, negate: bool) -> Value:
    """Source operand of the f32-class conversions as a flushed f32 with modifiers."""
    v = f16_to_f32(x.trunc(16)) if source == "f16" else x
    if absolute:
        v = core.absolute(v)
    if negate:
        v = negated(v)
    return select(is_nan(v, F32), NAN, v) if source == "f16" else f32_flush.definition(v)


def round_to_integral(v: Value, f: FloatFormat, rounding: Rounding) -> Value:
    """A float rounded to an integral float; the sign of zero is kept, NaN and infinity pass through."""
    x = unpack(v, f)
    whole = integral_part(x, f, rounding)
    result = round_pack(x.sign, const(f.bias + f.work - 1, 32), whole, f, "rz")
    return select(x.exponent.ult(f.bias + f.fraction), result, v)


@operation
def f2f(
    x: Value,
    *,
    source: Small,
    to: Small,
    rounding: Rounding = "rn",
    integral: bool = False,
    saturate: bool = False,
    nan_to_zero: bool = False,
    absolute: bool = False,
    negate: bool = False,
) -> Value:
    """f16 or f32 to f16 or f32 ([tesla] 5.5).

    In this order: an f16 source widened exactly; modifiers; f32 denormals flushed and NaN made canonical; saturation
    to [0, 1] (`nan_to_zero`: the SAT_NAN flag on a chip that obeys it, without the G200 fault); rounding to an
    integral value in the mode; for an f16 destination the rule of `f32_to_f16` in the mode. After an integral rounding
    that last step truncates, but its overflow still follows the mode.
    """
    v = load_f32(x, source, absolute, negate)
    if saturate:
        v = f32_saturate.definition(v, nan_to_zero=nan_to_zero)
    if integral:
        v = round_to_integral(v, F32, rounding)
    if to == "f32":
        return v
    return f32_to_f16(v, "rz", rounding) if integral else f32_to_f16(v, rounding)


def to_integer_magnitude(x: Parts, f: FloatFormat, bits: int, rounding: Rounding) -> tuple[Value, Value]:
    """The rounded magnitude in a value of more than `bits` + 1 bits, and whether it is too large even for that."""
    width = 64 if bits <= 32 else 128
    count = const(f.bias + bits, 32) - x.exponent
    fixed = shift_right_sticky(x.significand.zext(width) << (width - f.precision), count)
    point = width - 1 - bits
    whole = fixed >> point
    return whole + round_up(whole.bit(0), fixed.bits(0, point), x.sign, rounding).zext(width), count.sign


def clamp_integer(x: Parts, magnitude: Value, huge: Value, to: Integer) -> tuple[Value, Value]:
    """The integer nearest to the signed magnitude that `to` can hold, and whether that needed clamping."""
    bits = integer_width(to)
    limits = (1 << (bits - 1), mask(bits - 1)) if to[0] == "s" else (0, mask(bits))
    limit = select(x.sign, const(limits[0], magnitude.width), limits[1])
    clamped = huge | magnitude.ugt(limit)
    m = select(clamped, limit, magnitude).trunc(bits)
    return select(x.sign, -m, m) if to[0] == "s" else m, clamped


@operation
def f2i(
    x: Value, *, source: Small, to: Integer, rounding: Rounding = "rn", absolute: bool = False, negate: bool = False
) -> Value:
    """f16 or f32 to a 16- or 32-bit integer ([tesla] 5.5).

    An f16 source is widened, f32 denormals are flushed; the value with modifiers is rounded to an integer in the mode
    and clamped to the range of `to`; NaN gives 0.
    """
    v = unpack(load_f32(x, source, absolute, negate), F32, flushing=True)
    magnitude, huge = to_integer_magnitude(v, F32, 32, rounding)
    result, _ = clamp_integer(v, magnitude, huge, to)
    return select(v.nan, 0, result)


@operation
def f16_flags(a: Value) -> Value:
    """$c of an f16 result, as of the f32 of equal value: 0 positive, 1 zero, 2 negative, 3 NaN ([tesla] 3)."""
    size = core.absolute(a)
    zero, nan = size.is_zero, size.ugt(F16.infinity)
    return concat(const(0, 2), nan | (a.sign & ~zero), nan | zero)
