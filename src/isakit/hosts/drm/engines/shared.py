"""Constant buffers: defined once, bound to kinds of programs, written through the command stream."""

from __future__ import annotations

from typing import TypeVar

from isakit.engine.protocol import Array
from isakit.hosts.drm.memory import VideoMemory

WHOLE = 0x10000
"""Bytes of a buffer whose size field is 0."""
ALIGNED = 64
"""Alignment that compiled code needs for constants, in bytes."""
MOST_CONTENTS = 256
"""Buffers whose content is cached."""


K = TypeVar("K")


def bind(table: dict[K, int], key: K, value: int | None) -> None:
    """Set or remove an entry of a table."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def halves(value: int) -> tuple[int, int]:
    """Return the lower and the upper 32 bits of a number."""
    return value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF


class ConstantBuffers:
    """The 128 constant buffers of a channel. Source: [nv50] "Methods"; rnndb CB_DEF, SET_PROGRAM_CB.

    Attributes: `defined`: number -> address and size; `bound`: kind of programs (0 vertex, 2 geometry, 3 fragment; 8
    compute here) and c[] bank -> number; `place` of the next `write`: number, offset in bytes.
    """

    def __init__(self, memory: VideoMemory) -> None:
        self.memory = memory
        self.defined: dict[int, tuple[int, int]] = {}
        self.bound: dict[tuple[int, int], int] = {}
        self.place: tuple[int, int] = 0, 0
        self._contents: dict[tuple[int, int], tuple[int, bytes]] = {}

    def define(self, number: int, address: int, size: int) -> None:
        """Set the address and size of a buffer."""
        self.defined[number] = address, size or WHOLE

    def write(self, words: Array) -> None:
        """Write words at the current position. Raises GpuFault."""
        number, offset = self.place
        if number in self.defined:
            address, size = self.defined[number]
            room = max(0, size - offset) // 4
            self.memory.write_words(address + offset, words[:room], "constants")
        self.place = number, offset + 4 * len(words)

    def banks(self, program: int) -> dict[int, bytes]:
        """Return c[] bank -> content for a kind of program."""
        out: dict[int, bytes] = {}
        for (kind, bank), number in self.bound.items():
            if kind == program and number in self.defined:
                address, size = self.defined[number]
                out[bank] = self._content(address, min(size, self.memory.room(address)))
        return out

    def views(self, program: int) -> dict[int, Array] | None:
        """Return c[] bank -> view of its bytes; None if any is empty, or not aligned for compiled code."""
        out: dict[int, Array] = {}
        for (kind, bank), number in self.bound.items():
            if kind == program and number in self.defined:
                address, size = self.defined[number]
                size = min(size, self.memory.room(address))
                if address % ALIGNED or not size:
                    return None
                out[bank] = self.memory.view(address, size, "constants")
        return out

    def _content(self, address: int, size: int) -> bytes:
        """Return the bytes of a buffer, the same object as before if they are unchanged."""
        mark, memory = self.memory.now, self.memory
        found = self._contents.get((address, size))
        if found is not None and memory.unchanged(found[0], address, size):
            return found[1]
        now = memory.view(address, size, "constants")
        content = now.tobytes()
        if found is not None and found[1] == content:
            content = found[1]
        elif found is None and len(self._contents) >= MOST_CONTENTS:
            self._contents.clear()
        self._contents[address, size] = mark, content
        return content
