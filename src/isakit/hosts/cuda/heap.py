"""The device's memory, allocated as by a driver.

On a chip the memory around an allocation is mapped: a kernel that reads a little before or after its buffers does not
fault. So the heap is one flat range, with slack at both ends; a `strict` heap has holes, and every access outside of an
allocation is a fault.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right, insort

from isakit.hosts.cuda.codes import CudaError
from isakit.runtime import Device

WINDOW = 1 << 32
"""Size of the device's address space in the memory file, from address 0 on, in bytes."""
ALIGNMENT = 256
SLACK = 1 << 16
"""Bytes accessible before the first and after the last allocation of a flat heap."""
_STEP = 1 << 22
_PAGE, _MANY = 1 << 16, 1 << 18


class Heap:
    """A range of device addresses from which blocks are allocated.

    Args:
        device: the device that owns the memory.
        pages: the map behind that memory.
        first, limit: the addresses of the range.
        strict: whether accesses between allocations fault.
        fill: value of unwritten bytes in newly allocated memory.
    """

    def __init__(
        self, device: Device, pages: mmap.mmap, first: int, limit: int, *, strict: bool = False, fill: int = 0
    ) -> None:
        self.device, self.pages, self.first, self.limit = device, pages, first, limit
        self.strict, self.fill = strict, fill
        self.used = 0
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._mapped = first
        self._touched = first + SLACK  # nothing was written after this

    def alloc(self, nbytes: int, alignment: int = ALIGNMENT) -> int:
        """Return the address of `nbytes` newly allocated bytes. Raises CudaError if there is no room."""
        if not 0 < nbytes <= self.limit - self.first:
            raise CudaError("cudaErrorMemoryAllocation", f"{nbytes} bytes")
        room = self._room(nbytes)
        address = self._find(room, alignment)
        if address is None:
            raise CudaError("cudaErrorMemoryAllocation", f"{nbytes} bytes do not fit")
        if self.strict:
            self.device.memory.alloc(nbytes, address, zeroed=False)
        else:
            self._map(address + room)
        insort(self._starts, address)
        self._sizes[address] = nbytes
        self.used += room
        self._clear(address, address + nbytes)
        return address

    def free(self, address: int) -> None:
        """Free an allocation. Raises CudaError for an address where none starts."""
        if address not in self._sizes:
            raise CudaError("cudaErrorInvalidDevicePointer", f"nothing starts at {address:#x}")
        size = self._sizes.pop(address)
        self._starts.remove(address)
        self.used -= self._room(size)
        if self.strict:
            self.device.memory.free(address)

    def clear(self) -> None:
        """Free all blocks."""
        for address in list(self._starts):
            self.free(address)

    def range_of(self, address: int) -> tuple[int, int] | None:
        """Return (start, end) of the allocation that holds an address."""
        k = bisect_right(self._starts, address)
        if not k:
            return None
        start = self._starts[k - 1]
        end = start + self._sizes[start]
        return (start, end) if address < end else None

    def allocations(self) -> list[tuple[int, int]]:
        """Return (address, size in bytes) of all allocations, by address."""
        return [(a, self._sizes[a]) for a in self._starts]

    def used_ranges(self) -> list[tuple[int, int]]:
        """Return (start, end) of accessible ranges that may have content."""
        if self.strict:
            return [(a, a + n) for a, n in self.allocations()]
        return [(self.first, self._touched)] if self._touched > self.first + SLACK else []

    def _room(self, nbytes: int) -> int:
        """Return the bytes that an allocation takes, with the hole behind it."""
        return -(-nbytes // ALIGNMENT) * ALIGNMENT + (ALIGNMENT if self.strict else 0)

    def _find(self, room: int, alignment: int) -> int | None:
        """Return the address of the first gap that fits, None if there is none."""
        at = -(-(self.first + SLACK) // alignment) * alignment
        for start in self._starts:
            if start - at >= room:
                return at
            at = -(-max(at, start + self._room(self._sizes[start])) // alignment) * alignment
        return at if at + room <= self.limit - SLACK else None

    def _map(self, end: int) -> None:
        """Make everything up to `end` and the slack after it accessible to kernels, as one growing allocation."""
        if end + SLACK <= self._mapped:
            return
        step = max(_STEP, (self._mapped - self.first) // 2)
        upto = min(self.limit, max(end + SLACK, -(-(self._mapped + step) // ALIGNMENT) * ALIGNMENT))
        if self._mapped == self.first:
            self.device.memory.alloc(upto - self.first, self.first, zeroed=False)
        else:
            self.device.memory.extend(self.first, upto - self.first)
        self._mapped = upto

    def _clear(self, start: int, end: int) -> None:
        """Reset bytes to their unwritten state."""
        memory = self.device.memory.memory.bytes
        if self.fill:
            memory[start:end] = self.fill
        elif start < self._touched:
            used = min(end, self._touched)
            first, last = -(-start // _PAGE) * _PAGE, used // _PAGE * _PAGE
            if last - first >= _MANY:  # give the pages back: zeros take no room
                self.pages.madvise(mmap.MADV_REMOVE, first, last - first)
                memory[start:first] = memory[last:used] = 0
            else:
                memory[start:used] = 0
        self._touched = max(self._touched, end)
