"""Native float lowerings and value graphs, compiled, against the integer definitions."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.codegen import compiled_operation
from isakit.engine.llvm import host
from isakit.sem.fp import f32, sfu
from support.runners.lowered import function

SPECIAL = [
    0, 0x80000000, 1, 0x807FFFFF, 0x007FFFFF, 0x00800000, 0x80800001, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x40400000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x20000000, 0x5F000000,
    0x1F800000, 0x00FFFFFF, 0x33800000, 0xB3800000, 0x7EFFFFFF, 0x34000001,
]  # fmt: skip


def operands_for(count: int) -> list[np.ndarray]:
    """All combinations of special numbers, then random ones near each other in size; a multiple of 32 rows."""
    rows = list(itertools.islice(itertools.product(SPECIAL, repeat=count), 20_000))
    rng = random.Random(count)
    for _ in range(6_000):
        scale = rng.randrange(1, 255)
        numbers = [
            rng.getrandbits(1) << 31 | min(254, max(0, scale + rng.randrange(-26, 27))) << 23 | rng.getrandbits(23)
            for _ in range(count)
        ]
        if count == 3 and rng.random() < 0.5:  # products at both ends of the range, with addends of their size
            product, first = rng.choice([rng.randrange(125, 132), rng.randrange(-160, -92)]), rng.randrange(-60, 61)
            sizes = (product // 2 + first, product - product // 2 - first, product + rng.randrange(-27, 28))
            numbers = [n & 0x807FFFFF | min(254, max(0, e + 127)) << 23 for n, e in zip(numbers, sizes, strict=True)]
        rows.append(tuple(numbers))
    rows += rows[: -len(rows) % 32]
    return [np.array(column, np.uint32) for column in zip(*rows, strict=True)]


CASES = [
    ("f32_add", {"rounding": "rn"}, 2),
    ("f32_add", {"rounding": "rz"}, 2),
    ("f32_mul", {"rounding": "rn", "zero_wins": False}, 2),
    ("f32_mul", {"rounding": "rz", "zero_wins": False}, 2),
    ("f32_mad", {"zero_wins": False}, 3),
    ("f32_max", {}, 2),
    ("f32_min", {}, 2),
]


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("name", "statics", "count"), CASES)
def test_native_floats_equal_their_definition(name: str, statics: dict[str, Any], count: int, portable: bool) -> None:
    op = getattr(f32, name)
    arrays = operands_for(count)
    definition = compiled_operation(op, tuple(sorted(statics.items())), (32,) * count, "numpy")
    with np.errstate(all="ignore"):
        expected = np.asarray(definition(*arrays)).astype(np.uint32)
    got = function(op, statics, count, portable)(*arrays)
    wrong = np.flatnonzero(got != expected)
    assert not len(wrong), [f"{[f'{a[k]:08x}' for a in arrays]}: {got[k]:08x} not {expected[k]:08x}" for k in wrong[:5]]


@pytest.mark.parametrize("cpu", ["znver5", "sapphirerapids"])
def test_multiply_add_by_its_ways(cpu: str) -> None:
    """Thirty-two lanes of the same numbers take the shortest way that does for these; there are two kinds of tests."""
    if not host().embedded:
        pytest.skip("needs AVX-512")
    arrays = [np.repeat(a, 32) for a in operands_for(3)]
    definition = compiled_operation(f32.f32_mad, (("zero_wins", False),), (32,) * 3, "numpy")
    with np.errstate(all="ignore"):
        expected = np.repeat(np.asarray(definition(*(a[::32] for a in arrays))).astype(np.uint32), 32)
    got = function(f32.f32_mad, {"zero_wins": False}, 3, portable=False, cpu=cpu)(*arrays)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("portable", [False, True])
def test_all_squares_of_the_special_function_unit(portable: bool) -> None:
    """Bits above the seventeenth do not count."""
    numbers = np.arange(1 << 17, dtype=np.uint32)
    definition = compiled_operation(sfu.truncated_square, (), (32,), "numpy")
    square = function(sfu.truncated_square, {}, 1, portable)
    expected = np.asarray(definition(numbers)).astype(np.uint32)
    for above in (0, 0xABCC0000):
        assert np.array_equal(square(numbers | np.uint32(above)), expected)


@pytest.mark.parametrize("portable", [False, True])
def test_identities_do_not_fold(portable: bool) -> None:
    """x * 1.0 and x + -0.0 still flush denormals and make NaN canonical."""
    x = np.array([1, 0x807FFFFF, 0x7F800001, 0x3F800000] * 8, np.uint32)
    one, zero = np.full(32, 0x3F800000, np.uint32), np.full(32, 0x80000000, np.uint32)
    mul = function(f32.f32_mul, {"rounding": "rn", "zero_wins": False}, 2, portable)(x, one)
    assert [f"{v:08x}" for v in mul[:4]] == ["00000000", "80000000", "7fffffff", "3f800000"]
    add = function(f32.f32_add, {"rounding": "rn"}, 2, portable)(x, zero)
    assert [f"{v:08x}" for v in add[:4]] == ["00000000", "80000000", "7fffffff", "3f800000"]
