"""Special functions: accuracy against the mathematical functions, special operands, the pre-operations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.runners.tesla_run import LANES, f32, run

NAN, INF, MINUS = 0x7FFFFFFF, 0x7F800000, 0x80000000


def value(word: int) -> float:
    return float(np.uint32(word).view(np.float32))


def arguments(low: float, high: float) -> list[float]:
    rng = np.random.default_rng(11)
    return [float(np.float32(v)) for v in rng.uniform(low, high, LANES)]


@pytest.mark.parametrize(
    ("text", "function", "low", "high", "error"),
    [
        ("rcp f32 $r7 $r4", lambda x: 1 / x, 0.01, 1000, 2**-22),
        ("rsqrt f32 $r7 $r4", lambda x: 1 / math.sqrt(x), 0.01, 1000, 2**-22),
        ("lg2 f32 $r7 $r4", math.log2, 2, 1e6, 2**-22),
        ("presin f32 $r7 $r4\nsin f32 $r7 $r7", math.sin, 0.2, 3, 2**-20),
        ("presin f32 $r7 $r4\ncos f32 $r7 $r7", math.cos, -1.2, 1.2, 2**-20),
        ("preex2 f32 $r7 $r4\nex2 f32 $r7 $r7", lambda x: 2**x, -20, 20, 2**-21),
        ("rcp f32 $r7 neg abs $r4", lambda x: -1 / abs(x), -10, -0.1, 2**-22),
    ],
)
def test_accuracy(text, function, low, high, error) -> None:
    xs = arguments(low, high)
    for x, got in zip(xs, run(text, {4: [f32(x) for x in xs]}).r(7), strict=True):
        assert abs(value(got) - function(x)) <= error * abs(function(x)), x


def test_special_operands() -> None:
    operands = [0, MINUS, 1, MINUS | 1, INF, MINUS | INF, NAN, f32(-4.0)]
    wanted = {
        "rcp": [INF, MINUS | INF, INF, MINUS | INF, 0, MINUS, NAN, None],
        "rsqrt": [INF, MINUS | INF, INF, MINUS | INF, 0, NAN, NAN, NAN],
        "lg2": [MINUS | INF] * 4 + [INF, NAN, NAN, NAN],
    }
    for name, results in wanted.items():
        got = run(f"{name} f32 $r7 $r4", {4: operands}).r(7)
        for operand, w, g in zip(operands, results, got, strict=False):
            assert w is None or g == w, (name, hex(operand), hex(g))


def test_preparation_marks_what_is_not_finite() -> None:
    operands = [0, 1, INF, MINUS | INF, NAN, f32(1.0), f32(-0.5), f32(128.0)]
    assert run("preex2 f32 $r7 $r4", {4: operands}).r(7)[:8] == [
        0, 0, 0x40800000, 0xC0800000, 0x40000000, 1 << 23, MINUS | 1 << 22, 0x40800000]  # fmt: skip
    assert run("presin f32 $r7 $r4", {4: operands}).r(7)[:5] == [0, 0, 0x40800000, 0xC0800000, 0x40000000]
    assert run("sin f32 $r7 $r4", {4: [0x40000000, 0x40800000]}).r(7)[:2] == [NAN, NAN]
    assert run("ex2 f32 $r7 $r4", {4: [0x40800000, 0xC0800000, 0x40000000]}).r(7)[:3] == [INF, 0, NAN]


def test_saturated_power() -> None:
    text = "preex2 f32 $r7 $r4\nex2 f32 sat $r7 $r7"
    assert run(text, {4: [f32(3.0), f32(-1.0), NAN]}).r(7)[:3] == [f32(1.0), f32(0.5), NAN]
    for chip, wanted in (("gt200", 0), ("gt215", 0), ("g84", NAN)):
        assert run(text, {4: NAN}, chip=chip, sat_nan=True).r(7)[0] == wanted
