"""The device of one process of a program: its chip, its memory as a file mapped by the process, its heaps."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from isakit.engine.protocol import Array
from isakit.errors import IsakitError, LaunchError
from isakit.formats import Module
from isakit.hosts.cuda.device_facts import Card, Version
from isakit.hosts.cuda.heap import WINDOW, Heap
from isakit.hosts.mappings import close_mapping, memory_file
from isakit.runtime import Buffer, Device, LoadedModule

_HEAP = 0x1_0000
_RANGES = {8: (WINDOW, 0x8000_0000, 0xFFF0_0000), 4: (1 << 30, 0x3000_0000, 0x3FF0_0000)}
"""By pointer size in bytes: the part of the device's address space for the program, and the range in it of host
memory that kernels can access. A program of 32 bits has four gigabytes for everything."""


def tell(line: str) -> None:
    """Write a line for the user to standard error; control characters of the program are replaced."""
    plain = "".join(c if c.isprintable() else "?" for c in line)
    print(f"isakit: {plain}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class DeviceOptions:
    """The choices of the command line about the device.

    Attributes: `card`, `engine`, `tier`, `threads` (as of `Device`), `strict` (accesses outside of allocations fault),
    `fill` (value of unwritten memory), `version` (of CUDA, if the program does not tell), `trace`, `blocking` (a launch
    reports its own fault), `limits` (the card refuses blocks that exceed its limits), `tell` (writes a line for the
    user).
    """

    card: Card
    engine: str = "auto"
    tier: str = "auto"
    threads: int | None = None
    strict: bool = False
    fill: int = 0
    version: Version | None = None
    trace: bool = False
    blocking: bool = False
    limits: bool = True
    tell: Callable[[str], None] = tell


class OutsideMemory(IsakitError):
    """An array of a library is not in the device's memory."""


class ProgramDevice(Device):
    """A device whose memory is managed by a heap, also for modules."""

    heap: Heap

    def alloc(self, nbytes: int, address: int | None = None) -> Buffer:
        """Return zeroed memory from the heap. Raises LaunchError for a given address."""
        if address is not None:
            raise LaunchError("the heap says where memory lies")
        start = self.heap.alloc(max(nbytes, 1))
        self.view(start, nbytes)[:] = 0
        return self.buffer(start, nbytes)


class ProcessDevice:
    """The device of one process. `restart` replaces it.

    Attributes: `file` (descriptor of the memory file), `pages` (its mapping), `pointer` (bytes of the program's
    pointers), `device`, `heap` (for cudaMalloc), `pinned` (host memory that kernels can access).
    """

    def __init__(self, options: DeviceOptions) -> None:
        self.options, self.card = options, options.card
        self.file, self.pages = memory_file("isakit-device", WINDOW)
        self.pointer = 8
        self._banks: dict[tuple[int, int], int] = {}
        self._start_device()

    def _start_device(self) -> None:
        o = self.options
        self.device = ProgramDevice(
            o.card.chip,
            engine=cast(Any, o.engine),
            tier=cast(Any, o.tier),
            threads=o.threads,
            limits=o.limits,
            memory=self.pages,
        )
        if not o.strict:  # as on a chip, which reads zeros where nothing is bound
            self.device.texturing = replace(self.device.texturing, unbound="zero")
        self.window, pinned, end = _RANGES[self.pointer]
        limit = min(pinned, _HEAP + o.card.memory)
        self.heap = self.device.heap = Heap(self.device, self.pages, _HEAP, limit, strict=o.strict, fill=o.fill)
        self.pinned = Heap(self.device, self.pages, pinned, end, strict=o.strict, fill=o.fill)

    def set_pointer(self, nbytes: int) -> None:
        """Set the size of the program's pointers in bytes; it has just started."""
        if nbytes != self.pointer:
            self.pointer = nbytes
            self._start_device()

    def restart(self) -> None:
        """Replace the device by a new one, with empty memory."""
        self._banks.clear()
        self.pages.madvise(mmap.MADV_REMOVE, 0, WINDOW)
        self._start_device()

    def release(self) -> None:
        """Release the memory; the device cannot be used after that."""
        del self.device.heap  # which refers to the device: without that circle nothing waits for the collector
        self.device = cast(Any, None)
        self.heap = self.pinned = cast(Any, None)
        close_mapping(self.pages)
        os.close(self.file)

    def place(self, image: Module) -> LoadedModule:
        """Load a module onto the device."""
        return self.device.load(image)

    def bank_address(self, module: LoadedModule, bank: int) -> int:
        """Return the device address of a constant bank, where copies access the constants as on a chip."""
        key = id(module), bank
        found = self._banks.get(key)
        if found is None:
            content = module.constants[bank]
            size = max(len(content), 1)
            found = self._banks[key] = self.heap.alloc(size)
            self.device.write(found, bytes(content))
            view = self.memory(found, size)
            for kernel in module.values():
                if bank in kernel.constants and kernel.constants[bank] is content:
                    kernel.constants[bank] = cast(Any, view)
        return found

    def memory(self, address: int, nbytes: int) -> memoryview:
        """Return bytes of the device's memory."""
        return memoryview(self.pages)[address : address + nbytes]

    def array(self, address: int, dtype: DTypeLike, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        """Return an array over the device's memory, with `strides` in bytes (0 or more).

        Raises OutsideMemory if a kernel that accesses its first and last element would fault.
        """
        nbytes = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + np.dtype(dtype).itemsize
        if not 0 < nbytes <= self.window or not self.reaches(address, nbytes):
            raise OutsideMemory(f"{nbytes} bytes at {address:#x} are not memory of the device")
        return np.ndarray(shape, dtype, self.device.memory.memory.bytes.data, address, strides)

    def reaches(self, address: int, nbytes: int) -> bool:
        """Return true if kernels can access all these bytes."""
        for start, size in self.device.memory.allocations.items():
            if start <= address and address + nbytes <= start + size:
                return True
        return False

    def used_memory(self) -> list[tuple[int, int]]:
        """Return (start, end) of all memory that may have content."""
        return [*self.heap.used_ranges(), *self.pinned.used_ranges()]
