"""DXT and RGTC blocks: 4x4 texels in 8 or 16 bytes, as plain 8-bit components.

Source: the S3TC and RGTC extensions of OpenGL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.texture.texel_formats import SNORM, SNORM_FORCE_FP16, TYPE_NAMES, UNORM, UNORM_FORCE_FP16, ComponentLayout

_SIGNED, _UNSIGNED = frozenset({SNORM, SNORM_FORCE_FP16}), frozenset({UNORM, UNORM_FORCE_FP16})


def decompressed(made: ComponentLayout, blocks: Array, width: int, height: int, types: Sequence[int] = ()) -> Array:
    """Decompress blocks, uint8 [rows, columns, bytes], to texels uint8 [height, width, 4] (R, G, B, A).

    `types` are those of the components; without them all are unsigned. Raises NotModelled for types that no source
    gives a compressed format.
    """
    signed = made.kind.startswith("rgtc") and set(types) <= _SIGNED and bool(types)
    if not signed and not set(types) <= _UNSIGNED:
        names = ", ".join(TYPE_NAMES[t] for t in dict.fromkeys(types))
        raise NotModelled(f"{made.name} with components of type {names}", "no source says what it holds")
    rows, columns, _ = blocks.shape
    flat = blocks.reshape(-1, blocks.shape[2])
    out = np.zeros((len(flat), 16, 4), np.uint8)
    if made.kind.startswith("rgtc"):
        for k in range(1 if made.kind == "rgtc1" else 2):
            out[:, :, k] = interpolated(flat[:, 8 * k : 8 * k + 8], signed).astype(np.uint8)
    elif made.kind == "dxt1":
        out[:] = _colours(flat, opaque=False)
    else:
        out[:] = _colours(flat[:, 8:], opaque=True)
        if made.kind == "dxt23":
            nibbles = np.stack((flat[:, :8] & 15, flat[:, :8] >> 4), axis=2).reshape(len(flat), 16)
            out[:, :, 3] = nibbles * 17
        else:
            out[:, :, 3] = interpolated(flat[:, :8]).astype(np.uint8)
    image = out.reshape(rows, columns, 4, 4, 4).transpose(0, 2, 1, 3, 4).reshape(4 * rows, 4 * columns, 4)
    return np.ascontiguousarray(image[:height, :width])


def _colours(block: Array, opaque: bool) -> Array:
    """Decode two 565 colours and 2-bit choices; without `opaque` their order can mean a transparent one."""
    ends = block[:, :4].copy().view(np.uint16).astype(np.int64)
    red, green, blue = ends >> 11, ends >> 5 & 63, ends & 31
    rgb = np.stack((red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2), axis=2)
    a, b = rgb[:, 0], rgb[:, 1]
    four = (np.ones(len(block), bool) if opaque else ends[:, 0] > ends[:, 1])[:, None]
    table = np.zeros((len(block), 4, 4), np.int64)
    table[:, :, 3] = 255
    table[:, 0, :3], table[:, 1, :3] = a, b
    table[:, 2, :3] = np.where(four, (2 * a + b) // 3, (a + b) // 2)
    table[:, 3, :3] = np.where(four, (a + 2 * b) // 3, 0)
    table[:, 3, 3] = np.where(four[:, 0], 255, 0)
    codes = block[:, 4:8].copy().view(np.uint32)
    choice = (codes >> np.arange(0, 32, 2, dtype=np.uint32)[None, :]) & 3
    return np.take_along_axis(table, choice[:, :, None].astype(np.int64), axis=1).astype(np.uint8)


def _towards_zero(n: Array, d: int) -> Array:
    return np.sign(n) * (np.abs(n) // d)


def interpolated(block: Array, signed: bool = False, fractions: bool = False) -> Array:
    """Decode blocks of two 8-bit ends and 3-bit choices between them, uint8 [blocks, 8], to texels [blocks, 16].

    Texels are whole steps of 1/255, or of 1/127 if the ends are `signed`; or else exact `fractions`, f64.
    """
    a, b = block[:, :2].copy().view(np.int8 if signed else np.uint8).astype(np.int64).T
    lowest, highest = (-127, 127) if signed else (0, 255)
    eight, divided = a > b, _towards_zero
    a, b = np.maximum(a, lowest), np.maximum(b, lowest)  # -128 is another name of -1.0
    if fractions:
        a, b, lowest, highest, divided = a / highest, b / highest, lowest / highest, 1.0, np.true_divide
    six = [*(divided((6 - k) * a + (k - 1) * b, 5) for k in range(2, 6)), lowest, highest]
    steps = [np.where(eight, divided((8 - k) * a + (k - 1) * b, 7), six[k - 2]) for k in range(2, 8)]
    wide = np.zeros((len(block), 8), np.uint8)
    wide[:, :6] = block[:, 2:8]
    codes = wide.view(np.uint64).ravel()
    choice = (codes[:, None] >> np.arange(0, 48, 3, dtype=np.uint64)[None, :]) & np.uint64(7)
    return np.take_along_axis(np.stack([a, b, *steps], axis=1), choice.astype(np.int64), axis=1)
