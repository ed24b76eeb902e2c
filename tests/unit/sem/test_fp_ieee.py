"""IEEE operations and the rounding step against exact rational arithmetic; constants fold to plain integers."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit.sem.fp import ieee
from isakit.sem.fp.core import FORMATS, FloatFormat, round_pack
from isakit.sem.value import const

MODES = ("rn", "rm", "rp", "rz")
NUMPY: dict[str, tuple[Any, Any]] = {
    "f16": (np.uint16, np.float16),
    "f32": (np.uint32, np.float32),
    "f64": (np.uint64, np.float64),
}


def decode(bits: int, f: FloatFormat) -> Fraction | None:
    """Exact value, None for infinity and NaN."""
    exponent, fraction = bits >> f.fraction & f.top, bits & ((1 << f.fraction) - 1)
    if exponent == f.top:
        return None
    value = Fraction(fraction + (exponent > 0) * (1 << f.fraction)) * Fraction(2) ** (
        max(exponent, 1) - f.bias - f.fraction
    )
    return -value if bits >> (f.width - 1) else value


def encode(value: Fraction, f: FloatFormat, mode: str, zero_sign: int) -> int:
    """The IEEE rounding of an exact value; `zero_sign` is used for an exact zero."""
    sign = int(value < 0) if value else zero_sign
    size = abs(value)
    exponent = 1
    if size:
        exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1 + f.bias, 1)
        while size >= Fraction(2) ** (exponent + 1 - f.bias):
            exponent += 1
    steps = size / Fraction(2) ** (exponent - f.bias - f.fraction)
    n, rest = floor(steps), steps - floor(steps)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n % 2 == 1),
        "rm": rest > 0 and sign == 1,
        "rp": rest > 0 and sign == 0,
        "rz": False,
    }[mode]
    bits = ((exponent - 1) << f.fraction) + n + up
    if bits >= f.infinity:
        away = mode == "rn" or mode == ("rm" if sign else "rp")
        bits = f.infinity if away else f.largest
    return sign << (f.width - 1) | bits


def patterns(f: FloatFormat) -> st.SearchStrategy[int]:
    """Bit patterns with many close exponents, denormals and special values."""
    edge = [0, 1, (1 << f.fraction) - 1, 1 << f.fraction, f.one, f.one + 1, f.largest, f.infinity, f.infinity + 1]
    near = st.tuples(st.integers(-3, 3), st.integers(0, (1 << f.fraction) - 1)).map(
        lambda t: (f.bias + t[0]) << f.fraction | t[1]
    )
    tiny = st.integers(0, 8 << f.fraction)
    size = st.one_of(st.sampled_from(edge), near, tiny, st.integers(0, (1 << (f.width - 1)) - 1))
    return st.tuples(size, st.integers(0, 1)).map(lambda t: t[0] | t[1] << (f.width - 1))


CASES = st.sampled_from(sorted(FORMATS)).flatmap(
    lambda n: st.tuples(st.just(n), *[patterns(FORMATS[n]) for _ in range(3)], st.sampled_from(MODES))
)


def sign_of(bits: int, f: FloatFormat) -> int:
    return bits >> (f.width - 1)


def zero_sum(a: int, b: int, mode: str) -> int:
    return a if a == b else int(mode == "rm")


@given(CASES)
def test_arithmetic_is_the_rounded_exact_result(case: tuple[str, int, int, int, str]) -> None:
    name, a, b, c, mode = case
    f = FORMATS[name]
    x, y, z = decode(a, f), decode(b, f), decode(c, f)
    if x is None or y is None or z is None:
        return
    va, vb, vc = (const(v, f.width) for v in (a, b, c))
    options: dict[str, Any] = {"format": name, "rounding": mode}
    sa, sb, sc = (sign_of(v, f) for v in (a, b, c))
    assert ieee.ieee_add(va, vb, **options).number == encode(x + y, f, mode, zero_sum(sa, sb, mode))
    assert ieee.ieee_mul(va, vb, **options).number == encode(x * y, f, mode, sa ^ sb)
    assert ieee.ieee_fma(va, vb, vc, **options).number == encode(x * y + z, f, mode, zero_sum(sa ^ sb, sc, mode))
    if name != "f64" and y:
        assert ieee.ieee_div(va, vb, **options).number == encode(x / y, f, mode, sa ^ sb)


@given(CASES)
def test_conversions_between_formats(case: tuple[str, int, int, int, str]) -> None:
    name, a, _, _, mode = case
    x = decode(a, FORMATS[name])
    if x is None:
        return
    for to, g in FORMATS.items():
        got = ieee.ieee_convert(const(a, FORMATS[name].width), source=name, to=to, rounding=mode)
        assert got.number == encode(x, g, mode, sign_of(a, FORMATS[name]))


@given(CASES)
def test_specials_agree_with_the_host(case: tuple[str, int, int, int, str]) -> None:
    name, a, b, _, _ = case
    f = FORMATS[name]
    bits, number = NUMPY[name]
    x, y = np.array([a], dtype=bits).view(number), np.array([b], dtype=bits).view(number)
    va, vb = const(a, f.width), const(b, f.width)
    with np.errstate(all="ignore"):
        hosts = {ieee.ieee_add: x + y, ieee.ieee_mul: x * y}
        if name != "f64":
            hosts[ieee.ieee_div] = x / y
    for operation, host in hosts.items():
        wanted = ieee.quiet_nan(f) if np.isnan(host[0]) else int(host.view(bits)[0])
        assert operation(va, vb, format=name).number == wanted
    relation = [(x < y)[0], (x == y)[0], (x > y)[0], np.isnan(x)[0] or np.isnan(y)[0]]
    assert ieee.ieee_compare(va, vb, format=name).number == sum(1 << i for i, r in enumerate(relation) if r)


@given(st.sampled_from(["u8", "s8", "u16", "s16", "u32", "s32"]), st.integers(0, 2**32 - 1), st.sampled_from(MODES))
def test_integers_to_floats_and_back(kind: Any, raw: int, mode: Any) -> None:
    width = int(kind[1:])
    value = raw & ((1 << width) - 1)
    if kind[0] == "s" and value >> (width - 1):
        value -= 1 << width
    for name, f in FORMATS.items():
        got = ieee.int_to_float(const(raw, 32), source=kind, to=name, rounding=mode).number
        assert got == encode(Fraction(value), f, mode, 0)
    exact = ieee.int_to_float(const(raw, 32), source=kind, to="f64")
    assert ieee.float_to_int(exact, source="f64", to=kind).number == value & ((1 << width) - 1)


@given(patterns(FORMATS["f32"]), st.sampled_from(MODES))
def test_float_to_int_clamps(a: int, mode: Any) -> None:
    x = decode(a, FORMATS["f32"])
    if x is None:
        return
    whole = {"rn": round(x), "rm": floor(x), "rp": -floor(-x), "rz": int(x)}[mode]
    for kind, low, high in (
        ("u8", 0, 255),
        ("s16", -32768, 32767),
        ("u32", 0, 2**32 - 1),
        ("s32", -(2**31), 2**31 - 1),
    ):
        got = ieee.float_to_int(const(a, 32), source="f32", to=kind, rounding=mode).number  # type: ignore[arg-type]
        assert got == min(max(whole, low), high) & ((1 << int(kind[1:])) - 1)


@pytest.mark.parametrize(("kind", "maximum", "low"), [("u8", 255, 0), ("s8", 127, -127), ("s16", 32767, -32767)])
def test_normalised_integers(kind: Any, maximum: int, low: int) -> None:
    width = int(kind[1:])
    for raw in range(0, 1 << width, 1 if width == 8 else 251):
        value = raw - (1 << width) if kind[0] == "s" and raw >> (width - 1) else raw
        value = max(value, low)
        got = ieee.ratio_to_float(const(raw, width), source=kind, maximum=maximum, low=low)
        assert got.number == encode(Fraction(value, maximum), FORMATS["f32"], "rn", 0)
        back = ieee.float_to_ratio(got, source="f32", maximum=maximum, low=low, high=maximum, width=width)
        assert back.number == value & ((1 << width) - 1)


def test_min_max_order_zeros_and_drop_nans() -> None:
    nan, one, zero, minus_zero = (const(v, 32) for v in (0xFF800001, 0x3F800000, 0, 0x80000000))
    assert ieee.ieee_max(minus_zero, zero).number == 0
    assert ieee.ieee_min(zero, minus_zero).number == 0x80000000
    assert ieee.ieee_min(nan, one).number == ieee.ieee_max(one, nan).number == 0x3F800000
    assert ieee.ieee_max(nan, nan).number == 0x7FC00000


@given(patterns(FORMATS["f32"]), st.sampled_from(MODES))
def test_integral_rounding(a: int, mode: Any) -> None:
    x = decode(a, FORMATS["f32"])
    if x is None:
        return
    whole = {"rn": round(x), "rm": floor(x), "rp": -floor(-x), "rz": int(x)}[mode]
    got = ieee.ieee_round(const(a, 32), rounding=mode).number
    assert got == encode(Fraction(whole), FORMATS["f32"], "rn", a >> 31)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_round_pack_takes_any_magnitude(name: str) -> None:
    f = FORMATS[name]
    width = 64
    for m in (0, 1, 3, (1 << f.precision) + 1, (1 << width) - 1, 0b101 << (width - 3)):
        for exponent in (-80, 1, f.bias, f.top - 1, f.top + 3):
            value = Fraction(m, 1 << (width - 1)) * Fraction(2) ** (exponent - f.bias)
            for mode in MODES:
                got = round_pack(const(1, 1), const(exponent, 32), const(m, width), f, mode)
                assert got.number == encode(-value, f, mode, 1)


def test_reference_agrees_with_struct() -> None:
    for value in (0.1, 1e-45, 3.4028235e38, 65504.0, 5.9e-8):
        assert encode(Fraction(value), FORMATS["f32"], "rn", 0) == struct.unpack("<I", struct.pack("<f", value))[0]
