"""Reciprocal square root, logarithm and power of f32: accuracy, exact cases, special values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from isakit.sem.fp import elementary
from isakit.sem.operation import Operation
from isakit.sem.value import Value, const, param
from support.oracles.vector_eval import run

NAN, INF, MINUS_INF, MINUS = 0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000


def leaf() -> Value:
    v = param("v", 32)
    v.uniform = False
    return v


def inputs(low: float, high: float, count: int = 200_000) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(5)
    return rng.uniform(low, high, count).astype(np.float32)


def error(operation: Operation, x: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """Largest error in units of the last place of the result."""
    v = leaf()
    got = run(operation(v), {v: x.view(np.uint32)}).astype(np.uint32).view(np.float32).astype(np.float64)
    unit = 2.0 ** (np.maximum(np.frexp(exact)[1], -125) - 24)
    return float(np.max(np.abs(got - exact) / unit))


@pytest.mark.parametrize(
    ("operation", "function", "low", "high", "limit"),
    [
        (elementary.ieee_rsqrt, lambda x: 1 / np.sqrt(x), 1.0, 4.0, 0.5000001),
        (elementary.ieee_rsqrt, lambda x: 1 / np.sqrt(x), 1e-38, 1e-37, 0.5000001),
        (elementary.ieee_log2, np.log2, 0.97, 1.03, 0.52),
        (elementary.ieee_log2, np.log2, 0.5, 2.0, 0.52),
        (elementary.ieee_log2, np.log2, 1e-38, 1e38, 0.52),
        (elementary.ieee_exp2, np.exp2, -1.0, 1.0, 0.52),
        (elementary.ieee_exp2, np.exp2, -149.0, 128.0, 0.52),
    ],
)
def test_accuracy(operation: Operation, function: Any, low: float, high: float, limit: float) -> None:
    x = inputs(low, high)
    assert error(operation, x, function(x.astype(np.float64))) <= limit


def test_accuracy_close_to_one() -> None:
    around = (np.arange(-4000, 4000, dtype=np.int64) + 0x3F800000).astype(np.uint32).view(np.float32)
    around = around[around != 1]
    assert error(elementary.ieee_log2, around, np.log2(around.astype(np.float64))) <= 0.52


def test_accuracy_of_rsqrt_in_every_interval() -> None:
    bits = np.arange(0x3F800000, 0x40800000, 37, dtype=np.uint32)
    x = bits.view(np.float32)
    assert error(elementary.ieee_rsqrt, x, 1 / np.sqrt(x.astype(np.float64))) <= 0.5000001


def test_powers_of_two_are_exact() -> None:
    for n in range(-149, 128):
        bits = int(np.float32(math.ldexp(1, n)).view(np.uint32))
        power, number = const(bits, 32), const(int(np.float32(n).view(np.uint32)), 32)
        assert elementary.ieee_log2(power).number == number.number
        assert elementary.ieee_exp2(number).number == bits
        if n % 2 == 0:
            root = int(np.float32(math.ldexp(1, -n // 2)).view(np.uint32))
            assert elementary.ieee_rsqrt(power).number == root


@pytest.mark.parametrize(
    ("operation", "argument", "wanted"),
    [
        (elementary.ieee_rsqrt, 0, INF),
        (elementary.ieee_rsqrt, MINUS, MINUS_INF),
        (elementary.ieee_rsqrt, INF, 0),
        (elementary.ieee_rsqrt, 0xBF800000, NAN),
        (elementary.ieee_rsqrt, 0xFFFFFFFF, NAN),
        (elementary.ieee_log2, MINUS, MINUS_INF),
        (elementary.ieee_log2, INF, INF),
        (elementary.ieee_log2, MINUS_INF, NAN),
        (elementary.ieee_log2, 0x3F800000, 0),
        (elementary.ieee_exp2, MINUS, 0x3F800000),
        (elementary.ieee_exp2, INF, INF),
        (elementary.ieee_exp2, MINUS_INF, 0),
        (elementary.ieee_exp2, 0x7F7FFFFF, INF),
        (elementary.ieee_exp2, 0xFF7FFFFF, 0),
        (elementary.ieee_exp2, 0x80000001, 0x3F800000),
        (elementary.ieee_exp2, 0x7F800001, NAN),
    ],
)
def test_special_values(operation: Operation, argument: int, wanted: int) -> None:
    assert f"{operation(const(argument, 32)).number:08x}" == f"{wanted:08x}"
