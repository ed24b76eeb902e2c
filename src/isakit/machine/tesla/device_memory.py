"""Byte-addressed memory in NumPy arrays, and the allocator of the device's 32-bit address space.

Nothing here can reach memory outside its own arrays: every access is checked before it is made.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right, insort
from contextlib import suppress
from typing import Any

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError

_PAGE_BITS = 8
ALIGNMENT = 1 << _PAGE_BITS
"""Buffers start at multiples of this many bytes."""

ROOM_BEHIND = 64
"""Compiled code reads rows of 16 words, of which the last ones may lie behind the memory; it does not use those."""
HUGE = 1 << 22
"""Memory of so many bytes asks for huge pages."""

_VIEWS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def _zeros(size: int) -> Array:
    """Zeroed bytes, in huge pages where that saves the processor many address translations."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < HUGE or advice is None:
        return np.zeros(size, np.uint8)
    pages = mmap.mmap(-1, size)
    with suppress(OSError):  # a kernel without huge pages
        pages.madvise(advice)
    return np.frombuffer(pages, np.uint8)


class Memory:
    """`size` bytes, little-endian, all zero at first. Accesses are arrays of byte offsets, aligned to their size.

    Attributes: `bytes` (uint8, shape [capacity >= size]), `size`.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._allocate(size)

    @classmethod
    def holding(cls, data: bytes) -> Memory:
        """Memory with a content."""
        memory = cls(len(data))
        memory.bytes[: len(data)] = np.frombuffer(data, np.uint8)
        return memory

    @classmethod
    def over(cls, data: Array) -> Memory:
        """Memory in bytes that belong to somebody else; the last ROOM_BEHIND of them are not used."""
        memory = cls.__new__(cls)
        memory.size, memory.bytes = len(data) - ROOM_BEHIND, data
        memory._views = {1: data, **{n: data.view(t) for n, t in _VIEWS.items()}}
        return memory

    def _allocate(self, size: int) -> None:
        self.bytes = _zeros(max(16, -(-size // 16) * 16) + ROOM_BEHIND)
        self._views: dict[int, Array] = {1: self.bytes, **{n: self.bytes.view(t) for n, t in _VIEWS.items()}}

    def grow(self, size: int) -> None:
        """Make room for `size` bytes, keeping the content."""
        self.size = max(size, self.size)
        if size > len(self.bytes):
            old = self.bytes
            self._allocate(max(size, min(2 * len(old), 1 << 32)))
            self.bytes[: len(old)] = old

    def load(self, at: Array, size: int) -> Any:
        """`size` bytes at each offset, as unsigned numbers; 16 bytes as a pair of uint64 arrays."""
        if size == 16:
            low = self._views[8]
            index = at >> 3
            return low[index], low[index + 1]
        return self._views[size][at >> _SHIFT[size]] if size > 1 else self.bytes[at]

    def store(self, at: Array, value: Any, size: int) -> None:
        """Store at each offset; where offsets repeat, the last one wins."""
        if size == 16:
            index = at >> 3
            view = self._views[8]
            pairs = np.stack((index, index + 1), axis=-1)
            view[pairs] = np.stack(value, axis=-1)
        elif size == 1:
            self.bytes[at] = value.astype(np.uint8, copy=False)
        else:
            self._views[size][at >> _SHIFT[size]] = value.astype(_VIEWS[size], copy=False)


_SHIFT = {2: 1, 4: 2, 8: 3}


class DeviceMemory:
    """The device's 32-bit address space: allocations, and for every access the check that it hits one.

    Addresses index `memory` directly. The first 64 KB are never handed out, so that small numbers used as pointers
    fault.
    """

    FIRST = 0x10000
    LIMIT = 1 << 32

    def __init__(self) -> None:
        self.memory = Memory(self.FIRST)
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._ends = np.zeros(self.FIRST >> _PAGE_BITS, np.uint16)  # usable bytes of each page
        self._last = (0, 0)

    @classmethod
    def over(cls, data: Array) -> DeviceMemory:
        """All of some bytes as one allocation at address 0; windows say what of it a launch may touch."""
        device = cls()
        device.memory = Memory.over(data)
        device._starts, device._sizes = [0], {0: device.memory.size}
        return device

    @property
    def allocations(self) -> dict[int, int]:
        """Address -> size in bytes, in address order."""
        return {a: self._sizes[a] for a in self._starts}

    def alloc(self, nbytes: int, address: int | None = None) -> int:
        """Allocate `nbytes` zeroed bytes, anywhere or at `address`; returns the address.

        Raises LaunchError when the space is full, or the address is not aligned or not free.
        """
        if nbytes < 0:
            raise LaunchError(f"cannot allocate {nbytes} bytes")
        room = max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
        if address is None:
            address = self._find(room)
        elif address % ALIGNMENT:
            raise LaunchError(f"address {address:#x} is not a multiple of {ALIGNMENT}")
        if address < 0 or address + room > self.LIMIT:
            raise LaunchError(f"{nbytes} bytes at {address:#x} do not fit into the 32-bit address space")
        if self._overlaps(address, room):
            raise LaunchError(f"{nbytes} bytes at {address:#x} overlap another buffer")
        end = address + room
        self.memory.grow(end)
        pages = len(self.memory.bytes) >> _PAGE_BITS
        if pages > len(self._ends):
            ends = np.zeros(pages, np.uint16)
            ends[: len(self._ends)] = self._ends
            self._ends = ends
        self.memory.bytes[address:end] = 0
        first, last = address >> _PAGE_BITS, (address + nbytes) >> _PAGE_BITS
        self._ends[first:last] = ALIGNMENT
        if nbytes % ALIGNMENT:
            self._ends[last] = nbytes % ALIGNMENT
        insort(self._starts, address)
        self._sizes[address] = nbytes
        return address

    def free(self, address: int) -> None:
        """Give an allocation back. Raises LaunchError for an address that is none."""
        if address not in self._sizes:
            raise LaunchError(f"no buffer starts at {address:#x}")
        size = self._sizes.pop(address)
        self._starts.remove(address)
        self._ends[address >> _PAGE_BITS : (address + max(size, 1) - 1 >> _PAGE_BITS) + 1] = 0
        self._last = (0, 0)

    def _find(self, room: int) -> int:
        """First fit."""
        at = self.FIRST
        for start in self._starts:
            if start - at >= room:
                return at
            at = max(at, start + max(ALIGNMENT, -(-self._sizes[start] // ALIGNMENT) * ALIGNMENT))
        return at

    def _overlaps(self, address: int, room: int) -> bool:
        k = bisect_right(self._starts, address)
        if k and address < self._starts[k - 1] + max(ALIGNMENT, self._sizes[self._starts[k - 1]]):
            return True
        return k < len(self._starts) and self._starts[k] < address + room

    def range_of(self, address: int) -> tuple[int, int] | None:
        """(start, end) of the allocation that holds an address."""
        k = bisect_right(self._starts, address)
        if not k:
            return None
        start = self._starts[k - 1]
        return (start, start + self._sizes[start]) if address < start + self._sizes[start] else None

    def valid(self, address: Array, size: int) -> Array | None:
        """None when every access of `size` bytes (aligned) hits an allocation, else a bool array of those that do."""
        low, high = int(address.min()), int(address.max()) + size
        start, end = self._last
        if start <= low and high <= end:
            return None
        found = self.range_of(low)
        if found is not None and high <= found[1]:
            self._last = found
            return None
        page = address >> _PAGE_BITS
        inside = page < len(self._ends)
        good = inside & ((address & (ALIGNMENT - 1)) + size <= self._ends[np.where(inside, page, 0)])
        return None if good.all() else good
