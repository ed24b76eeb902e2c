"""Buffers: pieces of the device's memory that belong to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isakit.runtime.device import Device


class Buffer:
    """`nbytes` bytes of device memory at `address` (32 bits, a multiple of 256). Passed to a kernel as its address.

    Freed by `free()` or by leaving a `with` block; the device's memory goes with the device otherwise.
    """

    def __init__(self, device: Device, address: int, nbytes: int) -> None:
        self.device, self.address, self.nbytes = device, address, nbytes
        self.freed = False

    def free(self) -> None:
        """Give the memory back; freeing twice does nothing."""
        if not self.freed:
            self.device.memory.free(self.address)
            self.freed = True

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __repr__(self) -> str:
        return f"<Buffer {self.nbytes} bytes at {self.address:#x}{', freed' if self.freed else ''}>"
