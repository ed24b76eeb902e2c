"""A product of matrices with tiles in shared memory: `python examples/tesla/matmul.py [side]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import isakit

SOURCE = Path(__file__).with_suffix(".s")


def matmul(device: isakit.Device, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, object]:
    """a @ b for square f32 matrices whose side is a multiple of 16, and the statistics of the launch."""
    n = len(a)
    if n % 16 or a.shape != (n, n) or b.shape != (n, n):
        raise ValueError("the matrices must be square, with a side that is a multiple of 16")
    program = isakit.isa("tesla", device.chip).assemble(SOURCE.read_text())
    kernel = device.load(program)["matmul"]
    c = np.zeros((n, n), np.float32)
    stats = kernel[(n // 16, n // 16), (16, 16)](a, b, c, n)
    return c, stats


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    rng = np.random.default_rng(0)
    a, b = rng.random((n, n), dtype=np.float32), rng.random((n, n), dtype=np.float32)
    c, stats = matmul(isakit.Device("gt200"), a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    print(f"{n} x {n}: {stats}")
    print(f"largest relative error: {np.abs(c / exact - 1).max():.1e} (the chip cuts products to 24 bits)")


if __name__ == "__main__":
    main()
