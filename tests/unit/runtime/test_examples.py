"""The example kernels compute what they say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import isakit
from conftest import ROOT
from support.clients.examples import example

EXAMPLES = ROOT / "examples"


@pytest.fixture
def device() -> isakit.Device:
    return isakit.Device("gt200", engine="reference")


def truncated_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b cut to 24 bits, as `mad` does before it adds (no zeros, no overflow)."""
    exact = a.astype(np.float64) * b.astype(np.float64)
    return (exact.view(np.uint64) & np.uint64(0xFFFF_FFFF_E000_0000)).view(np.float64).astype(np.float32)


def test_saxpy_cuts_products(device: isakit.Device) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.random(1000, dtype=np.float32) + np.float32(0.5) for _ in range(2))
    a = np.float32(1.2345678)
    cut, rounded = truncated_product(np.full_like(x, a), x) + y, a * x + y
    example("tesla/saxpy").saxpy(device, a, x, y)
    assert np.array_equal(y, cut)
    assert not np.array_equal(y, rounded)


@pytest.mark.parametrize("n", [1, 31, 256, 257])
def test_saxpy_of_any_length(device: isakit.Device, n: int) -> None:
    x, y = np.ones(n, np.float32), np.ones(n, np.float32)
    example("tesla/saxpy").saxpy(device, 2.0, x, y)
    assert (y == 3).all()


def test_mandelbrot(device: isakit.Device) -> None:
    width, limit = 48, 40
    out, stats = example("tesla/mandelbrot").mandelbrot(device, width, limit)
    step = np.float32(2.5 / width)
    re = (np.float32(-2) + np.arange(width, dtype=np.float32) * step)[None, :]
    im = (np.float32(-1.25) + np.arange(width, dtype=np.float32) * step)[:, None]
    x, y = np.zeros((2, width, width), np.float32)
    turns = np.zeros((width, width), np.uint32)
    inside = np.ones((width, width), bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(limit):
            a, b = x * x, y * y
            inside &= ~(a + b > 4)
            turns += inside
            x, y = (a - b) + re, (x + x) * y + im
    assert np.array_equal(out, turns)
    assert stats.instructions < 32 * stats.warp_instructions  # lanes did leave at different times


def test_matmul(device: isakit.Device) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.random((32, 32), dtype=np.float32) + np.float32(0.5) for _ in range(2))
    c, _ = example("tesla/matmul").matmul(device, a, b)
    expected = np.zeros((32, 32), np.float32)
    for k in range(32):
        expected = expected + truncated_product(a[:, k : k + 1], b[k : k + 1, :]) if k else a[:, :1] * b[:1, :]
    assert np.array_equal(c, expected)


def test_hash_reduce(device: isakit.Device) -> None:
    module = example("tesla/hash_reduce")
    out, _ = module.hash_reduce(device, 5, seed=1234, rounds=20)
    assert np.array_equal(out, module.reference(5, 1234, 20))


def test_quickstart() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "quickstart.py")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "0 pixels differ from NumPy" in done.stdout
    assert "set_f32" in done.stdout
    assert "@@@@" in done.stdout, "the picture"
