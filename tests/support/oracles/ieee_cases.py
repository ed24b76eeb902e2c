"""Operands and operations with which fast versions of IEEE arithmetic are held against the integer definitions."""

from __future__ import annotations

import numpy as np

from isakit.arch.usse.transcendental import rsqrt_f32
from isakit.sem.fp.ieee import (
    float_to_ratio,
    ieee_compare,
    ieee_convert,
    ieee_div,
    ieee_max,
    ieee_min,
    ieee_round,
)

SPECIAL = np.array([0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
                    0x7FC00000, 0xFFC12345, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x4B000000, 0x477FF000, 0x477FEFFF,
                    0x33000000, 0x33000001, 0x387FE000, 0x38800000], np.uint32)  # fmt: skip


def operands(count: int, seed: int = 3) -> list[np.ndarray]:
    """Pairs of all special values, random bits, and values of similar size."""
    r = np.random.default_rng(seed)
    grid = np.meshgrid(*[SPECIAL] * count)
    random = r.integers(0, 1 << 32, (count, 20000), dtype=np.uint64).astype(np.uint32)
    near = r.uniform(-4, 4, (count, 20000)).astype(np.float32).view(np.uint32)
    halves = r.uniform(-60000, 60000, (count, 5000)).astype(np.float16).astype(np.float32).view(np.uint32)
    return [np.concatenate([grid[k].ravel(), random[k], near[k], halves[k]]) for k in range(count)]


CASES = [
    (ieee_convert, {"source": "f32", "to": "f16"}, 1), (ieee_div, {}, 2), (ieee_min, {}, 2), (ieee_max, {}, 2),
    (ieee_compare, {}, 2), *[(ieee_round, {"rounding": m}, 1) for m in ("rn", "rm", "rp", "rz")], (rsqrt_f32, {}, 1),
    *[(float_to_ratio, {"source": "f32", "maximum": m, "low": low, "high": high, "width": 32}, 1)
      for m, low, high in ((255, 0, 255), (127, -127, 127), (65535, 0, 65535), (32767, -32767, 32767),
                           (255, -510, 510))],
]  # fmt: skip

"""(operation, static arguments, number of f32 operands)"""

FRACTIONS = [("u8", 8, 255, 0), ("s8", 8, 127, -127), ("u16", 16, 65535, 0), ("s16", 16, 32767, -32767),
             ("s16", 16, 255, -510)]  # fmt: skip
"""Normalised integers: type, bits, what stands for 1, the smallest that counts."""
