"""Operands of vµc as semantics functions get them: objects that read and write registers with the machine's own rules.

Register files of a trace: `r` (16 x 16 bits), `p` (16 x 1), `acc` (1 x 32). Special registers are memory-like, since
reading some of them has an effect: a read is a load from the space `sr`, a write a delayed write of the file `sr`.
Source: [vuc] 3 "Predicate output", 8, 9.
"""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.vuc.registers import NOT_P0, TRUE
from isakit.sem import Value, load, read, write


@dataclass(frozen=True)
class GeneralRegister:
    """$rN; writes to $r0 are dropped. `latency` counts cycles until a reader sees the write."""

    index: Value

    def read(self) -> Value:
        """Return the 16-bit value."""
        return read("r", self.index, 16)

    def write(self, value: Value, latency: int = 1) -> None:
        """Write 16 bits."""
        kept = ~(self.index == 0)
        if latency == 1:
            write("r", self.index, value, kept)
        else:
            write("r", self.index, value, kept, latency=latency)


@dataclass(frozen=True)
class SpecialRegisterAccess:
    """$srN: not forwarded, with side effects; both are the machine's business."""

    index: Value

    def read(self) -> Value:
        """Return the 16-bit value; takes place even where the value is not used."""
        return load("sr", self.index.zext(16), 2)

    def write(self, value: Value, latency: int = 1) -> None:
        """Write 16 bits, seen one cycle later than a $r write."""
        write("sr", self.index, value, delayed=True, latency=latency)


@dataclass(frozen=True)
class Predicate:
    """$pN as a source, possibly negated."""

    index: Value
    negated: bool = False

    def read(self) -> Value:
        """Return the bit."""
        p = read("p", self.index, 1)
        return ~p if self.negated else p


@dataclass(frozen=True)
class PredicateOutput:
    """$pN as the destination of a predicate output; `mode` is PON:POM.

    $p1 and $p15 are read-only, $p1 follows $p0.
    """

    mode: int
    index: Value

    def write(self, output: Value) -> None:
        """Combine the output with the register as the mode says."""
        value = ~output if self.mode & 4 else output
        if self.mode & 3 == 0:
            value = read("p", self.index, 1) & value
        if self.mode & 3 == 1:
            value = read("p", self.index, 1) | value
        write("p", self.index, value, ~(self.index == NOT_P0) & ~(self.index == TRUE))
        write("p", self.index + 1, ~value, self.index == 0)


@dataclass(frozen=True)
class DiscardedPredicate:
    """A predicate output that goes nowhere."""

    def write(self, output: Value) -> None:
        """Drop it."""
