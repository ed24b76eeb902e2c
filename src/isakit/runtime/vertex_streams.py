"""Vertex attributes in memory: interleaved streams in GXM's formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from isakit.engine.protocol import Array, DType
from isakit.errors import LaunchError

_DTYPES = {"U8": "<u1", "S8": "<i1", "U16": "<u2", "S16": "<i2", "F16": "<f2", "F32": "<f4", "UNTYPED": "<u4"}
_NORMALISED = {"U8N": "U8", "S8N": "S8", "U16N": "U16", "S16N": "S16"}
ATTRIBUTE_FORMATS = ("U8", "S8", "U16", "S16", "U8N", "S8N", "U16N", "S16N", "F16", "F32", "UNTYPED")
"""Formats of a component, in the order of their GXM numbers."""


@dataclass(frozen=True)
class VertexStream:
    """An attribute in a stream of vertices; it can be passed wherever an array of its values can.

    Integers are passed as numbers, `N` formats as fractions of their largest value (signed ones at least -1), `UNTYPED`
    ones as their 32 bits. The type of the program's parameter determines the content of its registers.

    Args:
        data: the bytes of the stream, or an array whose bytes are taken.
        format: one of `ATTRIBUTE_FORMATS`.
        components: numbers per vertex, 1 to 4.
        offset: bytes from the beginning of a vertex to the attribute.
        stride: bytes from one vertex to the next (default: the attribute's own size).
        count: vertices (default: all in the data).

    Raises LaunchError for inconsistent arguments.
    """

    data: object
    format: str
    components: int
    offset: int = 0
    stride: int | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if self.format not in ATTRIBUTE_FORMATS:
            raise LaunchError(f"no attribute format {self.format!r}; there are: {', '.join(ATTRIBUTE_FORMATS)}")
        if not 1 <= self.components <= 4:
            raise LaunchError(f"an attribute has 1 to 4 components, not {self.components}")
        if self.offset < 0 or (self.stride is not None and self.stride < 0):
            raise LaunchError(f"an offset of {self.offset} and a stride of {self.stride} bytes")
        if self.count is not None and self.count < 1:
            raise LaunchError(f"a stream of {self.count} vertices")

    @property
    def _kind(self) -> DType:
        return np.dtype(_DTYPES[_NORMALISED.get(self.format, self.format)])

    @property
    def size(self) -> int:
        """Bytes of the attribute of a vertex."""
        return self._kind.itemsize * self.components

    def values(self) -> Array:
        """Return the values, [vertices, components]: f32 for `N` formats and floats, else the stored integers.

        Raises LaunchError if the data is too short.
        """
        raw = _bytes(self.data)
        stride = self.size if self.stride is None else self.stride
        room = len(raw) - self.offset - self.size
        if room < 0:
            raise LaunchError(f"an attribute of {self.size} bytes at {self.offset}: the stream has {len(raw)} bytes")
        there = room // stride + 1 if stride else 1
        count = (there if stride else 1) if self.count is None else self.count
        if stride and count > there:
            raise LaunchError(f"{count} vertices of {stride} bytes: the stream has {there}")
        rows = np.lib.stride_tricks.as_strided(
            raw[self.offset :], (count, self.size), (stride * raw.strides[0], raw.strides[0]), writeable=False
        )
        values = np.ascontiguousarray(rows).view(self._kind)
        if self.format in _NORMALISED:
            return fractions(values)
        return values.astype(np.float32) if values.dtype.kind == "f" else values

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.values() if dtype is None else self.values().astype(dtype)


def fractions(integers: Array) -> Array:
    """Return normalised integers, f32: 0 to 1, or -1 to 1."""
    top = np.iinfo(integers.dtype).max
    return np.maximum(integers.astype(np.float64) / top, -1).astype(np.float32)


def _bytes(data: object) -> Array:
    if isinstance(data, (bytes, bytearray)):
        return np.frombuffer(data, np.uint8)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
