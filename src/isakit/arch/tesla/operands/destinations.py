"""Destinations: registers, discarded results, o[]. Source: [001] "Destination fields", [tesla] 2.2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.arch.tesla.fields import Long, Short
from isakit.arch.tesla.operands.memory import ATTRIBUTE_PROGRAMS
from isakit.arch.tesla.operands.registers import gpr, half, word
from isakit.sem import Value, concat, write
from isakit.spec import (
    Binder,
    Bitless,
    Bits,
    Choice,
    Field,
    Illegal,
    Keep,
    Match,
    Part,
    Row,
    TokenStream,
    choice,
    when,
)
from isakit.spec.operands import Operand, Register


class Discarded:
    """A destination that throws the result away."""

    width = 32

    def write(self, value: Value, when: Value | None = None) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Output:
    """A word of o[]; a 16-bit result is duplicated into both halves."""

    index: Value
    width: int

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write one output word."""
        if self.width == 16:
            v = value.resize(16)
            write("o", self.index >> 1, concat(v, v), when)
        else:
            write("o", self.index, value.resize(32), when)


@dataclass(frozen=True)
class OutputPart(Part):
    """`o[offset]` as a destination. `name` is `oh` where nothing else in the text tells a half result from a word."""

    field: Field
    width: int
    name: str = "o"

    @property
    def step(self) -> int:
        """Bytes per step of the field."""
        return self.width // 8

    def text(self, word: int) -> str:
        return f"{self.name}[{self.field.get(word) * self.step:#x}]"

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 2) if s.text(k) == self.name and s.text(k + 1) == "[" else None
        if got is None or s.text(got[0]) != "]" or got[1] % self.step or not self.field.fits(got[1] // self.step):
            s.fail(k, self.accepts())
        else:
            yield got[0] + 1, Bits(self.field.mask, self.field.put(got[1] // self.step))

    def operand(self, word: int) -> Operand:
        n = self.field.get(word)
        if self.width == 16:
            return Register("o", n >> 1, 16, "lh"[n & 1], text=self.text(word))
        return Register("o", n, 32, text=self.text(word))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if not isinstance(value, Register) or value.file != "o" or (value.half is None) != (self.width == 32):
            return ()
        raw, odd = divmod(4 * value.index + 2 * (value.half == "h"), self.step)
        return () if odd or not self.field.fits(raw) else (Bits(self.field.mask, self.field.put(raw)),)

    def bind(self, word: int, b: Binder) -> Any:
        return Output(b.param(self.field), self.width)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word))]

    def accepts(self) -> str:
        return f"{self.name}[0x0 .. {126 * self.step:#x}]"

    def text_source(self, keep: Keep) -> str:
        return f"f' {self.name}[{{{self.field.expression()}*{self.step}:#x}}]'"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)


@dataclass(frozen=True)
class Discard(Bitless):
    """`#`: the result is thrown away; `#h` where nothing else in the text tells a half result from a word."""

    name: str = "#"

    def text(self, word: int) -> str:
        return self.name

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == self.name:
            yield k + 1, Bits()
        else:
            s.fail(k, f"`{self.name}` for no destination")

    def bind(self, word: int, b: Binder) -> Any:
        return Discarded()

    def accepts(self) -> str:
        return self.name


NO_OUTPUT = "LD_A_ST_O_NON_VP_GP"


def ldst(width: int, name: str = "o") -> Choice:
    """LDST/LHDST: a register, nothing (`#`), or an output word in vertex and geometry programs."""
    return choice(
        when({Long.dst_o: 0}, gpr(Long.dst, width)),
        when({Long.dst_o: 1, Long.dst: 127}, Discard("#" if name == "o" else "#h")),
        when({Long.dst_o: 1}, OutputPart(Long.dst, width, name), needs=ATTRIBUTE_PROGRAMS),
        when({Long.dst_o: 1}, Illegal(NO_OUTPUT)),
    )


LDST = ldst(32)
LHDST = ldst(16)
LHDST_UNTYPED = ldst(16, "oh")
SDST = word(Short.dst)
SHDST = half(Short.dst)
