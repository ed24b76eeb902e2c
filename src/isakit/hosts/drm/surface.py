"""Images in the card's memory: rows at a pitch, or blocks ("block linear").

A block is 64 bytes wide, 4 << y rows high and 1 << z slices deep; blocks are stored row by row. Source: [nv50]
"Memory"; [graphics] 1.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.hosts.drm.memory import GpuFault, VideoMemory
from isakit.lean import cached_property

BLOCK_BYTES = 64
BLOCK_ROWS = 4


@dataclass(frozen=True)
class Surface:
    """One slice of an image.

    Attributes: `address`; `row_bytes` of the image; `rows`; `pitch` in bytes, 0 for blocks; `block_y`, `block_z`: log2
    of the block's size; `depth`: slices; `z`: the slice.
    """

    memory: VideoMemory
    address: int
    row_bytes: int
    rows: int
    pitch: int = 0
    block_y: int = 0
    block_z: int = 0
    depth: int = 1
    z: int = 0

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of rows and bytes of a row in memory."""
        if self.pitch:
            return self.rows, self.row_bytes
        high = BLOCK_ROWS << self.block_y
        return -(-self.rows // high) * high, -(-self.row_bytes // BLOCK_BYTES) * BLOCK_BYTES

    @cached_property
    def slice_bytes(self) -> int:
        """Size of the whole image with all slices, in bytes."""
        rows, width = self.shape
        return rows * width * (-(-max(1, self.depth) // (1 << self.block_z)) << self.block_z)

    @cached_property
    def span(self) -> int:
        """Number of bytes in memory from the first to the last one of the whole image, both included."""
        return self.pitch * (self.rows - 1) + self.row_bytes if self.pitch else self.slice_bytes

    def view(self) -> Array:
        """Return the bytes: [rows, bytes] for pitch, else [block rows, rows, blocks, 64]. Raises GpuFault."""
        if self.pitch:
            if self.rows <= 0 or self.row_bytes <= 0:
                return np.zeros((max(0, self.rows), max(0, self.row_bytes)), np.uint8)
            if self.row_bytes > self.pitch and self.rows > 1:
                raise GpuFault(
                    self.address, self.row_bytes, f"rows of {self.row_bytes} bytes at a pitch of {self.pitch}"
                )
            data = self.memory.view(self.address, self.pitch * (self.rows - 1) + self.row_bytes, "image")
            return np.lib.stride_tricks.as_strided(data, (self.rows, self.row_bytes), (self.pitch, 1))
        rows, width = self.shape
        high, deep = BLOCK_ROWS << self.block_y, 1 << self.block_z
        across, down = width // BLOCK_BYTES, rows // high
        if not 0 <= self.z < max(1, self.depth):
            raise GpuFault(self.address, self.z, f"slice {self.z} of {self.depth}")
        layer, slice_in_block = divmod(self.z, deep)
        plane = high * BLOCK_BYTES
        block = plane * deep
        # From this slice of the first block to the same slice of the last one: an address may itself be that of a slice
        # further down in a block, and then the memory may end before whole blocks do.
        start = self.address + layer * across * down * block + slice_in_block * plane
        data = self.memory.view(start, (across * down - 1) * block + plane if across * down else 0, "image")
        return np.lib.stride_tricks.as_strided(
            data, (down, high, across, BLOCK_BYTES), (across * block, BLOCK_BYTES, block, 1)
        )

    def read(self) -> Array:
        """Return a copy as u8 `shape`."""
        return np.array(self.view(), order="C").reshape(self.shape)

    def write(self, data: Array) -> None:
        """Store u8 `shape`."""
        view = self.view()
        view[...] = data.reshape(view.shape)
        self.memory.wrote(self.address, self.span)

    def read_rectangle(self, x: int, y: int, count: int, rows: int) -> Array:
        """Return `count` bytes from byte x of rows y to y + rows. Raises GpuFault for a rectangle outside."""
        self._inside(x, y, count, rows)
        if self.pitch:
            return self.view()[y : y + rows, x : x + count]
        high = BLOCK_ROWS << self.block_y
        first, last = y // high, -(-(y + rows) // high)
        view = self.view()[first:last]
        whole = np.ascontiguousarray(view).reshape(-1, self.shape[1])
        return whole[y - first * high : y - first * high + rows, x : x + count]

    def write_rectangle(self, x: int, y: int, data: Array) -> None:
        """Store bytes [rows, count]. Raises GpuFault for a rectangle outside."""
        rows, count = data.shape
        self._inside(x, y, count, rows)
        self.memory.wrote(self.address, self.span)
        if self.pitch:
            self.view()[y : y + rows, x : x + count] = data
            return
        high = BLOCK_ROWS << self.block_y
        first, last = y // high, -(-(y + rows) // high)
        view = self.view()[first:last]
        whole = np.ascontiguousarray(view).reshape(-1, self.shape[1])
        whole[y - first * high : y - first * high + rows, x : x + count] = data
        view[...] = whole.reshape(view.shape)

    def _inside(self, x: int, y: int, count: int, rows: int) -> None:
        height, width = self.shape
        if x < 0 or y < 0 or count < 0 or rows < 0 or x + count > width or y + rows > height:
            raise GpuFault(
                self.address, count * rows, f"{count} x {rows} at {x}, {y} of an image of {width} x {height}"
            )
