"""Arrays over the memory of a device, as the libraries get them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

DeviceArrays = Callable[[int, Any, tuple[int, ...], tuple[int, ...]], NDArray[Any]]
"""(address, dtype, shape, distances in bytes) -> the elements from an address on, all of them in memory."""
