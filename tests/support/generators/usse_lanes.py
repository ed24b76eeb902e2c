"""USSE cores of many lanes with random registers, and what is in them."""

from __future__ import annotations

import numpy as np

from isakit import usse

LANES = 1024


def random_core() -> usse.Core:
    """A core whose pa, sa and i hold small f32 numbers and whose r holds any bits."""
    c = usse.Core(LANES)
    r = np.random.default_rng(9)
    c.pa[:] = r.uniform(-8, 8, c.pa.shape).astype(np.float32).view(np.uint32)
    c.sa[:] = r.uniform(-8, 8, c.sa.shape).astype(np.float32).view(np.uint32)
    c.i[:] = r.uniform(-8, 8, c.i.shape).astype(np.float32).view(np.uint32)
    c.r[:] = r.integers(0, 1 << 32, c.r.shape, dtype=np.uint64).astype(np.uint32)
    return c


def f32(a: np.ndarray) -> np.ndarray:
    """Registers as f32."""
    return a.view(np.float32)


def same(a: np.ndarray, b: np.ndarray) -> None:
    """Every element equals the other one; a NaN equals a NaN."""
    np.testing.assert_array_equal(a, b)
