"""y = a * x + y on a million elements: `python examples/tesla/saxpy.py [elements]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import isakit

SOURCE = Path(__file__).with_suffix(".s")


def saxpy(device: isakit.Device, a: float, x: np.ndarray, y: np.ndarray) -> object:
    """Add `a * x` to `y` in place; returns the statistics of the launch."""
    program = isakit.isa("tesla", device.chip).assemble(SOURCE.read_text())
    kernel = device.load(program)["saxpy"]
    return kernel[-(-len(x) // 256), 256](len(x), np.float32(a), x, y)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    rng = np.random.default_rng(0)
    x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
    expected = 2 * x + y
    stats = saxpy(isakit.Device("gt200"), 2.0, x, y)
    print(f"{n} elements: {stats}")
    print("equal to NumPy:", np.array_equal(y, expected))  # a product with 2 is exact, so cutting it changes nothing


if __name__ == "__main__":
    main()
