"""The memory behind the g[] spaces of kernels: buffers as they are, images in blocks as rows.

A window that is not linear is addressed by a byte in the low 16 bits and a row in the high ones, and so is its limit;
its pitch is that of a row of blocks. Source: rnndb GLOBAL_MODE; the driver's images.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.hosts.drm.memory import BASE, GpuFault, MemoryObject, VideoMemory
from isakit.hosts.drm.surface import BLOCK_BYTES, BLOCK_ROWS, Surface
from isakit.hosts.drm.tables.method import Word
from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow, Window


@dataclass
class _Unpacked:
    """An image unpacked as rows into separate memory: its location, and the rows before the launch."""

    surface: Surface
    rows: MemoryObject
    before: Array


@dataclass
class Windows:
    """The g[] spaces of one launch, by number; on exit from the context, changes are written back to images.

    Windows of the same image share its rows.
    """

    memory: VideoMemory
    by_number: dict[int, Window] = field(default_factory=dict[int, Window])
    _images: dict[tuple[int, int, int, int], _Unpacked] = field(
        default_factory=dict[tuple[int, int, int, int], _Unpacked]
    )

    def add(self, number: int, address: int, pitch: int, limit: int, mode: Word) -> None:
        """Add window `number` from its registers; none if there is no memory at the address.

        Raises NotModelled for unusual blocks, GpuFault if there is no memory left for the rows.
        """
        room = self.memory.room(address)
        if not room:
            return
        if mode.LINEAR:
            self.by_number[number] = LinearWindow(address - BASE, min(limit + 1, room))
            return
        width, high = (limit & 0xFFFF) + 1, BLOCK_ROWS << mode.TILE_MODE
        if pitch != -(-width // BLOCK_BYTES) * BLOCK_BYTES * high or mode.UNK1:
            raise NotModelled(f"a g[] window of {width} bytes in blocks of mode {mode:#x} at a pitch of {pitch}")
        rows = min((limit >> 16) + 1, room // pitch * high)
        if not rows:
            return
        key = address, pitch, limit, mode
        image = self._images.get(key)
        if image is None:
            image = self._images[key] = self._unpacked(
                Surface(self.memory, address, width, rows, block_y=mode.TILE_MODE)
            )
        self.by_number[number] = PitchWindow(image.rows.offset, image.before.shape[1], width, rows)

    def _unpacked(self, surface: Surface) -> _Unpacked:
        before = surface.read()
        try:
            rows = self.memory.allocate(before.size, 1)
        except OSError as e:
            raise GpuFault(surface.address, before.size, f"no room to unpack an image ({e.strerror})") from e
        self.memory.view(rows.address, before.size)[:] = before.ravel()
        return _Unpacked(surface, rows, before)

    def __enter__(self) -> Windows:
        """Return the windows; none is open yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Store the launch's changes, and free the rows."""
        for image in self._images.values():
            after = self.memory.view(image.rows.address, image.before.size).reshape(image.before.shape)
            changed = after != image.before
            if changed.any():
                now = image.surface.read()
                image.surface.write(np.where(changed, after, now))
            self.memory.free(image.rows.handle)
        self._images.clear()
