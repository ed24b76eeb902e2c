"""The four state words of a texture, as the hardware and GXM keep them. Source: [usse] 3.5.

That bit 31 of the first word is the highest bit of the format is inferred: it tells the formats from 0x80 on, for which
the field of five bits has no room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isakit.errors import LaunchError
from isakit.texture.gxm_formats import Layouts

TEXTURE_TYPES: Mapping[int, tuple[Layouts, bool]] = {
    0: ("swizzled", False), 2: ("swizzled", True), 3: ("linear", False), 4: ("tiled", False), 5: ("swizzled", False),
    6: ("linear", False), 7: ("swizzled", True),
}  # fmt: skip
"""Bits 31:29 of a GXM texture type: order of texels, and whether it is a cube map."""
_POWERS = (0, 2)
"""Types whose sizes are stored as powers of two."""


@dataclass(frozen=True)
class GxmTextureState:
    """Properties of the texels described by the words.

    Attributes: `kind`, a key of `TEXTURE_TYPES`; `format`, GXM's number; `width` and `height` in texels; `levels`;
    `address` of the texels.
    """

    kind: int
    format: int
    width: int
    height: int
    levels: int
    address: int

    @staticmethod
    def from_words(words: Sequence[int]) -> GxmTextureState:
        """Read a state of four words. Raises LaunchError for another number."""
        if len(words) != 4:
            raise LaunchError(f"the state of a texture is four words, not {len(words)}")
        w0, w1, w2, w3 = words
        kind = w1 >> 29
        if kind in _POWERS:
            width, height = 1 << (w1 >> 16 & 15), 1 << (w1 & 15)
        else:
            width, height = (w1 >> 12 & 0xFFF) + 1, (w1 & 0xFFF) + 1
        number = (w0 >> 31) << 31 | (w1 >> 24 & 31) << 24 | (w3 >> 28 & 7) << 12
        return GxmTextureState(kind, number, width, height, (w0 >> 17 & 15) + 1, w2 & ~3)
