"""Blocks that wait for each other: those that would be resident at once are time-sliced.

Blocks otherwise run to their end one after the other. A block that spins on global memory may wait for another one,
which then must run too. As on the chip, only a limited number of blocks is resident; if these wait for one that is not,
or for nothing, they spin forever, and a watchdog reports what they wait for.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import numpy as np

from isakit.errors import BudgetExceeded, MachineFault
from isakit.machine.tesla.address_spaces import OwnSpace
from isakit.machine.tesla.block import Warp
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, from_machine, to_machine
from isakit.machine.tesla.compiled.launch.worker_context import Bound
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.launch import Launch, Stats
from isakit.machine.tesla.machine import Machine

ALONE = 4
"""Turns that a warp uses up before more blocks become resident, if one has been found to spin without end."""
FIRST_CHECK = 64
"""Round of the watchdog's first check; then at twice the number, and so on."""
COMPARED = 8
"""Rounds after that in which the state is compared with the saved one: loops end their turns in few different ways."""
CLOCK_ROUND = 1 << 32
"""Ticks after which $clock wraps around."""
SKIPPED = 1 << 20
"""Instructions by which the clock of warps that only wait advances in a round, without execution."""
REFERENCE_TURN = 20_000
"""Instructions that the reference machine may execute for warps at an instruction that is not compiled."""
CLOCK_CHECKED = 64
"""Rounds between two checks of memory by the watchdog for loops with a clock."""
POLLED, LOOP = 4, 200
"""Number of warps whose loops a message describes, and instructions after which a loop is taken to have repeated."""

Range = tuple[int, int]


class _Block:
    """A resident block: its machine, and its warps on the interpreter."""

    def __init__(self, machine: Machine, bound: Bound, kernel: CompiledKernel) -> None:
        self.machine = machine
        self.states = WarpStates(len(machine.warps), kernel.state_bytes)
        self.warps = ServedWarps(bound, kernel, machine.state, self.states, len(machine.warps))
        self.used_up = False  # in the last turn a warp executed as much as it may, and did not come to a barrier
        self.read_machine()

    def read_machine(self) -> None:
        """Copy the state of the machine here, to continue from it."""
        from_machine(self.machine, self.states, self.warps.barriers, self.warps.turns)

    def update_machine(self) -> None:
        """Copy the state back to the machine."""
        to_machine(self.states, self.warps.barriers, self.warps.turns, self.machine)

    def turn(self, budget: int | None) -> bool:
        """Give every warp a turn; return whether the block has ended. Raises MachineFault, BudgetExceeded."""
        if budget is not None:
            self.warps.context.set_budget(budget)
            self.warps.context.set_slot("reserve", self.warps.kernel.reserve)
        goes_on = self.warps.turn()
        self.used_up = self.warps.context.get_slot("limits") != 0
        if goes_on:
            return False
        if self.warps.finished:
            self.update_machine()
            return True
        if self.warps.bound.stop[0]:
            return False
        before = self.executed
        self.update_machine()
        left = None if budget is None else budget - (self.machine.stats.warp_instructions - before)
        try:
            self.machine.run(max_instructions=REFERENCE_TURN if left is None else min(left, REFERENCE_TURN))
        except BudgetExceeded:
            self.used_up = True
            self.read_machine()
            if left is not None and left <= REFERENCE_TURN:
                raise
            return False
        except MachineFault:
            self.read_machine()
            raise
        return True

    @property
    def executed(self) -> int:
        """The number of instructions its warps have executed, including those not yet added to the machine."""
        not_yet = self.states.count(state_layout.ISSUED) - self.machine.state.issued
        return self.machine.stats.warp_instructions + int(np.maximum(not_yet, 0).sum())

    def spins(self) -> bool:
        """Return whether all warps that can run are in spin loops that carry no values."""
        ready = self.states.column(state_layout.STATUS) == state_layout.READY
        at = self.states.column(state_layout.PC)[ready].tolist()
        return all(any(first <= pc <= last for first, last in self.warps.kernel.known.spins) for pc in at)

    def skip(self, instructions: int) -> None:
        """Advance the clock of the warps by `instructions`, which do not count as executed."""
        ready = self.states.column(state_layout.STATUS) == state_layout.READY
        self.states.count(state_layout.ISSUED)[ready] += instructions
        self.machine.state.issued[ready] += instructions

    def ticks(self) -> int:
        """Return the largest $clock of its warps, without wrap-around."""
        return int(self.states.count(state_layout.ISSUED).max()) * self.machine.launch.choices.clock_step

    def digest(self, h: hashlib.blake2b) -> None:
        """Add all state that determines how the block continues to a hash."""
        words = self.states.words.copy()
        words[:, state_layout.THREADS // 4 : state_layout.NUMBER // 4] = 0  # counts
        h.update(words.tobytes())
        h.update(self.warps.barriers.tobytes())
        h.update(b"" if self.states.local is None else self.states.local.tobytes())
        shared = self.machine.state.spaces["s"]
        assert isinstance(shared, OwnSpace)
        h.update(shared.memory.bytes.tobytes())


class ResidentBlocks:
    """The blocks of a launch that are resident.

    `machines`: blocks that have begun; `not_begun`: ranges of the others, in order, which become resident only if those
    that have begun make no progress without them (then it is `widened`): if a warp has used up `alone` turns, or
    nothing changes any more.
    """

    def __init__(
        self,
        launch: Launch,
        device: DeviceMemory,
        bound: Bound,
        kernel: CompiledKernel,
        machines: list[Machine],
        not_begun: list[Range],
        alone: int = ALONE,
    ) -> None:
        self.alone = alone
        self.launch, self.device, self.bound, self.kernel = launch, device, bound, kernel
        self.not_begun = not_begun
        self.widened = False
        self.budget: int | None = None  # instructions of all warps that are left
        self._still: tuple[bytes, int] | None = None  # memory, and the clock when it was first seen like that
        self.stats = Stats()
        self._blocks = [_Block(m, bound, kernel) for m in machines]

    def run(self) -> None:
        """Run until all blocks that have begun have ended, or the launch is stopped. Raises MachineFault."""
        if not self._blocks:
            self._widen()
        try:
            self._rounds()
        finally:
            for b in self._blocks:
                b.update_machine()
                self._count(b.machine)

    def _rounds(self) -> None:
        idle = used_up = 0  # rounds since a block ended or began, and those of them in which a turn was used up
        seen: bytes | None = None
        while self._blocks and not self.bound.stop[0]:
            ended = [b for b in self._blocks if not self.bound.stop[0] and self._turn(b)]
            for b in ended:
                self._blocks.remove(b)
                self._count(b.machine)
            idle += 1
            used_up += any(b.used_up for b in self._blocks)
            waits = False
            if idle >= FIRST_CHECK and self.kernel.known.reads_clock:
                waits = self._waits_by_the_clock(idle)
            elif idle >= FIRST_CHECK:
                since = idle - (1 << (idle.bit_length() - 1))
                if since == 0:
                    seen = self._digest()
                waits = 0 < since <= COMPARED and seen is not None and self._digest() == seen
            if ended or waits or used_up >= self.alone:
                begun = (self.widened or not ended) and self._widen()  # as on the chip others take their places
                if waits and not (ended or begun):
                    raise self._deadlock()
                if ended or begun:
                    idle = used_up = 0

    def _turn(self, block: _Block) -> bool:
        """Give a block its turn; return whether it has ended. Raises MachineFault, BudgetExceeded."""
        if self.budget is None:
            return block.turn(None)
        before = block.executed
        try:
            return block.turn(self.budget)
        finally:
            self.budget -= block.executed - before

    def _waits_by_the_clock(self, idle: int) -> bool:
        """Return whether all blocks wait forever: the watchdog for loops in which $clock makes every iteration differ.

        Warps in loops that carry no values depend on memory and the clock alone: if memory has not changed while the
        clock wrapped around once, they wait forever. Their time is accelerated meanwhile.
        """
        if idle == FIRST_CHECK or not all(b.spins() for b in self._blocks):
            self._still = None
            return False
        for b in self._blocks:
            b.skip(SKIPPED)
        if idle % CLOCK_CHECKED:
            return False
        memory, ticks = self._memory(), max(b.ticks() for b in self._blocks)
        if self._still is None or self._still[0] != memory:
            self._still = memory, ticks
        return ticks - self._still[1] >= CLOCK_ROUND

    def _widen(self) -> bool:
        """Make more blocks resident; return whether there were any, and room for them."""
        before = len(self._blocks)
        while self.not_begun and len(self._blocks) < self.launch.resident_blocks:
            first, last = self.not_begun.pop(0)
            if first + 1 < last:
                self.not_begun.insert(0, (first + 1, last))
            machine = Machine(self.launch, self.device, blocks=(first, first + 1))
            self._blocks.append(_Block(machine, self.bound, self.kernel))
        self.widened = self.widened or len(self._blocks) > before
        return len(self._blocks) > before

    def _count(self, machine: Machine) -> None:
        self.stats.count(machine.stats.instructions, machine.stats.warp_instructions)

    # --- the watchdog ---------------------------------------------------------------------------------------
    def _digest(self) -> bytes:
        """Return a hash of the whole state: blocks run in a fixed order, so that a state seen twice repeats forever."""
        h = hashlib.blake2b(self._memory(), digest_size=16)
        for b in self._blocks:
            b.digest(h)
        return h.digest()

    def _memory(self) -> bytes:
        """Return a hash of the content of the device's memory."""
        h = hashlib.blake2b(digest_size=16)
        for address, size in self.device.allocations.items():
            h.update(self.device.memory.bytes[address : address + size].data)
        return h.digest()

    def _deadlock(self) -> MachineFault:
        """Return the fault that reports what the blocks wait for."""
        polled: list[str] = []
        first: MachineFault | None = None
        for b in self._blocks:
            b.update_machine()
            for w in b.machine.warps:
                if w.status != "ready" or len(polled) >= POLLED:
                    continue
                first = first or b.machine.fault("BLOCKS_WAIT", w.pc, warp=w)
                polled.append(f"block {b.machine.blocks[0].index} warp {w.index} reads {_polls(b.machine, w)}")
            b.read_machine()
        assert first is not None
        others = sum(last - start for start, last in self.not_begun)
        held = f"the {len(self._blocks)} resident blocks repeat themselves: " + "; ".join(polled)
        if others:
            held += f"; {others} blocks are not resident, the chip holds {self.launch.resident_blocks}"
        return MachineFault(first.kind, first.pc, first.block, first.warp, detail=held)


def _polls(machine: Machine, warp: Warp) -> str:
    """Describe the loads of a warp during one iteration of its loop."""
    found: dict[str, None] = {}
    state, load = machine.state, machine.state.load

    def noting(space: str, address: Any, size: int, attrs: Any, lanes: Any) -> Any:
        value = load(space, address, size, attrs, lanes)
        executing = np.flatnonzero(lanes.mask)
        if len(executing) and space[0] in "gs":
            k = int(executing[0])
            at, content = (int(np.asarray(x).reshape(-1)[k if np.size(x) > 1 else 0]) for x in (address, value))
            found[f"{space}[{at:#x}] = {content:#x} at pc {warp.pc:#x}"] = None
        return value

    cast(Any, state).load = noting
    try:
        for _ in range(LOOP):
            if warp.status != "ready" or machine.step(warp) is None:
                break
    except MachineFault:
        pass
    finally:
        del cast(Any, state).load
    return ", ".join(list(found)[:3]) or "nothing"


__all__ = ["ALONE", "ResidentBlocks"]
