"""Hash thread numbers and add up the results of each block: `python examples/tesla/hash_reduce.py [blocks]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import isakit

SOURCE = Path(__file__).with_suffix(".s")
THREADS = 256


def hash_reduce(device: isakit.Device, blocks: int, seed: int, rounds: int) -> tuple[np.ndarray, object]:
    """The sum of every block, and the statistics of the launch."""
    program = isakit.isa("tesla", device.chip).assemble(SOURCE.read_text())
    kernel = device.load(program)["hash_reduce"]
    out = np.zeros(blocks, np.uint32)
    stats = kernel[blocks, THREADS](out, seed, rounds)
    return out, stats


def reference(blocks: int, seed: int, rounds: int) -> np.ndarray:
    """The same in NumPy."""
    x = (np.arange(blocks * THREADS, dtype=np.uint32) + np.uint32(seed)) | 1
    for _ in range(rounds):
        x ^= x << 13
        x ^= x >> 17
        x ^= x << 5
    return x.reshape(blocks, THREADS).sum(axis=1, dtype=np.uint32)


def main() -> None:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    out, stats = hash_reduce(isakit.Device("gt200"), blocks, seed=5, rounds=128)
    print(f"{blocks} blocks: {stats}")
    print("equal to NumPy:", np.array_equal(out, reference(blocks, 5, 128)))


if __name__ == "__main__":
    main()
