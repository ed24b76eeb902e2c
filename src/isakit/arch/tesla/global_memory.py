"""The g[] operand: `gK[$rN]`. Source: [001] "Memory", [tesla] 7.2 and 7.3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.arch.tesla.operands import Word
from isakit.sem import Value, load, store
from isakit.spec import Bits, Field, Match, Part, Row, TokenStream
from isakit.spec.operands import Memory, Operand, Register
from isakit.spec.parts import Binder, Keep


@dataclass(frozen=True)
class GlobalMemory(Part):
    """A global space selected by `bank`, addressed by a full register: 32-bit byte address, no offset."""

    bank: Field
    address: Field
    size: int
    width: int
    signed: bool = False

    def text(self, word: int) -> str:
        return f"g{self.bank.get(word)}[$r{self.address.get(word)}]"

    def claimed(self, word: int) -> int:
        return self.bank.mask | self.address.mask

    def possible(self) -> int:
        return self.bank.mask | self.address.mask

    def static_mask(self) -> int:
        return self.bank.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        name, register = s.text(k), s.text(k + 2)
        if not (name[:1] == "g" and name[1:].isdigit() and self.bank.fits(int(name[1:])) and s.text(k + 1) == "["):
            s.fail(k, self.accepts())
        elif not (register[:2] == "$r" and register[2:].isdigit() and self.address.fits(int(register[2:]))):
            s.fail(k + 2, "$r0 .. $r127")
        elif s.text(k + 3) != "]":
            s.fail(k + 3, "`]`: g[] has no offset")
        else:
            yield k + 4, Bits(self.possible(), self.bank.put(int(name[1:])) | self.address.put(int(register[2:])))

    def bind(self, word: int, b: Binder) -> Any:
        return GlobalOperand(f"g{self.bank.get(word)}", Word(b.param(self.address)), self.size, self.width, self.signed)

    def rows(self, word: int) -> list[Row]:
        return [
            Row(self.address, self.address.get(word), f"address in $r{self.address.get(word)}"),
            Row(self.bank, self.bank.get(word), f"space g{self.bank.get(word)}[]"),
        ]

    def accepts(self) -> str:
        return "g0[$r0] .. g15[$r127]"

    def operand(self, word: int) -> Operand:
        base = Register("r", self.address.get(word), 32)
        return Memory(f"g{self.bank.get(word)}", base, size=self.size, signed=self.signed, text=self.text(word))

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        # What is accessed is told by the instruction's type, not by the operand.
        if not isinstance(value, Memory) or value.base is None or value.space[:1] != "g":
            return ()
        if value.offset or value.index is not None or value.post_increment:
            return ()
        return super().put(f"{value.space}[$r{value.base.index}]") if value.base.file == "r" else ()

    def text_source(self, keep: Keep) -> str:
        return f"f' g{{{self.bank.expression()}}}[$r{{{self.address.expression()}}}]'"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.possible())


@dataclass(frozen=True)
class GlobalOperand:
    """A g[] operand as a semantics function sees it."""

    space: str
    register: Word
    size: int
    width: int
    signed: bool

    @property
    def address(self) -> Value:
        """The 32-bit address."""
        return self.register.read()

    def read(self) -> Value:
        """Load and extend to the register width."""
        v = load(self.space, self.address, self.size)
        if v.width >= self.width:
            return v
        return v.sext(self.width) if self.signed else v.zext(self.width)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Store the low bytes."""
        store(self.space, self.address, value.resize(8 * self.size), when)
