"""Data operands of vµc: general and special registers, immediates.

Source: [vuc] 2 "Operand encodings", 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from isakit.arch.vuc.access import GeneralRegister, SpecialRegister
from isakit.arch.vuc.fields import DST, EXT, IMM6, IMM12, IMM14, IMMF, OT0, OT1, SR_DST, SR_SRC1, SRC1, SRC2, named
from isakit.arch.vuc.registers import OLD_SPECIAL_NAMES, R_NAMES, special_names
from isakit.arch.vuc.spelling import R_NUMBERS, Spelled, parse_number, parse_register, register, register_text
from isakit.spec import Bits, Context, Field, Match, Part, Row, TokenStream, where
from isakit.spec.operands import Immediate, Operand, Register
from isakit.spec.operands import SpecialRegister as Special
from isakit.spec.parts import Binder


@dataclass(frozen=True)
class _WithSpecials(Spelled):
    """Parts that know the special register names of a variant."""

    names: tuple[str, ...] = special_names(frozenset())

    def resolve(self, ctx: Context) -> Part:
        return _renamed(self, ctx.features)

    def special(self, s: TokenStream, k: int) -> int | None:
        """The number of the special register at `k`, by name or as $srN."""
        t = s.text(k)
        if t in self.names:
            return self.names.index(t)
        if t.startswith("$sr") and t[3:].isdigit() and int(t[3:]) < 64:
            return int(t[3:])
        return OLD_SPECIAL_NAMES.get(t)


@cache
def _renamed(part: _WithSpecials, features: frozenset[str]) -> Part:
    """The part with a variant's register names; one object for all forms, so that its tables are made once."""
    return replace(part, names=special_names(features))


@dataclass(frozen=True)
class _GeneralOrSpecial(_WithSpecials):
    """$rN, or a special register when one of OT1 and OT0 is 1 and the other one 0."""

    field: ClassVar[Field]
    """The number of a general register."""
    special_field: ClassVar[Field]
    """The number of a special register: the same bits and EXT."""
    selector: ClassVar[Field]
    """1 for a special register."""
    other: ClassVar[Field]
    """0 for a special register."""

    def is_special(self, word: int) -> bool:
        """Whether the word names a special register."""
        return bool(self.selector.get(word)) and not self.other.get(word)

    def number(self, word: int) -> Field:
        """The field of the register number."""
        return self.special_field if self.is_special(word) else self.field

    def general(self, n: int) -> Bits:
        """The bits the assembler makes of $rN."""
        return where({self.field: n, self.selector: 0})

    def _special(self, n: int) -> Bits:
        return where({self.special_field: n, self.selector: 1, self.other: 0})

    def text(self, word: int) -> str:
        n = self.number(word).get(word)
        return self.names[n] if self.is_special(word) else register_text(n)

    def spelled(self, word: int) -> Bits:
        n = self.number(word).get(word)
        return self._special(n) if self.is_special(word) else self.general(n)

    def static_mask(self) -> int:
        return OT0.mask | OT1.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = parse_register(s, k)
        if got is not None:
            yield got[0], self.general(got[1])
            return
        n = self.special(s, k)
        if n is not None:
            yield k + 1, self._special(n)
        else:
            s.fail(k, self.accepts())

    def bind(self, word: int, b: Binder) -> Any:
        n = b.param(self.number(word))
        return SpecialRegister(n) if self.is_special(word) else GeneralRegister(n)

    def rows(self, word: int) -> list[Row]:
        f = self.number(word)
        n = f.get(word)
        return [Row(f, n, (self.names if self.is_special(word) else R_NAMES)[n])]

    def accepts(self) -> str:
        return "$r0 .. $r15 | a special register"

    def operand(self, word: int) -> Operand:
        n = self.number(word).get(word)
        return Special(self.names[n][1:], n) if self.is_special(word) else register(n)


@dataclass(frozen=True)
class Destination(_GeneralOrSpecial):
    """$rN, or a special register when OT1 = 1 and OT0 = 0."""

    relevant = named("DST,EXT,OT0,OT1", DST, EXT, OT0, OT1)
    field, special_field, selector, other = DST, SR_DST, OT1, OT0


@dataclass(frozen=True)
class Source1(_GeneralOrSpecial):
    """$rN, or a special register when OT0 = 1 and OT1 = 0.

    `settled`: the instruction has no destination that fixes OT1, so a plain register also claims OT1 = 0.
    """

    settled: bool = False
    relevant = named("SRC1,EXT,OT0,OT1", SRC1, EXT, OT0, OT1)
    field, special_field, selector, other = SRC1, SR_SRC1, OT0, OT1

    def general(self, n: int) -> Bits:
        return where({SRC1: n, OT0: 0, OT1: 0}) if self.settled else super().general(n)


@dataclass(frozen=True)
class General(Spelled):
    """$rN in a field of its own."""

    field: Field

    @property
    def relevant(self) -> Field:  # type: ignore[override]
        return self.field

    def text(self, word: int) -> str:
        return register_text(self.field.get(word))

    def spelled(self, word: int) -> Bits:
        return where({self.field: self.field.get(word)})

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = parse_register(s, k)
        if got is None:
            s.fail(k, self.accepts())
        else:
            yield got[0], where({self.field: got[1]})

    def bind(self, word: int, b: Binder) -> Any:
        return GeneralRegister(b.param(self.field))

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), R_NAMES[self.field.get(word)])]

    def accepts(self) -> str:
        return "$r0 .. $r15"

    def operand(self, word: int) -> Operand:
        return register(self.field.get(word))


def _register_or_immediate(word: int, immediate: Field) -> list[Row]:
    """The rows of a source that is a register, or the immediate of that field where IMMF is set."""
    if not IMMF.get(word):
        return [Row(IMMF, 0, "a register"), Row(SRC2, SRC2.get(word), R_NAMES[SRC2.get(word)])]
    return [Row(IMMF, 1, "an immediate"), Row(immediate, immediate.get(word), f"{immediate.get(word):#x}")]


@dataclass(frozen=True)
class Source2(Spelled):
    """$rN or a zero-extended immediate: 6 bits, or 4 where EXT belongs to a special register.

    `optional`: may be left out, which means $r0.
    """

    optional: bool = False
    relevant = named("SRC2,EXT,IMMF,OT0,OT1", SRC2, EXT, IMMF, OT0, OT1)

    @staticmethod
    def wide(word: int) -> bool:
        """Whether the immediate has 6 bits."""
        return OT0.get(word) == OT1.get(word)

    def _value(self, word: int) -> int:
        return (IMM6 if self.wide(word) else SRC2).get(word)

    def text(self, word: int) -> str:
        return f"{self._value(word):#x}" if IMMF.get(word) else register_text(SRC2.get(word))

    def spelled(self, word: int) -> Bits:
        v = self._value(word) if IMMF.get(word) else 0
        if not v:
            return where({IMMF: 0, SRC2: 0 if IMMF.get(word) else SRC2.get(word)})
        if self.wide(word):
            return where({IMMF: 1, IMM6: v})
        return where({IMMF: 1, SRC2: v})

    def static_mask(self) -> int:
        return IMMF.mask | OT0.mask | OT1.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        n = R_NUMBERS.get(s.text(k))
        if n is not None:
            yield k + 1, where({IMMF: 0, SRC2: n})
            return
        got = parse_number(s, k)
        if got is None:
            if self.optional:
                yield k, where({IMMF: 0, SRC2: 0})
            s.fail(k, self.accepts())
            return
        at, v = got
        if v == 0:
            yield at, where({IMMF: 0, SRC2: 0})
        if not 0 <= v < 64:
            s.fail(k, "an immediate 0x0 .. 0x3f (0x0 .. 0xf beside a special register); load others with mov")
            return
        for ot in (0, 1):
            yield at, where({IMMF: 1, IMM6: v, OT0: ot, OT1: ot})
        if v < 16:
            for ot in (1, 0):
                yield at, where({IMMF: 1, SRC2: v, OT0: ot, OT1: 1 - ot})
        elif self.optional:
            return

    def bind(self, word: int, b: Binder) -> Any:
        if not IMMF.get(word):
            return GeneralRegister(b.param(SRC2))
        return b.param(IMM6 if self.wide(word) else SRC2).zext(16)

    def rows(self, word: int) -> list[Row]:
        return _register_or_immediate(word, IMM6 if self.wide(word) else SRC2)

    def accepts(self) -> str:
        return "$r0 .. $r15 | an immediate 0x0 .. 0x3f (0x0 .. 0xf beside a special register)"

    def operand(self, word: int) -> Operand:
        return Immediate(self._value(word), "u6") if IMMF.get(word) else register(SRC2.get(word))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        return super().put(0 if value is None and self.optional else value)


@dataclass(frozen=True)
class LongSource(Part):
    """The source of mov: $rN, or an immediate of 14 bits (12 where EXT belongs to a special register)."""

    def _field(self, word: int) -> Field:
        return IMM12 if OT1.get(word) else IMM14

    def text(self, word: int) -> str:
        return f"{self._field(word).get(word):#x}" if IMMF.get(word) else register_text(SRC2.get(word))

    def spelled(self, word: int) -> Bits:
        """The bits the assembler makes of the text."""
        if not IMMF.get(word):
            return where({IMMF: 0, SRC2: SRC2.get(word)})
        f = self._field(word)
        return where({IMMF: 1, f: f.get(word)}) if f.get(word) else where({IMMF: 0, SRC2: 0})

    def claimed(self, word: int) -> int:
        b = self.spelled(word)
        return b.mask & ~(b.value ^ word)

    def possible(self) -> int:
        return IMMF.mask | OT1.mask | IMM14.mask

    def static_mask(self) -> int:
        return IMMF.mask | OT1.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        n = R_NUMBERS.get(s.text(k))
        if n is not None:
            yield k + 1, where({IMMF: 0, SRC2: n})
            return
        got = parse_number(s, k)
        if got is None or not 0 <= got[1] < 1 << 14:
            s.fail(k, self.accepts())
            return
        for found in self.put(got[1]):
            yield got[0], found

    def bind(self, word: int, b: Binder) -> Any:
        return b.param(self._field(word)).zext(16) if IMMF.get(word) else GeneralRegister(b.param(SRC2))

    def rows(self, word: int) -> list[Row]:
        return _register_or_immediate(word, self._field(word))

    def accepts(self) -> str:
        return "$r0 .. $r15 | an immediate 0x0 .. 0x3fff (0x0 .. 0xfff into a special register)"

    def operand(self, word: int) -> Operand:
        return Immediate(self._field(word).get(word), "u14") if IMMF.get(word) else register(SRC2.get(word))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if isinstance(value, Register):
            fits = value.file == "r" and 0 <= value.index < len(R_NAMES)
            return (where({IMMF: 0, SRC2: value.index}),) if fits else ()
        if isinstance(value, str) and value in R_NUMBERS:
            return (where({IMMF: 0, SRC2: R_NUMBERS[value]}),)
        v = int(value) if isinstance(value, (int, Immediate)) else -1
        out = [where({IMMF: 0, SRC2: 0})] if v == 0 else []
        if 0 <= v < 1 << 14:
            out.append(where({IMMF: 1, OT1: 0, IMM14: v}))
        if 0 <= v < 1 << 12:
            out.append(where({IMMF: 1, OT1: 1, IMM12: v}))
        return out


@dataclass(frozen=True)
class Small(Spelled):
    """A 4-bit number: the bit of $stat to wait for."""

    relevant = SRC2

    def text(self, word: int) -> str:
        return f"{SRC2.get(word):#x}"

    def spelled(self, word: int) -> Bits:
        return where({SRC2: SRC2.get(word)})

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k)
        if got is None or not 0 <= got[1] < 16:
            s.fail(k, self.accepts())
        else:
            yield got[0], where({SRC2: got[1]})

    def bind(self, word: int, b: Binder) -> Any:
        return b.param(SRC2)

    def rows(self, word: int) -> list[Row]:
        return [Row(SRC2, SRC2.get(word), f"bit {SRC2.get(word)}")]

    def accepts(self) -> str:
        return "a bit number 0x0 .. 0xf"

    def operand(self, word: int) -> Operand:
        return Immediate(SRC2.get(word), "u4")
