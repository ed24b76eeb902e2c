"""Memory that shaders load from and store to: buffers at 32-bit addresses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isakit.engine.protocol import Array
from isakit.errors import LaunchError, MachineFault

Overwritten = tuple[NDArray[np.uint8], Array, Array]
"""A buffer, offsets in it, and the bytes that were there."""
_FIRST, _STEP = 0x10000000, 0x00100000


class Memory:
    """Buffers, each at its own address; an access outside of them is a fault.

    `overwritten`, if it is a list, collects the bytes that stores replace, for `put_back`.
    """

    def __init__(self) -> None:
        self._buffers: list[tuple[int, NDArray[np.uint8]]] = []
        self._next = _FIRST
        self.overwritten: list[Overwritten] | None = None

    @property
    def buffers(self) -> list[tuple[int, NDArray[np.uint8]]]:
        """(address, content) of the buffers, in address order."""
        return list(self._buffers)

    def set_buffers(self, buffers: Sequence[tuple[int, NDArray[np.uint8]]]) -> None:
        """Set the content of the buffers. Raises LaunchError if addresses or sizes differ."""
        if [(a, len(d)) for a, d in buffers] != [(a, len(d)) for a, d in self._buffers]:
            raise LaunchError("the snapshot is of a memory with other buffers")
        for (_, own), (_, content) in zip(self._buffers, buffers, strict=True):
            if own.flags.writeable:
                own[:] = content

    def add(self, data: NDArray[np.uint8]) -> int:
        """Place a buffer (uint8, kept by reference) and return its address."""
        address = self._next
        self._next += (len(data) // _STEP + 2) * _STEP
        self._buffers.append((address, data))
        return address

    def _find(self, address: Array, size: int) -> tuple[NDArray[np.uint8], Array]:
        low, high = int(address.min()), int(address.max())
        for start, data in self._buffers:
            if start <= low and high + size <= start + len(data):
                return data, address.astype(np.int64) - start
        bad = low if not any(s <= low < s + len(d) for s, d in self._buffers) else high
        raise MachineFault("INVALID_ADDRESS", 0, space="memory", address=bad, detail="no buffer is there")

    def bytes_at(self, address: int, size: int) -> NDArray[np.uint8]:
        """Return `size` bytes of a buffer, as a view. Raises MachineFault outside of the buffers."""
        data, at = self._find(np.array([address]), max(size, 1))
        return data[int(at[0]) : int(at[0]) + size]

    def load(self, address: Array, size: int, active: Array | None) -> Array:
        """Return `size` bytes at each address, little-endian; 0 in inactive lanes."""
        out = np.zeros(len(address), np.uint32)
        lanes = np.arange(len(address)) if active is None else np.flatnonzero(active)
        if len(lanes):
            data, at = self._find(address[lanes], size)
            value = np.zeros(len(lanes), np.uint32)
            for k in range(size):
                value |= data[at + k].astype(np.uint32) << np.uint32(8 * k)
            out[lanes] = value
        return out

    def store(self, address: Array, value: Array, size: int, active: Array | None) -> None:
        """Store the low `size` bytes; among lanes with the same address the last one wins."""
        lanes = np.arange(len(address)) if active is None else np.flatnonzero(active)
        if len(lanes):
            data, at = self._find(address[lanes], size)
            if self.overwritten is not None:
                places = at[:, None] + np.arange(size)
                self.overwritten.append((data, places, data[places]))
            for k in range(size):
                data[at + k] = (value[lanes] >> np.uint32(8 * k)).astype(np.uint8)

    @staticmethod
    def put_back(overwritten: list[Overwritten]) -> None:
        """Undo stores, in reverse order."""
        for data, places, content in reversed(overwritten):
            data[places] = content
