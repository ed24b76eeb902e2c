"""Binary floating point in integers: formats, unpacking, alignment and one rounding step for everything.

Numbers inside are (sign, exponent, magnitude): the exponent is a 32-bit two's complement value, biased like the target
format's and belonging to the *top bit* of the magnitude, so value = magnitude / 2**(width-1) * 2**(exponent - bias).
Bits that a right shift drops are kept as one sticky bit (an OR into bit 0); with at least two bits below the last one
that matters this gives the same rounding as the exact value.
"""

from __future__ import annotations

from typing import Literal

from isakit.lean import dataclass
from isakit.sem.value import Value, concat, const, mask, select, u1

Rounding = Literal["rn", "rm", "rp", "rz"]
"""Nearest even, towards minus infinity, towards plus infinity, towards zero."""

Tiny = Literal["gradual", "flush"]
"""Treatment of numbers below the smallest normal one: denormals, or rounding as if the exponent had no lower end and
then a zero of the same sign."""


@dataclass(frozen=True)
class FloatFormat:
    """An IEEE interchange layout: sign, `exponent` bits, `fraction` bits."""

    name: str
    exponent: int
    fraction: int

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent + self.fraction

    @property
    def precision(self) -> int:
        """Significant bits including the hidden one."""
        return self.fraction + 1

    @property
    def bias(self) -> int:
        """Stored exponent of 1.0."""
        return mask(self.exponent - 1)

    @property
    def top(self) -> int:
        """Stored exponent of infinity and NaN."""
        return mask(self.exponent)

    @property
    def infinity(self) -> int:
        """Bits of +infinity."""
        return self.top << self.fraction

    @property
    def largest(self) -> int:
        """Bits of the largest finite number."""
        return self.infinity - 1

    @property
    def one(self) -> int:
        """Bits of 1.0."""
        return self.bias << self.fraction

    @property
    def quiet(self) -> int:
        """The bit that makes a NaN quiet."""
        return 1 << (self.fraction - 1)

    @property
    def work(self) -> int:
        """Width of a magnitude holding one number: a machine word with at least 8 bits to spare."""
        return 32 if self.precision <= 24 else 64


F16 = FloatFormat("f16", 5, 10)
F32 = FloatFormat("f32", 8, 23)
F64 = FloatFormat("f64", 11, 52)
FORMATS = {f.name: f for f in (F16, F32, F64)}


@dataclass(frozen=True)
class Parts:
    """The sign, exponent and significand of a number, and its class.

    `exponent` (32 bits, biased, at least 1 unless flushed) belongs to bit `fraction` of `significand`, which has the
    hidden bit in it; the class bits are 1 bit wide and exclude each other.
    """

    sign: Value
    exponent: Value
    significand: Value
    zero: Value
    infinite: Value
    nan: Value


def absolute(v: Value) -> Value:
    """Without the sign bit."""
    return v & mask(v.width - 1)


def negated(v: Value) -> Value:
    """With the sign bit turned round."""
    return v ^ (1 << (v.width - 1))


def signed_zero(sign: Value, f: FloatFormat) -> Value:
    """Zero with a sign."""
    return with_sign(sign, const(0, f.width))


def with_sign(sign: Value, v: Value) -> Value:
    """`v`, whose own sign bit is 0, with `sign` put in."""
    return (sign.zext(v.width) << (v.width - 1)) | v


def is_nan(v: Value, f: FloatFormat) -> Value:
    """Any NaN."""
    return absolute(v).ugt(f.infinity)


def is_flushed_zero(v: Value, f: FloatFormat) -> Value:
    """A zero or a denormal."""
    return absolute(v).ult(1 << f.fraction)


def flush(v: Value, f: FloatFormat) -> Value:
    """Denormals become zeros of the same sign."""
    return select(is_flushed_zero(v, f), v & (1 << (f.width - 1)), v)


def unpack(v: Value, f: FloatFormat, flushing: bool = False) -> Parts:
    """Unpack a number into its parts; `flushing` reads denormals as zeros."""
    size = absolute(v)
    field = size.bits(f.fraction, f.exponent).zext(32)
    low = field == 0
    fraction = v.bits(0, f.fraction).zext(f.work)
    hidden = 1 << f.fraction
    if flushing:
        significand, exponent, zero = select(low, const(0, f.work), fraction | hidden), field, low
    else:
        significand = fraction | select(low, const(0, f.work), const(hidden, f.work))
        exponent, zero = field + low.zext(32), size == 0
    return Parts(v.sign, exponent, significand, zero, size == f.infinity, size.ugt(f.infinity))


def shift_right_sticky(m: Value, count: Value) -> Value:
    """`m >> count` with everything shifted out ORed into bit 0; any count, also beyond the width."""
    short = m >> count
    return short | ((short << count) != m).zext(m.width)


def round_up(lsb: Value, rest: Value, sign: Value, rounding: Rounding) -> Value:
    """1 when a magnitude with last bit `lsb` and dropped bits `rest` has to grow by one unit."""
    if rounding == "rz":
        return u1(0)
    if rounding == "rn":
        below = rest.trunc(rest.width - 1).ugt(0) if rest.width > 1 else u1(0)
        return rest.sign & (below | lsb)
    return rest.ugt(0) & (sign if rounding == "rm" else ~sign)


def overflowed(sign: Value, f: FloatFormat, rounding: Rounding) -> Value:
    """Return the result, without its sign, for a magnitude that is too large."""
    inf, big = const(f.infinity, f.width), const(f.largest, f.width)
    if rounding == "rn":
        return inf
    if rounding == "rz":
        return big
    return select(sign, inf, big) if rounding == "rm" else select(sign, big, inf)


def normalise(exponent: Value, m: Value) -> tuple[Value, Value]:
    """Return (exponent, magnitude) with the leading one moved to the top bit.

    Zero keeps magnitude 0 and gets exponent 0.
    """
    n = m.clz
    shifted = m << n
    return select(shifted.sign, exponent - n.resize(32), 0), shifted


def denormalise(exponent: Value, m: Value, when: Value | None = None) -> tuple[Value, Value]:
    """Return (exponent, magnitude): exponents below 1 raised to 1, the magnitude shifted right (where `when` is 1)."""
    low = exponent.slt(1) if when is None else exponent.slt(1) & when
    return select(low, 1, exponent), shift_right_sticky(m, select(low, 1 - exponent, 0))


def pack(
    sign: Value,
    exponent: Value,
    m: Value,
    f: FloatFormat,
    rounding: Rounding,
    tiny: Tiny,
    overflow: Rounding | None = None,
    zero_sign: Value | None = None,
) -> Value:
    """Round a normalised (or denormalised) magnitude and return the assembled number.

    `overflow` is the mode that decides between infinity and the largest number, where it differs from `rounding`;
    `zero_sign` the sign of a flushed result, where it differs from `sign`.
    """
    p = f.precision
    kept, rest = m.bits(m.width - p, p).zext(f.work), m.bits(0, m.width - p)
    rounded = kept + round_up(kept.bit(0), rest, sign, rounding).zext(f.work)
    # 0 for a denormal, 1 for a normal number, 2 when rounding carried out of the significand
    field = exponent - 1 + rounded.bits(p - 1, 2).zext(32)
    number = (field.resize(f.work) << f.fraction) | rounded.bits(0, f.fraction).zext(f.work)
    size = select(field.slt(f.top), number.trunc(f.width), overflowed(sign, f, overflow or rounding))
    if tiny == "flush":
        size = select(field.slt(1), 0, size)
        if zero_sign is not None:
            sign = select(field.slt(1), zero_sign, sign)
    return with_sign(sign, size)


def round_pack(
    sign: Value,
    exponent: Value,
    m: Value,
    f: FloatFormat,
    rounding: Rounding,
    tiny: Tiny = "gradual",
    overflow: Rounding | None = None,
) -> Value:
    """Any magnitude (also zero, also not normalised) to a number of format `f`; widths from precision + 2 up."""
    exponent, m = normalise(exponent, m)
    if tiny == "gradual":
        exponent, m = denormalise(exponent, m)
    return pack(sign, exponent, m, f, rounding, tiny, overflow)


def align_add(sa: Value, ea: Value, ma: Value, sb: Value, eb: Value, mb: Value) -> tuple[Value, Value, Value]:
    """Return the sum of two magnitudes of equal width with a clear top bit (room for the carry), exact enough to round.

    The operand with the smaller exponent is shifted right with a sticky bit; three zero bits at the low end of both
    keep that exact enough. Returns sign, exponent, magnitude; the sign means nothing for an exactly zero sum.
    """
    d = ea - eb
    swap = d.slt(0)
    big, small = select(swap, mb, ma), select(swap, ma, mb)
    small = shift_right_sticky(small, select(swap, -d, d))
    total = select(sa ^ sb, big - small, big + small)
    # An unnormalised operand with the larger exponent can be the smaller number.
    turned = (sa ^ sb) & total.sign
    return select(swap, sb, sa) ^ turned, select(swap, eb, ea), select(turned, -total, total)


def quieted(v: Value, f: FloatFormat) -> Value:
    """A NaN with its quiet bit set."""
    return v | f.quiet


def integral_part(x: Parts, f: FloatFormat, rounding: Rounding) -> Value:
    """Magnitude rounded to an integer, in `f.work` bits; meaningful for exponents below bias + fraction."""
    spare = f.work - f.precision
    count = const(f.bias + f.fraction, 32) - x.exponent
    fixed = shift_right_sticky(x.significand << spare, count)
    whole = fixed >> spare
    return whole + round_up(whole.bit(0), fixed.bits(0, spare), x.sign, rounding).zext(f.work)


def classes(less: Value, equal: Value, greater: Value, unordered: Value) -> Value:
    """The four results of a comparison as one-hot bits: l = 1, e = 2, g = 4, u = 8."""
    return concat(unordered, greater, equal, less)
