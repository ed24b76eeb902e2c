"""The order of texels or blocks of a swizzled (twiddled) image of a PowerVR."""

from __future__ import annotations

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError


def swizzle_index(width: int, height: int) -> Array:
    """Return the position of each texel (or block) of a swizzled image: int64 [height, width].

    Bits of y and x alternate, y lowest, as far as the shorter side goes; what is left of the longer side lies above.
    Sides are powers of two.
    """
    for side in (width, height):
        if side < 1 or side & side - 1:
            raise LaunchError(f"a swizzled texture has sides that are powers of two, not {width} x {height}")
    shared = min(width, height).bit_length() - 1
    x, y = np.arange(width)[None, :], np.arange(height)[:, None]
    out = np.zeros((height, width), np.int64)
    for k in range(shared):
        out |= (y >> k & 1) << 2 * k | (x >> k & 1) << 2 * k + 1
    return out | (x >> shared | y >> shared) << 2 * shared
