"""Native lowerings equal the integer definitions: every pair of special values, and a million random operands."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from isakit.engine import numpy_operations
from isakit.engine.codegen import compiled_operation
from isakit.sem.fp import convert, f32, f64, ieee
from isakit.sem.operation import Operation

CASES: list[tuple[Operation, dict[str, Any], int, int]] = [
    *[(f32.f32_add, {"rounding": r}, 2, 32) for r in ("rn", "rz")],
    *[(f32.f32_mul, {"rounding": r, "zero_wins": z}, 2, 32) for r in ("rn", "rz") for z in (False, True)],
    *[(f32.f32_mad, {"zero_wins": z}, 3, 32) for z in (False, True)],
    *[
        (convert.i2f, {"source": s, "rounding": r, "absolute": m > 1, "negate": m % 2 == 1}, 1, 32)
        for s in ("u8", "s8", "u16", "s16", "u32", "s32")
        for r in ("rn", "rz")
        for m in range(4)
    ],
    *[
        (convert.f2i, {"source": "f32", "to": s, "rounding": r, "absolute": m > 1, "negate": m % 2 == 1}, 1, 32)
        for s in ("u8", "s8", "u16", "s16", "u32", "s32")
        for r in ("rn", "rz", "rm", "rp")
        for m in range(4)
    ],
    (f64.f64_add, {}, 2, 64),
    (f64.f64_mul, {}, 2, 64),
    *[(op, {"format": f}, 2, int(f[1:])) for op in (ieee.ieee_add, ieee.ieee_mul) for f in ("f32", "f64")],
    (ieee.ieee_fma, {}, 3, 32),
]


def specials(width: int) -> list[int]:
    fraction, bias = (23, 127) if width == 32 else (52, 1023)
    top = 2 * bias + 1
    exponents = [0, 1, 2, bias - fraction, bias - 1, bias, bias + 1, bias + fraction + 1, top - 1, top]
    fractions = [0, 1, 1 << (fraction - 1), (1 << fraction) - 1]
    return [sign << (width - 1) | e << fraction | f for sign in (0, 1) for e in exponents for f in fractions]


def related(rng: np.random.Generator, count: int, arity: int, width: int) -> list[np.ndarray]:
    """Operands near each other in exponent or near the ends of the range, where rounding and flushing are decided."""
    dtype = np.uint32 if width == 32 else np.uint64
    fraction, bias = (23, 127) if width == 32 else (52, 1023)
    base = rng.integers(0, 2 * bias + 2, count)
    columns = []
    for _ in range(arity):
        exponent = np.clip(base + rng.integers(-3, 4, count) * rng.integers(0, 13, count), 0, 2 * bias + 1)
        base = np.where(rng.random(count) < 0.5, np.clip(bias - base + 1, 0, None), base)
        bits = rng.integers(0, 1 << fraction, count) & -(1 << rng.integers(0, fraction + 1, count))
        bits = np.where(rng.random(count) < 0.3, rng.integers(0, 4, count), bits)
        sign = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(width - 1)
        columns.append(
            (exponent.astype(np.uint64) << np.uint64(fraction) | bits.astype(np.uint64) | sign).astype(dtype)
        )
    return columns


def boundary(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """f32 operands whose product lies around 2**-126, 2**-150 or 2**128, plus an addend close to it."""
    edge = rng.choice([-127, -126, -125, -151, -150, -149, 126, 127, 128], count)
    first = rng.integers(np.maximum(-126, edge - 127), np.minimum(127, edge + 126) + 1)

    def number(exponent: np.ndarray) -> np.ndarray:
        bits = rng.integers(0, 1 << 23, count)
        bits = np.where(
            rng.random(count) < 0.6, rng.choice([0, 1, 2, (1 << 23) - 1, (1 << 23) - 2, 1 << 22], count), bits
        )
        stored = np.clip(exponent + 127, 0, 254)
        return (rng.integers(0, 2, count) << 31 | stored << 23 | bits).astype(np.uint32)

    addend = np.where(rng.random(count) < 0.3, -126, edge + rng.integers(-26, 27, count))
    zero = rng.random(count) < 0.1
    return [
        number(first),
        number(edge - first),
        np.where(zero, 0, number(np.clip(addend, -126, 127))).astype(np.uint32),
    ]


def agree(op: Operation, statics: dict[str, Any], width: int, columns: list[np.ndarray]) -> None:
    key = tuple(sorted(statics.items()))
    fast = numpy_operations.lowering(op, key, (width,) * len(columns))
    assert fast is not None
    exact = compiled_operation(op, key, (width,) * len(columns), "numpy")
    before = [c.copy() for c in columns]
    for low in range(0, len(columns[0]), 1 << 16):
        part = [c[low : low + (1 << 16)] for c in columns]
        with np.errstate(all="ignore"):
            got = fast(*part)
        wanted = exact(*part)
        assert got.dtype == wanted.dtype
        for i in np.nonzero(got != wanted)[0][:3]:
            operands = " ".join(f"{int(p[i]):x}" for p in part)
            pytest.fail(f"{op.name} {statics} of {operands}: {int(got[i]):x} instead of {int(wanted[i]):x}")
    assert all((c == b).all() for c, b in zip(columns, before, strict=True))


def label(case: Any) -> str:
    return "-".join([case[0].name, *map(str, case[1].values())])


@pytest.mark.parametrize("case", CASES, ids=label)
def test_special_values(case: tuple[Operation, dict[str, Any], int, int]) -> None:
    op, statics, arity, width = case
    values = specials(width)
    rows = list(itertools.product(values, repeat=arity))
    dtype = np.uint32 if width == 32 else np.uint64
    agree(op, statics, width, [np.array(column, dtype) for column in zip(*rows, strict=True)])


@pytest.mark.parametrize("case", CASES, ids=label)
def test_random_operands(case: tuple[Operation, dict[str, Any], int, int]) -> None:
    op, statics, arity, width = case
    rng = np.random.default_rng(7)
    dtype = np.uint32 if width == 32 else np.uint64
    # The 64-bit product goes through arrays of Python ints, which take a second for 1e6 operands.
    count = 1 << (20 if arity > 1 else 16)
    if op in {f64.f64_mul, ieee.ieee_mul} and width == 64:
        count = 1 << 17
    agree(op, statics, width, [rng.integers(0, 1 << width, count, dtype) for _ in range(arity)])
    if arity > 1:
        agree(op, statics, width, related(rng, count, arity, width))
    if arity > 1 and width == 32:
        agree(op, statics, width, boundary(rng, count)[:arity])
    if op is convert.f2i:  # halves and quarters around small integers, and the ends of the ranges
        near = rng.integers(-600, 600, count) / 4 + rng.choice(
            [0, 2.0**7, 2.0**15, 2.0**23, 2.0**31, -(2.0**31)], count
        )
        agree(op, statics, width, [near.astype(np.float32).view(np.uint32)])
