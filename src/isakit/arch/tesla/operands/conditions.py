"""Condition codes, predicates, tails and lane masks. Source: [001] "Predicates", [tesla] 3, 5.1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from isakit.arch.tesla.fields import Control, Long
from isakit.arch.tesla.requests import LANE
from isakit.sem import Value, concat, const, read, write
from isakit.spec import (
    Binder,
    Bitless,
    Bits,
    Choice,
    Enum,
    Field,
    Keep,
    Match,
    Nothing,
    Part,
    Reg,
    Row,
    TokenStream,
    choice,
    when,
)
from isakit.spec.operands import Condition, Operand, Register

ZERO, SIGN, CARRY, OVERFLOW = 0, 1, 2, 3
CONDITION_NAMES = tuple(
    "never l e le g lg ge lge u lu eu leu gu lgu geu always o c a s x14 x15 x16 x17 x18 x19 x1a x1b ns na nc no".split()  # noqa: SIM905
)
ALWAYS = 15


def condition_holds(code: int, flags: Value) -> Value:
    """Predicate `code` on 4 flag bits; 0x14-0x1b were measured as always false. Source: [001] "Predicates"."""
    z, s, c, o = (flags.bit(i) for i in range(4))
    table: dict[int, Value] = {
        0x01: (s & ~z) ^ o,
        0x02: z & ~s,
        0x03: s ^ (z | o),
        0x04: ~z & ~(s ^ o),
        0x05: ~z,
        0x06: ~(s ^ o),
        0x07: ~z | ~s,
        0x08: z & s,
        0x09: s ^ o,
        0x0A: z,
        0x0B: z | (s ^ o),
        0x0C: ~s ^ (z | o),
        0x0D: ~z | s,
        0x0E: (~s | z) ^ o,
        0x0F: const(1, 1),
        0x10: o,
        0x11: c,
        0x12: ~z & c,
        0x13: s,
        0x1C: ~s,
        0x1D: z | ~c,
        0x1E: ~c,
        0x1F: ~o,
    }
    return table.get(code, const(0, 1))


@dataclass(frozen=True)
class ConditionCode:
    """A $c register."""

    index: Value
    width = 4

    def read(self) -> Value:
        """The four flags Z S C O, bit 0 first."""
        return read("c", self.index, 4)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write all four flags."""
        write("c", self.index, value, when)


def flags(z: Value, s: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """A $c value from its bits."""
    zero = const(0, 1)
    return concat(zero if o is None else o, zero if c is None else c, s, z)


def result_flags(result: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """Z and S of an integer result, with optional C and O."""
    return flags(result.is_zero, result.sign, c, o)


def creg(f: Field) -> Reg:
    """$c0..$c3."""
    return Reg(f, tuple(f"$c{i}" for i in range(4)), ConditionCode, "a condition register", width=4)


@dataclass(frozen=True)
class Predicate(Part):
    """`(cond $cN)`: the condition under which lanes execute; bound to an object with `holds()`."""

    code: Field
    source: Field
    static = True

    def text(self, word: int) -> str:
        return f"({CONDITION_NAMES[self.code.get(word)]} $c{self.source.get(word)})"

    def claimed(self, word: int) -> int:
        return self.code.mask | self.source.mask

    def possible(self) -> int:
        return self.code.mask | self.source.mask

    def static_mask(self) -> int:
        return self.code.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        name, register = s.text(k + 1), s.text(k + 2)
        if s.text(k) != "(":
            s.fail(k, "a predicate like `(e $c0)`")
        elif name not in CONDITION_NAMES:
            # `(mul ...)` is no predicate: only what names a condition register tells that one was meant.
            s.fail(k + 1 if register[:2] == "$c" else k, " | ".join(f"`{c}`" for c in dict.fromkeys(CONDITION_NAMES)))
        elif register not in ("$c0", "$c1", "$c2", "$c3") or s.text(k + 3) != ")":
            s.fail(k + 2, "$c0 .. $c3 and `)`")
        else:
            code = self.code.put(CONDITION_NAMES.index(name))
            yield k + 4, Bits(self.possible(), code | self.source.put(int(register[2])))

    def bind(self, word: int, b: Binder) -> Any:
        return Guard(self.code.get(word), b.param(self.source))

    def rows(self, word: int) -> list[Row]:
        code = self.code.get(word)
        return [
            Row(self.code, code, f"if {CONDITION_NAMES[code]}"),
            Row(self.source, self.source.get(word), f"of $c{self.source.get(word)}"),
        ]

    def accepts(self) -> str:
        return "(cond $c0 .. $c3)"

    def text_source(self, keep: Keep) -> str:
        both = self.code + self.source
        table = tuple(f" ({CONDITION_NAMES[i & 31]} $c{i >> 5})" for i in range(128))
        return f"{keep(table)}[{both.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.possible())

    def operand(self, word: int) -> Operand:
        register = Register("c", self.source.get(word), 4)
        return Condition(register, CONDITION_NAMES[self.code.get(word)], text=self.text(word))


@dataclass(frozen=True)
class Guard:
    """The condition of a predicated instruction."""

    code: int
    index: Value

    def holds(self) -> Value:
        """1 in the lanes where the condition is true."""
        return condition_holds(self.code, read("c", self.index, 4))


class _Never:
    """A condition that is false everywhere."""

    def holds(self) -> Value:
        return const(0, 1)


@dataclass(frozen=True)
class NeverGuard(Bitless):
    """`(never)`: no lane executes; the $c field plays no role."""

    def text(self, word: int) -> str:
        return "(never)"

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if (s.text(k), s.text(k + 1), s.text(k + 2)) == ("(", "never", ")"):
            yield k + 3, Bits()
        else:
            s.fail(k, "`(never)`")

    def operand(self, word: int) -> Operand:
        return Condition(None, "never")

    def bind(self, word: int, b: Binder) -> Any:
        return _Never()

    def accepts(self) -> str:
        return "(never)"


def guard(layout: type[Long] | type[Control]) -> Choice:
    """The predicate of a predicable instruction; bound to None for always, else to an object with `holds()`."""
    return choice(
        when({layout.pred: ALWAYS}, Nothing()),
        when({layout.pred: 0}, NeverGuard()),
        when({}, Predicate(layout.pred, layout.csrc)),
    )


GUARD = guard(Long)
CONTROL_GUARD = guard(Control)
TAIL = Enum(Long.tail, {0: "", 1: "exit", 2: "join"}, label="no tail")
MCDST = choice(when({Long.cdst_en: 0}, Nothing()), when({Long.cdst_en: 1}, creg(Long.cdst)))
FCDST = creg(Long.cdst)
COND = creg(Long.csrc)


@dataclass(frozen=True)
class FixedCondition(Bitless):
    """A $c register that is fixed by the form: short and immediate `addc` read $c0."""

    number: int = 0

    def text(self, word: int) -> str:
        return f"$c{self.number}"

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == self.text(0):
            yield k + 1, Bits()
        else:
            s.fail(k, self.text(0))

    def bind(self, word: int, b: Binder) -> Any:
        return ConditionCode(b.const(self.number, 32))

    def accepts(self) -> str:
        return self.text(0)

    def operand(self, word: int) -> Operand:
        return Register("c", self.number, 4)


def _lane_names() -> dict[int, str]:
    names = {15: "", 0: "(lnone)"}
    for m in range(1, 15):
        names[m] = "(l" + "".join(str(i) for i in range(4) if m >> i & 1) + ")"
    return names


@dataclass(frozen=True)
class LaneMask(Part):
    """`(l013)`: lanes whose number modulo 4 is listed; nothing for all. Bound to the mask as an int."""

    field: Field
    names: dict[int, str] = member(default_factory=_lane_names)
    static = True
    guards = True

    def static_mask(self) -> int:
        return self.field.mask

    def text(self, word: int) -> str:
        return self.names[self.field.get(word)]

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        if s.text(k) == "(" and s.text(k + 2) == ")":
            for value, name in self.names.items():
                if name and name[1:-1] == s.text(k + 1):
                    yield k + 3, Bits(self.field.mask, self.field.put(value))
        s.fail(k, self.accepts())
        yield k, Bits(self.field.mask, self.field.put(15))

    def bind(self, word: int, b: Binder) -> Any:
        return self.field.get(word)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word) or "all lanes")]

    def accepts(self) -> str:
        return "a lane mask like `(l013)`"

    def text_source(self, keep: Keep) -> str:
        table = tuple(" " + self.names[i] if self.names[i] else "" for i in range(16))
        return f"{keep(table)}[{self.field.expression()}]"

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)


def in_lanes(mask: int) -> Value | None:
    """The condition that a lane's number modulo 4 is in the mask; None for all lanes."""
    if mask == 15:
        return None
    position = LANE() & 3
    return (const(mask, 32) >> position).bit(0)


LANES = LaneMask(Long.lanes)
