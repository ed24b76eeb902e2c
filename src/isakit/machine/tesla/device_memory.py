"""Byte-addressed memory in NumPy arrays, and the allocator of the device's 32-bit address space.

Nothing here can reach memory outside its own arrays: every access is checked before it is made.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.forks import in_child

_PAGE_BITS = 8
ALIGNMENT = 1 << _PAGE_BITS
"""Buffers start at multiples of this many bytes."""

ROOM_BEHIND = 64
"""Bytes past the end of memory that compiled code may read in rows of 16 words, without using them."""
HUGE = 1 << 22
"""Memory of at least this many bytes requests huge pages."""

Writable = bytearray | memoryview | mmap.mmap | Array
"""Objects that may hold a device's memory."""

_VIEWS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def _zeros(size: int) -> Array:
    """Return zeroed bytes, in huge pages where that saves address translations."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    if size < HUGE or advice is None:
        return np.zeros(size, np.uint8)
    pages = mmap.mmap(-1, size)
    with suppress(OSError):  # a kernel without huge pages
        pages.madvise(advice)
    return np.frombuffer(pages, np.uint8)


class FlatMemory:
    """`size` bytes, little-endian, initially 0. Accesses are arrays of byte offsets, aligned to their size.

    Attributes: `bytes` (uint8, shape [capacity >= size]), `size`.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._allocate(size)

    @classmethod
    def holding(cls, data: bytes) -> FlatMemory:
        """Return memory with the given content."""
        memory = cls(len(data))
        memory.bytes[: len(data)] = np.frombuffer(data, np.uint8)
        return memory

    @classmethod
    def over(cls, buffer: Writable) -> FlatMemory:
        """Return memory whose bytes are those of a writable buffer; the last `ROOM_BEHIND` of them stay unused.

        Raises LaunchError for a buffer that is read-only, not contiguous, too small or not aligned to 16 bytes.
        """
        try:
            data = np.frombuffer(buffer, np.uint8)
        except (TypeError, ValueError, BufferError) as e:
            raise LaunchError(f"{type(buffer).__name__} is not a contiguous buffer of bytes: {e}") from None
        if not data.flags.writeable:
            raise LaunchError("the device's memory must be a writable buffer")
        if data.ctypes.data % 16:
            raise LaunchError("the device's memory must start at a multiple of 16 bytes")
        if len(data) < 16 + ROOM_BEHIND:
            raise LaunchError(f"{len(data)} bytes are too few for a device's memory")
        memory = cls.__new__(cls)
        memory.size = (len(data) - ROOM_BEHIND) // 16 * 16
        memory._use(data[: memory.size + ROOM_BEHIND])
        return memory

    def __getstate__(self) -> bytes:
        return self.bytes[: self.size].tobytes()

    def __setstate__(self, content: bytes) -> None:
        self.__dict__.update(FlatMemory.holding(content).__dict__)

    def _allocate(self, size: int) -> None:
        self._use(_zeros(max(16, -(-size // 16) * 16) + ROOM_BEHIND))

    def _use(self, data: Array) -> None:
        self.bytes = data
        self._views: dict[int, Array] = {1: self.bytes, **{n: self.bytes.view(t) for n, t in _VIEWS.items()}}

    def grow(self, size: int) -> None:
        """Grow to `size` bytes, keeping the content."""
        self.size = max(size, self.size)
        if size + ROOM_BEHIND > len(self.bytes):
            old = self.bytes
            self._allocate(max(size, min(2 * len(old), 1 << 32)))
            self.bytes[: len(old)] = old

    def load(self, at: Array, size: int) -> Any:
        """Return `size` bytes at each offset, as unsigned numbers; 16 bytes as a pair of uint64 arrays."""
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


_spaces: WeakSet[DeviceMemory] = WeakSet()


@in_child
def _in_child() -> None:
    """Free the locks in a forked process."""
    for space in list(_spaces):
        space.lock = threading.RLock()


class DeviceMemory:
    """The device's 32-bit address space: allocations, and for every access the check that it hits one.

    Addresses index `memory` directly. The first 64 KB are never handed out, so that small numbers used as pointers
    fault. `limit` is the end of the space: 4 GB, or the end of the buffer given to hold it.

    Threads share it: work on its content that takes time, like a launch, holds `lock`, because an allocation may move
    all of it. `version` changes with every allocation and deallocation. `prepared` are launches on this memory that are
    ready to be repeated, kept by the engine.
    """

    FIRST = 0x10000
    LIMIT = 1 << 32

    def __init__(self, buffer: Writable | None = None) -> None:
        self.memory = FlatMemory(self.FIRST) if buffer is None else FlatMemory.over(buffer)
        self.limit = self.LIMIT if buffer is None else min(self.LIMIT, self.memory.size)
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._ends = np.zeros(self.FIRST >> _PAGE_BITS, np.uint16)  # usable bytes of each page
        self._last = (0, 0)
        self.lock = threading.RLock()
        self.version = 0
        self.prepared: dict[Any, Any] = {}
        # Starts and ends, replaced with every change: workers of a launch look without the lock, which others hold.
        self._spans: tuple[list[int], list[int]] = [], []
        self._ranges = self._spans, np.zeros((0, 2), np.uint32)
        _spaces.add(self)

    @property
    def ranges(self) -> Array:
        """Address and size of every allocation that is not empty, in address order: u32 [n, 2]."""
        spans, found = self._ranges
        if spans is not self._spans:
            spans = self._spans
            pairs = [(start, end - start) for start, end in zip(*spans, strict=True) if end > start]
            found = np.array(pairs, np.uint32).reshape(-1, 2)
            self._ranges = spans, found
        return found

    @classmethod
    def over(cls, data: Array) -> DeviceMemory:
        """Return the given bytes as one allocation at address 0; windows restrict what a launch may access."""
        device = cls(data)
        device.alloc(device.memory.size // ALIGNMENT * ALIGNMENT, 0, zeroed=False)
        return device

    @property
    def allocations(self) -> dict[int, int]:
        """Address -> size in bytes, in address order."""
        return {a: self._sizes[a] for a in self._starts}

    def content(self) -> dict[int, bytes]:
        """Return address -> content of every allocation."""
        return {a: self.memory.bytes[a : a + n].tobytes() for a, n in self.allocations.items()}

    def put_back(self, content: Mapping[int, bytes]) -> None:
        """Restore exactly these allocations with these contents. Raises LaunchError if they do not fit."""
        for address, size in self.allocations.items():
            if len(content.get(address, b"")) != size or address not in content:
                self.free(address)
        for address, data in content.items():
            if address not in self._sizes:
                self.alloc(len(data), address)
            self.memory.bytes[address : address + len(data)] = np.frombuffer(data, np.uint8)

    def __getstate__(self) -> tuple[int, dict[int, bytes]]:
        return self.limit, self.content()

    def __setstate__(self, state: tuple[int, dict[int, bytes]]) -> None:
        """Restore a copy, which has memory of its own and the same `limit`."""
        DeviceMemory.__init__(self)
        self.limit, content = state
        self.put_back(content)

    def alloc(self, nbytes: int, address: int | None = None, *, zeroed: bool = True) -> int:
        """Allocate `nbytes` zeroed bytes, anywhere or at `address`; return the address.

        Not `zeroed`, they keep the content of the memory there: large ranges of a buffer of the caller then cost
        nothing. Raises LaunchError when the space is full, or the address is not aligned or not free.
        """
        if nbytes < 0:
            raise LaunchError(f"cannot allocate {nbytes} bytes")
        with self.lock:
            return self._alloc(nbytes, address, zeroed)

    def _alloc(self, nbytes: int, address: int | None, zeroed: bool) -> int:
        room = max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
        if address is None:
            address = self._find(room)
        elif address % ALIGNMENT:
            raise LaunchError(f"address {address:#x} is not a multiple of {ALIGNMENT}")
        if address < 0 or address + room > self.limit:
            space = "32-bit address space" if self.limit == self.LIMIT else f"device's memory of {self.limit:#x} bytes"
            raise LaunchError(f"{nbytes} bytes at {address:#x} do not fit into the {space}")
        if self._overlaps(address, room):
            raise LaunchError(f"{nbytes} bytes at {address:#x} overlap another buffer")
        self._make_usable(address, address + nbytes)
        if zeroed:
            self.memory.bytes[address : address + room] = 0
        insort(self._starts, address)
        self._sizes[address] = nbytes
        self._changed(address, address + nbytes)
        return address

    def extend(self, address: int, nbytes: int) -> None:
        """Grow the allocation at `address` to `nbytes` bytes, in place; the content stays.

        Raises LaunchError for an address where none starts, a smaller size, and if there is no room.
        """
        with self.lock:
            size = self._sizes.get(address)
            if size is None:
                raise LaunchError(f"no buffer starts at {address:#x}")
            if nbytes < size or address + nbytes > self.limit:
                raise LaunchError(f"{size} bytes at {address:#x} cannot become {nbytes}")
            behind = bisect_right(self._starts, address)
            if behind < len(self._starts) and self._starts[behind] < address + nbytes:
                raise LaunchError(f"{nbytes} bytes at {address:#x} overlap another buffer")
            self._make_usable(address + size // ALIGNMENT * ALIGNMENT, address + nbytes)
            self._sizes[address] = nbytes
            self._changed(address, address + nbytes)

    def _make_usable(self, address: int, end: int) -> None:
        """Make the bytes from `address`, the start of a page, to `end` accessible, growing the memory."""
        self.memory.grow(-(-end // ALIGNMENT) * ALIGNMENT)
        pages = len(self.memory.bytes) >> _PAGE_BITS
        if pages > len(self._ends):
            ends = np.zeros(pages, np.uint16)
            ends[: len(self._ends)] = self._ends
            self._ends = ends
        last = end >> _PAGE_BITS
        self._ends[address >> _PAGE_BITS : last] = ALIGNMENT
        if end % ALIGNMENT:
            self._ends[last] = end % ALIGNMENT

    def free(self, address: int) -> None:
        """Free an allocation. Raises LaunchError for an address where none starts."""
        with self.lock:
            if address not in self._sizes:
                raise LaunchError(f"no buffer starts at {address:#x}")
            size = self._sizes.pop(address)
            self._starts.remove(address)
            self._ends[address >> _PAGE_BITS : (address + max(size, 1) - 1 >> _PAGE_BITS) + 1] = 0
            self._last = (0, 0)
            self._changed(address)

    def _changed(self, address: int, *ends: int) -> None:
        """Record that an allocation begins or grows to this end or, without an end, is freed."""
        starts, known = self._spans
        k = bisect_left(starts, address)
        rest = k + (k < len(starts) and starts[k] == address)
        self._spans = [*starts[:k], *([address] if ends else []), *starts[rest:]], [*known[:k], *ends, *known[rest:]]
        self.version += 1

    def _find(self, room: int) -> int:
        """Return the address of the first gap of `room` bytes."""
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
        """Return (start, end) of the allocation that holds an address."""
        starts, ends = self._spans
        k = bisect_right(starts, address)
        return (starts[k - 1], ends[k - 1]) if k and address < ends[k - 1] else None

    def valid(self, address: Array, size: int) -> Array | None:
        """Return None if all accesses of `size` bytes (aligned) hit allocations, else a bool array of those that do."""
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
