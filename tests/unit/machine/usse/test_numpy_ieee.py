"""The NumPy versions of float operations are equal to their integer definitions."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.arch.usse.transcendental import exp2_f32, log2_f32, rsqrt_f32
from isakit.engine.codegen import compiled_operation
from isakit.engine.numpy_operations import lowering
from isakit.machine.usse import numpy_ieee  # noqa: F401 - registers the versions under test
from isakit.sem.fp.ieee import ieee_convert, ratio_to_float
from support.oracles.ieee_cases import CASES, FRACTIONS, SPECIAL, operands


def both(operation, statics, widths):
    key = tuple(sorted(statics.items()))
    fast = lowering(operation, key, widths)
    assert fast is not None
    return fast, compiled_operation(operation, key, widths, "numpy")


@pytest.mark.parametrize(("operation", "statics", "count"), CASES, ids=lambda v: str(v))
def test_equal_to_the_definition(operation, statics, count):
    fast, slow = both(operation, statics, (32,) * count)
    values = operands(count)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fast(*values), slow(*values))


@pytest.mark.parametrize(("operation", "statics", "count"), CASES, ids=lambda v: str(v))
def test_results_do_not_depend_on_the_place_in_an_array(operation, statics, count):
    """The last numbers of an array go another way through NumPy than the ones before."""
    fast, slow = both(operation, statics, (32,) * count)
    grid = [g.ravel() for g in np.meshgrid(*[SPECIAL] * count)]
    with np.errstate(all="ignore"):
        expected = slow(*grid)
        for k in range(len(grid[0])):
            got = fast(*[g[k : k + 1] for g in grid])
            assert int(got[0]) == int(expected[k]), [hex(g[k]) for g in grid]


def test_halves_widen_exactly():
    fast, slow = both(ieee_convert, {"source": "f16", "to": "f32"}, (16,))
    every = np.arange(1 << 16, dtype=np.uint32)
    np.testing.assert_array_equal(fast(every), slow(every))


@pytest.mark.parametrize(("source", "width", "maximum", "low"), FRACTIONS)
def test_fractions_of_integers(source, width, maximum, low):
    fast, slow = both(ratio_to_float, {"source": source, "maximum": maximum, "low": low, "to": "f32"}, (width,))
    every = np.arange(1 << width, dtype=np.uint32)
    np.testing.assert_array_equal(fast(every), slow(every))


def test_reciprocal_roots_of_every_significand():
    """Rounding twice is harmless: the result depends on the significand and the parity of the exponent."""
    fast, slow = both(rsqrt_f32, {}, (32,))
    # A slice of each binade here; the whole of both took 20 seconds and was equal.
    for start in (0x3F800000, 0x3FFF0000, 0x40000000, 0x407F0000, 0x3FB50000):
        x = start + np.arange(1 << 16, dtype=np.uint32)
        np.testing.assert_array_equal(fast(x), slow(x))


def distance(a: np.ndarray, b: np.ndarray) -> int:
    def order(v):
        n = v.view(np.int32).astype(np.int64)
        return np.where(n < 0, -(n & 0x7FFFFFFF), n)

    ok = np.isfinite(a) & np.isfinite(b)
    assert (np.isnan(a) == np.isnan(b)).all()
    assert (a[~ok & ~np.isnan(a)] == b[~ok & ~np.isnan(b)]).all()
    return int(np.abs(order(a[ok]) - order(b[ok])).max())


@pytest.mark.parametrize(("operation", "exact"), [(exp2_f32, np.exp2), (log2_f32, np.log2)])
def test_logarithm_and_power(operation, exact):
    slow = compiled_operation(operation, (), (32,), "numpy")
    r = np.random.default_rng(4)
    x = np.concatenate([SPECIAL, r.integers(0, 1 << 32, 50000, dtype=np.uint64).astype(np.uint32),
                        r.uniform(-150, 130, 50000).astype(np.float32).view(np.uint32),
                        0x3F800000 + r.integers(-70000, 70000, 50000).astype(np.uint32)])  # fmt: skip
    with np.errstate(all="ignore"):
        expected = exact(x.view(np.float32).astype(np.longdouble)).astype(np.float32)
    assert distance(slow(x).view(np.float32), expected) <= 1
