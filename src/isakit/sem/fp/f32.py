"""Tesla f32 arithmetic ([tesla] 5.3): denormals flushed on the way in and out, every NaN result is 0x7fffffff.

Modifiers (negation, absolute value) are done by the caller with `negated` and `absolute` on the operand: a NaN never
shows its sign.
"""

from __future__ import annotations

from isakit.sem.fp.core import (
    F32,
    Rounding,
    absolute,
    align_add,
    classes,
    denormalise,
    flush,
    is_flushed_zero,
    is_nan,
    normalise,
    pack,
    round_pack,
    unpack,
    with_sign,
)
from isakit.sem.operation import operation
from isakit.sem.value import Value, any_of, concat, const, select

NAN = 0x7FFFFFFF
ONE = F32.one
# Below every exponent a product can have, so that a zero is never the operand that stays in place.
_FAR_BELOW = -1024


def _nan() -> Value:
    return const(NAN, 32)


@operation
def f32_add(a: Value, b: Value, *, rounding: Rounding = "rn") -> Value:
    """a + b with flushed operands, rounded as if the exponent had no limits, then flushed ([tesla] 5.3).

    A sum below 2**-126 after rounding becomes a zero of its own sign; an exactly zero sum is +0 unless both addends are
    negative, in every mode. Overflow: infinity in rn, the largest number in rz. NaN results are 0x7fffffff.
    Equal to a host addition with denormals-are-zero and flush-to-zero that decides after rounding (x86), plus the NaN.
    """
    x, y = unpack(a, F32, flushing=True), unpack(b, F32, flushing=True)
    sign, exponent, total = align_add(
        x.sign, x.exponent + 2, x.significand << 6, y.sign, y.exponent + 2, y.significand << 6
    )
    sign = select(total.is_zero, x.sign & y.sign, sign)
    result = round_pack(sign, exponent, total, F32, rounding, "flush")
    result = select(x.infinite, a, select(y.infinite, b, result))
    return select(any_of([x.nan, y.nan, x.infinite & y.infinite & (x.sign ^ y.sign)]), _nan(), result)


@operation
def f32_mul(a: Value, b: Value, *, rounding: Rounding = "rn", zero_wins: bool = False) -> Value:
    """a * b with flushed operands, rounded as if the exponent had no limits, then flushed ([tesla] 5.3).

    0 * infinity is NaN, every NaN is 0x7fffffff; overflow gives infinity in rn and the largest number in rz. With
    `zero_wins` an operand that is zero after flushing makes the result +0, even against infinity and NaN.
    """
    x, y = unpack(a, F32, flushing=True), unpack(b, F32, flushing=True)
    sign = x.sign ^ y.sign
    product = x.significand.zext(64) * y.significand.zext(64)
    exponent = x.exponent + y.exponent - F32.bias + (63 - 2 * F32.fraction)
    result = round_pack(sign, exponent, product, F32, rounding, "flush")
    result = select(x.infinite | y.infinite, with_sign(sign, const(F32.infinity, 32)), result)
    invalid = any_of([x.nan, y.nan, x.infinite & y.zero, x.zero & y.infinite])
    result = select(invalid, _nan(), result)
    return select(x.zero | y.zero, const(0, 32), result) if zero_wins else result


@operation
def f32_mad(a: Value, b: Value, c: Value, *, zero_wins: bool = False) -> Value:
    """a * b + c with a truncated product ([tesla] 5.3, item 6 of section 0); operands flushed.

    No operand zero: p = a * b cut to 24 significant bits (any exponent), r = p + c rounded to nearest even on the grid
    that denormals would have (multiples of 2**-149), and |r| < 2**-126 becomes a zero of r's sign. Exact cancellation
    gives +0. Some operand zero: f32_add(f32_mul(a, b), c), where the product is rounded to nearest and flushed.
    A host can do the first case in f64, where a * b is exact and p + c is one addition, only if that addition rounds
    to odd before the last rounding. NaN results are 0x7fffffff. With `zero_wins` a zero a or b gives f32_add(c, +0),
    even against infinity and NaN.
    """
    x, y, z = unpack(a, F32, flushing=True), unpack(b, F32, flushing=True), unpack(c, F32, flushing=True)
    sign, no_product = x.sign ^ y.sign, x.zero | y.zero
    wide = x.significand.zext(64) * y.significand.zext(64)
    carry = wide.bit(47)
    wide = select(carry, wide, wide << 1).trunc(48)
    # Bits below the 24 only count when c is zero, and then the sum below is the plain rounding of the product.
    guard = concat(wide.bits(22, 2), wide.trunc(22).ugt(0)) & z.zero.sext(3)
    product = concat(const(0, 2), wide.bits(24, 24), guard, const(0, 3))
    exponent = x.exponent + y.exponent - (F32.bias - 2) + carry.zext(32)
    sr, er, total = align_add(
        sign,
        select(no_product, _FAR_BELOW, exponent),
        product,
        z.sign,
        select(z.zero, _FAR_BELOW, z.exponent + 2),
        z.significand << 6,
    )
    er, total = normalise(er, total)
    er, total = denormalise(er, total, ~z.zero)
    both = sign & z.sign
    if zero_wins:
        both = both & ~no_product
    zero_sign = select(z.zero | total.is_zero, both, sr)
    result = pack(sr, er, total, F32, "rn", "flush", zero_sign=zero_sign)
    infinite = x.infinite | y.infinite
    invalid = any_of([x.nan, y.nan, infinite & no_product])
    if zero_wins:
        infinite, invalid = infinite & ~no_product, invalid & ~no_product
    clash = infinite & z.infinite & (sign ^ z.sign)
    result = select(infinite, with_sign(sign, const(F32.infinity, 32)), select(z.infinite, c, result))
    return select(any_of([invalid, z.nan, clash]), _nan(), result)


@operation
def f32_saturate(a: Value, *, nan_to_zero: bool = False) -> Value:
    """Clamp to [0, 1]: anything negative (also -0) gives +0, 1 and more give 1.0 ([tesla] 5.3).

    NaN gives 0x7fffffff, or +0 with `nan_to_zero`. Meant for results: a positive denormal passes through.
    """
    result = select(a.sign, 0, select(a.ult(ONE), a, ONE))
    return select(is_nan(a, F32), 0 if nan_to_zero else _nan(), result)


def f32_saturated(result: Value, *inputs: Value, nan_to_zero: bool = False, from_inputs: bool = False) -> Value:
    """`f32_saturate` of an add, mul or mad result under the SAT_NAN flag ([tesla] 5.3).

    `nan_to_zero`: the flag is set and the chip obeys it; then a NaN among the `inputs` gives +0 (even where a zero
    that wins hid it from the result), and so does a NaN the operation made itself. `from_inputs` is the G200 fault:
    a NaN made by the operation itself stays.
    """
    if not nan_to_zero:
        return f32_saturate(result)
    return select(any_of([is_nan(i, F32) for i in inputs]), 0, f32_saturate(result, nan_to_zero=not from_inputs))


@operation
def f32_compare(a: Value, b: Value, *, flushing: bool = True) -> Value:
    """The relation of a to b as one of four bits: 1 less, 2 equal, 4 greater, 8 unordered ([tesla] 5.3 set).

    With `flushing` denormals are zeros; the two zeros are equal; a NaN on either side is unordered.
    """
    x, y = absolute(a), absolute(b)
    if flushing:
        x, y = (select(v.ult(1 << F32.fraction), 0, v) for v in (x, y))
    return compare_magnitudes(x, y, a.sign, b.sign, F32.infinity)


def compare_magnitudes(x: Value, y: Value, sign_x: Value, sign_y: Value, infinity: int) -> Value:
    """The comparison of two sign-magnitude numbers; numbers above `infinity` are NaNs."""
    unordered = x.ugt(infinity) | y.ugt(infinity)
    equal = select(sign_x ^ sign_y, (x | y).is_zero, x == y)
    less = select(sign_x, ~sign_y | y.ult(x), ~sign_y & x.ult(y))
    less = less & ~equal & ~unordered
    equal = equal & ~unordered
    return classes(less, equal, ~(less | equal | unordered), unordered)


def holds(relation: Value, condition: Value | int) -> Value:
    """1 when the one-hot `relation` is among the l, e, g, u bits of the 4-bit `condition`."""
    return (relation & condition).ugt(0)


@operation
def f32_max(a: Value, b: Value) -> Value:
    """The larger operand, denormals flushed, -0 below +0 ([tesla] 5.3).

    A NaN loses against a number; two NaNs give 0x7fffffff.
    """
    return _select_extreme(a, b, larger=True)


@operation
def f32_min(a: Value, b: Value) -> Value:
    """The smaller operand, denormals flushed, -0 below +0 ([tesla] 5.3).

    A NaN loses against a number; two NaNs give 0x7fffffff.
    """
    return _select_extreme(a, b, larger=False)


def _select_extreme(a: Value, b: Value, larger: bool) -> Value:
    x, y = flush(a, F32), flush(b, F32)
    below = order_key(x).slt(order_key(y))
    result = select(below, y, x) if larger else select(below, x, y)
    x_nan, y_nan = is_nan(a, F32), is_nan(b, F32)
    return select(x_nan, select(y_nan, _nan(), y), select(y_nan, x, result))


def order_key(v: Value) -> Value:
    """Two's complement number that orders like the float, -0 below +0."""
    return v ^ (v.sign.sext(v.width) >> 1)


@operation
def f32_flags(a: Value) -> Value:
    """$c of a float result: 0 positive, 1 zero (or denormal), 2 negative, 3 NaN ([tesla] 3)."""
    zero, nan = is_flushed_zero(a, F32), is_nan(a, F32)
    return concat(const(0, 2), nan | (a.sign & ~zero), nan | zero)


@operation
def f32_slct_test(a: Value) -> Value:
    """1 when slct takes its first operand: a >= 0, where -0 and denormals are zero and NaN fails ([tesla] 5.3)."""
    return is_flushed_zero(a, F32) | a.ule(F32.infinity)


def f32_slct_flags(selected: Value) -> Value:
    """$c of slct, from the raw 32 bits: 1 for either zero, 2 for a set sign bit, else 0 ([tesla] 3)."""
    zero = absolute(selected).is_zero
    return concat(const(0, 2), selected.sign & ~zero, zero)


def set_flags(true: Value) -> Value:
    """$c of the compare instructions: 2 for true, 1 for false ([tesla] 3)."""
    return concat(const(0, 2), true, ~true)


@operation
def f32_mov2(a: Value) -> Value:
    """a + 0 of quadop: denormals and -0 become +0, NaN becomes 0x7fffffff ([tesla] 5.3)."""
    return select(is_nan(a, F32), _nan(), select(is_flushed_zero(a, F32), 0, a))


@operation
def f32_flush(a: Value) -> Value:
    """Denormals to zeros of the same sign, NaN to 0x7fffffff ([tesla] 5.3, 5.5)."""
    return select(is_nan(a, F32), _nan(), flush(a, F32))
