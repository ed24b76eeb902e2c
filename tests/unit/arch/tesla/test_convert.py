"""Conversions: types, clamping, modifiers and the chips' differences, against numpy and hand-made cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import isakit
from support.runners.tesla_run import LANES, f32, run

INTERESTING = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
BITS = {"8": 8, "16": 16, "32": 32}


def numbers() -> list[int]:
    rng = np.random.default_rng(5)
    return [*INTERESTING, *(int(v) for v in rng.integers(0, 1 << 32, LANES - len(INTERESTING)))]


def as_type(word: int, kind: str) -> int:
    n = int(kind[1:])
    v = word & (1 << n) - 1
    return v - (1 << n) if kind[0] == "s" and v >> n - 1 else v


def clamped(v: int, kind: str) -> int:
    n = int(kind[1:])
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if kind[0] == "s" else (0, (1 << n) - 1)
    return max(low, min(high, v))


@pytest.mark.parametrize("source", ["u8", "s8", "u16", "s16", "u32", "s32"])
@pytest.mark.parametrize("to", ["u8", "s8", "u16", "s16", "u32", "s32"])
@pytest.mark.parametrize(("modifier", "apply"), [("", lambda v: v), ("neg", lambda v: -v), ("abs", abs),
                                                ("neg abs", lambda v: -abs(v))])  # fmt: skip
def test_integers(source, to, modifier, apply) -> None:
    operand = "$r4l" if source[1:] in ("8", "16") else "$r4"
    wide = to[1:] == "32"
    after = run(
        f"cvt {modifier} {to} $c1 {'$r7' if wide else '$r7l'} {source} {operand}", {4: numbers(), 7: 0x5A5A0000}
    )
    for word, got, cc in zip(numbers(), after.r(7), after.c(1), strict=True):
        wanted = clamped(apply(as_type(word, source)), to)
        register = wanted & (0xFFFFFFFF if wide else 0xFFFF)
        assert got == (register if wide else 0x5A5A0000 | register)
        assert cc == (wanted == 0) | (register >> (31 if wide else 15)) << 1


@pytest.mark.parametrize("source", ["u16", "s16", "u32", "s32", "u8", "s8"])
@pytest.mark.parametrize("mode", ["rn", "rm", "rp", "rz"])
def test_integers_to_f32(source, mode) -> None:
    operand = "$r4l" if source[1:] == "16" else "$r4"
    after = run(f"cvt {mode} f32 $r7 {source} {operand}", {4: numbers()})
    for word, got in zip(numbers(), after.r(7), strict=True):
        v = as_type(word, source)
        near = np.float32(v)
        below, above = (near, np.nextafter(near, np.float32(np.inf))) if Fraction(float(near)) <= v else (
            np.nextafter(near, np.float32(-np.inf)), near)  # fmt: skip
        if Fraction(float(near)) == v:
            below = above = near
        wanted = {"rn": near, "rm": below, "rp": above, "rz": below if v >= 0 else above}[mode]
        assert got == int(np.float32(wanted).view(np.uint32)), (source, mode, v)


@pytest.mark.parametrize(
    ("mode", "value", "wanted"),
    [
        ("rni", 2.5, 2), ("rni", 3.5, 4), ("rni", -2.5, -2), ("rmi", 2.9, 2), ("rmi", -2.1, -3), ("rpi", 2.1, 3),
        ("rpi", -2.9, -2), ("rzi", 2.9, 2), ("rzi", -2.9, -2), ("rzi", 1e30, 0x7FFFFFFF), ("rzi", -1e30, -0x80000000),
        ("rni", float("nan"), 0), ("rni", float("inf"), 0x7FFFFFFF), ("rpi", 1e-40, 0),
    ],
)  # fmt: skip
def test_f32_to_integer(mode, value, wanted) -> None:
    after = run(f"cvt {mode} s32 $c1 $r7 f32 $r4", {4: f32(value)})
    assert after.r(7)[0] == wanted & 0xFFFFFFFF
    assert after.c(1)[0] == (wanted == 0) | (wanted < 0) << 1
    unsigned = run(f"cvt {mode} u32 $r7 f32 $r4", {4: f32(value)}).r(7)[0]
    assert unsigned == (0xFFFFFFFF if value > 1e20 else max(0, wanted))


def test_half_precision_round_trip() -> None:
    halves = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x3555]
    words = [h << 16 for h in halves]
    up = run("cvt f32 $r7 f16 $r4h", {4: words}).r(7)[: len(halves)]
    wanted = np.array(halves, np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    assert up == wanted.tolist()
    down = run("cvt rn f16 $r7h f32 $r4", {4: up, 7: 0x1234}).r(7)[: len(halves)]
    assert down == [h << 16 | 0x1234 for h in halves]
    assert run("cvt f32 $r7 f16 $r4h", {4: 0x7E010000}).r(7)[0] == 0x7FFFFFFF


@pytest.mark.parametrize(("mode", "wanted"), [("rn", 0x7C00), ("rz", 0x7BFF), ("rm", 0x7BFF), ("rp", 0x7C00)])
def test_overflow_to_half_precision(mode, wanted) -> None:
    assert run(f"cvt {mode} f16 $r7l f32 $r4", {4: f32(65520.0), 7: 0}).r(7)[0] == wanted


def test_saturation_comes_before_integral_rounding() -> None:
    assert run("cvt sat rpi f32 $r7 f32 $r4", {4: f32(0.25)}).r(7)[0] == f32(1.0)
    assert run("cvt sat rni f32 $r7 f32 $r4", {4: f32(7.6)}).r(7)[0] == f32(1.0)
    assert run("cvt neg abs f32 $r7 f32 $r4", {4: f32(-2.0)}).r(7)[0] == f32(-2.0)


def test_half_precision_of_large_integers_loses_bits() -> None:
    """The documented fault: from 2**30 on the top bits are dropped."""
    assert run("cvt rz f16 $r7l u32 $r4", {4: 0x40000001, 7: 0}).r(7)[0] == 0x3C00
    assert run("cvt rn f16 $r7l u32 $r4", {4: 0x3FFFFFFF, 7: 0}).r(7)[0] == 0
    assert run("cvt rn f16 $r7l u32 $r4", {4: 1000, 7: 0}).r(7)[0] == 0x63D0


def test_fp64_class_bit_without_fp64_is_ignored() -> None:
    words = (0xA0000821, 0xC4404780)
    old = next(iter(isakit.isa("tesla", "g84").disassemble(words)))
    assert (old.text.split(" {")[0], old.unknown_bits) == ("cvt f32 $r8 f32 $r4", 1 << 54)
    new = next(iter(isakit.isa("tesla", "gt200").disassemble(words)))
    assert (new.text, new.unknown_bits) == ("cvt f64 $r8d f64 $r4d", 0)


def test_byte_sources_reach_memory() -> None:
    params = bytes([1, 2, 0x80, 0xFF])
    assert run("cvt s32 $r7 s8 u8 s[0x12]", {}, params=params).r(7)[0] == 0xFFFFFF80
    assert run("cvt u32 $r7 u8 u8 s[0x13]", {}, params=params).r(7)[0] == 0xFF
    with pytest.raises(isakit.AsmError):
        run("cvt u32 $r7 u8 u16 s[0x12]", {}, params=params)
