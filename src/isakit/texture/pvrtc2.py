"""PVRTC, second version: as the first, with one opacity flag per block and hard transitions between blocks.

A hard transition holds for the texels between the middles of four blocks P, Q (right of P), R (below P) and S; the flag
is that of P. There the colours of a texel's own block are mixed, or (4 bits a texel, modulation flag set) taken from a
palette of all four blocks' colours. Sides may be of any size; the image wraps around at the edge of its blocks.
Source: Khronos Data Format Specification, "Format PVRTC2 4bpp" and "2bpp".
"""

from __future__ import annotations

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.pvrtc import (
    colour_fields,
    enlarged,
    four_bit_codes,
    four_bit_weights,
    mixed_colours,
    of_texels,
    two_bit_weights,
)
from isakit.texture.swizzled_order import swizzle_index

_PALETTE = (
    ("PA - - PB", "PA PB QA QB", "PA PB QA QB", "PA PB QA QB"),
    ("PA PB RA RB", "PA PB QA RB", "PA PB QA QB", "SA PB QA QB"),
    ("PA PB RA RB", "PA PB RA RB", "PA SB RA QB", "SA SB QA QB"),
    ("PA PB RA RB", "PA SB RA RB", "SA SB RA RB", "SA SB RA QB"),
)
"""Colours that the two bits of a texel choose, by its place in the square between the middles; the dashes are mixed."""


def _choice(code: int, name: str) -> int:
    """Return 0 to 7: block and colour; 8 and 9: P's colours mixed."""
    return 7 + code if name == "-" else 2 * "PQRS".index(name[0]) + "AB".index(name[1])


_CHOICES = np.array([[[_choice(k, n) for k, n in enumerate(cell.split())] for cell in row] for row in _PALETTE])


def decode_pvrtc2(data: bytes, width: int, height: int, two_bits: bool, *, swizzled: bool = False) -> Array:
    """Decode texels, uint8 [height, width, 4]; `two_bits`: 2 bits a texel, else 4; `swizzled`: the blocks' order."""
    wide = 8 if two_bits else 4
    columns, rows = -(-width // wide), -(-height // 4)
    words = np.frombuffer(data[: 8 * columns * rows], "<u4").reshape(-1, 2)
    words = words[swizzle_index(columns, rows)] if swizzled else words.reshape(rows, columns, 2)
    modulation, colours = (words[..., k].astype(np.int64) for k in (0, 1))
    flag, hard = (colours & 1).astype(bool), (colours >> 15 & 1).astype(bool)
    opaque = (colours >> 31).astype(bool)
    first, second = colour_fields(colours & 0xFFFE, opaque, True), colour_fields(colours >> 16, opaque, False)
    second[..., 3] |= ~opaque  # a translucent second colour ends in 1, so that a block spans all of alpha
    own = [of_texels(_bytes(c), wide) for c in (first, second)]
    # The square of a texel begins in the middle of the block P, and so do its flags.
    y = (np.arange(4 * rows)[:, None] - 2) % (4 * rows)
    x = (np.arange(wide * columns)[None, :] - wide // 2) % (wide * columns)
    py, px = y // 4, x // wide
    here = hard[py, px]
    a, b = (np.where(here[..., None], o, enlarged(c, wide)) for o, c in zip(own, (first, second), strict=True))
    if two_bits:
        mixed = mixed_colours(a, b, two_bit_weights(modulation, flag))
    else:
        codes, flagged = four_bit_codes(modulation), of_texels(flag, wide)
        weights, punch = four_bit_weights(codes, flagged & ~here)
        mixed = mixed_colours(a, b, weights)
        mixed[punch] = 0
        palette = flagged & here
        if palette.any():
            _choose(mixed, palette, codes, (_bytes(first), _bytes(second)), (py, px), (y % 4, x % 4))
    return mixed[:height, :width].astype(np.uint8)


def _bytes(colour: Array) -> Array:
    """Expand colours of 5, 5, 5 and 4 bits to bytes, their upper bits repeated."""
    rgb = colour[..., :3] << 3 | colour[..., :3] >> 2
    return np.concatenate([rgb, colour[..., 3:] * 17], axis=-1)


def _choose(
    out: Array, palette: Array, codes: Array, colours: tuple[Array, Array], block: tuple[Array, Array],
    inside: tuple[Array, Array],
) -> None:  # fmt: skip
    """Put the colours of local palettes into the texels marked in `palette`."""
    rows, columns = colours[0].shape[:2]
    chosen = np.where(palette, _CHOICES[inside[0], inside[1], codes], -1)
    numbers: list[int] = np.unique(chosen[palette]).tolist()
    for number in numbers:
        here = np.nonzero(chosen == number)
        y, x = block[0][here[0], 0], block[1][0, here[1]]
        if number >= 8:
            a, b = (c[y, x] for c in colours)
            weight = 3 if number == 8 else 5
            out[here] = (a * (8 - weight) + b * weight) // 8
        else:
            out[here] = colours[number & 1][(y + (number >> 2)) % rows, (x + (number >> 1 & 1)) % columns]
