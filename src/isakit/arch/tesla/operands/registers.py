"""Register operands: words, halves, pairs and quads of $r, and $a. Source: [001] "Registers", [tesla] 2.1, 2.5."""

from __future__ import annotations

from functools import cache

from isakit.arch.tesla.requests import SPECIAL_REGISTER
from isakit.lean import dataclass
from isakit.sem import Value, concat, read, select, write
from isakit.spec import Field, Reg


@dataclass(frozen=True)
class Word:
    """A full register as a semantics function sees it."""

    index: Value
    width = 32

    def read(self) -> Value:
        """Return the 32-bit value."""
        return read("r", self.index, 32)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write 32 bits (narrower values are zero-extended)."""
        write("r", self.index, value.resize(32), when)


@dataclass(frozen=True)
class Half:
    """A half register: bit 0 of the index chooses the high half."""

    index: Value
    width = 16

    def read(self) -> Value:
        """Return the 16-bit value."""
        word = read("r", self.index >> 1, 32)
        return (word >> ((self.index & 1).resize(32) << 4)).trunc(16)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Replace this half, keep the other."""
        word = read("r", self.index >> 1, 32)
        low, high = word.trunc(16), word.bits(16, 16)
        new = value.resize(16)
        write("r", self.index >> 1, select((self.index & 1).trunc(1), concat(new, low), concat(high, new)), when)


@dataclass(frozen=True)
class Wide:
    """A pair or quad of registers; the index is that of the lowest."""

    index: Value
    width: int

    def read(self) -> Value:
        """All words, the lowest register in the low bits."""
        return concat(*[read("r", self.index + i, 32) for i in reversed(range(self.width // 32))])

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write all words."""
        for i in range(self.width // 32):
            write("r", self.index + i, value.bits(32 * i, 32), when)


@cache
def word(f: Field) -> Reg:
    """$rN."""
    n = 1 << f.width
    return Reg(f, tuple(f"$r{i}" for i in range(n)), Word, "a register", width=32)


@cache
def half(f: Field) -> Reg:
    """$rNl or $rNh."""
    n = 1 << f.width
    return Reg(f, tuple(f"$r{i >> 1}{'lh'[i & 1]}" for i in range(n)), Half, "a half register", width=16, half=True)


@cache
def _aligned(f: Field, count: int, letter: str, name: str) -> Reg:
    """Return the operand of groups of `count` registers that begin at a multiple of it."""
    return Reg(f, tuple(None if i % count else f"$r{i}{letter}" for i in range(1 << f.width)),
               lambda i: Wide(i, 32 * count), name, file="r", width=32 * count)  # fmt: skip


def double(f: Field) -> Reg:
    """$rNd, an even pair."""
    return _aligned(f, 2, "d", "a register pair")


def quad(f: Field) -> Reg:
    """$rNq, an aligned group of four."""
    return _aligned(f, 4, "q", "a register quad")


@cache
def gpr(f: Field, width: int) -> Reg:
    """Return the register operand of a width: 16 half, 32 word, 64 pair, 128 quad."""
    return {16: half, 32: word, 64: double, 128: quad}[width](f)


@dataclass(frozen=True)
class AddressRegister:
    """A $a register; $a0 reads 0 (the machine keeps it so)."""

    index: Value
    width = 16

    def read(self) -> Value:
        """Return the 16-bit value."""
        return read("a", self.index, 16)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write 16 bits."""
        write("a", self.index, value.resize(16), when)


@cache
def areg(f: Field) -> Reg:
    """Return $aN as a plain operand; $a0 prints as 0x0."""
    names = tuple(f"$a{i}" for i in range(1 << f.width))
    return Reg(f, names, AddressRegister, "an address register", file="a", width=16, numbers={0: 0})


@dataclass(frozen=True)
class ReadOnlyRegister:
    """A special register as a semantics function sees it: each is a question of its own to the machine."""

    number: int

    def read(self) -> Value:
        """Return the 32-bit value."""
        return SPECIAL_REGISTER(n=self.number)


def special_register(f: Field, names: tuple[str, ...]) -> Reg:
    """Return $physid, $clock and the like, also by number: it decides what is asked of the machine."""
    aliases = {f"$sr{n}": n for n in range(len(names))}
    return Reg(
        f, names, ReadOnlyRegister, "a special register", aliases=aliases, file="sr", special=True, selecting=True,
        hint=" | ".join(names),
    )  # fmt: skip
