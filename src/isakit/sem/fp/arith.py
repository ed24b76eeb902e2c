"""IEEE addition, multiplication and fused multiply-add of any format, up to the choice of the NaN.

Each function returns the correctly rounded result for numbers and infinities, and a bit that says the operation is
invalid (infinity minus infinity, zero times infinity). What a NaN operand gives is the caller's rule.
"""

from __future__ import annotations

from isakit.sem.fp.core import (
    FloatFormat,
    Parts,
    Rounding,
    align_add,
    normalise,
    round_pack,
    with_sign,
)
from isakit.sem.value import Value, const, select


def wide(f: FloatFormat) -> int:
    """Width of an exact product with room for a carry and guard bits."""
    return next(w for w in (32, 64, 128) if w >= 2 * f.precision + 6)


def _zero_sum_sign(a: Value, b: Value, rounding: Rounding) -> Value:
    return a | b if rounding == "rm" else a & b


def infinity(sign: Value, f: FloatFormat) -> Value:
    """Infinity with a sign."""
    return with_sign(sign, const(f.infinity, f.width))


def add(x: Parts, y: Parts, f: FloatFormat, rounding: Rounding) -> tuple[Value, Value]:
    """x + y; an exactly zero sum of opposite signs is -0 in rm and +0 otherwise."""
    up = f.work - f.precision - 2
    sign, exponent, total = align_add(
        x.sign, x.exponent + 2, x.significand << up, y.sign, y.exponent + 2, y.significand << up
    )
    sign = select(total.is_zero, _zero_sum_sign(x.sign, y.sign, rounding), sign)
    result = round_pack(sign, exponent, total, f, rounding)
    infinite = x.infinite | y.infinite
    result = select(infinite, infinity(select(x.infinite, x.sign, y.sign), f), result)
    return result, x.infinite & y.infinite & (x.sign ^ y.sign)


def _product(x: Parts, y: Parts, f: FloatFormat) -> tuple[Value, Value]:
    """Exponent of the top bit and magnitude of the exact product."""
    w = wide(f)
    exponent = x.exponent + y.exponent + (w - 1 - 2 * f.fraction - f.bias)
    return exponent, x.significand.resize(w) * y.significand.resize(w)


def mul(x: Parts, y: Parts, f: FloatFormat, rounding: Rounding) -> tuple[Value, Value]:
    """x * y."""
    sign = x.sign ^ y.sign
    result = round_pack(sign, *_product(x, y, f), f, rounding)
    result = select(x.infinite | y.infinite, infinity(sign, f), result)
    return result, x.zero & y.infinite | x.infinite & y.zero


def fma(x: Parts, y: Parts, z: Parts, f: FloatFormat, rounding: Rounding) -> tuple[Value, Value]:
    """x * y + z rounded once; zero sums as in `add`."""
    w, sign = wide(f), x.sign ^ y.sign
    exponent, product = normalise(*_product(x, y, f))
    sr, er, total = align_add(
        sign, exponent + 2, product >> 2, z.sign, z.exponent + 2, z.significand.resize(w) << (w - 2 - f.precision)
    )
    sr = select(total.is_zero, _zero_sum_sign(sign, z.sign, rounding), sr)
    result = round_pack(sr, er, total, f, rounding)
    infinite = x.infinite | y.infinite
    result = select(infinite | z.infinite, infinity(select(infinite, sign, z.sign), f), result)
    return result, x.zero & y.infinite | x.infinite & y.zero | infinite & z.infinite & (sign ^ z.sign)
