"""Memory of a simulated card: one sparse file that the program maps too, and the memory objects in it.

GPU addresses are BASE + offset in the file. Every access of an engine is checked against the live objects.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right, insort
from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.graphics import kept_launches
from isakit.hosts.mappings import close_mapping, memory_file

BASE = 0x2000_0000
"""GPU address of the first byte; small numbers are not addresses."""
FILE_BYTES = 3 << 30
PAGE = 0x10000
"""Objects begin at multiples of this and take whole ones of it. Source: [nv50] "Memory"."""
MOST_OBJECTS = 1 << 16
MOST_WRITTEN = 32
"""Places that are remembered one by one as written, before everything counts as changed."""


class GpuFault(IsakitError):
    """An access of an engine outside of all memory objects."""

    def __init__(self, address: int, count: int, what: str) -> None:
        self.address, self.count = address, count
        super().__init__(f"{what}: {count:#x} bytes at {address:#x} are in no memory object")


@dataclass
class MemoryObject:
    """A buffer: `address` on the card, `size` in bytes, and how the program described it."""

    handle: int
    address: int
    size: int
    domain: int
    tile_mode: int
    tile_flags: int

    @property
    def offset(self) -> int:
        """Its offset in the file."""
        return self.address - BASE


class VideoMemory:
    """The memory of one process.

    Attributes: `descriptor` of the file, negative for memory of this process only; `bytes` u8 and `words` u32: all
    of it; `objects`: handle -> object.

    What was made of its bytes can be kept while they are `unchanged` since a `mark`. The program writes them at any
    time between pushes; while a push is executed, engines say what they write.
    """

    def __init__(self, size: int = FILE_BYTES) -> None:
        self.size = size
        self.descriptor, self.map = memory_file("isakit-card", size)
        self.bytes: Array = np.frombuffer(self.map, np.uint8)
        self.words: Array = self.bytes.view(np.uint32)
        self.objects: dict[int, MemoryObject] = {}
        self._starts: list[int] = []
        self._at: dict[int, MemoryObject] = {}
        self._free: list[tuple[int, int]] = [(0, size)]
        self._next = 1
        self._epoch = self._writes = 0
        self._written: dict[tuple[int, int], int] = {}

    def close(self) -> None:
        """Give the file back; its pages go when the program has unmapped them too."""
        if not self.bytes.size:
            return
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
        self.bytes = self.words = np.empty(0, np.uint8)
        kept_launches.forget()
        close_mapping(self.map)

    # --- objects ------------------------------------------------------------------------------------------------------
    def allocate(self, size: int, align: int, domain: int = 0, tile_mode: int = 0, tile_flags: int = 0,
                 offset: int | None = None) -> MemoryObject:  # fmt: skip
        """Create an object of zeros, at `offset` in the file if one is given. Raises OSError as the kernel would."""
        room = -(-size // PAGE) * PAGE
        if size <= 0 or align > 1 << 30 or len(self.objects) >= MOST_OBJECTS:
            raise OSError(errno.EINVAL, "no such size or alignment")
        if align & align - 1:
            raise OSError(errno.EINVAL, "the alignment is not a power of two")
        start = self._take(room, max(align, PAGE), offset)
        handle = self._next
        self._next += 1
        made = MemoryObject(handle, BASE + start, room, domain, tile_mode, tile_flags)
        self.objects[handle] = self._at[made.address] = made
        insort(self._starts, made.address)
        return made

    def _take(self, room: int, align: int, wanted: int | None) -> int:
        for k, (start, length) in enumerate(self._free):
            # GPU addresses are aligned, and BASE is a multiple of every usual alignment.
            at = -(-(start + BASE) // align) * align - BASE if wanted is None else wanted
            if at < start or at + room > start + length:
                continue
            rest = [(start, at - start), (at + room, start + length - at - room)]
            self._free[k : k + 1] = [r for r in rest if r[1]]
            return at
        raise OSError(errno.ENOMEM, "the memory of the card is full")

    def free(self, handle: int) -> None:
        """Give an object back. Raises OSError for a handle that is none."""
        gone = self.objects.pop(handle, None)
        if gone is None:
            raise OSError(errno.ENOENT, "no such memory object")
        del self._at[gone.address]
        self._starts.remove(gone.address)
        os_punch(self.descriptor, gone.offset, gone.size, self.bytes)
        holes = sorted([*self._free, (gone.offset, gone.size)])
        joined: list[tuple[int, int]] = []
        for start, length in holes:
            if joined and joined[-1][0] + joined[-1][1] == start:
                joined[-1] = joined[-1][0], joined[-1][1] + length
            else:
                joined.append((start, length))
        self._free = joined

    def object_at(self, address: int) -> MemoryObject | None:
        """Return the object that holds an address."""
        k = bisect_right(self._starts, address)
        if not k:
            return None
        found = self._at[self._starts[k - 1]]
        return found if address < found.address + found.size else None

    def room(self, address: int) -> int:
        """Return bytes from an address to the end of its object; 0 outside of all."""
        found = self.object_at(address)
        return 0 if found is None else found.address + found.size - address

    # --- what has changed ---------------------------------------------------------------------------------------------
    def touch(self) -> None:
        """Count everything as changed: the program, or an engine that does not say what, may have written it."""
        self._epoch += 1
        self._written.clear()

    def wrote(self, address: int, count: int) -> None:
        """Count the bytes at an address as changed."""
        self._writes += 1
        self._written[address, address + count] = self._writes
        if len(self._written) > MOST_WRITTEN:
            self.touch()

    def mark(self) -> tuple[int, int]:
        """Return this moment, for `unchanged`."""
        return self._epoch, self._writes

    def unchanged(self, mark: tuple[int, int], address: int, count: int) -> bool:
        """Return whether nothing has written the bytes at an address since a moment."""
        epoch, writes = mark
        if epoch != self._epoch:
            return False
        return writes == self._writes or not any(
            when > writes and start < address + count and address < end for (start, end), when in self._written.items()
        )

    # --- accesses -------------------------------------------------------------------------------------------------
    def view(self, address: int, count: int, what: str = "access") -> Array:
        """Return the bytes at an address, to read or write. Raises GpuFault."""
        found = self.object_at(address)
        if count < 0 or count > (0 if found is None else found.address + found.size - address):
            raise GpuFault(address, count, what)
        start = address - BASE
        return self.bytes[start : start + count]

    def read_words(self, address: int, count: int, what: str = "access") -> Array:
        """Return a copy of 32-bit words at any address. Raises GpuFault."""
        return np.frombuffer(self.view(address, 4 * count, what).tobytes(), np.uint32)

    def write_words(self, address: int, words: Array | list[int], what: str = "access") -> None:
        """Store 32-bit words. Raises GpuFault."""
        data = np.asarray(words, np.uint32).view(np.uint8)
        self.view(address, len(data), what)[:] = data
        self.wrote(address, len(data))


def os_punch(descriptor: int, offset: int, size: int, view: Array) -> None:
    """Make bytes of the file zero. Untouched memory stays unallocated."""
    at = offset
    end = offset + size
    while at < end:
        try:
            at = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:
            return  # no data after this place
        if at >= end:
            return
        stop = min(os.lseek(descriptor, at, os.SEEK_HOLE), end)
        view[at:stop] = 0
        at = stop
