"""Memory to which compiled code writes the quads of a draw, reused by the next one."""

from __future__ import annotations

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.raster import Quads

WARP_QUADS = 8
"""Quads whose pixels are the lanes of a warp."""


class QuadBuffers:
    """Memory for the quads of a draw: `count` quads, and room for `room`."""

    def __init__(self, room: int) -> None:
        self.count = 0
        room += WARP_QUADS
        self.x, self.y, self.primitive = (np.zeros(room, np.int64) for _ in range(3))
        self.covered: Array = np.zeros((room, 4), np.uint8)
        self.used: Array = np.zeros(1, np.int64)

    def end(self) -> int:
        """Append empty quads up to a whole warp; return the number of quads without them."""
        n = self.count = int(self.used[0])
        for a in (self.x, self.y, self.primitive, self.covered):
            a[n : n + WARP_QUADS] = 0
        return n

    def part(self, start: int) -> Quads:
        """Return the quads from `start` on."""
        some = slice(start, self.count)
        return Quads(self.x[some], self.y[some], self.covered[some].view(bool), self.primitive[some])
