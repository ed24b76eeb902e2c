"""The difference of a register from one lane to the next, where all lanes are active.

$r0 of a warp counts its threads, if the block is a row of threads or a multiple of 32 wide. Values computed from it by
additions, shifts and products with constants have a constant step from lane to lane; so when code is generated, an
address is often known to be that of a row, or of every second word. Numbers are taken modulo 2**32. To know whether a
step survives a conversion to more bits, the greatest value of a lane is tracked as well.

Where lanes can come from other paths (after a divergent branch, a barrier, a call) nothing is known, as in
`uniform_registers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from isakit.flow.dataflow import solve
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import Step
from isakit.sem.value import Value, mask, signed, uniform_number


class Affine(NamedTuple):
    """The lower bits of a value that is affine in the lane: lane k has `first + k * step`, modulo 2**bits.

    No lane exceeds `most`.
    """

    step: int
    most: int


class RegisterSteps(NamedTuple):
    """The known steps of a register and of its lower half; None for an unknown one."""

    whole: Affine | None
    half: Affine | None


KnownSteps = dict[int, RegisterSteps]
"""Steps of registers, by number."""


@dataclass(frozen=True)
class KnownOnEntry:
    """The steps that hold on all paths to a block seen so far; None before any was seen."""

    known: KnownSteps | None

    def __or__(self, other: KnownOnEntry) -> KnownOnEntry:
        if self.known is None or other.known is None:
            return other if self.known is None else self
        return KnownOnEntry(_common(self.known, other.known))


WIDEST = 512
"""Largest number of threads in a row of a block."""
THREAD_NUMBERS = RegisterSteps(Affine(1, mask(32)), Affine(1, WIDEST - 1))
"""$r0 when a warp begins."""
ANY_OF_ALIKE = {
    "udiv", "or", "xor", "and", "lshr", "ashr", "shl", "mul", "eq", "ult", "slt", "sext", "clz", "table", "call",
}  # fmt: skip
"""Operations whose result is the same in all lanes if their arguments are."""


def has_thread_numbers_in_rows(block: tuple[int, int, int]) -> bool:
    """Return true if $r0 of the lanes of every whole warp are consecutive numbers."""
    x, y, z = block
    return x <= WIDEST and (x % 32 == 0 or y == z == 1)


class LaneSteps:
    """The steps of one kernel's registers: `at[pc]` before the instruction that begins a block."""

    def __init__(self, flow: Flow, registers: int) -> None:
        self.flow, self.registers = flow, registers
        blocks = flow.blocks
        start = {flow.entry: KnownOnEntry({0: THREAD_NUMBERS}), **{pc: KnownOnEntry({}) for pc in flow.resumable}}

        def transfer(n: int, arriving: KnownOnEntry) -> KnownOnEntry:
            known = arriving.known
            if known is None:
                return arriving
            for s in blocks.steps[n]:
                known = self.after(s, known)
            return KnownOnEntry(known)

        found = solve(blocks.graph, transfer, [start.get(pc, KnownOnEntry(None)) for pc in blocks.graph.nodes])
        self.at: dict[int, KnownSteps] = {
            pc: x.known for pc, x in zip(blocks.graph.nodes, found, strict=True) if x.known is not None
        }

    def after(self, step: Step, before: KnownSteps) -> KnownSteps:
        """Return the known steps after an instruction."""
        out = {n: r for n, r in before.items() if ("r", n) not in step.writes}
        if step.trace is None or step.conditional or step.op.dropped:
            return out
        for e in step.trace.of_kind("write"):
            n = uniform_number(e.args[0], step.word) if e.name == "r" else self.registers
            if e.when is None and n < self.registers:
                found = RegisterSteps(*(self.affine(step, e.args[1], bits, before) for bits in (32, 16)))
                if any(found):
                    out[n] = found
        return out

    def step_of(self, step: Step, value: Value, known: KnownSteps) -> int | None:
        """Return the difference of a 32-bit value from lane to lane, as a signed number; None if it is not known."""
        found = self.affine(step, value, 32, known) if value.width >= 32 else None
        return None if found is None else signed(found.step, 32)

    def affine(self, step: Step, value: Value, bits: int, known: KnownSteps) -> Affine | None:
        """Return the lower bits of a value, at most its width, as affine in the lane, None if they are not."""
        return _Evaluation(step.word, known, self.registers).of(value, bits)


def _common(a: KnownSteps, b: KnownSteps) -> KnownSteps:
    out: KnownSteps = {}
    for n in a.keys() & b.keys():
        found = RegisterSteps(_either(a[n].whole, b[n].whole, 32), _either(a[n].half, b[n].half, 16))
        if any(found):
            out[n] = found
    return out


def _either(a: Affine | None, b: Affine | None, bits: int) -> Affine | None:
    """Return the properties that hold of both; a growing bound is given up, so that loops terminate."""
    if a is None or b is None or a.step != b.step:
        return None
    return a if b.most <= a.most else Affine(a.step, mask(bits))


@dataclass
class _Evaluation:
    """Evaluates the values of one instruction."""

    word: int
    known: KnownSteps
    registers: int

    def __post_init__(self) -> None:
        self._found: dict[tuple[int, int], Affine | None] = {}

    def of(self, v: Value, bits: int) -> Affine | None:
        """Return the lower bits of a value."""
        key = id(v), bits
        if key not in self._found:
            self._found[key] = self._of(v, bits)
        return self._found[key]

    def _of(self, v: Value, bits: int) -> Affine | None:
        if v.uniform:
            return Affine(0, uniform_number(v, self.word) & mask(bits))
        rule = RULES.get(v.op)
        found = rule(self, v, bits) if rule is not None else None
        if found is None and v.op in ANY_OF_ALIKE and all(self.alike(a) for a in v.args):
            return Affine(0, mask(bits))
        return found

    def alike(self, v: Value) -> bool:
        """Return true if a value is the same in all lanes."""
        found = self.of(v, v.width)
        return found is not None and found.step == 0

    def wider(self, v: Value, width: int, bits: int) -> Affine | None:
        """Return the lower `width` bits of a value as an unsigned number of at least as many bits."""
        found = self.of(v, width)
        if found is None or found.step == 0:
            return found
        by = signed(found.step, width)
        # Where the narrow number wraps around, this lane's or the next one's would be 2**width - abs(by) or more.
        return Affine(by & mask(bits), found.most) if found.most + abs(by) < 1 << width else None

    def read(self, v: Value, bits: int) -> Affine | None:
        n = uniform_number(v.args[0], self.word)
        if v.attr == "a" and not n:
            return Affine(0, 0)
        if v.attr != "r" or v.width != 32:
            return None
        if n >= self.registers:
            return Affine(0, 0)
        register = self.known.get(n)
        if register is None:
            return None
        if bits <= 16 and register.half is not None:
            return _lower(register.half, bits)
        return None if register.whole is None else _lower(register.whole, bits)

    def load(self, v: Value, bits: int) -> Affine | None:
        """Return a load of s[] or c[] at one address as a value common to all lanes; None for g[], which may change."""
        return Affine(0, mask(bits)) if v.attr[0][0] in "sc" and self.alike(v.args[0]) else None

    def add(self, v: Value, bits: int) -> Affine | None:
        a, b = (self.of(x, bits) for x in v.args)
        return None if a is None or b is None else _lower(Affine(a.step + b.step, a.most + b.most), bits)

    def complement(self, v: Value, bits: int) -> Affine | None:
        a = self.of(v.args[0], bits)
        return None if a is None else Affine(-a.step & mask(bits), mask(bits))

    def mul(self, v: Value, bits: int) -> Affine | None:
        for a, b in (v.args, v.args[::-1]):
            if b.uniform and (found := self.of(a, bits)) is not None:
                by = uniform_number(b, self.word)
                return _lower(Affine(found.step * by, found.most * by), bits)
        return None

    def shl(self, v: Value, bits: int) -> Affine | None:
        a, count = v.args
        found = self.of(a, bits) if count.uniform else None
        if found is None:
            return None
        by = uniform_number(count, self.word)
        return Affine(0, 0) if by >= v.width else _lower(Affine(found.step << by, found.most << by), bits)

    def lshr(self, v: Value, bits: int) -> Affine | None:
        a, count = v.args
        return self.of(a, bits) if count.uniform and not uniform_number(count, self.word) else None

    def both(self, v: Value, bits: int) -> Affine | None:
        """Return an `and` with a mask of the lowest bits as these bits of the other argument."""
        for a, b in (v.args, v.args[::-1]):
            if b.uniform:
                kept = uniform_number(b, self.word)
                if kept & (kept + 1) == 0 and kept:
                    width = kept.bit_length()
                    return self.of(a, bits) if width >= bits else self.wider(a, width, bits)
        return None

    def zext(self, v: Value, bits: int) -> Affine | None:
        a = v.args[0]
        return self.of(a, bits) if bits <= a.width else self.wider(a, a.width, bits)

    def sext(self, v: Value, bits: int) -> Affine | None:
        a = v.args[0]
        if bits <= a.width:
            return self.of(a, bits)
        found = self.wider(a, a.width, bits)
        return found if found is None or found.most < 1 << (a.width - 1) else None

    def extract(self, v: Value, bits: int) -> Affine | None:
        if v.attr:
            return Affine(0, mask(bits)) if self.alike(v.args[0]) else None
        return self.of(v.args[0], bits)

    def concat(self, v: Value, bits: int) -> Affine | None:
        high, low = v.args
        if bits <= low.width:
            return self.of(low, bits)
        a, b = self.wider(low, low.width, bits), self.of(high, bits - low.width)
        if a is None or b is None:
            return None
        return _lower(Affine(a.step + (b.step << low.width), a.most + (b.most << low.width)), bits)

    def select(self, v: Value, bits: int) -> Affine | None:
        which, *ways = v.args
        if which.uniform:
            return self.of(ways[0 if uniform_number(which, self.word) else 1], bits)
        a, b = (self.of(x, bits) for x in ways)
        if a is None or b is None or a.step != b.step or not self.alike(which):
            return None
        return Affine(a.step, max(a.most, b.most))

    def call(self, v: Value, bits: int) -> Affine | None:
        """Return the value of a conversion; of an unsigned number to as many bits or more it changes nothing."""
        if not widens(v):
            return None
        a = v.args[0]
        return self.of(a, bits) if bits <= a.width else self.wider(a, a.width, bits)


def widens(v: Value) -> bool:
    """Return whether a call converts an unsigned number to as many bits or more, which changes nothing."""
    operation, statics = v.attr
    given = dict(statics)
    if operation.name != "i2i" or given["negate"] or given["absolute"] or given["to"] != "u32":
        return False
    return given["source"] in ("u16", "u32")


def _lower(a: Affine, bits: int) -> Affine:
    """Return the lower bits of an affine value."""
    return Affine(a.step & mask(bits), min(a.most, mask(bits)))


Rule = Callable[[_Evaluation, Value, int], Affine | None]
RULES: dict[str, Rule] = {
    "add": _Evaluation.add,
    "and": _Evaluation.both,
    "call": _Evaluation.call,
    "concat": _Evaluation.concat,
    "extract": _Evaluation.extract,
    "load": _Evaluation.load,
    "lshr": _Evaluation.lshr,
    "mul": _Evaluation.mul,
    "not": _Evaluation.complement,
    "read": _Evaluation.read,
    "select": _Evaluation.select,
    "sext": _Evaluation.sext,
    "shl": _Evaluation.shl,
    "zext": _Evaluation.zext,
}
"""Rules for operations; the lower bits of sums and products depend only on the lower bits of their arguments."""
