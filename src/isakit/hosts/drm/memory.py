"""Memory of a simulated card: one sparse file that the program maps too, and the memory objects in it.

GPU addresses are BASE + offset in the file. Every access of an engine is checked against the live objects.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.graphics import kept_launches
from isakit.hosts.mappings import close_mapping, memory_file

BASE = 0x2000_0000
"""GPU address of the first byte, so that small numbers are not addresses."""
FILE_BYTES = 3 << 30
PAGE = 0x10000
"""Objects begin at multiples of this and take whole ones of it. Source: [nv50] "Memory"."""
MOST_OBJECTS = 1 << 16
MOST_WRITTEN = 16
"""Most ranges of an object whose last writes are kept one by one; with more, all of it counts as changed."""
MOST_MAPPINGS = 1 << 12
"""Most mappings of the program that are kept one by one; with more, it may see all of the memory."""
MOST_DEFERRED = 16
"""Most stores that are deferred at a time."""


class GpuFault(IsakitError):
    """An access of an engine outside of all memory objects."""

    def __init__(self, address: int, count: int, what: str) -> None:
        self.address, self.count = address, count
        super().__init__(f"{what}: {count:#x} bytes at {address:#x} are in no memory object")


@dataclass
class MemoryObject:
    """A buffer: `address` on the card, `size` in bytes, and how the program described it.

    Attributes: `mapped`: whether the program has mapped some of it, or may have; `written`: when each range (first
    byte, byte after the last) was last written, for all writes since the moment `changed`.
    """

    handle: int
    address: int
    size: int
    domain: int
    tile_mode: int
    tile_flags: int
    mapped: bool = True
    changed: int = 0
    written: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    @property
    def offset(self) -> int:
        """Offset in the memory file in bytes."""
        return self.address - BASE


class VideoMemory:
    """The memory of one process.

    Args:
        size: in bytes.
        mappings_known: whether `add_mapping` is called for everything the program maps; if not, all of it may be
            mapped.

    Attributes: `descriptor` of the file, negative for memory of this process only; `objects`: handle -> object; `now`:
    the present moment, to be passed to `unchanged` later.

    Objects derived from its bytes can be cached while these are `unchanged`. The program writes mapped memory at any
    time between pushes; engines report their writes with `wrote`. They may `defer` a store until the bytes are read.
    """

    def __init__(self, size: int = FILE_BYTES, mappings_known: bool = False) -> None:
        self.size, self.mappings_known = size, mappings_known
        self.descriptor, self.map = memory_file("isakit-card", size)
        self._bytes: Array = np.frombuffer(self.map, np.uint8)
        self.objects: dict[int, MemoryObject] = {}
        self._starts: list[int] = []
        self._at: dict[int, MemoryObject] = {}
        self._free: list[tuple[int, int]] = [(0, size)]
        self._next = 1
        self.now = 1
        self._all_changed = self._mapped_changed = 0
        self._deferred: dict[Callable[[], None], tuple[int, int]] = {}
        self._mappings: list[tuple[int, int, int]] = []

    def close(self) -> None:
        """Release the file; its pages are freed when the program has unmapped them, too."""
        if not self._bytes.size:
            return
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
        self._deferred.clear()
        self._bytes = np.empty(0, np.uint8)
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
        seen = not self.mappings_known or any(a < start + room and start < b for _, a, b in self._mappings)
        self.now += 1
        made = MemoryObject(handle, BASE + start, room, domain, tile_mode, tile_flags, seen, self.now)
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
        """Free an object. Raises OSError for an unknown handle."""
        gone = self.objects.pop(handle, None)
        if gone is None:
            raise OSError(errno.ENOENT, "no such memory object")
        self.settle(gone.address, gone.size)
        del self._at[gone.address]
        self._starts.remove(gone.address)
        os_punch(self.descriptor, gone.offset, gone.size, self._bytes)
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
        """Return the number of bytes from an address to the end of its object; 0 outside of all objects."""
        found = self.object_at(address)
        return 0 if found is None else found.address + found.size - address

    # --- what the program sees ----------------------------------------------------------------------------------------
    def add_mapping(self, place: int, offset: int, count: int) -> None:
        """Record that the program has mapped bytes of the file at `place` in its memory.

        Execute their deferred stores.
        """
        self._mappings.append((place, offset, offset + count))
        if len(self._mappings) > MOST_MAPPINGS:  # it may see everything
            offset, count, self.mappings_known = 0, self.size, False
            self._mappings.clear()
        self.settle(BASE + offset, count)
        for o in self.objects.values():
            if o.offset < offset + count and offset < o.offset + o.size:
                o.mapped = True

    def remove_mapping(self, place: int, count: int) -> None:
        """Remove a mapping that the program has unmapped as a whole; if only a part was unmapped, it stays.

        Objects in it still count as mapped, those allocated later at the same place do not.
        """
        self._mappings = [m for m in self._mappings if m[0] != place or m[2] - m[1] != count]

    # --- what has changed ---------------------------------------------------------------------------------------------
    def touch(self) -> None:
        """Count everything as changed: the program, or an engine that does not report writes, may have written it."""
        self.settle_all()
        self.now += 1
        self._all_changed = self.now

    def touch_mapped(self) -> None:
        """Count mapped bytes as changed: the program may have written them."""
        self.now += 1
        self._mapped_changed = self.now

    def wrote(self, address: int, count: int) -> None:
        """Count the bytes at an address, all in one object, as changed."""
        self.now += 1
        o = self.object_at(address)
        if o is not None:
            o.written[address, address + count] = self.now
            if len(o.written) > MOST_WRITTEN:
                o.changed = self.now
                o.written.clear()

    def unchanged(self, mark: int, address: int, count: int) -> bool:
        """Return whether the bytes at an address, all in one object, have not been written since a moment."""
        if self._deferred:
            self.settle(address, count)
        if mark == self.now:
            return True
        o = self.object_at(address)
        if o is None or address + count > o.address + o.size or mark < max(o.changed, self._all_changed):
            return False
        if o.mapped and mark < self._mapped_changed:
            return False
        return not any(
            when > mark and start < address + count and address < end for (start, end), when in o.written.items()
        )

    # --- stores that wait ---------------------------------------------------------------------------------------------
    def defer(self, address: int, count: int, store: Callable[[], None]) -> bool:
        """Defer a store of bytes at an address until they are read; return False if it was executed at once.

        That happens if the program has mapped them, or if another deferred store overlaps, which goes first.
        """
        o = self.object_at(address)
        overlapping = any(a < address + count and address < b for a, b in self._deferred.values())
        if o is None or o.mapped or overlapping:
            self.settle(address, count)
            store()
            return False
        self._deferred[store] = address, address + count
        if len(self._deferred) > MOST_DEFERRED:
            oldest = next(iter(self._deferred))
            del self._deferred[oldest]
            oldest()
        return True

    def settle(self, address: int, count: int) -> None:
        """Execute the deferred stores that overlap `count` bytes at an address."""
        for store, (start, end) in list(self._deferred.items()):
            if start < address + count and address < end and self._deferred.pop(store, None):
                store()

    def settle_all(self) -> None:
        """Execute all deferred stores."""
        while self._deferred:
            self._deferred.popitem()[0]()

    # --- accesses -------------------------------------------------------------------------------------------------
    @property
    def bytes(self) -> Array:
        """The whole memory as u8, deferred stores done."""
        self.settle_all()
        return self._bytes

    @property
    def words(self) -> Array:
        """The whole memory as u32, deferred stores done."""
        return self.bytes.view(np.uint32)

    def view(self, address: int, count: int, what: str = "access") -> Array:
        """Return the bytes at an address, to read or write. Raises GpuFault."""
        if self._deferred:
            self.settle(address, count)
        found = self.object_at(address)
        if count < 0 or count > (0 if found is None else found.address + found.size - address):
            raise GpuFault(address, count, what)
        start = address - BASE
        return self._bytes[start : start + count]

    def read_words(self, address: int, count: int, what: str = "access") -> Array:
        """Return a copy of 32-bit words at any address. Raises GpuFault."""
        return np.frombuffer(self.view(address, 4 * count, what).tobytes(), np.uint32)

    def write_file(self, offset: int, data: bytes) -> None:
        """Write bytes at an offset of the file, as the program does through its mapping."""
        self.settle(BASE + offset, len(data))
        self._bytes[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        self.wrote(BASE + offset, len(data))

    def write_words(self, address: int, words: Array | list[int], what: str = "access") -> None:
        """Store 32-bit words. Raises GpuFault."""
        data = np.asarray(words, np.uint32).view(np.uint8)
        self.view(address, len(data), what)[:] = data
        self.wrote(address, len(data))


def os_punch(descriptor: int, offset: int, size: int, view: Array) -> None:
    """Set bytes of the file to zero. Untouched memory stays unallocated."""
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
