"""a[], p[] and o[]: words of the items of a stage, one row per word."""

from __future__ import annotations

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.machine.tesla.address_spaces import OUT_OF_RANGE, ResolvedAccess, SpaceAccesses
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.device_memory import FlatMemory


class RowSpace(SpaceAccesses):
    """Word w of an item is at byte address 4 w. Every lane sees its own item only.

    Attributes: `rows` [words, lanes] u32: the content; changing it changes what the lanes see.
    """

    def __init__(self, name: str, words: int, lanes: int, choices: Choices, *, writable: bool = False) -> None:
        super().__init__(name, choices)
        self.lanes, self.limit, self.writable = lanes, 4 * words, writable
        self.memory = FlatMemory(4 * words * lanes)
        self.rows: Array = self.memory.bytes[: 4 * words * lanes].view(np.uint32).reshape(words, lanes)

    def place(self, address: Array, size: int, lanes: Lanes, chosen: Array | None) -> ResolvedAccess:
        """See `Space`."""
        where = lanes, chosen
        address = self.aligned(address, size, where)
        numbers = lanes.numbers if chosen is None else lanes.numbers[chosen]
        wide = address.astype(np.int64)
        bad = wide + size > self.limit
        good = None
        if bad.any():
            if self.choices.out_of_range == "fault":
                raise self.first_bad(OUT_OF_RANGE, bad, address, where, f"an item has {self.limit:#x} bytes")
            good, wide = ~bad, np.where(bad, 0, wide)
        return self.memory, (wide >> 2) * (4 * self.lanes) + numbers * 4 + (wide & 3), good
