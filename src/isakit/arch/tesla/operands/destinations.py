"""Destinations: registers, discarded results, o[]. Source: [001] "Destination fields", [tesla] 2.2."""

from __future__ import annotations

from functools import cache

from isakit.arch.tesla.fields import Long, Short
from isakit.arch.tesla.operands.memory import ATTRIBUTE_PROGRAMS
from isakit.arch.tesla.operands.registers import gpr, half, word
from isakit.lean import dataclass
from isakit.sem import Value, concat, write
from isakit.spec import Choice, Field, Illegal, Literal, Part, cell, choice, when


class Discarded:
    """A destination that throws the result away."""

    width = 32

    def write(self, value: Value, when: Value | None = None) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class OutputWord:
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


@cache
def output(f: Field, width: int, name: str) -> Part:
    """`o[offset]`; `name` is `oh` where nothing else in the text tells a half result from a word."""
    return cell(f, name, width // 8, lambda index: OutputWord(index, width), file="o", half=width == 16)


NO_OUTPUT = "LD_A_ST_O_NON_VP_GP"


@cache
def ldst(width: int, name: str = "o") -> Choice:
    """LDST/LHDST: a register, nothing (`#`), or an output word in vertex and geometry programs."""
    return choice(
        when({Long.dst_o: 0}, gpr(Long.dst, width)),
        when({Long.dst_o: 1, Long.dst: 127}, Literal("#" if name == "o" else "#h", Discarded())),
        when({Long.dst_o: 1}, output(Long.dst, width, name), needs=ATTRIBUTE_PROGRAMS),
        when({Long.dst_o: 1}, Illegal(NO_OUTPUT)),
    )


LDST = ldst(32)
LHDST = ldst(16)
LHDST_UNTYPED = ldst(16, "oh")
SDST = word(Short.dst)
SHDST = half(Short.dst)
