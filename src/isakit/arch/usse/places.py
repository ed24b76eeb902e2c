"""Registers named by bank, number and index, as text and as what the semantics gets.

A register operand is named by a number field and bank selectors: `pa4`, `i0`, `c12` (constant), `g16` (global), `#0x5`
(immediate), `sa[idx1*2+20]` (indexed). In secondary programs every unified bank means sa: pa4 is written `sa4`, and the
same register reached through another bank `sa4@r`. Source: [usse] 2.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any

from isakit.arch.usse.registers import Location, alias_index, indexed, offset
from isakit.arch.usse.usse import SECONDARY
from isakit.lean import cached_property, dataclass
from isakit.sem import Value
from isakit.spec import Context, Field, Place, Reg
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
"""The internal register that number 0 means, of banks that have no others."""


def unified_name(bank: str, secondary: bool) -> tuple[str, str]:
    """Name of a unified bank and what to append to it, as seen by a program type."""
    if not secondary:
        return bank, ""
    return "sa", "" if bank == "pa" else f"@{bank}"


NO_BITS = Field(())


@dataclass(frozen=True)
class Named:
    """The meaning of one value of number and bank.

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
    """Return the meaning of every (number, bank) value."""
    return tuple(n for bank in banks for n in _bank(bank, width, double, alias, secondary, tag))


def _bank(bank: str, width: int, double: bool, alias: int, secondary: bool, tag: bool) -> Iterator[Named]:
    """Yield the meaning of every number of a bank."""
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
class BankedRegister(Place):
    """The registers that a number and a bank name, made by `place`; the operand is `part`.

    `table` has the meaning of every value of both fields. `role` is what repetitions move the register as.
    """

    table: tuple[Named, ...]
    number: Field
    selector: Field | None
    banks: tuple[str, ...]
    double: bool
    alias: int
    role: str
    secondary: bool
    tag: bool

    @cached_property
    def part(self) -> Reg:
        """The operand."""
        unified = ", ".join(f"{b}N" for b in self.banks if b in UNIFIED)
        hint = f"a register ({unified}, i0..i3 ...)" if unified else "an internal register i0 .. i3 with swizzle"
        names, own = _texts(self.table), frozenset({"via"})
        return Reg(self.field, names, lambda index: index, hint=hint, mark="#", own=own, place=self)

    @cached_property
    def field(self) -> Field:
        """The bits of number and bank."""
        return self.number + self.selector if self.selector else self.number

    def internal(self, word: int) -> bool:
        """Return true if the operand is an internal register."""
        return self.table[self.field.get(word)].kind == "internal"

    def resolved(self, ctx: Context) -> Reg | None:
        """Return the register as a secondary program reads it, where all unified banks are sa."""
        if SECONDARY not in ctx.features or self.secondary:
            return None
        more = {"double": self.double, "alias": self.alias, "role": self.role, "tag": self.tag}
        return place(self.number, self.selector, self.banks, secondary=True, **more).part

    def described(self, value: int, text: str, *, words: tuple[int, ...] = (0,), **more: Any) -> Operand:
        """Return the operand with this text, of which the 32-bit registers `words` are meant."""
        at = self.table[value]
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

    def identity(self, operand: Operand) -> Hashable:
        """Return the file, number and index register of a register, or the number."""
        if isinstance(operand, Register):
            return operand.file, operand.index, operand.index_register.index if operand.index_register else 0
        return operand.value if isinstance(operand, Number) else None

    def selects(self, value: int) -> int:
        """Return the bits of the bank; of the number only what says internal or which bank is indexed."""
        top = (1 << self.number.width) - 1
        told = {"internal": top & ~3, "indexed": top & ~(top >> 2), "constant": 64, "global": 64}
        number = self.number.put(told.get(self.table[value].kind, 0) & top)
        return (self.selector.mask if self.selector else 0) | number

    def bound(self, word: int, b: Binder) -> Location:
        """Return where the operand lives."""
        at, double = self.table[self.field.get(word)], int(self.double)
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
) -> BankedRegister:
    """Return the registers named by number and bank.

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
    return BankedRegister(table, number, selector, banks, double, alias, role, secondary, tag)


@cache
def _texts(table: tuple[Named, ...]) -> tuple[str, ...]:
    return tuple(n.text for n in table)
