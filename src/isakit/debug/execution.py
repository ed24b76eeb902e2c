"""Machines as a debugger drives them: in one fixed order, countable, and stopped at points.

The order is part of an execution: the position, which counts the instructions of groups (Tesla: warps; USSE: groups of
invocations) or the cycles (vµc) since the start, determines the state. Going backwards relies on that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from isakit.asm import Program
from isakit.debug.expressions import Node
from isakit.debug.source_variables import SourceVariables
from isakit.errors import LaunchError
from isakit.machine.snapshot import Snapshot
from isakit.machine.target import Target
from isakit.machine.usse.shader_machine import Machine
from isakit.machine.usse.usse_target import UsseTarget
from isakit.machine.vuc import CoreMachine
from isakit.machine.vuc.vuc_target import VucTarget

if TYPE_CHECKING:
    from isakit.machine.tesla.kernel_code import Code

Access = Literal["read", "write"]
SavedState = tuple[Snapshot, Any]
"""A saved state, with what determines the order: each execution has its own type."""


class MemoryAccess(NamedTuple):
    """One access of a thread to memory: read or write, the space, the byte address and the size in bytes."""

    access: Access
    space: str
    address: int
    size: int
    thread: int


class Frame(NamedTuple):
    """An entry of a thread's stack, innermost first: its kind, where its lanes continue, which lanes, in words."""

    kind: str
    address: int
    lanes: int | None
    meaning: str


@dataclass(eq=False)
class Point:
    """A condition at which a run stops, before an instruction.

    Attributes: `addresses`: byte addresses, each with the condition that compiled code may test first (None: always);
    `check`: called if such a condition holds, with the thread whose group executes next; `skip`: hits to ignore;
    `hits`: number of hits; `every`: it is checked before every instruction, at any address; `lanes`: the lanes of a
    warp for which conditions are tested; `sure`: a true condition is a hit without calling `check`.
    """

    addresses: Mapping[int, Node | None]
    check: Callable[[int], bool]
    skip: int = 0
    hits: int = 0
    every: bool = False
    lanes: int | None = None
    sure: bool = True
    last: int = field(default=-1)
    """Position of the last hit, in runs that only record."""


class Hit(NamedTuple):
    """The points that were hit before the next instruction."""

    points: list[Point]


Ended = Literal["until", "finished", "asleep"]


class Execution(ABC):
    """A program on its machine, in the order in which it executes."""

    target: Target
    program: Program
    _variables: SourceVariables | None = None
    unit: str = "instruction"
    turn: int = 1 << 16
    """Positions that one group executes alone before it is another one's turn."""

    @property
    def variables(self) -> SourceVariables:
        """The variables of the source, if its compiler has recorded their locations."""
        if self._variables is None:
            self._variables = SourceVariables(self.program.lines, self.target.memories)
        return self._variables

    # --- where it is ---
    @property
    @abstractmethod
    def position(self) -> int:
        """Instructions of groups, or cycles, since the start."""

    @property
    def sub(self) -> int:
        """Uncounted steps since the position was reached: joins that only switch to another path."""
        return 0

    @property
    def may_not_count(self) -> bool:
        """True if the next step may be an uncounted one."""
        return False

    @property
    def asleep(self) -> bool:
        """True if nothing happens any more unless the host does something."""
        return False

    @property
    def moment(self) -> tuple[int, int]:
        """(position, uncounted steps), which determine the state exactly."""
        return self.position, self.sub

    @property
    @abstractmethod
    def following(self) -> int | None:
        """A thread of the group that executes next; None when all have ended."""

    @property
    def address(self) -> int | None:
        """Byte address of the instruction that executes next."""
        thread = self.following
        return None if thread is None else self.target.thread(thread).address

    def lanes(self, thread: int) -> list[int]:
        """Return the active threads of a thread's group, the thread itself first if it is one of them."""
        return [thread]

    def same_group(self, one: int, other: int) -> bool:
        """Return true if two threads execute together, whether they are active or not."""
        return self.target.thread(one).group == self.target.thread(other).group

    def frames(self, thread: int) -> list[Frame]:
        """Return the thread's stack, innermost entry first."""
        return []

    def calls(self, thread: int) -> list[Frame]:
        """Return the calls on a thread's stack, innermost first."""
        return [f for f in self.frames(thread) if "call" in f.kind]

    def facts(self, thread: int) -> Mapping[str, int]:
        """Return the variables of a thread that expressions can name: `lane`, `warp`, `block.x` and so on."""
        return {"thread": thread}

    def find(self, **where: Any) -> int:
        """Return the thread named by keywords (`lane=3`). Raises LaunchError."""
        if set(where) - {"thread"}:
            raise LaunchError(f"this machine has no {', '.join(sorted(set(where) - {'thread'}))}")
        number = int(where.get("thread", 0))
        self.target.thread(number)
        return number

    @property
    def instructions(self) -> int:
        """Number of instructions that threads have executed."""
        return self.position

    # --- moving ---
    @abstractmethod
    def step(self) -> int | None:
        """Execute one instruction of the next group; return one of its threads. Raises MachineFault, NotModelled."""

    def prefer(self, thread: int) -> None:
        """Make the group of a thread execute next. Raises LaunchError for one that cannot."""
        if self.target.thread(thread).state != "ready":
            raise LaunchError(f"{self.target.thread(thread).name} cannot execute an instruction")

    @abstractmethod
    def save(self) -> SavedState:
        """Return the state, including what determines the order."""

    @abstractmethod
    def load(self, saved: SavedState, position: int) -> None:
        """Restore a saved state, taken at `position`."""

    tells_touches: bool = True
    """True if `touched` can observe the accesses of a step."""

    @property
    def accessed(self) -> object:
        """The object whose `load`, `store` and `atomic` methods instructions call.

        None if accesses are not observed.
        """
        return None

    def touched(
        self, step: Callable[[], object], about: Callable[[Sequence[MemoryAccess]], None] | None = None
    ) -> list[MemoryAccess]:
        """Run `step` and return its memory accesses in order; `about` is called with each right before it is made."""
        state: Any = self.accessed
        out: list[MemoryAccess] = []
        telling = False

        def noting(name: str, access: Access, address_at: int, size_at: int) -> None:
            inner = getattr(state, name)

            def call(space: str, *args: Any) -> Any:
                nonlocal telling
                if telling:  # who is told looks at memory
                    return inner(space, *args)
                lanes, size = args[-1], int(args[size_at])
                every = np.broadcast_to(np.asarray(args[address_at]), (lanes.count,))
                active = np.flatnonzero(lanes.mask).tolist()
                found = [MemoryAccess(access, space, int(every[k]), size, int(lanes.numbers[k])) for k in active]
                if about is not None:
                    telling = True
                    about(found)
                    telling = False
                # Refused accesses are none: the step raises.
                value = inner(space, *args)
                out.extend(found)
                return value

            setattr(state, name, call)

        if state is not None:
            noting("load", "read", 0, 1)
            noting("store", "write", 0, 2)
            noting("atomic", "write", 1, 3)
        try:
            step()
        finally:
            for name in () if state is None else ("load", "store", "atomic"):
                delattr(state, name)
        return out

    def publish(self) -> None:  # noqa: B027 - most have nothing outside
        """Update data outside of the machine: arrays that were passed to a kernel."""

    def mark(self) -> None:  # noqa: B027 - most need no turns
        """Remember which group executes now, for `overdue`."""

    def overdue(self) -> int | None:
        """Return a thread whose turn it is, if since `mark` only one group, which may wait for it, has executed."""
        return None

    # --- running ---
    def run(self, until: int, points: Sequence[Point], record: bool = False) -> Hit | Ended:
        """Run to a position at most, or until a point is hit before an instruction.

        `record`: do not stop at points; their `last` becomes the position of their last hit before `until`, or of the
        last one that compiled code could not exclude. Raises MachineFault and NotModelled, with the state before the
        instruction.
        """
        while self.position < until:
            thread = self.following
            if thread is None:
                return "finished"
            if self.asleep and not record:  # while recording, an edit further on may wake it
                return "asleep"
            if points:
                met = self.met(points, thread, record)
                if met and not record:
                    return Hit(met)
            self.step()
        return "until"

    def met(self, points: Sequence[Point], thread: int, record: bool = False) -> list[Point]:
        """Return the points that are hit here, counting the hits."""
        address = self.target.thread(thread).address
        out: list[Point] = []
        for p in points:
            if not (p.every or address in p.addresses) or not p.check(thread):
                continue
            p.hits += 1
            p.last = self.position
            if record or p.hits > p.skip:
                out.append(p)
        return out


def program_of(code: Code) -> Program:
    """Return the code of a launch as a program, for listings."""
    return Program(code.decoder, code.units, code.address)


class SteppedExecution(Execution):
    """An execution in the order of `Target.step`."""

    def __init__(self, target: Target, program: Program) -> None:
        self.target, self.program = target, program
        self._position = 0
        self._next: int | None = None

    @property
    def position(self) -> int:
        return self._position

    @property
    def following(self) -> int | None:
        position = self.target.position
        if self._next is not None and position is not None and self.target.thread(self._next).state == "ready":
            return self._next
        return position

    def step(self) -> int | None:
        thread = self.following
        if thread is None:
            return None
        done = self.target.step(thread)
        self._next = None
        self._position += 1
        return done

    def prefer(self, thread: int) -> None:
        super().prefer(thread)
        self._next = thread

    def save(self) -> SavedState:
        return self.target.snapshot(), self._next

    def load(self, saved: SavedState, position: int) -> None:
        snapshot, self._next = saved
        self.target.restore(snapshot)
        self._position = position


# --- of the other machines --------------------------------------------------------------------------------------------
class VucExecution(SteppedExecution):
    """A vµc core; positions are cycles."""

    unit = "cycle"
    tells_touches = False

    @property
    def _core(self) -> CoreMachine:
        return cast(VucTarget, self.target).core

    @property
    def position(self) -> int:
        return self._core.cycle

    @property
    def asleep(self) -> bool:
        return self._core.waits_for_host

    def step(self) -> int | None:
        return self.target.step()

    def frames(self, thread: int) -> list[Frame]:
        unit = self.program.decoder.view.variant.unit_bytes
        return [Frame("call", unit * a, None, "where the call returns to") for a in reversed(self._core.sr.stack)]

    def facts(self, thread: int) -> Mapping[str, int]:
        core = self._core
        return {"thread": 0, "cycle": core.cycle, "pc": core.pc * self.program.decoder.view.variant.unit_bytes}

    @property
    def instructions(self) -> int:
        return self._core.issued

    def load(self, saved: SavedState, position: int) -> None:
        self.target.restore(saved[0])

    def run(self, until: int, points: Sequence[Point], record: bool = False) -> Hit | Ended:
        if any(p.every for p in points):
            return super().run(until, points, record)
        stops = frozenset(a for p in points for a in p.addresses)
        while self.position < until:
            if self.following is None:
                return "finished"
            # A cycle in which the core waits is before no instruction.
            if not self._core.waiting and self.address in stops:
                met = self.met(points, 0, record)
                if met and not record:
                    return Hit(met)
                self.target.step()
                continue
            stop = self.target.run(stops, until - self.position) if not self._core.waiting or not stops else None
            if stop is None:
                if self.asleep and not record:
                    return "asleep"
                self.target.step()
            elif stop.reason == "asleep":
                return "asleep"
        return "until"


class UsseExecution(SteppedExecution):
    """A USSE program; positions count instructions of groups of invocations."""

    @property
    def _machine(self) -> Machine:
        return cast(UsseTarget, self.target).machine

    @property
    def accessed(self) -> Machine:
        return self._machine

    def lanes(self, thread: int) -> list[int]:
        at = self._machine.at(thread)
        if at is None:
            return [thread]
        mask = self._machine.waiting[at]
        every = range(self._machine.lanes) if mask is None else np.flatnonzero(mask).tolist()
        return sorted(every, key=lambda t: t != thread)

    def facts(self, thread: int) -> Mapping[str, int]:
        return {"thread": thread, "invocation": thread, "pc": 8 * (self._machine.at(thread) or 0)}

    def find(self, **where: object) -> int:
        """Return the thread that `thread` or `invocation` names."""
        if "invocation" in where:
            where = {"thread": where["invocation"], **{k: v for k, v in where.items() if k != "invocation"}}
        return super().find(**where)
