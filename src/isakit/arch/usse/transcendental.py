"""Scalar functions the hardware has as single instructions: reciprocal root, logarithm and power of 2.

Their accuracy on the hardware is not known. Here 1/sqrt is rounded correctly; log2 and exp2 are computed to about 60
bits in fixed point and then rounded to f32.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import NamedTuple

from isakit.sem import Table, Value, const, lookup, operation, select
from isakit.sem.fp.core import F32, normalise, round_pack, unpack, with_sign
from isakit.sem.fp.ieee import quiet_nan

NAN = quiet_nan(F32)
_INFINITY = F32.infinity


def _decimal_exp2(x: Decimal) -> Decimal:
    return (x * Decimal(2).ln()).exp()


def _fixed(x: Decimal, bits: int) -> int:
    return int((x * (1 << bits)).to_integral_value())


class Tables(NamedTuple):
    """2**(k/256); coefficients of 2**x - 1; 1/c and log2(c) for the segments of log2; coefficients of log2(1 + x)."""

    powers: Table
    exponential: tuple[int, ...]
    inverse: Table
    logs: Table
    series: tuple[int, ...]


@cache
def tables() -> Tables:
    """Return the tables: computed when an operation is traced, since most commands trace none."""
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        powers = tuple(_fixed(_decimal_exp2(Decimal(k) / 256), 62) for k in range(256))
        exponential, term = list[int](), Decimal(1)
        for n in range(1, 5):
            term = term * ln2 / n
            exponential.append(_fixed(term, 62))
        inverse = [1 << 31 if k == 0 else _fixed(Decimal(256) / (256 + k), 31) for k in range(257)]
        logs = [_fixed(-(Decimal(v) / (1 << 31)).ln() / ln2, 58) for v in inverse]
        series = [_fixed(1 / (ln2 * n), 62) for n in range(1, 6)]
    return Tables(
        Table("exp2_high", powers, 64),
        tuple(exponential),
        Table("log2_inverse", tuple(inverse), 32),
        Table("log2_segment", tuple(logs), 64),
        tuple(series),
    )


def _times(a: Value, b: Value) -> Value:
    """High 64 bits of a 64 by 64 bit product, from four 32-bit products (exact but for the low carries)."""
    ah, al, bh, bl = a.bits(32, 32), a.trunc(32), b.bits(32, 32), b.trunc(32)
    middle = (ah.zext(64) * bl.zext(64) >> 32) + (al.zext(64) * bh.zext(64) >> 32)
    return ah.zext(64) * bh.zext(64) + middle


@operation
def exp2_f32(a: Value) -> Value:
    """2**a for f32, within 0.5001 units in the last place; NaN stays NaN, denormal results are kept."""
    x = unpack(a, F32)
    # |a| as a fixed point number with 40 fraction bits; from 2**9 on the result is 0 or infinity anyway
    shift = x.exponent - (F32.bias + F32.fraction - 40)
    big = x.exponent.uge(F32.bias + 9)
    m = x.significand.zext(64)
    fixed = select(shift.slt(0), m >> select(shift.slt(0), -shift, 0), m << select(shift.slt(0), 0, shift))
    fixed = select(big, 1 << 49, fixed)
    value = select(x.sign, -fixed, fixed)
    whole = value.sar(40).trunc(32)
    high = value.bits(32, 8)
    rest = value.bits(0, 32).zext(64) << 22  # below 2**-8, as a fraction of 62 bits
    coefficients = tables().exponential
    total = const(coefficients[3], 64)
    for c in coefficients[2::-1]:
        total = (_times(total, rest) << 2) + c
    growth = _times(total, rest) << 2
    base = lookup(tables().powers, high)
    power = base + (_times(base, growth) << 2)  # 1.x with 62 fraction bits, below 2**63
    result = round_pack(const(0, 1), whole + (F32.bias + 1), power | 1, F32, "rn")
    # Exact powers of two must not carry the sticky bit.
    exact = value.bits(0, 40).is_zero
    result = select(exact, round_pack(const(0, 1), whole + F32.bias, const(1 << 63, 64), F32, "rn"), result)
    result = select(x.infinite, select(x.sign, const(0, 32), const(_INFINITY, 32)), result)
    # Too small to matter in fixed point: 2**a rounds to 1.
    result = select(x.exponent.ult(F32.bias - 26), const(F32.one, 32), result)
    return select(x.nan, const(NAN, 32), result)


@operation
def log2_f32(a: Value) -> Value:
    """Logarithm to base 2 of f32, within 0.501 units in the last place; -infinity for zero, NaN for negative inputs."""
    x = unpack(a, F32)
    exponent, m = normalise(x.exponent + 8, x.significand)  # m: 1.31 bits
    whole = exponent - F32.bias
    segment = m.bits(23, 8).zext(32) + m.bits(22, 1).zext(32)
    inverse = lookup(tables().inverse, segment)
    # m * inverse is close to 1: 62 fraction bits, within +-2**-9
    product = m.zext(64) * inverse.zext(64)
    delta = product - const(1 << 62, 64)
    negative = delta.sign
    size = select(negative, -delta, delta)  # 62 fraction bits
    series = tables().series
    total = const(series[4], 64)
    for n in (4, 3, 2, 1):
        step = _times(total, size) << 2
        total = select(negative, const(series[n - 1], 64) + step, const(series[n - 1], 64) - step)
    part = _times(total, size) << 2  # |log2(1 + delta)|, 62 fraction bits
    fine = select(negative, -part, part)
    # Near 1 the segment table contributes nothing and the result keeps all 62 bits; elsewhere 54 are enough.
    base = (whole.sext(64) << 54) + (lookup(tables().logs, segment) >> 4)
    near = base.is_zero
    value = select(near, fine, base + fine.sar(8))
    sign = value.sign
    magnitude = select(sign, -value, value)
    top = select(near, const(F32.bias + 1, 32), const(F32.bias + 9, 32))
    result = round_pack(sign, top, magnitude, F32, "rn")
    result = select(value.is_zero, const(0, 32), result)
    result = select(x.infinite, const(_INFINITY, 32), result)
    result = select(x.zero, with_sign(const(1, 1), const(_INFINITY, 32)), result)
    return select(x.nan | (x.sign & ~x.zero), const(NAN, 32), result)


@operation
def rsqrt_f32(a: Value) -> Value:
    """1 / sqrt(a) of f32, correctly rounded; of a zero an infinity of its sign, of a negative number NaN."""
    x = unpack(a, F32)
    exponent, m = normalise(x.exponent + 8, x.significand)  # 1.31 bits
    distance = exponent - F32.bias
    odd = distance.bit(0)
    # v = m or 2m as 2.24 bits in [1, 4); the result r = 1/sqrt(v) lies in (1/2, 1]
    v = select(odd, (m >> 7) << 1, m >> 7).zext(64)  # 24 fraction bits
    # bit by bit: the largest r of 26 bits with r*r*v <= 1
    root = const(0, 64)
    for bit in range(26, -1, -1):
        trial = root | (1 << bit)
        square = trial * trial  # 52 fraction bits and more: r has 26
        # r*r*v <= 1 with 52 + 24 = 76 fraction bits: compare in two halves
        high, low = square >> 28, square & ((1 << 28) - 1)
        scaled = high * v + (low * v >> 28)
        inexact = (low * v & ((1 << 28) - 1)) != 0
        fits = scaled.ult(1 << 48) | ((scaled == 1 << 48) & ~inexact)
        root = select(fits, trial, root)
    exact = (root == 1 << 26) & (v == 1 << 24)
    half = distance.sar(1)
    wide = (root << 1) | (~exact).zext(64)
    result = round_pack(const(0, 1), const(F32.bias + 63 - 27, 32) - half, wide, F32, "rn")
    result = select(x.infinite, const(0, 32), result)
    result = select(x.zero, with_sign(x.sign, const(_INFINITY, 32)), result)
    return select(x.nan | (x.sign & ~x.zero), const(NAN, 32), result)
