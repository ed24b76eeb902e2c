"""Routines of cuBLAS, cuFFT and cuRAND, computed with NumPy on the host."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import DTypeLike

from isakit.engine.protocol import Array

DeviceArrays = Callable[[int, DTypeLike, tuple[int, ...], tuple[int, ...]], Array]
"""(address, dtype, shape, distances in bytes) -> the elements from an address on, all of them in memory."""
