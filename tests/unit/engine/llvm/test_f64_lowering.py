"""The hardware lowerings of f64 arithmetic against the integer definitions, in every rounding mode."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.codegen import compiled_operation
from isakit.sem.fp import f64
from support.runners.lowered import function

SPECIAL = [
    0, 1 << 63, 1, 1 << 63 | 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x8010000000000000, 0x0010000000000001,
    0x3FF0000000000000, 0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000123, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF,
    0x1FF0000000000000, 0x2000000000000001, 0x3CA0000000000000, 0x3CB0000000000000, 0x5FE0000000000001,
    0x0360000000000000,
]  # fmt: skip
EXTREMES = [
    (0x1FFFFFFFFFFFFFFF, 0x1FFFFFFFFFFFFFFF),
    (0x0010000000000000, 0x3FEFFFFFFFFFFFFF),
    (0x0018000000000000, 0x3FE0000000000000),
    (0x5FEFFFFFFFFFFFFF, 0x5FF0000000000001),
]
"""Factors whose products lie at the ends of the range."""
CASES = [(name, rounding) for name in ("f64_add", "f64_mul", "f64_fma") for rounding in ("rn", "rm", "rp", "rz")]


def operands_for(count: int) -> list[np.ndarray]:
    """Combinations of special numbers, products at the ends of the range, random numbers near each other in size."""
    rng = random.Random(count)
    rows = list(itertools.product(SPECIAL, repeat=count))
    rows = rows if len(rows) < 5_000 else rng.sample(rows, 5_000)
    rows += [(*pair, *[c] * (count - 2)) for pair in EXTREMES for c in SPECIAL]
    for _ in range(3_000):
        scale = rng.choice((rng.randrange(1, 2046), rng.randrange(0, 60), rng.randrange(1000, 1050)))
        numbers = [
            rng.getrandbits(1) << 63 | min(2046, max(0, scale + rng.randrange(-55, 56))) << 52 | rng.getrandbits(52)
            for _ in range(count)
        ]
        rows.append(tuple(numbers))
    rng.shuffle(rows)
    rows += rows[: -len(rows) % 32]
    return [np.array(column, np.uint64) for column in zip(*rows, strict=True)]


def expected(op: Any, rounding: str, arrays: list[np.ndarray]) -> np.ndarray:
    definition = compiled_operation(op, (("rounding", rounding),), (64,) * len(arrays), "scalar")
    columns = [[int(v) for v in a] for a in arrays]
    return np.array([definition(*row) for row in zip(*columns, strict=True)], np.uint64)


@pytest.mark.parametrize(("name", "rounding"), CASES)
@pytest.mark.parametrize("portable", [False, True])
def test_doubles_equal_their_definition(name: str, rounding: str, portable: bool) -> None:
    if portable and rounding != "rn":
        pytest.skip("other modes use the definition itself there")
    op = getattr(f64, name)
    arrays = operands_for(3 if name == "f64_fma" else 2)
    wanted = expected(op, rounding, arrays)
    got = function(op, {"rounding": rounding}, len(arrays), portable, 64)(*arrays)
    wrong = np.flatnonzero(got != wanted)
    assert not len(wrong), [
        f"{[f'{a[k]:016x}' for a in arrays]}: {got[k]:016x} not {wanted[k]:016x}" for k in wrong[:5]
    ]
