"""Square root, logarithm and power functions of f32 for machines whose own accuracy is not documented (USSE).

`ieee_rsqrt` is correctly rounded. `ieee_log2` and `ieee_exp2` are evaluated in fixed point and are off by at most 0.52
units in the last place; they are exact where the result is. The evaluation in integers is the definition: a native
replacement has to give the same bits. Denormals are kept, NaN is 0x7fc00000. Half precision: convert before and after.
"""

from __future__ import annotations

import math

from isakit.sem.fp.arith import infinity
from isakit.sem.fp.core import F32, normalise, round_pack, shift_right_sticky, unpack
from isakit.sem.operation import operation
from isakit.sem.value import Table, Value, const, lookup, mask, select, u1

NAN = F32.infinity | F32.quiet

# 2**16 / sqrt(middle of the interval), the argument in [1, 4) being 64..255 in units of 1/64.
_RSQRT_SEED = Table("rsqrt_seed", tuple(math.isqrt((1 << 39) // (2 * i + 1)) if i >= 64 else 0 for i in range(256)), 64)
# 512 / (middle of the interval [1 + i/128, ...)), exactly 1 and 1/2 in the first and the last one so that the result
# keeps its relative accuracy on both sides of 1.0.
_LOG2_FACTOR = (512, *(round(512 * 256 / (256 + 2 * i + 1)) for i in range(1, 127)), 256)
# The rounding to 44 bits makes the entries independent of the last bit of the host's logarithm.
_LOG2_BASE = tuple(round(math.log2(512 / r) * 2**44) << 10 for r in _LOG2_FACTOR)
LOG2_FACTOR = Table("log2_factor", _LOG2_FACTOR, 64)
LOG2_BASE = Table("log2_base", _LOG2_BASE, 64)
LOG2_SERIES = tuple(round((-1) ** k * 2**31 / (k + 1) / math.log(2)) for k in range(5))
EXP2_BASE = Table("exp2_base", tuple(round(2 ** (38 + i / 64)) for i in range(64)), 64)
EXP2_SERIES = tuple(round(2**31 * math.log(2) ** k / math.factorial(k)) for k in range(1, 5))


@operation
def ieee_rsqrt(a: Value) -> Value:
    """1 / sqrt(a), correctly rounded to nearest; +-0 gives +-infinity, negative numbers NaN, infinity +0."""
    x = unpack(a, F32)
    exponent, m = normalise(x.exponent + 8, x.significand)
    e = exponent - F32.bias
    # The argument is m / 2**23 in [1, 4) times 4**(e >> 1).
    m = (m >> 8).zext(64) << e.bit(0)
    y = lookup(_RSQRT_SEED, m >> 17)
    y = (y * ((const(3 << 55, 64) - m * y * y) >> 24)) >> 29
    y = (y * ((const(3 << 61, 64) - m * y * y) >> 30)) >> 25
    # Now y is floor(2**26 / sqrt(m / 2**23)) or one beside it; the error fits into the low 64 bits of 2**75 - y*y*m.
    error = -(m * y * y)
    step = m * ((y << 1) + 1)
    y = select(error.sign, y - 1, select(error.slt(step), y, y + 1))
    inexact = m.ugt(1 << 23).zext(64)
    result = round_pack(u1(0), const(F32.bias + 36, 32) - e.sar(1), y << 1 | inexact, F32, "rn")
    result = select(x.zero, infinity(x.sign, F32), select(x.infinite, 0, result))
    return select(x.nan | x.sign & ~x.zero, NAN, result)


@operation
def ieee_log2(a: Value) -> Value:
    """Base-2 logarithm; +-0 gives -infinity, negative numbers NaN."""
    x = unpack(a, F32)
    exponent, m = normalise(x.exponent + 8, x.significand)
    row = m.bits(24, 7)
    # Scale 2**32, magnitude at most 2**25.
    z = (m >> 8).zext(64) * lookup(LOG2_FACTOR, row) - (1 << 32)
    total = _series(LOG2_SERIES, z, 32)
    log = (z * total).sar(9) + lookup(LOG2_BASE, row) + ((exponent - F32.bias).sext(64) << 54)
    size = select(log.sign, -log, log)
    result = round_pack(log.sign, const(F32.bias + 9, 32), size, F32, "rn")
    result = select(x.infinite, F32.infinity, result)
    result = select(x.nan | x.sign, NAN, result)
    return select(x.zero, infinity(u1(1), F32), result)


@operation
def ieee_exp2(a: Value) -> Value:
    """2 to the power a, with denormal results; -infinity gives +0."""
    x = unpack(a, F32)
    large = x.exponent.sgt(F32.bias + 7)
    # Scale 2**48; the sticky bit keeps tiny arguments apart from 0, which no result depends on.
    size = shift_right_sticky(x.significand.zext(64) << 32, const(F32.bias + 7, 32) - x.exponent)
    fixed = select(x.sign, -size, size)
    z = fixed.bits(12, 30).zext(64)
    power = (z * _series(EXP2_SERIES, z, 36)) >> 36
    base = lookup(EXP2_BASE, fixed.bits(42, 6))
    m = base + (((base >> 8) * power) >> 23)
    result = round_pack(u1(0), fixed.sar(48).trunc(32) + (F32.bias + 25), m, F32, "rn")
    result = select(large, select(x.sign, const(0, 32), F32.infinity), result)
    return select(x.nan, NAN, result)


def _series(coefficients: tuple[int, ...], z: Value, scale: int) -> Value:
    """Horner's scheme; coefficients of scale 2**31, `z` of scale 2**`scale`."""
    total = const(coefficients[-1], 64)
    for c in reversed(coefficients[:-1]):
        total = (total * z).sar(scale) + (c & mask(64))
    return total
