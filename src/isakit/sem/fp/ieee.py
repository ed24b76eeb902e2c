"""Plain IEEE arithmetic and conversions of f16, f32 and f64, for machines without rules of their own (USSE).

Denormals are kept, results are rounded in the mode, every NaN result is the positive quiet NaN of the format
(0x7e00, 0x7fc00000, 0x7ff8000000000000). `format` names the format of all operands and of the result.
"""

from __future__ import annotations

from typing import Literal

from isakit.sem.fp import arith
from isakit.sem.fp.convert import Integer, clamp_integer, int_magnitude, round_to_integral, to_integer_magnitude
from isakit.sem.fp.core import (
    FORMATS,
    FloatFormat,
    Rounding,
    absolute,
    is_nan,
    normalise,
    round_pack,
    round_up,
    shift_right_sticky,
    signed_zero,
    unpack,
)
from isakit.sem.fp.f32 import compare_magnitudes, order_key
from isakit.sem.operation import operation
from isakit.sem.value import Value, const, select

Name = Literal["f16", "f32", "f64"]


def quiet_nan(f: FloatFormat) -> int:
    """The NaN every operation here returns."""
    return f.infinity | f.quiet


@operation
def ieee_add(a: Value, b: Value, *, format: Name = "f32", rounding: Rounding = "rn") -> Value:
    """a + b; infinity minus infinity is NaN. Equal to the host's addition, with canonical NaNs.

    A sum of exactly zero is -0 in rm unless both are +0, else +0 unless both are -0.
    """
    f = FORMATS[format]
    x, y = unpack(a, f), unpack(b, f)
    result, invalid = arith.add(x, y, f, rounding)
    return select(x.nan | y.nan | invalid, quiet_nan(f), result)


@operation
def ieee_mul(a: Value, b: Value, *, format: Name = "f32", rounding: Rounding = "rn") -> Value:
    """a * b; zero times infinity is NaN. Equal to the host's multiplication, with canonical NaNs."""
    f = FORMATS[format]
    x, y = unpack(a, f), unpack(b, f)
    result, invalid = arith.mul(x, y, f, rounding)
    return select(x.nan | y.nan | invalid, quiet_nan(f), result)


@operation
def ieee_fma(a: Value, b: Value, c: Value, *, format: Name = "f32", rounding: Rounding = "rn") -> Value:
    """a * b + c rounded once. Equal to the host's fused multiply-add, with canonical NaNs."""
    f = FORMATS[format]
    x, y, z = unpack(a, f), unpack(b, f), unpack(c, f)
    result, invalid = arith.fma(x, y, z, f, rounding)
    return select(x.nan | y.nan | z.nan | invalid, quiet_nan(f), result)


@operation
def ieee_div(a: Value, b: Value, *, format: Name = "f32", rounding: Rounding = "rn") -> Value:
    """a / b of f16 or f32; 0/0 and infinity/infinity are NaN, x/0 is infinity. Equal to the host's division."""
    f = FORMATS[format]
    x, y = unpack(a, f), unpack(b, f)
    sign, w = x.sign ^ y.sign, 64
    ex, mx = normalise(x.exponent, x.significand.zext(w))
    ey, my = normalise(y.exponent, y.significand.zext(w))
    divisor = my >> (w - f.precision)
    dividend = mx >> 1
    quotient = dividend.udiv(divisor)
    quotient = quotient | (quotient * divisor != dividend).zext(w)
    # Both significands are 1.x, so the quotient's unit is w - 1 - precision bits up.
    result = round_pack(sign, ex - ey + (f.bias + f.precision), quotient, f, rounding)
    result = select(x.infinite | y.zero, arith.infinity(sign, f), result)
    result = select(y.infinite | x.zero, signed_zero(sign, f), result)
    return select(x.nan | y.nan | x.zero & y.zero | x.infinite & y.infinite, quiet_nan(f), result)


@operation
def ieee_compare(a: Value, b: Value, *, format: Name = "f32") -> Value:
    """The relation of a to b as one of four bits: 1 less, 2 equal, 4 greater, 8 unordered; the zeros are equal."""
    return compare_magnitudes(absolute(a), absolute(b), a.sign, b.sign, FORMATS[format].infinity)


def _extreme(a: Value, b: Value, f: FloatFormat, larger: bool) -> Value:
    below = order_key(a).slt(order_key(b))
    result = select(below, b, a) if larger else select(below, a, b)
    a_nan, b_nan = is_nan(a, f), is_nan(b, f)
    return select(a_nan, select(b_nan, const(quiet_nan(f), f.width), b), select(b_nan, a, result))


@operation
def ieee_max(a: Value, b: Value, *, format: Name = "f32") -> Value:
    """The larger operand, -0 below +0; a NaN loses against a number, two give the quiet NaN."""
    return _extreme(a, b, FORMATS[format], larger=True)


@operation
def ieee_min(a: Value, b: Value, *, format: Name = "f32") -> Value:
    """The smaller operand, -0 below +0; a NaN loses against a number, two give the quiet NaN."""
    return _extreme(a, b, FORMATS[format], larger=False)


@operation
def ieee_round(a: Value, *, format: Name = "f32", rounding: Rounding = "rn") -> Value:
    """Rounded to an integral float in the mode; zeros keep their sign."""
    f = FORMATS[format]
    return select(is_nan(a, f), quiet_nan(f), round_to_integral(a, f, rounding))


@operation
def ieee_convert(a: Value, *, source: Name, to: Name, rounding: Rounding = "rn") -> Value:
    """One format to another, rounded in the mode, denormals kept; too large follows the mode."""
    f, g = FORMATS[source], FORMATS[to]
    x, width = unpack(a, f), max(f.work, g.work)
    m = x.significand.zext(width) << (width - f.precision)
    result = round_pack(x.sign, x.exponent + (g.bias - f.bias), m, g, rounding)
    result = select(x.infinite, arith.infinity(x.sign, g), result)
    return select(x.nan, quiet_nan(g), result)


@operation
def int_to_float(x: Value, *, source: Integer, to: Name = "f32", rounding: Rounding = "rn") -> Value:
    """An integer rounded in the mode; zero is +0."""
    f = FORMATS[to]
    sign, m = int_magnitude(x, source, 64)
    return round_pack(sign, const(f.bias + 63, 32), m, f, rounding)


@operation
def float_to_int(a: Value, *, source: Name, to: Integer, rounding: Rounding = "rz") -> Value:
    """Rounded to an integer in the mode and clamped to the range of `to`; NaN gives 0."""
    f = FORMATS[source]
    x = unpack(a, f)
    magnitude, huge = to_integer_magnitude(x, f, max(32, int(to[1:])), rounding)
    result, _ = clamp_integer(x, magnitude, huge, to)
    return select(x.nan, 0, result)


@operation
def ratio_to_float(x: Value, *, source: Integer, maximum: int, low: int, to: Name = "f32") -> Value:
    """max(x, low) / maximum, rounded to nearest: a normalised integer (unorm, snorm, C10) read as a number.

    `low` is the smallest value that counts, in units of the integer, such as -127 for an 8-bit snorm. `source` and
    `maximum` have at most 16 bits, `to` is f16 or f32. Equal to a host division of the two as floats.
    """
    f = FORMATS[to]
    sign, m = int_magnitude(x, source, 64)
    limit = select(sign, const(max(-low, 0), 64), (1 << int(source[1:])) - 1)
    m = select(m.ugt(limit), limit, m)
    dividend = m << 48
    quotient = dividend.udiv(const(maximum, 64))
    quotient = quotient | (quotient * maximum != dividend).zext(64)
    return round_pack(sign, const(f.bias + 15, 32), quotient, f, "rn")


@operation
def float_to_ratio(
    a: Value, *, source: Name, maximum: int, low: int, high: int, rounding: Rounding = "rn", width: int = 32
) -> Value:
    """The exact a * maximum, rounded in the mode and clamped to low..high, in two's complement of `width` bits.

    `maximum` has at most 16 bits, `source` is f16 or f32. NaN gives 0.
    """
    f, point = FORMATS[source], 22
    x = unpack(a, f)
    count = const(f.bias + f.fraction, 32) - x.exponent
    fixed = shift_right_sticky((x.significand.zext(64) * maximum) << point, count)
    whole = fixed >> point
    m = whole + round_up(whole.bit(0), fixed.bits(0, point), x.sign, rounding).zext(64)
    limit = select(x.sign, const(-low, 64), high)
    m = select(count.sign | m.ugt(limit), limit, m).trunc(width)
    return select(x.nan, 0, select(x.sign, -m, m))
