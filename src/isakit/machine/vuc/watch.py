"""Watching a core cycle by cycle: the instruction that issued, the writes that landed, and the hazards.

Works from the outside: it examines the instruction about to issue and the core's queue, runs one cycle, and examines
them again. Nothing of it runs unless a core is watched.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from isakit.arch.vuc.registers import P_NAMES, R_NAMES, SR, special_names
from isakit.machine.vuc.core import CoreMachine
from isakit.machine.vuc.core_code import CoreOp, Register
from isakit.machine.vuc.rules.state import QueueEntry, QueueKind

WINDOW = frozenset(range(16, 25))
"""Special registers whose meaning depends on $spidx."""
MACROBLOCK = frozenset(range(16, 32))


class Hazard(IntFlag):
    """The effects of missing interlocks in a cycle.

    OLD: an instruction read a register with a write in flight, and got the old value. ABORTED: a long operation,
    mvsread or mvswrite was started while an older one ran, whose result is lost. LATE: an instruction wrote a register
    that an older write will overwrite when it lands. LOST: a write landed together with one of a later instruction,
    which won.
    """

    OLD = 1
    ABORTED = 2
    LATE = 4
    LOST = 8


@dataclass(frozen=True)
class Landing:
    """A write that became visible: register, value and the address of its instruction."""

    register: str
    value: int
    origin: int


@dataclass(frozen=True)
class Note:
    """One hazard: its kind, the register or unit, and the address of the other instruction."""

    kind: Hazard
    what: str
    origin: int

    def __str__(self) -> str:
        text = {
            Hazard.OLD: f"reads the old {self.what}, {self.origin:#x} has not landed",
            Hazard.ABORTED: f"aborts the {self.what} of {self.origin:#x}",
            Hazard.LATE: f"writes {self.what}, but {self.origin:#x} will still overwrite it",
            Hazard.LOST: f"wins {self.what} over {self.origin:#x}, which lands in the same cycle",
        }
        return text[self.kind]


@dataclass(frozen=True)
class Cycle:
    """One cycle: the issued instruction (`text`, empty in a stall), whether its guard held, writes now visible."""

    number: int
    pc: int
    text: str
    executed: bool
    landed: tuple[Landing, ...]
    notes: tuple[Note, ...]

    @property
    def hazards(self) -> Hazard:
        """All hazard bits of the cycle."""
        out = Hazard(0)
        for n in self.notes:
            out |= n.kind
        return out

    def __str__(self) -> str:
        text = self.text or "(waits)"
        if self.text and not self.executed:
            text = f"({text})"
        bits = "".join(letter if self.hazards & h else "." for h, letter in zip(Hazard, "OALX", strict=True))
        tail = [f"{x.register}={x.value:#06x} from {x.origin:#x}" for x in self.landed] + [str(n) for n in self.notes]
        return f"{self.number:6d} {self.pc:03x} {bits} {text:<44} {'; '.join(tail)}".rstrip()


def register_name(register: Register, features: frozenset[str]) -> str:
    """Return the text of a register of an effect."""
    file, n = register
    if file == "r":
        return R_NAMES[n]
    if file == "p":
        return P_NAMES[n]
    return special_names(features)[n] if file == "sr" else "$lhi:$llo"


class Watch:
    """Steps a core one cycle at a time and reports every cycle."""

    def __init__(self, core: CoreMachine) -> None:
        self.core = core
        self._names = special_names(core.features)
        self._predicates_from = (-2, 0)  # cycle and address of the last instruction that wrote predicates

    def step(self) -> Cycle:
        """Advance by one cycle and return its record. Raises what the core raises."""
        core = self.core
        number, pc = core.cycle, core.pc
        stalled = core.waiting and not core.would_wake()
        op = None if stalled or core.halted else core.op(pc)
        executes = op is not None and (op.guard < 0 or bool(core.pred[op.guard]))
        under_way = [e for e in core.pending if e.visible > number]
        notes = self._before(op, executes, under_way) if op is not None else []
        landed: list[QueueEntry] = []
        core.listener = landed.append
        try:
            core.pass_cycles(1)
        finally:
            core.listener = None
        landings = self._direct(op, executes) + [x for e in landed if (x := self._landing(e, op, executes))]
        if op is not None and executes:
            if op.predicates:
                self._predicates_from = number, pc
            notes += [Note(Hazard.ABORTED, "operation", e.origin) for e in under_way if e.kind == QueueKind.DEAD]
            notes += [
                Note(Hazard.LOST, R_NAMES[int(e.index)], e.origin)
                for e in landed
                if e.kind == QueueKind.REGISTER and e.index in op.registers
            ]
        text = op.instruction.text if op is not None else ""
        return Cycle(number, pc, text, executes, tuple(landings), tuple(dict.fromkeys(notes)))

    def _before(self, op: CoreOp, executes: bool, under_way: list[QueueEntry]) -> list[Note]:
        reads = op.footprint.reads if executes else frozenset({("p", op.guard)})
        out: list[Note] = []
        if ("sr", SR["pred"]) in reads and self._predicates_from[0] == self.core.cycle - 1:
            out.append(Note(Hazard.OLD, "$pred", self._predicates_from[1]))
        for e in under_way:
            for what in sorted(_waits_for(e, reads)):
                out.append(Note(Hazard.OLD, register_name(what, self.core.features), e.origin))
            if executes and e.kind == QueueKind.REGISTER and e.index in op.registers and e.lands > self.core.cycle + 1:
                out.append(Note(Hazard.LATE, R_NAMES[int(e.index)], e.origin))
        return out

    def _direct(self, op: CoreOp | None, executes: bool) -> list[Landing]:
        if op is None or not executes:
            return []
        core = self.core
        out = [Landing(R_NAMES[n], core.gpr[n], self._pc(op)) for n in sorted(op.registers)]
        return out + [Landing(P_NAMES[n], core.pred[n], self._pc(op)) for n in range(16) if op.predicates >> n & 1]

    @staticmethod
    def _pc(op: CoreOp) -> int:
        return op.instruction.unit_address

    def _landing(self, e: QueueEntry, op: CoreOp | None, executes: bool) -> Landing | None:
        if e.kind == QueueKind.REGISTER:
            if op is not None and executes and e.index in op.registers:
                return None
            return Landing(R_NAMES[int(e.index)], e.value, e.origin)
        if e.kind == QueueKind.SPECIAL:
            return Landing(self._names[int(e.index)], e.value, e.origin)
        if e.kind == QueueKind.LONG_VIEW:
            return Landing("$lhi:$llo", e.value, e.origin)
        if e.kind == QueueKind.EVENT and e.index:
            return Landing(str(e.index), 1, e.origin)
        return None


def _waits_for(e: QueueEntry, reads: frozenset[Register]) -> set[Register]:
    """Return the registers of `reads` whose value an entry in flight will change."""
    kind, index = e.kind, e.index
    specials = {n for f, n in reads if f == "sr"}
    if kind == QueueKind.REGISTER:
        return {("r", index)} & reads
    if kind == QueueKind.ACCUMULATOR:
        return {("acc", 0)} & reads
    if kind == QueueKind.LONG_VIEW:
        return {("sr", n) for n in specials & {SR["lhi"], SR["llo"]}}
    if kind == QueueKind.EVENT:
        return {("sr", n) for n in specials & MACROBLOCK} if str(index) == "mbiread" else set()
    if kind != QueueKind.SPECIAL:
        return set()
    if index == SR["pred"]:
        return {x for x in reads if x[0] == "p"} | {("sr", n) for n in specials & {index}}
    out: set[Register] = {("sr", n) for n in specials & {index}}
    if index == SR["spidx"]:
        out |= {("sr", n) for n in specials & WINDOW}
    if index in (SR["lhi"], SR["llo"]):
        out |= {("acc", 0)} & reads
    return out
