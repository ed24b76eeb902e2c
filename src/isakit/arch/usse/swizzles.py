"""Swizzles and write masks: which channels an operand reads and an instruction writes.

A swizzle is a field and a table of letters per field value. Letters: x y z w are channels, 0, 1, 2 and h (one half)
constants. Source: [usse] 2.1 "Swizzle tables".
"""

from __future__ import annotations

from functools import cache

from isakit.spec import Enum, Field

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


SWIZZLES: dict[str, tuple[str | None, ...]] = {
    "mad2_0": MAD2_SRC0,
    "mad2_1": MAD2_SRC1,
    "mad2_2": MAD2_SRC2,
    "v4": V4STD,
    "v4ext": V4STD + V4EXT,
    "v3": V3STD,
    "v3ext": V3STD + V3EXT,
    "codes4": CODES4,
    "codes3": CODES3,
    "channel": CHANNEL,
    "select4": SELECT4,
    "scalar": ("xyzw", "xxxx"),
}
"""The tables by the names that the tables of forms have for them."""


@cache
def swizzle(field: Field, names: tuple[str | None, ...]) -> Enum:
    """Return a swizzle field with its table; a missing name is an encoding without a known meaning."""
    letters = {v: n for v, n in enumerate(names) if n is not None}
    missing = {v: "undefined" for v, n in enumerate(names) if n is None}
    return Enum(field, letters, meanings=missing, illegal="UNDEFINED_SWIZZLE", hint="")


def _picked(field: Field, channels: tuple[int, ...]) -> Field:
    """Return the bits of a field for the given channels, as a field."""
    places = [low + k for low, n in field.slices for k in range(n)]
    return Field(tuple((places[k], 1) for k in channels), field.name)


MASK_RULES: dict[str, dict[int, tuple[int, ...]]] = {
    "raw": {0: (0,), 1: (1,), 2: (2,), 3: (3,)},
    "f32": {0: (0,), 1: (1,)},
    "f16": {0: (0, 1), 2: (2, 3)},
}
"""The channels that each bit of a write mask stands for where the destination is not an internal register."""


@cache
def mask(field: Field, rule: str = "raw") -> Enum:
    """Return a write mask: the channels as letters, `_` for none; bound to their numbers."""
    bits = [k for k in MASK_RULES[rule] if k < field.width]
    channels = {
        v: tuple(c for j, k in enumerate(bits) if v >> j & 1 for c in MASK_RULES[rule][k])
        for v in range(1 << len(bits))
    }
    names = {v: _letters(c) for v, c in channels.items()}
    used = _picked(field, tuple(bits))
    return Enum(used, names, channels, shown=field, meanings={0: "nothing"}, hint="")


def _letters(channels: tuple[int, ...]) -> str:
    return "".join("xyzw"[k] for k in channels) or "_"


@cache
def implied_mask(letters: str) -> Enum:
    """Return a mask without bits: it follows from the operation and the kind of destination."""
    return Enum(Field(()), {0: letters}, {0: tuple("xyzw".index(c) for c in letters)}, hint="")
