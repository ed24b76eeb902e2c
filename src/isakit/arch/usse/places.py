"""Registers named by bank, number and index, as text and as what the semantics gets.

A register operand is named by a number field and bank selectors: `pa4`, `i0`, `c12` (constant), `g16` (global), `#0x5`
(immediate), `sa[idx1*2+20]` (indexed). In secondary programs every unified bank means sa: pa4 is written `sa4`, and the
same register reached through another bank `sa4@r`. Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from isakit.arch.usse.registers import Location, alias_index, indexed, offset
from isakit.arch.usse.usse import SECONDARY
from isakit.lean import cached_property
from isakit.sem import Value
from isakit.spec import Bits, Context, Field, Part, Reg
from isakit.spec.operands import Immediate as Number
from isakit.spec.operands import Operand, Register, SpecialRegister
from isakit.spec.parts import Binder

DEST = ("r", "o", "pa", "indexed1", "sa", "special", "index", "indexed2")
"""Banks of a destination by (ext, selector)."""
DEST_NO_EXT = DEST[:4]
SRC = ("r", "o", "pa", "sa", "indexed1", "special", "immediate", "indexed2")
"""Banks of sources 1 and 2 by (ext, selector)."""
SRC_NO_EXT = SRC[:4]
SRC0 = ("r", "pa", "o", "sa")
"""Banks of source 0 by (ext, selector)."""
SRC0_NO_EXT = SRC0[:2]
INDEXED_BANKS = ("r", "o", "pa", "sa")
UNIFIED = {"r", "o", "pa", "sa"}
INTERNAL_BANKS = {"i0": 0, "i2": 2}
"""Where there are only internal registers: the one that number 0 means."""


def unified_name(bank: str, secondary: bool) -> tuple[str, str]:
    """Name of a unified bank and what to append to it, as seen by a program type."""
    if not secondary:
        return bank, ""
    return "sa", "" if bank == "pa" else f"@{bank}"


NO_BITS = Field(())


@dataclass(frozen=True)
class Named:
    """What one value of number and bank means.

    Attributes:
        text: how it is written.
        kind: unified, indexed, internal, constant, global, immediate or index.
        file: the register file.
        index: the number of the first 32-bit register, or of the constant, or the immediate number.
        via: the index register that is added, 0 for none.
    """

    text: str
    kind: str
    file: str
    index: int
    via: int = 0


@cache
def _table(
    width: int, banks: tuple[str, ...], double: bool, alias: int, secondary: bool, tag: bool
) -> tuple[Named, ...]:
    """The meaning of every (number, bank) value."""
    return tuple(n for bank in banks for n in _bank(bank, width, double, alias, secondary, tag))


def _bank(bank: str, width: int, double: bool, alias: int, secondary: bool, tag: bool) -> Iterator[Named]:
    """The meaning of every number of a bank."""
    first_alias = (1 << alias) - (8 if double else 4) if alias else 1 << 16
    for n in range(1 << width):
        number = n << double
        if bank == "r" and number >= first_alias:
            i = (number >> double) & 3
            yield Named(f"i{i}" + ("@r" if tag else ""), "internal", "i", 4 * i)
        elif bank in UNIFIED:
            name, suffix = unified_name(bank, secondary)
            yield Named(f"{name}{number}{suffix}", "unified", name, number)
        elif bank == "special":
            yield Named(f"c{n}", "constant", "c", n) if n < 64 else Named(f"g{n - 64}", "global", "g", n - 64)
        elif bank == "immediate":
            yield Named(f"#{n:#x}", "immediate", "", n)
        elif bank == "index":
            yield Named(f"idx{n}", "index", "idx", n)
        elif bank in INTERNAL_BANKS:
            i = INTERNAL_BANKS[bank] + n
            yield Named(f"i{i}", "internal", "i", 4 * (i & 3))
        else:
            low, via = width - 2, int(bank[-1])
            name, suffix = unified_name(INDEXED_BANKS[n >> low], secondary)
            index = (n & (1 << low) - 1) << double
            text = f"{name}{suffix}[idx{via}{'*2' if double else ''}+{index}]"
            yield Named(text, "indexed", name, index, via)


@dataclass(frozen=True, eq=False)
class PlacePart(Reg):
    """A register named by number and bank fields, made by `place`.

    `table` has the meaning of every value of the field. `role` is what repetitions move it as.
    """

    table: tuple[Named, ...] = ()
    number: Field = NO_BITS
    selector: Field | None = None
    banks: tuple[str, ...] = ()
    double: bool = False
    alias: int = 0
    role: str = "dst"
    secondary: bool = False
    tag: bool = False
    own = frozenset({"via"})

    def resolve(self, ctx: Context) -> Part:
        if SECONDARY not in ctx.features or self.secondary:
            return self
        more = {"double": self.double, "alias": self.alias, "role": self.role, "tag": self.tag}
        return place(self.number, self.selector, self.banks, secondary=True, **more)

    def meant(self, word: int) -> Named:
        """What the word selects."""
        return self.table[self.field.get(word)]

    def internal(self, word: int) -> bool:
        """Whether the operand is an internal register."""
        return self.meant(word).kind == "internal"

    # Names may go on after the first word, be followed by a dot, or be numbers that can be written otherwise.
    starts = needed_words = Part.starts
    pattern = Part.pattern

    def described(self, word: int, text: str, *, words: tuple[int, ...] = (0,), **more: Any) -> Operand:
        """The register as an operand with this text, of which the 32-bit registers `words` are meant."""
        at = self.meant(word)
        if at.kind in ("immediate", "constant"):
            more.pop("partial", None)
        if at.kind == "immediate":
            return Number(at.index, f"u{self.number.width}", text=text, **more)
        if "@" in at.text:
            more["via"] = at.text.partition("@")[2].partition("[")[0]
        if at.kind == "constant":
            return SpecialRegister(at.text, at.index, file="c", text=text, plain=at.text, **more)
        width = 128 if at.kind == "internal" else 32 * (max(words, default=0) + 1)
        added = Register("idx", at.via, 32, text=f"idx{at.via}") if at.via else None
        return Register(at.file, at.index, width, text=text, plain=at.text, words=words, index_register=added, **more)

    @cached_property
    def _by_content(self) -> dict[Any, Bits]:
        """The bits of what registers and numbers are, the first encoding of each."""
        out: dict[Any, Bits] = {}
        for v, at in enumerate(self.table):
            key = at.index if at.kind == "immediate" else (at.file, at.index, at.via)
            out.setdefault(key, Bits(self.field.mask, self.field.put(v)))
        return out

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        found = None
        if isinstance(value, Register):
            via = value.index_register.index if value.index_register else 0
            found = self._values.get(value.plain) or self._by_content.get((value.file, value.index, via))
        elif isinstance(value, Number):
            found = self._by_content.get(value.value)
        return (found,) if found is not None else ()

    def static_mask(self) -> int:
        return self.field.mask

    def static_word(self, word: int) -> int:
        """Bank bits; of the number only what says internal or which bank is indexed."""
        kind, top = self.meant(word).kind, (1 << self.number.width) - 1
        told = {"internal": top & ~3, "indexed": top & ~(top >> 2), "constant": 64, "global": 64}.get(kind, 0)
        return word & ((self.selector.mask if self.selector else 0) | self.number.put(told & top))

    def bind(self, word: int, b: Binder) -> Location:
        at, double = self.meant(word), int(self.double)
        number: Value = b.param(self.number) if self.number.width else b.const(at.index >> 2, 32)
        if at.kind == "internal":
            return Location("internal", "i", alias_index(number, self.role))
        number = number.resize(32)
        if at.kind in ("constant", "global"):
            return Location(at.kind, "" if at.kind == "constant" else "g", number & 63)
        if at.kind in ("immediate", "index"):
            return Location(at.kind, at.file, number)
        if at.via:
            number = b.param(self.number).trunc(self.number.width - 2).resize(32)
        base = (number << double) + offset(self.role, internal=False)
        return Location("unified", at.file, indexed(base, at.via, 1 << double) if at.via else base)


@cache
def place(
    number: Field,
    selector: Field | None,
    banks: tuple[str, ...],
    *,
    double: bool = False,
    alias: int = 0,
    role: str = "dst",
    secondary: bool = False,
    tag: bool = False,
) -> PlacePart:
    """A register named by number and bank.

    Args:
        number: the field of its number.
        selector: the field of the bank, the ext bit on top (None: always `banks[0]`).
        banks: the banks by the selector.
        double: the number counts 64-bit registers.
        alias: the top of the temporaries that so many bits can number are internal registers; 0 for none.
        role: what repetitions move the register as.
        secondary: in a secondary program all unified banks are `sa`.
        tag: internal registers are written `i0@r`, where i0 alone would mean another field.
    """
    table = _table(number.width, banks, double, alias, secondary, tag)
    unified = ", ".join(f"{b}N" for b in banks if b in UNIFIED)
    hint = f"a register ({unified}, i0..i3 ...)" if unified else "an internal register i0 .. i3 with swizzle"
    return PlacePart(
        number + selector if selector else number,
        _texts(table),
        lambda index: index,
        hint=hint,
        mark="#",
        table=table,
        number=number,
        selector=selector,
        banks=banks,
        double=double,
        alias=alias,
        role=role,
        secondary=secondary,
        tag=tag,
    )


@cache
def _texts(table: tuple[Named, ...]) -> tuple[str, ...]:
    return tuple(n.text for n in table)
