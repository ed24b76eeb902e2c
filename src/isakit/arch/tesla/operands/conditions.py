"""Condition codes, predicates, tails and lane masks. Source: [001] "Predicates", [tesla] 3, 5.1."""

from __future__ import annotations

from functools import cache
from typing import Any

from isakit.arch.tesla.fields import ControlWord, Long
from isakit.arch.tesla.requests import LANE
from isakit.lean import dataclass
from isakit.sem import Value, concat, const, read, write
from isakit.spec import Choice, Enum, Field, Nothing, Part, Reg, choice, template, when
from isakit.spec.operands import Condition, Register

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
        """Return the four flags Z S C O, bit 0 first."""
        return read("c", self.index, 4)

    def write(self, value: Value, when: Value | None = None) -> None:
        """Write all four flags."""
        write("c", self.index, value, when)


def flags(z: Value, s: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """Return a $c value from its bits."""
    zero = const(0, 1)
    return concat(zero if o is None else o, zero if c is None else c, s, z)


def result_flags(result: Value, c: Value | None = None, o: Value | None = None) -> Value:
    """Z and S of an integer result, with optional C and O."""
    return flags(result.is_zero, result.sign, c, o)


@cache
def creg(f: Field) -> Reg:
    """$c0..$c3."""
    return Reg(f, tuple(f"$c{i}" for i in range(4)), ConditionCode, "a condition register", width=4)


@dataclass(frozen=True)
class Guard:
    """The condition of a predicated instruction."""

    code: int
    index: Value

    def holds(self) -> Value:
        """1 in the lanes where the condition is true."""
        return condition_holds(self.code, read("c", self.index, 4))


class _FalseCondition:
    """A condition that is false everywhere."""

    def holds(self) -> Value:
        return const(0, 1)


def _guard(test: int, register: ConditionCode) -> Guard:
    return Guard(test, register.index)


NEVER = template("(never)", Condition, _FalseCondition, facts={"test": "never"})
"""No lane executes; the $c field plays no role."""


def guard(layout: type[Long] | type[ControlWord]) -> Choice:
    """Return the predicate of a predicable instruction; bound to None for always, else to an object with `holds()`."""
    names = dict(enumerate(CONDITION_NAMES))
    holes: dict[str, Any] = {"test": Enum(layout.pred, names, {v: v for v in names}), "register": creg(layout.csrc)}
    return choice(
        when({layout.pred: ALWAYS}, Nothing()),
        when({layout.pred: 0}, NEVER),
        when({}, template("({test} {register})", Condition, _guard, hint="a predicate like `(e $c0)`", **holes)),
    )


GUARD = guard(Long)
CONTROL_GUARD = guard(ControlWord)
TAIL = Enum(Long.tail, {0: "", 1: "exit", 2: "join"}, label="no tail")
MCDST = choice(when({Long.cdst_en: 0}, Nothing()), when({Long.cdst_en: 1}, creg(Long.cdst)))
FCDST = creg(Long.cdst)
COND = creg(Long.csrc)


@cache
def fixed_condition(number: int) -> Part:
    """Return a $c register that is fixed by the form: short and immediate `addc` read $c0."""
    facts = {"file": "c", "index": number}
    return template(f"$c{number}", Register, lambda: ConditionCode(const(number, 32)), facts=facts, hints={"width": 4})


_LISTED = {m: "l" + ("".join(str(n) for n in range(4) if m >> n & 1) or "none") for m in range(15)}
_MASKS = Enum(Long.lanes, _LISTED, {m: m for m in _LISTED}, idle=frozenset(_LISTED))
LANES = choice(
    when({Long.lanes: 15}, Nothing(15)),
    when({}, template("({test})", Condition, lambda test: test, hint="a lane mask like `(l013)`", test=_MASKS)),
)
"""Lanes by their number modulo 4, bound to a mask of four bits."""


def in_lanes(mask: int) -> Value | None:
    """Return the condition that a lane's number modulo 4 is in the mask; None for all lanes."""
    if mask == 15:
        return None
    position = LANE() & 3
    return (const(mask, 32) >> position).bit(0)
