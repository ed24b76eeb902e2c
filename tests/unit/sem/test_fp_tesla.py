"""Tesla float rules that are easy to lose when a definition is replaced by something faster."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit.sem.fp import convert, convert64, f32, f64, sfu
from isakit.sem.operation import Operation
from isakit.sem.value import const

NAN = 0x7FFFFFFF
INF, MINUS_INF = 0x7F800000, 0xFF800000
DENORMAL, SMALLEST, ONE, LARGEST = 0x00000001, 0x00800000, 0x3F800000, 0x7F7FFFFF
MINUS = 0x80000000


def do(operation: Operation, *args: int, width: int = 32, **statics: Any) -> int:
    return operation(*[const(a, width) for a in args], **statics).number


@pytest.mark.parametrize(
    ("operation", "args", "statics", "wanted"),
    [
        # Identities that are none: the operand is flushed or made canonical.
        (f32.f32_mul, (DENORMAL, ONE), {}, 0),
        (f32.f32_add, (DENORMAL | MINUS, MINUS), {}, MINUS),
        (f32.f32_mul, (0xFF800001, ONE), {}, NAN),
        (f32.f32_add, (0xFF800001, 0), {}, NAN),
        # Signs of zero: a sum is +0 unless both are negative, a flushed sum keeps its sign.
        (f32.f32_add, (ONE, ONE | MINUS), {}, 0),
        (f32.f32_add, (0, MINUS), {"rounding": "rz"}, 0),
        (f32.f32_add, (0x80800001, SMALLEST), {}, MINUS),
        # The flush is decided after rounding with an unbounded exponent: this product rounds up to 2**-126.
        (f32.f32_mul, (0x3FFFFFFF, 0x00400000 + 0x00400000), {}, 0x00FFFFFF),
        (f32.f32_mul, (0x3F7FFFFF, 0x00800001), {}, SMALLEST),
        (f32.f32_mul, (0x3F7FFFFF, SMALLEST), {}, 0),
        # Overflow follows the mode.
        (f32.f32_mul, (LARGEST, 0x40000000), {}, INF),
        (f32.f32_mul, (LARGEST, 0x40000000), {"rounding": "rz"}, LARGEST),
        (f32.f32_add, (LARGEST | MINUS, LARGEST | MINUS), {"rounding": "rz"}, LARGEST | MINUS),
        (f32.f32_add, (INF, LARGEST | MINUS), {"rounding": "rz"}, INF),
        (f32.f32_add, (INF, MINUS_INF), {}, NAN),
        (f32.f32_mul, (0, INF), {}, NAN),
        (f32.f32_mul, (DENORMAL | MINUS, NAN), {"zero_wins": True}, 0),
        # mad: the product is truncated, may be huge, and is rounded instead where an operand is zero.
        (f32.f32_mad, (0x3F800001, 0x3F800003, 0xBF800000), {}, 0x35000000),
        (f32.f32_mad, (LARGEST, 0x40000000, LARGEST | MINUS), {}, LARGEST),
        (f32.f32_mad, (0x3FFFFFFF, 0x3FFFFFFF, 0), {}, 0x407FFFFE),
        (f32.f32_mad, (LARGEST, LARGEST, 0), {}, INF),
        (f32.f32_mad, (MINUS, ONE, MINUS), {}, MINUS),
        (f32.f32_mad, (0x00800000, 0x80800000, 0), {}, 0),
        (f32.f32_mad, (0, INF, ONE), {}, NAN),
        (f32.f32_mad, (0, INF, ONE), {"zero_wins": True}, ONE),
        (f32.f32_mad, (ONE, INF, MINUS_INF), {}, NAN),
        (f32.f32_saturate, (MINUS,), {}, 0),
        (f32.f32_saturate, (NAN,), {}, NAN),
        (f32.f32_saturate, (NAN,), {"nan_to_zero": True}, 0),
        (f32.f32_max, (MINUS, 0), {}, 0),
        (f32.f32_min, (DENORMAL, MINUS), {}, MINUS),
        (f32.f32_max, (NAN, MINUS_INF), {}, MINUS_INF),
        (f32.f32_min, (0xFFC00000, 0x7FC00000), {}, NAN),
        (f32.f32_compare, (DENORMAL, MINUS), {}, 2),
        (f32.f32_compare, (DENORMAL, MINUS), {"flushing": False}, 4),
        (f32.f32_mov2, (MINUS,), {}, 0),
        (f32.f32_slct_test, (DENORMAL | MINUS,), {}, 1),
        (f32.f32_slct_test, (NAN,), {}, 0),
        (f32.f32_flags, (0xFF800001,), {}, 3),
        (convert.i2i, (0x80000000,), {"source": "s32", "to": "s32", "negate": True}, 0x7FFFFFFF),
        (convert.i2i, (0x80,), {"source": "s8", "to": "u8", "register": 16}, 0),
        (convert.i2f, (0,), {"source": "s32", "negate": True}, MINUS),
        (convert.i2f, (0x7FFFFFFF,), {"source": "u32", "rounding": "rz"}, 0x4EFFFFFF),
        (convert.i2f, (0xFFFF,), {"source": "u16", "to": "f16"}, 0x7C00),
        (convert.i2f, (0x40000001,), {"source": "u32", "to": "f16"}, 0x3C00),
        (convert.f2i, (NAN,), {"source": "f32", "to": "s32"}, 0),
        (convert.f2i, (0xBF000001,), {"source": "f32", "to": "s32", "rounding": "rm"}, 0xFFFFFFFF),
        (convert.f2i, (0x4F000000,), {"source": "f32", "to": "s32"}, 0x7FFFFFFF),
        (convert.f2f, (0x2E800000,), {"source": "f32", "to": "f16", "rounding": "rp"}, 0),
        (convert.f2f, (0x2F000000,), {"source": "f32", "to": "f16", "rounding": "rp"}, 1),
        (convert.f2f, (0x47000000 + 0x800000,), {"source": "f32", "to": "f16", "rounding": "rz"}, 0x7BFF),
        (convert.f2f, (0x3FC00000,), {"source": "f32", "to": "f32", "integral": True, "saturate": True}, ONE),
        (convert.f2f, (0xBE800000,), {"source": "f32", "to": "f32", "integral": True}, MINUS),
        (convert64.f2i64, (NAN,), {"source": "f32", "to": "s64"}, 1 << 63),
        (convert64.f2i64_overflow, (0x60000000,), {"source": "f32", "to": "u64"}, 0),
        (convert64.f2f64, (DENORMAL,), {"source": "f32", "to": "f64"}, 0x36A0000000000000),
        (sfu.rcp, (DENORMAL | MINUS,), {}, MINUS_INF),
        (sfu.rsqrt, (0x40800000,), {}, 0x3F000000),
        (sfu.lg2, (ONE,), {}, 0),
        (sfu.lg2, (0x3F000000,), {}, 0xBF7FFFFE),
        (sfu.presin, (MINUS_INF,), {}, 0xC0800000),
    ],
)
def test_rule(operation: Operation, args: tuple[int, ...], statics: dict[str, Any], wanted: int) -> None:
    assert f"{do(operation, *args, **statics):08x}" == f"{wanted:08x}"


def test_saturation_of_a_nan_depends_on_where_it_came_from() -> None:
    made = f32.f32_add(const(INF, 32), const(MINUS_INF, 32))
    inputs = const(INF, 32), const(MINUS_INF, 32)
    assert f32.f32_saturated(made, *inputs).number == NAN
    assert f32.f32_saturated(made, *inputs, nan_to_zero=True).number == 0
    assert f32.f32_saturated(made, *inputs, nan_to_zero=True, from_inputs=True).number == NAN
    given_nan = const(NAN, 32)
    assert f32.f32_saturated(given_nan, given_nan, nan_to_zero=True, from_inputs=True).number == 0


def value_of(bits: int) -> Fraction:
    """A flushed f32, finite."""
    exponent, fraction = bits >> 23 & 255, bits & 0x7FFFFF
    size = Fraction(fraction | 1 << 23) * Fraction(2) ** (exponent - 150) if exponent else Fraction(0)
    return -size if bits >> 31 else size


def nearest(value: Fraction, step: Fraction) -> Fraction:
    return round(value / step) * step


finite = st.builds(
    lambda sign, exponent, fraction: sign << 31 | exponent << 23 | fraction,
    st.integers(0, 1),
    st.one_of(st.integers(0, 254), st.integers(50, 80)),
    st.one_of(st.integers(0, 0x7FFFFF), st.sampled_from([0, 1, 0x7FFFFF])),
)


@given(finite, finite, finite)
def test_mad_truncates_the_product_only(a: int, b: int, c: int) -> None:
    """The rule in rational numbers, for nonzero operands: see item 6 of section 0."""
    x, y, z = value_of(a), value_of(b), value_of(c)
    if not (x and y and z):
        return
    product, scale = abs(x * y), Fraction(1)
    while product / scale >= 1 << 24:
        scale *= 2
    while product / scale < 1 << 23:
        scale /= 2
    cut = product // scale * scale
    total = (cut if x * y > 0 else -cut) + z
    step = Fraction(2) ** -149
    while abs(total) / step >= 1 << 24:
        step *= 2
    rounded = nearest(total, step)
    got = do(f32.f32_mad, a, b, c)
    if abs(rounded) >= Fraction(2) ** 128:
        assert got == (INF if rounded > 0 else MINUS_INF)
    elif abs(rounded) < Fraction(2) ** -126:
        assert got == (MINUS if total < 0 else 0)
    else:
        assert value_of(got) == rounded


def test_f64_nan_selection() -> None:
    a, b, c = 0x7FF0000000000001, 0xFFF0000000000002, 0x7FF0000000000003
    quiet = 1 << 51
    inf, zero, one = 0x7FF0000000000000, 0, 0x3FF0000000000000
    assert do(f64.f64_fma, a, b, c, width=64) == b | quiet
    assert do(f64.f64_fma, a, one, c, width=64) == c | quiet
    assert do(f64.f64_add, a, c, width=64) == c | quiet
    assert do(f64.f64_fma, inf, zero, one, width=64) == 0xFFF8000000000000
    assert do(f64.f64_min, a, b, width=64) == b | quiet
    assert f64.f64_modified(const(a, 64), absolute_if=True, negate_if=True).number == a
