"""Arrays over the memory of a device, as the libraries access them."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import DTypeLike

from isakit.engine.protocol import Array

DeviceArrays = Callable[[int, DTypeLike, tuple[int, ...], tuple[int, ...]], Array]
"""(address, dtype, shape, strides in bytes) -> the elements from an address on, all of them in memory."""
