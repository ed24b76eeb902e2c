"""The notation of method tables.

A method is a 32-bit register of an engine at a byte offset; writing to some of them has an action. Arrays repeat at a
stride, and bits of a word have names. Tables are checked when they are loaded.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from isakit.errors import DefinitionError
from isakit.hosts.drm.tables.reasons import IN_ORDER
from isakit.lean import cached_property

WORDS = 0x800
"""Number of words in an engine's register space: offsets have 13 bits."""

Status = Literal["known", "unknown"]


@dataclass(frozen=True)
class BitRange:
    """Named bits `high` to `low` of a method's word.

    Attributes: `neutral`: the value without effect, of a field that is not modelled; other values are counted as
    unsupported. `ignored`: the field has no effect here, for the reason the method gives.
    """

    name: str
    high: int
    low: int
    neutral: int | None = None
    ignored: bool = False

    def of(self, word: int) -> int:
        """Return the value of the field in a word."""
        return word >> self.low & ((1 << self.high - self.low + 1) - 1)

    @property
    def reader(self) -> Callable[[int], int]:
        """A function that does the same as `of`, faster."""
        low, mask = self.low, self.mask >> self.low
        return lambda word: word >> low & mask

    @property
    def mask(self) -> int:
        """Mask of its bits in the word."""
        return ((1 << self.high - self.low + 1) - 1) << self.low


class Word(int):
    """A word written to a method; its fields are attributes, by the names of the table."""

    __slots__ = ()
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> int:
            """Return the value of a field."""
            ...


@dataclass(frozen=True)
class Method:
    """One method, or an array of them.

    Attributes: `offset` in bytes; `fields`; `count` and `stride` of arrays; `since`: the first variant that has it;
    `values`: meanings of numbers in the whole word; `initial`: the word in a new channel; `status`: whether its meaning
    is known; `read`: whether it is state that is read; `ignored`: why writing it, or its marked fields, has no effect
    here; `neutral`: the word without effect; `width`: the number of its significant low bits, if it has no fields. A
    method that is not read, not ignored and that no engine acts on is not modelled: words other than the neutral one
    are counted.
    """

    offset: int
    name: str
    fields: tuple[BitRange, ...] = ()
    count: int = 1
    stride: int = 4
    since: str | None = None
    values: Mapping[int, str] = field(default_factory=dict[int, str])
    initial: int = 0
    read: bool = False
    ignored: str = ""
    neutral: int = 0
    width: int = 32

    @cached_property
    def word(self) -> Callable[[int], Word] | None:
        """The function that makes a `Word` from a written word, with an attribute for each field.

        None if there are no fields and every bit counts.
        """
        if self.fields:
            return type(self.name, (Word,), {"__slots__": (), **{f.name: property(f.reader) for f in self.fields}})
        mask = (1 << self.width) - 1
        return None if self.width == 32 else lambda word: Word(word & mask)

    @property
    def without_effect(self) -> bool:
        """True if writing it has no effect, whatever the word."""
        return bool(self.ignored) and not any(f.ignored for f in self.fields)

    @property
    def status(self) -> Status:
        """`unknown` for methods that reverse engineering has found without a meaning."""
        return "unknown" if "UNK" in self.name else "known"

    def label(self, index: int) -> str:
        """Return the name with its index."""
        return self.name if self.count == 1 else f"{self.name}({index})"

    def shown(self, word: int) -> str:
        """Format a written word for a log: a named value, fields, or the number."""
        if word in self.values:
            return self.values[word]
        if not self.fields:
            if self.name.endswith(
                ("_X", "_Y", "_Z", "_W", "_NEAR", "_FAR", "_SIZE", "_WIDTH", "_FACTOR", "_UNITS")
            ) or ("COLOR(" in self.name):
                (number,) = struct.unpack("<f", struct.pack("<I", word))
                if word > 0xFFFF and abs(number) < 1e9:
                    return f"{word:#x} ({number:g})"
            return f"{word:#x}"
        rest = word
        parts: list[str] = []
        for f in self.fields:
            rest &= ~f.mask
            value = f.of(word)
            if f.high == f.low:
                parts += [f.name] if value else []
            else:
                parts.append(f"{f.name}={value:#x}" if value > 9 else f"{f.name}={value}")
        if rest:
            parts.append(f"other={rest:#x}")
        return " ".join(parts) or "0"


def method(
    offset: int,
    name: str,
    bits: str = "",
    *,
    count: int = 1,
    stride: int = 4,
    since: str | None = None,
    values: Mapping[int, str] | None = None,
    initial: int = 0,
    read: bool = False,
    ignored: str = "",
    neutral: int = 0,
    width: int = 32,
) -> Method:
    """Return a row of a table.

    `bits` is a list like `"FORMAT 24:19, CONST 4"`. `UNK1 7:4=0` is a field that is not modelled and its neutral value,
    `INTR 20~` one without effect, for the reason in `ignored`.
    """
    fields = tuple(_field(b.strip()) for b in bits.split(",") if b.strip())
    return Method(offset, name, fields, count, stride, since, values or {}, initial, read, ignored, neutral, width)


def _field(text: str) -> BitRange:
    m = re.fullmatch(r"(\w+) (\d+)(?::(\d+))?(?:=(\d+)|(~))?", text)
    if m is None:
        raise DefinitionError(
            f"{text!r} is not a field; fields are like `FORMAT 24:19`, `CONST 4`, `UNK1 7:4=0`, `INTR 20~`"
        )
    return BitRange(m[1], int(m[2]), int(m[3] or m[2]), int(m[4]) if m[4] else None, bool(m[5]))


state = partial(method, read=True)
"""Return a row for state that is read."""

COMMON = (
    method(0x0000, "OBJECT", ignored=IN_ORDER),
    state(0x0010, "SEMAPHORE_ADDRESS_HIGH"),
    state(0x0014, "SEMAPHORE_ADDRESS_LOW"),
    state(0x0018, "SEMAPHORE_SEQUENCE"),
    method(0x001C, "SEMAPHORE_TRIGGER"),
    method(0x0050, "REFERENCE", ignored=IN_ORDER),
    method(0x0100, "NOP", ignored=IN_ORDER),
    method(0x0104, "NOTIFY", ignored=IN_ORDER),
    method(0x0110, "SERIALIZE", ignored=IN_ORDER),
)
"""Methods of every object. The first ones belong to the FIFO and are the same on every subchannel."""


@dataclass(frozen=True)
class MethodTable:
    """The methods of an engine.

    Attributes: `name`, `doc`, `classes` of objects that have them, `methods`.
    """

    name: str
    doc: str
    classes: frozenset[int]
    methods: Sequence[Method]

    def __post_init__(self) -> None:
        """Raise DefinitionError for an inconsistent table."""
        names: set[str] = set()
        taken: set[int] = set()
        for m in self.methods:
            places = {m.offset + k * m.stride for k in range(m.count)}
            bits = [b for f in m.fields for b in range(f.low, f.high + 1)]
            wrong = {
                f"{m.offset:#x} to {max(places):#x} does not fit": m.offset < 0
                or m.offset % 4
                or m.stride % 4
                or max(places) >= 4 * WORDS,
                "there are two of this name": m.name in names,
                f"another method is at {min(places & taken, default=0):#06x}": places & taken,
                f"{m.width} bits beside fields or outside of a word": not 32 >= m.width > 0
                or (m.width < 32 and m.fields),
                "two fields share bits or a name": len(bits) > len(set(bits))
                or len(m.fields) > len({f.name for f in m.fields}),
                "bits of a field do not fit into a word, or its neutral value into its bits": not all(
                    31 >= f.high >= f.low >= 0 and (f.neutral or 0) <= f.mask >> f.low for f in m.fields
                ),
            }
            if any(wrong.values()):
                raise DefinitionError(f"{self.name} {m.name}: {next(what for what, holds in wrong.items() if holds)}")
            names.add(m.name)
            taken |= places

    @cached_property
    def by_name(self) -> dict[str, Method]:
        """Methods by name."""
        return {m.name: m for m in self.methods}

    @cached_property
    def by_word(self) -> list[tuple[Method, int] | None]:
        """(method, index) for each word of the register space."""
        out: list[tuple[Method, int] | None] = [None] * WORDS
        for m in self.methods:
            for k in range(m.count):
                out[m.offset + k * m.stride >> 2] = m, k
        return out

    def method_at(self, word: int) -> Method:
        """Return the method at word `word`. Raises KeyError if there is none."""
        found = self.by_word[word]
        if found is None:
            raise KeyError(f"{self.name} has no method at {4 * word:#06x}")
        return found[0]

    def label(self, word: int) -> str:
        """Return the name of the method at word `word`."""
        found = self.by_word[word]
        return f"{4 * word:#06x}" if found is None else found[0].label(found[1])

    def shown(self, word: int, value: int) -> str:
        """Return the name and value of a write, as text."""
        found = self.by_word[word]
        return f"{self.label(word)} = " + (f"{value:#x}" if found is None else found[0].shown(value))

    def word(self, name: str, index: int = 0) -> int:
        """Return the word index of a method. Raises KeyError for an unknown name."""
        m = self.by_name[name]
        return m.offset + index * m.stride >> 2

    def bits(self, name: str, field_name: str) -> BitRange:
        """Return a field of a method. Raises KeyError."""
        for f in self.by_name[name].fields:
            if f.name == field_name:
                return f
        raise KeyError(f"{name} has no field {field_name}")
