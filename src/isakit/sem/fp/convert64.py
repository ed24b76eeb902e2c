"""Tesla conversions of the fp64 class, G200 ([tesla] 5.6): one side at least is 64 bits wide."""

from __future__ import annotations

from typing import Literal

from isakit.sem.fp import core
from isakit.sem.fp.convert import (
    Integer,
    clamp_integer,
    int_magnitude,
    integer_width,
    round_to_integral,
    to_integer_magnitude,
)
from isakit.sem.fp.core import F32, FORMATS, Rounding, negated, quieted, round_pack, unpack, with_sign
from isakit.sem.operation import operation
from isakit.sem.value import Value, const, select, u1

Large = Literal["f32", "f64"]


@operation
def i2f64(
    x: Value, *, source: Integer, to: Large, rounding: Rounding = "rn", absolute: bool = False, negate: bool = False
) -> Value:
    """32- or 64-bit integer to f32 or f64 ([tesla] 5.6).

    Signed sources: the value with modifiers rounded in the mode. Unsigned sources: rounded in the mode before the
    negation, so that rm and rp are not turned round by it. Zero is +0 (-0 with `negate`).
    """
    f = FORMATS[to]
    negative, m = int_magnitude(x, source, 64)
    sign = u1(0) if absolute else negative
    if negate:
        sign = ~sign
    rounding_sign = u1(0) if source[0] == "u" else sign
    result = round_pack(rounding_sign, const(f.bias + 63, 32), m, f, rounding)
    return with_sign(sign, core.absolute(result))


def _to_integer(
    x: Value, source: Large, to: Integer, rounding: Rounding, absolute: bool, negate: bool
) -> tuple[Value, Value]:
    f, bits = FORMATS[source], integer_width(to)
    if absolute:
        x = core.absolute(x)
    if negate:
        x = negated(x)
    v = unpack(x, f)
    magnitude, huge = to_integer_magnitude(v, f, bits, rounding)
    result, clamped = clamp_integer(v, magnitude, huge, to)
    overflow = clamped
    if to == "u64":
        overflow = clamped & v.sign
    return select(v.nan, 1 << (bits - 1), result), v.nan | overflow


@operation
def f2i64(
    x: Value, *, source: Large, to: Integer, rounding: Rounding = "rn", absolute: bool = False, negate: bool = False
) -> Value:
    """f32 or f64 to a 32- or 64-bit integer, f32 denormals not flushed ([tesla] 5.6).

    The value with modifiers is rounded in the mode and clamped to the range of `to`; NaN gives the top bit alone.
    """
    return _to_integer(x, source, to, rounding, absolute, negate)[0]


@operation
def f2i64_overflow(
    x: Value, *, source: Large, to: Integer, rounding: Rounding = "rn", absolute: bool = False, negate: bool = False
) -> Value:
    """The O flag of `f2i64`: NaN or a clamped result, except that too large for u64 does not count ([tesla] 5.6)."""
    return _to_integer(x, source, to, rounding, absolute, negate)[1]


@operation
def f2f64(
    x: Value,
    *,
    source: Large,
    to: Large,
    rounding: Rounding = "rn",
    integral: bool = False,
    absolute: bool = False,
    negate: bool = False,
) -> Value:
    """f32 or f64 to f32 or f64, denormals kept on both sides ([tesla] 5.6).

    f32 to f64 is exact; f64 to f32 rounds in the mode, with denormal results; f64 to f64 rounds to an integral value
    in the mode if `integral` is set, which the other two ignore. A NaN is not touched by the modifiers; it is quieted
    and keeps sign and the high end of its payload.
    """
    f, g = FORMATS[source], FORMATS[to]
    v = x
    if absolute:
        v = core.absolute(v)
    if negate:
        v = negated(v)
    if integral and f is g:
        v = round_to_integral(v, f, rounding)
    nan = core.is_nan(x, f)
    if f is g:
        return select(nan, quieted(x, f), v)
    p = unpack(v, f)
    exponent = p.exponent + (g.bias - f.bias)
    if f is F32:
        result = round_pack(p.sign, exponent, p.significand.zext(64) << 40, g, "rz")
        kept = x.bits(0, 23).zext(64) << 29
    else:
        result = round_pack(p.sign, exponent, p.significand << 11, g, rounding)
        kept = x.bits(29, 23).zext(32)
    result = select(p.infinite, with_sign(p.sign, const(g.infinity, g.width)), result)
    return select(nan, with_sign(x.sign, quieted(kept | g.infinity, g)), result)
