"""PNG files of 8-bit images, with the necessary chunks only."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def png(pixels: Array) -> bytes:
    """Encode uint8 pixels [height, width, 1 to 4] as a PNG file; the first row is the upper one.

    Raises LaunchError for another type or shape.
    """
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.shape[2] not in _COLOUR_TYPES:
        raise LaunchError(f"a picture is uint8 [height, width, 1 to 4], not {pixels.dtype} {pixels.shape}")
    height, width, count = pixels.shape
    rows = np.zeros((height, 1 + width * count), np.uint8)  # every row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[count], 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body
