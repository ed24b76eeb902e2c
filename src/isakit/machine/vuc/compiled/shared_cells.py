"""D[] as a Python list, and as memory that compiled code works on."""

from __future__ import annotations

import ctypes
from struct import Struct

from isakit.machine.vuc.core_memory import D_CELLS

ROW = 128
"""Cells that are copied together."""
_WORDS = Struct(f"={ROW}H")


class SharedCells:
    """The memory, and its content when it last equalled the list: only rows that have changed since are copied.

    Attributes:
        memory: the cells, and a number that compiled code sets when it writes one of them.
        listed: the list may have been written since the memory was updated.
    """

    def __init__(self) -> None:
        self.memory = (ctypes.c_uint16 * (D_CELLS + 1))()
        self.listed = True
        self._bytes = memoryview(self.memory).cast("B")
        self._newer = False
        self._cells = [0] * D_CELLS
        self._image = bytes(self._bytes)

    def to_memory(self, cells: list[int]) -> None:
        """Update the memory before compiled code runs."""
        if self.listed and cells != self._cells:
            for at in range(0, D_CELLS, ROW):
                row = cells[at : at + ROW]
                if row != self._cells[at : at + ROW]:
                    _WORDS.pack_into(self.memory, 2 * at, *row)
                    self._cells[at : at + ROW] = row
            self._image = bytes(self._bytes)
        self.listed = False
        self.memory[D_CELLS] = 0

    def ran(self) -> None:
        """Record that compiled code has run."""
        if self.memory[D_CELLS]:
            self._newer = True

    def to_list(self, cells: list[int]) -> None:
        """Update the list after compiled code has run."""
        if not self._newer:
            return
        image = bytes(self._bytes)
        for at in range(0, D_CELLS, ROW):
            where = slice(2 * at, 2 * (at + ROW))
            if image[where] != self._image[where]:
                cells[at : at + ROW] = self._cells[at : at + ROW] = _WORDS.unpack_from(image, 2 * at)
        self._image = image
        self._newer = False

    def lend(self, cells: list[int]) -> None:
        """Update the list for code that may write it."""
        self.to_list(cells)
        self.listed = True
