"""Buffers: ranges of the device's memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.machine.tesla import DeviceMemory

Bytes = NDArray[np.uint8]


class Buffer:
    """`nbytes` bytes of device memory at `address` (32 bits). Passed to a kernel as its address.

    A buffer of `Device.alloc` starts at a multiple of 256 and is freed by `free()` or by leaving a `with` block; the
    device's memory goes with the device otherwise. One of `Device.buffer` is a range within an allocation and does not
    own it.
    """

    def __init__(self, memory: DeviceMemory, address: int, nbytes: int, *, owned: bool = True) -> None:
        self.memory, self.address, self.nbytes = memory, address, nbytes
        self._owned, self._freed = owned, False

    @property
    def freed(self) -> bool:
        """True if the memory was given back."""
        if self._freed:
            return True
        found = self.memory.range_of(self.address)
        return self.nbytes > 0 and (found is None or found[1] < self.address + self.nbytes)

    def free(self) -> None:
        """Free the memory; freeing twice does nothing. Raises LaunchError for a buffer that does not own it."""
        if not self._owned:
            raise LaunchError(f"{self} is a range of another buffer; free that one, or the address with Device.free")
        if not self.freed:
            self.memory.free(self.address)
        self._freed = True

    def view(self, offset: int = 0, nbytes: int | None = None) -> Bytes:
        """Return the bytes themselves: changes are shared until `alloc` makes the device's memory grow.

        Raises LaunchError for bytes outside of the buffer and for a freed one.
        """
        if self.freed:
            raise LaunchError(f"{self} is not a live buffer of its device")
        count = self.nbytes - offset if nbytes is None else nbytes
        if offset < 0 or count < 0 or offset + count > self.nbytes:
            raise LaunchError(f"{count} bytes at offset {offset} do not fit into {self}")
        start = self.address + offset
        return self.memory.memory.bytes[start : start + count]

    def write(self, data: Array | bytes | bytearray | memoryview, offset: int = 0) -> None:
        """Copy an array (in C order, its numbers little-endian) or bytes into the buffer, from byte `offset` on.

        Raises LaunchError as `view`, and for other objects.
        """
        raw = device_bytes(data)
        with self.memory.lock:
            self.view(offset, len(raw))[:] = raw

    def read(self, dtype: DTypeLike, shape: int | Sequence[int], offset: int = 0) -> Array:
        """Return the content from byte `offset` on as an array; its numbers are little-endian, whatever `dtype` is.

        Raises LaunchError as `view`, and for types and shapes that no bytes can be.
        """
        try:
            kind = np.dtype(dtype)
            sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
            sizes = tuple(operator.index(n) for n in sizes)
        except (TypeError, ValueError) as e:
            raise LaunchError(f"an array of {dtype!r} with shape {shape!r}: {e}") from None
        if kind.hasobject:
            raise LaunchError("Python objects cannot be read from a device")
        if any(n < 0 for n in sizes):
            raise LaunchError(f"an array cannot have the shape {sizes}")
        count = math.prod(sizes) * kind.itemsize
        with self.memory.lock:
            content = self.view(offset, count).tobytes()
        return np.frombuffer(content, kind.newbyteorder("<")).reshape(sizes).astype(kind)

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __repr__(self) -> str:
        return f"<Buffer {self.nbytes} bytes at {self.address:#x}{', freed' if self.freed else ''}>"


def device_bytes(data: Array | bytes | bytearray | memoryview) -> Bytes:
    """Return an array's content, in C order and little-endian, or bytes unchanged.

    Raises LaunchError for other objects.
    """
    if not isinstance(data, np.ndarray | np.generic):
        try:
            return np.frombuffer(data, np.uint8)
        except (TypeError, ValueError) as e:
            given = type(cast(object, data)).__name__
            raise LaunchError(f"a {given} cannot be copied to a device ({e}): pass an array or bytes") from None
    array = np.asarray(data)
    if array.dtype.hasobject:
        raise LaunchError("arrays of Python objects cannot be copied to a device")
    return np.frombuffer(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(), np.uint8)
