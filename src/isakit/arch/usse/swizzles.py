"""Swizzles and write masks: which channels an operand reads and an instruction writes.

A swizzle is a field and a table of letters per field value. Letters: x y z w are channels, 0, 1, 2 and h (one half)
constants. Source: [usse] 2.1 "Swizzle tables".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from isakit.spec import Bits, Field

CHANNELS = "xyzw012h"
"""Letters of the 3-bit channel codes."""


def _table(text: str, size: int = 16) -> tuple[str | None, ...]:
    names: list[str | None] = [*text.split()]
    return tuple(names + [None] * (size - len(names)))


V4STD = _table("xxxx yyyy zzzz wwww xyzw yzww xyzz xxyz xyxy xywz zxyw zwzw yzxz xxyy xzww xyz1")
V4EXT = _table("yzxw zwxy xzwy yyww wyzw wzwz xyzx zzww xwzx yyyx yyyz xzyw xxxy zyxw yyzz zzzy")
V3STD = _table("xxx yyy zzz www xyz yzw xxy xyx yyx yyz zxy xzy yzx zyx zzy xy1")
V3EXT = _table("xyy yxy xxz yxx xy0 x10 000 111 hhh 222 x00")
DUAL4STD = _table("xxxx yyyy zzzz wwww xyzw yzww xyzz xxyz xyxy xywz zxyw zwzw 0000 hhhh 1111 2222")
DUAL4EXT = _table("yzxw zwxy xzwy yyww wyzw wzwz xyzx zzww xwzx yyyx yyyz zwzw yzxz xxyy xzww xyz1")
DUAL3STD = _table("xxx yyy zzz www xyz yzw xxy xyx yyx yyz zxy xzy 000 hhh 111 222")
DUAL3EXT = _table("xyy yxy xxz yxx xy0 x10 xzy yzx zyx zzy xy1")
MAD2_SRC0 = _table("xxxx yyyy zzzz wwww xyzw yzxw xyww zwxy", 8)
MAD2_SRC1 = _table("xxxx yyyy zzzz wwww xyzw xyyz yyww wyzw", 8)
MAD2_SRC2 = _table("xxxx yyyy zzzz wwww xyzw xzww xxyz xyzz", 8)


def extended(std: tuple[str | None, ...], ext: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Both tables, the ext bit on top. A swizzle that is in both is told apart as `zwzw@ext`."""
    return std + tuple(f"{n}@ext" if n is not None and n in std else n for n in ext)


CODES4 = tuple("".join(CHANNELS[v >> 3 * k & 7] for k in range(4)) for v in range(1 << 12))
CODES3 = tuple("".join(CHANNELS[v >> 3 * k & 7] for k in range(3)) for v in range(1 << 9))
CHANNEL = tuple("xyzw")
SELECT4 = tuple("".join("xyzw"[v >> 2 * k & 3] for k in range(4)) for v in range(1 << 8))


@cache
def _values(names: tuple[str | None, ...]) -> dict[str, int]:
    out: dict[str, int] = {}
    for v, n in enumerate(names):
        if n is not None:
            out.setdefault(n, v)
    return out


@dataclass(frozen=True)
class Swizzle:
    """A swizzle field with its table; a missing name is an encoding without a known meaning."""

    field: Field
    names: tuple[str | None, ...]

    def letters(self, word: int) -> str | None:
        """The channels, one letter each."""
        return self.names[self.field.get(word)]

    def encode(self, letters: str) -> Bits | None:
        """The field's bits for some letters."""
        v = _values(self.names).get(letters)
        return None if v is None else Bits(self.field.mask, self.field.put(v))


@dataclass(frozen=True)
class Mask:
    """A 4-bit write mask.

    `rule` says what the bits mean when the destination is not an internal register: `raw` one channel each, `f32` only
    x and y exist, `f16` bit 0 stands for x and y and bit 2 for z and w.
    """

    field: Field
    rule: str = "raw"

    def used(self, internal: bool) -> int:
        """The bits of the field (not of the word) that matter."""
        if internal:
            return 15
        return {"raw": 15, "f32": 3, "f16": 5}[self.rule]

    def used_bits(self, internal: bool) -> int:
        """The bits of the word that matter."""
        return self.field.put(self.used(internal) & (1 << self.field.width) - 1)

    def channels(self, word: int, internal: bool) -> tuple[int, ...]:
        """The channels that are written."""
        value = self.field.get(word) & self.used(internal)
        if self.rule == "f16" and not internal:
            value |= value << 1
        return tuple(k for k in range(4) if value >> k & 1)

    def letters(self, word: int, internal: bool) -> str:
        """The channels as letters, `_` for none."""
        return "".join("xyzw"[k] for k in self.channels(word, internal)) or "_"

    def encode(self, letters: str, internal: bool) -> Bits | None:
        """The field's bits for some letters."""
        wanted = 0 if letters == "_" else sum(1 << "xyzw".index(c) for c in letters if c in "xyzw")
        for value in range(1 << self.field.width):
            if value & ~self.used(internal):
                continue
            word = self.field.put(value)
            if self.letters(word, internal) == letters and (wanted or letters == "_"):
                return Bits(self.used_bits(internal), word)
        return None
