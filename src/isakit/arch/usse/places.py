"""Registers named by bank, number and index, as text and as what the semantics gets.

A register operand is named by a number field and bank selectors: `pa4`, `i0`, `c12` (constant), `g16` (global), `#0x5`
(immediate), `sa[idx1*2+20]` (indexed). In secondary programs every unified bank means sa: pa4 is written `sa4`, and the
same register reached through another bank `sa4@r`. Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from isakit.arch.usse.registers import Location, alias_index, indexed, offset
from isakit.sem import Value
from isakit.spec import Bits, Field, Imm, Match, Part, TokenStream
from isakit.spec.operands import Immediate as Number
from isakit.spec.operands import Operand, Register, SpecialRegister
from isakit.spec.parts import Binder, Keep

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


@cache
def _names(
    width: int, banks: tuple[str, ...], double: bool, alias: int, secondary: bool, tag: bool
) -> tuple[str | None, ...]:
    """Text of every (number, bank) value; None where nothing is known to be there."""
    out: list[str | None] = []
    for bank in banks:
        for n in range(1 << width):
            number = n << 1 if double else n
            out.append(_name(bank, n, number, width, double, alias, secondary, tag))
    return tuple(out)


def _name(bank: str, n: int, number: int, width: int, double: bool, alias: int, secondary: bool, tag: bool) -> str:
    if bank == "r" and alias and number >= (1 << alias) - (8 if double else 4):
        return f"i{(number >> 1 if double else number) & 3}" + ("@r" if tag else "")
    if bank in UNIFIED:
        name, suffix = unified_name(bank, secondary)
        return f"{name}{number}{suffix}"
    if bank == "special":
        return f"c{n}" if n < 64 else f"g{n - 64}"
    if bank == "immediate":
        return f"#{n:#x}"
    if bank == "index":
        return f"idx{n}"
    if bank in INTERNAL_BANKS:
        return f"i{INTERNAL_BANKS[bank] + n}"
    low = width - 2
    name, suffix = unified_name(INDEXED_BANKS[n >> low], secondary)
    off = n & (1 << low) - 1
    return f"{name}{suffix}[idx{bank[-1]}{f'*2+{2 * off}' if double else f'+{off}'}]"


@cache
def _values(names: tuple[str | None, ...]) -> dict[str, int]:
    out: dict[str, int] = {}
    for v, name in enumerate(names):
        if name is not None:
            out.setdefault(name, v)
    return out


@dataclass(frozen=True)
class Place:
    """A register named by number and bank fields.

    `selector` holds the bank bits, the ext bit on top (None: always `banks[0]`). `double`: the number counts 64-bit
    registers. `alias`: the top of the temporaries that many bits can number are internal registers. `tag` writes these
    as `i0@r`, where i0 alone would mean another field.
    """

    number: Field
    selector: Field | None
    banks: tuple[str, ...]
    double: bool
    alias: int
    role: str
    secondary: bool = False
    tag: bool = False

    @cached_property
    def field(self) -> Field:
        """Number and bank together."""
        return self.number + self.selector if self.selector else self.number

    @cached_property
    def names(self) -> tuple[str | None, ...]:
        """The text of every value of `field`."""
        return _names(self.number.width, self.banks, self.double, self.alias, self.secondary, self.tag)

    def bank(self, word: int) -> str:
        """The bank the word selects."""
        return self.banks[self.selector.get(word) if self.selector else 0]

    def internal(self, word: int) -> bool:
        """Whether the operand is an internal register."""
        number = self.number.get(word) << self.double
        return bool(self.alias) and self.bank(word) == "r" and number >= (1 << self.alias) - (8 if self.double else 4)

    def text(self, word: int) -> str:
        """The register's text."""
        return self.names[self.field.get(word)] or "???"

    def operand(self, word: int, text: str, touched: tuple[int, ...], **more: Any) -> Operand:
        """The register as an operand with this text, of which the 32-bit registers `touched` are meant."""
        bank, n, plain = self.bank(word), self.number.get(word), self.text(word)
        width = 32 * (max(touched, default=0) + 1)
        more |= {"text": text}
        if bank == "immediate":
            more.pop("partial", None)
            return Number(n, f"u{self.number.width}", **more)
        more["plain"] = plain
        if "@" in plain:
            more["via"] = plain.partition("@")[2].partition("[")[0]
        if bank == "special" and n >= 64:
            return Register("g", n - 64, width, words=touched, **more)
        if bank == "special":
            more.pop("partial", None)
            return SpecialRegister(f"c{n}", n, file="c", **more)
        if bank in INTERNAL_BANKS or self.internal(word):
            first = INTERNAL_BANKS[bank] + n if bank in INTERNAL_BANKS else (n << self.double >> self.double)
            return Register("i", 4 * (first & 3), 128, words=touched, **more)
        if bank == "index":
            return Register("idx", n, width, words=touched, **more)
        index_register = None
        if bank.startswith("indexed"):
            low = self.number.width - 2
            index_register = Register("idx", int(bank[-1]), 32, text=f"idx{bank[-1]}")
            bank, n = INDEXED_BANKS[n >> low], n & (1 << low) - 1
        return Register(self.file(bank), n << self.double, width, index_register=index_register, words=touched, **more)

    @cached_property
    def _by_content(self) -> dict[Any, int]:
        """Values of `field` by what the registers are, the first encoding of each."""
        out: dict[Any, int] = {}
        for v, name in enumerate(self.names):
            if name is not None:
                out.setdefault(_content(self.operand(self.field.put(v), name, (0,))), v)
        return out

    def put(self, value: Operand) -> Bits | None:
        """The bits of a register or number, whatever stands with it."""
        plain = value.plain if isinstance(value, Register) else ""
        known = _values(self.names)
        v = known[plain] if plain in known else self._by_content.get(_content(value))
        return None if v is None else Bits(self.field.mask, self.field.put(v))

    def encode(self, name: str) -> Bits | None:
        """The bits of a register's text."""
        v = _values(self.names).get(name)
        return None if v is None else Bits(self.field.mask, self.field.put(v))

    def static_word(self, word: int) -> int:
        """Bank bits; of the number only what says internal or which bank is indexed."""
        out = word & self.selector.mask if self.selector else 0
        top = (1 << self.number.width) - 1
        if self.internal(word):
            out |= self.number.put(top & ~3)
        elif self.bank(word).startswith("indexed"):
            out |= word & self.number.put(top & ~(top >> 2))
        elif self.bank(word) == "special":
            out |= word & self.number.put(64)
        return out

    def location(self, word: int, b: Binder) -> Location:
        """What the semantics gets."""
        bank = self.bank(word)
        if bank in INTERNAL_BANKS:
            named = b.param(self.number) if self.number.width else b.const(INTERNAL_BANKS[bank], 32)
            return Location("internal", "i", alias_index(named, self.role))
        number: Value = b.param(self.number)
        if self.internal(word):
            return Location("internal", "i", alias_index(number, self.role))
        if bank == "special":
            if self.number.width > 6 and self.number.get(word) >= 64:
                return Location("global", "g", number.resize(32) & 63)
            return Location("constant", "", number.resize(32) & 63)
        if bank == "immediate":
            return Location("immediate", "", number.resize(32))
        if bank == "index":
            return Location("index", "idx", number.resize(32))
        scale = 2 if self.double else 1
        if bank.startswith("indexed"):
            low = self.number.width - 2
            kind = INDEXED_BANKS[self.number.get(word) >> low]
            base = (number.trunc(low).resize(32) << int(self.double)) + offset(self.role, internal=False)
            return Location("unified", self.file(kind), indexed(base, int(bank[-1]), scale))
        base = (number.resize(32) << int(self.double)) + offset(self.role, internal=False)
        return Location("unified", self.file(bank), base)

    def file(self, bank: str) -> str:
        """The register file of a unified bank in this program type."""
        return "sa" if self.secondary else bank


def _content(value: Operand) -> Any:
    """What a register or number is, without what stands with it."""
    if isinstance(value, Register):
        return value.file, value.index, value.index_register and value.index_register.index
    return value.value if isinstance(value, Number) else None


def take_immediate(s: TokenStream, k: int) -> tuple[int, int] | None:
    """(next token, value) of `#number`, or of `#` and a constant expression."""
    t = s.text(k)
    if t == "#":
        return s.number(k + 1)
    try:
        return (k + 1, int(t[1:], 0)) if t.startswith("#") else None
    except ValueError:
        return None


@dataclass(frozen=True)
class Immediate(Imm):
    """An immediate number written `#0x5`."""

    def text(self, word: int) -> str:
        return f"#{self.value(word):#x}"

    def text_source(self, keep: Keep) -> str:
        return Part.text_source(self, keep)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = take_immediate(s, k)
        bits = self.encode(got[1]) if got else None
        if got is None or bits is None:
            s.fail(k, self.accepts())
        else:
            yield got[0], bits


def take_register(s: TokenStream, k: int) -> tuple[int, str, str]:
    """A register's text and the letters behind its dot, from the tokens at `k`."""
    t = s.text(k)
    if t.startswith("#"):
        got = take_immediate(s, k)
        if got is None:
            return k, "", ""
        name, k = f"#{got[1]:#x}", got[0]
    elif s.text(k + 1) == "[":
        name = t
        k += 1
        while s.text(k) not in ("]", ""):
            name += s.text(k)
            k += 1
        name, k = name + s.text(k), k + 1
    else:
        name, _, letters = t.partition(".")
        return k + 1, name, letters
    letters = s.text(k)
    return (k + 1, name, letters[1:]) if letters.startswith(".") else (k, name, "")


def attach(name: str, letters: str | None) -> str:
    """Register text and swizzle or mask letters in one; letters stand apart from an immediate."""
    if not letters:
        return name
    return f"{name} .{letters}" if name.startswith("#") else f"{name}.{letters}"
