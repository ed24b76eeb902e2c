"""PVRTC, first version: two low-resolution images and a modulation between them.

A block holds two colours; each image is the colours of its blocks, drawn larger bilinearly, and two bits (one bit) per
texel say how to mix them. Blocks are 4 (8) texels wide and 4 high, in swizzled order, and the image wraps around.
Source: S. Fenney, "Texture Compression using Low-Frequency Signal Modulation" (2003), and the published format.
"""

from __future__ import annotations

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.texture.swizzled_order import swizzle_index


def decode_pvrtc(data: bytes, width: int, height: int, two_bits: bool) -> Array:
    """Decode texels, uint8 [height, width, 4]; `two_bits`: 2 bits a texel, else 4. Raises LaunchError.

    Sides are powers of two, at least 2 blocks.
    """
    wide = 8 if two_bits else 4
    for side, least in ((width, 2 * wide), (height, 8)):
        if side & side - 1 or side < least:
            raise LaunchError(
                f"a PVRTC texture of {width} x {height}: sides are powers of two, at least {2 * wide} x 8"
            )
    columns, rows = width // wide, height // 4
    words = (
        np.frombuffer(data[: 8 * columns * rows], "<u4").reshape(-1, 2)[swizzle_index(columns, rows)].astype(np.int64)
    )
    modulation, colours = words[..., 0], words[..., 1]
    mode = (colours & 1).astype(bool)
    a, b = (
        enlarged(colour_fields(half, (half >> 15 & 1).astype(bool), first), wide)
        for half, first in ((colours & 0xFFFE, True), (colours >> 16, False))
    )
    if two_bits:
        mixed = mixed_colours(a, b, two_bit_weights(modulation, mode))
    else:
        weights, punch = four_bit_weights(four_bit_codes(modulation), of_texels(mode, wide))
        mixed = mixed_colours(a, b, weights)
        mixed[punch, 3] = 0
    return mixed.astype(np.uint8)


def colour_fields(half: Array, opaque: Array, first: bool) -> Array:
    """Return a colour of every block as 5, 5, 5 and 4 bits [rows, columns, 4]; bit 0 of the first is not its own."""

    def field(low: int, width: int) -> Array:
        v = half >> low & (1 << width) - 1
        return v << 1 | v >> width - 1 if width == 4 else v << 2 | v >> 1 if width == 3 else v

    blue = field(1, 4) if first else field(0, 5)
    solid = [field(10, 5), field(5, 5), blue, np.full_like(half, 15)]
    blue = field(1, 3) if first else field(0, 4)
    clear = [field(8, 4), field(4, 4), blue, (half >> 12 & 7) << 1]
    return np.stack([np.where(opaque, s, c) for s, c in zip(solid, clear, strict=True)], axis=-1)


def enlarged(colour: Array, wide: int) -> Array:
    """Enlarge the colours of blocks to texels, 0 to 255; a block's colour belongs to the texel in its middle."""
    rows, columns = int(colour.shape[0]), int(colour.shape[1])
    y: Array = np.arange(4 * rows)[:, None] - 2
    x: Array = np.arange(wide * columns)[None, :] - wide // 2
    y0: Array = y // 4 % rows
    x0: Array = x // wide % columns
    fy: Array = (y % 4)[..., None]
    fx: Array = (x % wide)[..., None]
    y1: Array = (y0 + 1) % rows
    x1: Array = (x0 + 1) % columns
    top: Array = colour[y0, x0] * (wide - fx) + colour[y0, x1] * fx
    bottom: Array = colour[y1, x0] * (wide - fx) + colour[y1, x1] * fx
    v: Array = top * (4 - fy) + bottom * fy  # 16 or 32 times the colour
    shift = 1 if wide == 4 else 2
    rgb: Array = (v >> shift) + (v >> shift + 5)
    alpha: Array = (v >> shift - 1) + (v >> shift + 3)
    return np.concatenate([rgb[..., :3], alpha[..., 3:]], axis=-1)


def mixed_colours(a: Array, b: Array, weights: Array) -> Array:
    """Mix two colours; the weights are those of the second, in eighths."""
    return (a * (8 - weights[..., None]) + b * weights[..., None]) // 8


def four_bit_codes(bits: Array) -> Array:
    """Return the two bits of every texel."""
    return spread(np.stack([bits >> 2 * k & 3 for k in range(16)], axis=-1), 4)


def four_bit_weights(codes: Array, punched: Array) -> tuple[Array, Array]:
    """Return the second colour's weights in eighths, and which texels are transparent: `punched` may be."""
    weights = np.where(punched, np.array([0, 4, 4, 8])[codes], np.array([0, 3, 5, 8])[codes])
    return weights, punched & (codes == 2)


def two_bit_weights(bits: Array, mode: Array) -> Array:
    """Return weights of the second colour in eighths.

    One bit a texel, or two bits for every second texel; the others lie between their neighbours: all four, those to the
    sides, or those above and below.
    """
    plain = spread(np.stack([np.where(bits >> k & 1, 8, 0) for k in range(32)], axis=-1), 8)
    # The lowest bits of the first and of the middle code say which neighbours count; the codes repeat their upper bit.
    some = (bits & 1).astype(bool)
    vertical = some & (bits >> 20 & 1).astype(bool)
    fixed = np.where(some, bits & ~(1 << 20) | (bits >> 21 & 1) << 20, bits)
    fixed = fixed & ~1 | fixed >> 1 & 1
    steps = np.array([0, 3, 5, 8])
    stored = np.zeros((*bits.shape, 32), np.int64)
    at = 0
    for y in range(4):
        for x in range(8):
            if (x ^ y) & 1 == 0:
                stored[..., 8 * y + x] = steps[fixed >> 2 * at & 3]
                at += 1
    coarse = spread(stored, 8)
    moded = of_texels(mode, 8)
    # A neighbour in a block of the other mode counts as that block has it.
    known = np.where(moded, coarse, plain)
    above, below = np.roll(known, 1, axis=0), np.roll(known, -1, axis=0)
    left, right = np.roll(known, 1, axis=1), np.roll(known, -1, axis=1)
    between = (above + below + left + right + 2) // 4
    between = np.where(of_texels(some & ~vertical, 8), (left + right + 1) // 2, between)
    between = np.where(of_texels(vertical, 8), (above + below + 1) // 2, between)
    height, width = known.shape
    x, y = np.arange(width, dtype=np.int64)[None, :], np.arange(height, dtype=np.int64)[:, None]
    own: Array = np.equal((x ^ y) & 1, 0)
    return np.where(moded & ~own, between, known)


def of_texels(values: Array, wide: int) -> Array:
    """Repeat the values of blocks [rows, columns, ...] for every texel."""
    return np.repeat(np.repeat(values, 4, axis=0), wide, axis=1)


def spread(values: Array, wide: int) -> Array:
    """Return the values per texel of every block [rows, columns, 4 * wide] as an image."""
    rows, columns, _ = values.shape
    return values.reshape(rows, columns, 4, wide).swapaxes(1, 2).reshape(4 * rows, wide * columns)
