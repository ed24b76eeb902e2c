"""The special-function unit of Tesla ([tesla] 6): table, slope and a truncated square, bit for bit.

A native replacement has to keep the tables, every truncation of `truncated_square` and the rounding constants; only the
way the pieces are added up is free.
"""

from __future__ import annotations

from isakit.sem.fp import _rom_data
from isakit.sem.fp.core import F32, normalise, signed_zero, unpack, with_sign
from isakit.sem.fp.f32 import NAN
from isakit.sem.fp.roms import ROMS
from isakit.sem.operation import operation
from isakit.sem.value import Table, Value, concat, const, lookup, mask, select, u1

TABLES = {
    "rcp": Table("sfu_rcp", _rom_data.RCP, 64),
    "rsqrt": Table("sfu_rsqrt", _rom_data.RSQRT, 64),
    "sin": Table("sfu_sin", _rom_data.SIN, 64),
    "ex2": Table("sfu_ex2", _rom_data.EX2, 64),
    "lg2": Table("sfu_lg2", _rom_data.LG2, 64),
}
# Signs of B and C, the same in all rows of a ROM.
FALLING = {"rcp": (True, False), "rsqrt": (True, False), "sin": (False, True), "ex2": (False, False),
            "lg2": (False, True)}  # fmt: skip


@operation
def truncated_square(v: Value) -> Value:
    """About v*v / 2**19 of a 17-bit number in 32 bits: partial products are cut to whole numbers before they are added.

    (sum over the set bits i of v >> (18 - i)) >> 1, which keeps the products of two bits i, j with i + j >= 18. Here
    each pair is counted once, at its upper bit; the last shift takes off what is left of bit 9 times itself.
    """
    total = const(0, 32)
    for j in range(10, 17):
        lower = (v & (mask(j) ^ mask(18 - j))) >> (18 - j)
        total = total + select(v.bit(j), lower + (1 << (2 * j - 19)), 0)
    return total


def interpolate(name: str, argument: Value) -> Value:
    """S of a ROM in 64 bits; `argument` (32 bits) holds the row number above its `x_bits` low bits."""
    rom = ROMS[name]
    row = lookup(TABLES[name], argument >> rom.x_bits)
    x = argument & mask(rom.x_bits)
    square = truncated_square(x << 1 if rom.x_factor == 2 else x)
    a, b, c = row >> 32, row.bits(16, 16).zext(64), row.bits(0, 16).zext(64)
    linear, curved = b * x.zext(64), (c * square.zext(64)) << rom.c_shift
    total = a << rom.a_shift
    b_falls, c_falls = FALLING[name]
    total = total - linear if b_falls else total + linear
    return total - curved if c_falls else total + curved


def assemble(sign: Value, exponent: Value, significand: Value) -> Value:
    """A float from a 24-bit significand (2**24 counts as the next exponent); no denormals, too large is infinity."""
    field = exponent + significand.bit(24).zext(32)
    size = concat(const(0, 1), field.trunc(8), significand.trunc(23))
    size = select(field.slt(1), 0, select(field.slt(F32.top), size, F32.infinity))
    return with_sign(sign, size)


def fixed_to_float(sign: Value, m: Value, exponent: int) -> Value:
    """A 64-bit magnitude, truncated to 24 bits; `exponent` belongs to its top bit; 0 gives a signed zero."""
    field, m = normalise(const(exponent, 32), m)
    size = concat(const(0, 1), field.trunc(8), m.bits(40, 23))
    return with_sign(sign, size)


@operation
def presin(v: Value) -> Value:
    """Range reduction for sin and cos: v * 2/pi modulo 4 as sign, 2.23 fixed point, truncated ([tesla] 6).

    The 24-bit significand times 0xa2f983 is cut by 16 bits, shifted by the exponent and taken modulo 2**25. Bit 30
    marks specials: NaN 0x40000000, infinity 0x40800000, with the sign. Denormals are zero.
    """
    x = unpack(v, F32, flushing=True)
    m = (x.significand.zext(64) * 0xA2F983).bits(16, 32)
    e = x.exponent - (F32.bias + 8)
    fixed = select(e.sign, m >> -e, m << e) & mask(25)
    return _pre_result(fixed, x.infinite, x.nan, x.sign)


@operation
def preex2(v: Value) -> Value:
    """Fixed point for ex2: sign, 7.23, truncated ([tesla] 6).

    |v| >= 128 and infinity give 0x40800000, NaN gives 0x40000000, each with the sign. Denormals are zero.
    """
    x = unpack(v, F32, flushing=True)
    e = x.exponent - F32.bias
    fixed = select(e.sign, x.significand >> -e, x.significand << e)
    return _pre_result(fixed, e.sge(7), x.nan, x.sign)


def _pre_result(fixed: Value, infinite: Value, nan: Value, sign: Value) -> Value:
    fixed = select(nan, 0x40000000, select(infinite, 0x40800000, fixed))
    return with_sign(sign, fixed)


@operation
def rcp(v: Value) -> Value:
    """1 / v ([tesla] 6). Denormals are zero; zero gives infinity and infinity zero, with the sign; NaN 0x7fffffff.

    Row = significand bits 22..16; significand of the result (S + 0x47e7) >> 15; a denormal result is a signed zero.
    """
    x = unpack(v, F32, flushing=True)
    s = interpolate("rcp", v.bits(0, 23).zext(32))
    result = assemble(x.sign, 253 - x.exponent, ((s + 0x47E7) >> 15).trunc(32))
    result = select(x.zero, with_sign(x.sign, const(F32.infinity, 32)), result)
    result = select(x.infinite, signed_zero(x.sign, F32), result)
    return select(x.nan, NAN, result)


@operation
def rsqrt(v: Value) -> Value:
    """1 / sqrt(v) ([tesla] 6). Negative numbers and NaN give 0x7fffffff, +-0 (and denormals) +-infinity, infinity +0.

    Row = lowest exponent bit and significand bits 22..17, significand (S + 0x7fff) >> 16; even powers of two are exact.
    """
    x = unpack(v, F32, flushing=True)
    e = x.exponent - F32.bias
    f = concat(const(0, 8), e.bit(0), v.bits(0, 23))
    half = e.sar(1)
    s = interpolate("rsqrt", f)
    power = f.is_zero
    significand = select(power, 1 << 23, ((s + 0x7FFF) >> 16).trunc(32))
    result = assemble(u1(0), 126 - half + power.zext(32), significand)
    result = select(x.zero, with_sign(x.sign, const(F32.infinity, 32)), select(x.infinite, 0, result))
    return select(x.nan | (x.sign & ~x.zero), NAN, result)


@operation
def lg2(v: Value) -> Value:
    """Base-2 logarithm ([tesla] 6). Denormals are zero; +-0 gives -infinity, negative and NaN 0x7fffffff.

    R = (S + 0x3345) >> 2 (0 for exactly 1.0), plus the exponent in 36-bit fixed point; complemented if negative and
    truncated to 24 bits. Other powers of two do not come out exact where the exponent is negative.
    """
    x = unpack(v, F32, flushing=True)
    fraction = v.bits(0, 23).zext(32)
    r = (interpolate("lg2", fraction) + 0x3345) >> 2
    r = select(v == F32.one, 0, r) + ((x.exponent - F32.bias).sext(64) << 36)
    sign = r.sign
    result = fixed_to_float(sign, select(sign, ~r, r), 154)
    result = select(x.infinite, F32.infinity, result)
    result = select(x.nan | x.sign, NAN, result)
    return select(x.zero, with_sign(u1(1), const(F32.infinity, 32)), result)


def _wave(v: Value, sign: Value, quadrant: Value) -> Value:
    odd = quadrant.bit(0)
    f = v.bits(0, 23).zext(32)
    f = select(odd, f ^ mask(23), f)
    result = fixed_to_float(sign ^ quadrant.bit(1), interpolate("sin", f), 153)
    return select(v.bit(30), NAN, result)


@operation
def sin(v: Value) -> Value:
    """Sine of a `presin` result ([tesla] 6); bit 30 (infinity and NaN) gives 0x7fffffff.

    Odd quadrants use the complemented fraction, quadrants 2 and 3 turn the sign; S is truncated to 24 bits, S == 0
    gives a signed zero.
    """
    return _wave(v, v.sign, v.bits(23, 8))


@operation
def cos(v: Value) -> Value:
    """Cosine of a `presin` result: `sin` one quadrant further, whatever the sign of the argument ([tesla] 6)."""
    return _wave(v, u1(0), v.bits(23, 8) + 1)


@operation
def ex2(v: Value) -> Value:
    """2 to the power of a `preex2` result ([tesla] 6).

    Bit 30 marks specials: with bit 23 infinity (+0 if negative), without it NaN 0x7fffffff. A negative argument uses
    the complemented integer and fraction (the negated integer if the fraction is 0); significand (S + 0x77e2) >> 15;
    results below the normal range are +0.
    """
    q, f = v.bits(23, 8).zext(32), v.bits(0, 23).zext(32)
    whole = f.is_zero
    q = select(v.sign, select(whole, -q, ~q), q)
    f = select(v.sign & ~whole, f ^ mask(23), f)
    s = interpolate("ex2", f)
    result = assemble(u1(0), q + F32.bias, ((s + 0x77E2) >> 15).trunc(32))
    special = select(v.bit(23), select(v.sign, const(0, 32), F32.infinity), NAN)
    return select(v.bit(30), special, result)
