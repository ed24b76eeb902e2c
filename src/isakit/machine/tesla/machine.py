"""The machine: runs the blocks of a launch, warp by warp or many warps at once, and stops at faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from isakit.engine import Control, Lanes
from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded, LaunchError, NotModelled
from isakit.machine.snapshot import Snapshot, frozen
from isakit.machine.tesla import control_requests as control
from isakit.machine.tesla.address_spaces import AccessFault
from isakit.machine.tesla.block import READY, WAITING, Warp
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.gang_state import State, Trap, UnknownValue
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.machine_snapshot import content_of, put_back
from isakit.machine.tesla.machine_state import RESIDENT_LANES, Handler, MachineState
from isakit.machine.tesla.rules.interpreter import RACES

LONGEST_TURN = 1 << 20
"""Instructions of a block after which a turn ends once a warp has reached a barrier: the running one may be waiting
for it."""
Until = int | Collection[int] | Callable[["Machine"], object] | None


class Machine(MachineState):
    """Executes one launch.

    Attributes: those of `MachineState`; `after` (called whenever a run or step has ended, however it ended); `work` (a
    measure of the time spent: one for each instruction that a gang executed, however many warps it has, and one for
    each warp that a later wave began), `most_work` (its limit for all runs together; None: no limit). After a fault, a
    budget that ran out or an interrupt the state is that before the instruction and can be inspected.
    """

    handlers: Mapping[str, Handler] = control.COMPUTE
    observer: Callable[[Op], object] | None = None
    """Called with every instruction that a gang of any machine has executed, for coverage reports."""

    def __init__(
        self,
        launch: Launch,
        device: DeviceMemory,
        resident_lanes: int = RESIDENT_LANES,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(launch, device, resident_lanes, blocks)
        self.after: Callable[[], object] | None = None
        self.work = 0
        self.most_work: int | None = None

    def again(self, blocks: int = 1) -> Machine:
        """Return a machine for the same launch on the same device memory, with `blocks` blocks resident at a time."""
        return Machine(self.launch, self.device, resident_lanes=blocks * 32 * self.launch.warps)

    # --- snapshots --------------------------------------------------------------------------------------------------
    def snapshot(self) -> Snapshot:
        """Return the state of the launch, with the memory of the device.

        Must not be taken inside of `run` or `step`.
        """
        return frozen("tesla", self._content())

    def _content(self) -> dict[str, object]:
        return content_of(self)

    def _put_back(self, content: dict[str, object]) -> None:
        put_back(self, content)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this machine, or of one of an equal launch, with the device's memory.

        Blocks and warps are new objects if other blocks are resident then. Raises LaunchError for a snapshot of another
        machine.
        """
        self._put_back(snapshot.content("tesla"))

    def _repr_html_(self) -> str:
        from isakit.machine.pictures import html_of

        return html_of(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.launch, self.device, self.wave, self.snapshot())

    # --- running ----------------------------------------------------------------------------------------------------
    @property
    def ready_warps(self) -> list[Warp]:
        """The warps that can execute an instruction; if `ordered`, only those whose turn it is."""
        return [self.warps[n] for n in sorted(n for g in self.ready.gangs for n in g.numbers.tolist())]

    @property
    def finished(self) -> bool:
        """True if all blocks of the grid have ended."""
        return not self.ready and not self._waiting() and self._next_block >= self._end_block

    @property
    def waits(self) -> bool:
        """True if any warp waits at a barrier."""
        return any(w.status == WAITING for w in self.warps)

    def _waiting(self) -> list[Warp]:
        return [w for w in self.warps if w.status == WAITING]

    def run(self, until: Until = None, max_instructions: int | None = None) -> bool:
        """Execute until everything has finished; return whether it has.

        `until`: a byte address or several (stop when a warp is about to execute one; a warp that is already there
        executes that instruction first), or a function of the machine that is called after every instruction of a warp.
        `max_instructions` bounds the instructions of this call, counted per warp, and `most_work` the work of all
        calls. Raises MachineFault, BudgetExceeded.
        """
        if callable(until):
            return self._run_stepwise(until, max_instructions)
        stops: frozenset[int] = frozenset(() if until is None else (until,) if isinstance(until, int) else until)
        started = time.perf_counter()
        limit = None if max_instructions is None else self.stats.warp_instructions + max_instructions
        passing = {int(n) for g in self.ready.gangs if g.pc in stops for n in g.numbers}
        try:
            while not self.idle():
                gang = self._running = self.ready.pop()
                while gang is not None:
                    if gang.pc in stops and not passing.issuperset(gang.numbers.tolist()):
                        return False
                    if passing:
                        passing.difference_update(gang.numbers.tolist())
                    gang = self._running = self._affordable(gang, limit)
                    gang = self._running = self._advance(gang)
            return True
        finally:
            self._stop(started)

    def _stop(self, started: float) -> None:
        """Flush the running gang after a run or step, so that the warps' own state is up to date."""
        if self._running is not None:
            self.ready.add(self._running)
            self._running = None
        changed, self.ready.added = self.ready.added, None
        self._settle(self.ready.gangs if changed is None else changed)
        self.stats.seconds += time.perf_counter() - started
        if self.after is not None:
            self.after()

    def _run_stepwise(self, until: Callable[[Machine], object], max_instructions: int | None) -> bool:
        limit = None if max_instructions is None else self.stats.warp_instructions + max_instructions
        while self.step(limit=limit) is not None:
            if until(self):
                return self.finished
        return True

    def step(self, warp: Warp | None = None, *, limit: int | None = None) -> Warp | None:
        """Execute one instruction of one warp and return the warp; None when everything has finished.

        Without `warp` the ready warps are scheduled round-robin; if the order of the warps of a block is observable
        (`ordered`), its warps have turns, and the blocks are scheduled round-robin. The time it takes does not depend
        on the number of resident warps. Raises LaunchError for a warp that cannot execute.
        """
        started = time.perf_counter()
        if warp is None:
            if self.idle():
                return None
            self._turn = self.ready.warp_after(self._turn)
            warp = self.warps[self._turn]
        elif self.ordered:
            self.give_turn(warp)
        gang = self.ready.take_warp(warp.number) if self.warps[warp.number] is warp else None
        if gang is None:
            raise LaunchError(f"{warp} cannot execute an instruction")
        self.ready.added = []
        warp.block.over = False
        self._running = gang
        try:
            self._running = self._affordable(gang, limit)
            self._running = self._advance(gang, alone=True)
        finally:
            self._stop(started)
        return warp

    def give_turn(self, warp: Warp) -> None:
        """Give the turn of its block to a warp that can run."""
        block = warp.block
        if self.warps[warp.number] is not warp or warp.status != READY or block.turn == warp.index:
            return
        if self.ordered:
            before = block.next_warp()
            assert before is not None
            gang = self.ready.take_warp(before.number)
            if gang is not None:
                self._settle([gang])
            block.end_turn(before)
        block.turn = warp.index
        if self.ordered:
            for gang in self.released(self._whose_turn([block])):
                self.ready.add(gang)

    def idle(self) -> bool:
        """Return true if nothing is left to do; start the next wave when this one has ended.

        Raises MachineFault for a deadlock.
        """
        if self.ready:
            return False
        waiting = self._waiting()
        if waiting:
            w = waiting[0]
            where = ", ".join(
                sorted({f"barrier {x.barrier}: block {x.block.index} warp {x.index}" for x in waiting})[:8]
            )
            raise self.fault("BARRIER_DEADLOCK", w.pc, warp=w, detail=f"every warp that is left waits ({where})")
        if self._next_block >= self._end_block:
            return True
        self._start_wave()
        self.work += len(self.warps)
        self._turn = -1
        return False

    def _affordable(self, gang: Gang, limit: int | None) -> Gang:
        """Return the part of the gang within `limit`: the warps that may execute one more instruction.

        Raises BudgetExceeded if there is none.
        """
        if self.most_work is not None and self.work >= self.most_work:
            raise self._used_up(gang, "work of the reference machine")
        if limit is None or self.stats.warp_instructions + len(gang) <= limit:
            return gang
        left = limit - self.stats.warp_instructions
        if left <= 0:
            raise self._used_up(gang, "number of instructions")
        self._flush(gang)
        first = np.arange(len(gang)) < left
        self.ready.add(gang.part(~first, gang.pc))
        return gang.part(first, gang.pc)

    def _used_up(self, gang: Gang, what: str) -> BudgetExceeded:
        w = self.members(gang)[0]
        return BudgetExceeded("TIMEOUT", gang.pc, w.block.index, w.index, detail=f"the allowed {what} is used up")

    def _settle(self, gangs: Iterable[Gang]) -> None:
        """Update the warps' own pc and instruction counts."""
        for gang in gangs:
            self._flush(gang)
            for w in self.members(gang):
                w.control.pc = gang.pc

    # --- one instruction ----------------------------------------------------------------------------------------------
    def _advance(self, gang: Gang, alone: bool = False) -> Gang | None:
        """Execute the instruction at the gang's pc.

        Return the gang if it simply continues, else queue its successors.
        """
        op = self.launch.code.at(gang.pc)
        if op.error is not None:
            raise self.fault(op.error, gang.pc, gang=gang, detail=op.instruction.text if op.instruction else "")
        if op.missing is not None:
            raise NotModelled(op.missing.what, op.missing.why)
        if op.join and self.launch.choices.join == "before":
            joined = self._running = self._join(gang, op)
            if joined is None:
                return None
            gang = joined
        self.ready.clock += 1
        self.work += 1
        self.state.pending = gang.pending
        numbers = gang.numbers
        try:
            after = self._execute(gang, op)
        except AccessFault as e:
            raise self.fault(e.kind, gang.pc, lane=e.lane, space=e.space, address=e.address, detail=e.detail) from None
        except Trap as e:
            raise self.fault(e.kind, gang.pc, lane=e.lane) from None
        except UnknownValue as e:
            text = op.instruction.text if op.instruction else ""
            raise NotModelled(f"`{text}`", f"this machine has no {e.name!r}") from None
        if self.ordered or alone:
            after = self._turns(op, numbers.tolist(), after)
        return self._continue(after, alone)

    def _execute(self, gang: Gang, op: Op) -> list[Gang]:
        self.state.lanes = lanes = gang.lanes
        executing = executing_lanes(self.state, op, lanes)
        body = op.body
        requests: list[Control] = []
        if body is not None and has_effect(op, executing):
            if op.fixed_a:
                self._check_address_registers(op)
            requests = body.run(self.state, executing, op.params)
            for n in op.fixed_a:
                self.state.files["a"][n, lanes.sel] = 0
        if self.observer is not None:
            self.observer(op)
        after = [gang]
        if requests:
            self._flush(gang)
            after = control.perform(self, gang, op, executing, requests[0])
            self.state.issued[gang.numbers] += 1
        else:
            gang.pc = op.following
            gang.pending += 1
        self.stats.count(gang.threads, len(gang))
        if op.plain:
            return after
        if op.exit:
            after = self._exit(after)
        elif op.join and self.launch.choices.join == "after":
            gang.pc = op.pc
            after = self._joined_after(gang, op)
        return after

    # --- turns --------------------------------------------------------------------------------------------------------
    def _turns(self, op: Op, numbers: Sequence[int], after: list[Gang]) -> list[Gang]:
        """Account for an instruction of warps in an ordered block: return those that continue, where turns end."""
        if not self.ordered:
            block = (w := self.warps[numbers[0]]).block
            block.turn = w.index + (block.over or w.status != READY)
            block.over = False
            return after
        bits = self._races.get(op.pc, 0) & RACES
        if bits:
            for n in numbers:
                self.warps[n].control.pending |= bits
        if op.plain and after[0].pc not in self._races:
            return after
        self._settle(after)
        warps = [self.warps[n] for n in numbers]
        for w in warps:
            block = w.block
            if block.over or w.status != READY or (w.control.pc <= op.pc and block.spun >= LONGEST_TURN):
                block.end_turn(w)
        return self.released(self._whose_turn(w.block for w in warps))

    def _check_address_registers(self, op: Op) -> None:
        for n in op.fixed_a:
            if n and self.launch.choices.nonzero_a56 == "fault":
                lane = int(self.state.lanes.numbers[0])
                raise self.fault("ILLEGAL_ADDRESS_REGISTER", op.pc, lane=lane, detail=f"$a{n} cannot be written")

    def _continue(self, after: list[Gang], alone: bool) -> Gang | None:
        if len(after) == 1 and not alone and self.ready.goes_on(after[0]):
            return after[0]
        for gang in after:
            self._flush(gang)
            self.ready.add(gang)
        return None

    def _exit(self, gangs: list[Gang]) -> list[Gang]:
        out: list[Gang] = []
        for g in gangs:
            self._flush(g)
            out += control.each(self, g, lambda w, mask: w.control.exit(), g.masks.tolist())
        return out

    def _join(self, gang: Gang, op: Op) -> Gang | None:
        """Pop the tokens before the instruction executes; warps with another path to run leave the gang."""
        self._flush(gang)
        complete = np.zeros(len(gang), bool)
        position = {int(n): k for k, n in enumerate(gang.numbers)}

        def join(w: Warp, mask: int) -> None:
            complete[position[w.number]] = w.control.join()

        parts = control.each(self, gang, join, gang.masks.tolist())
        if not complete.all():
            for part in parts:
                stays = complete[[position[int(n)] for n in part.numbers]]
                if not stays.all():
                    left = [part.part(~stays, part.pc)]
                    if self.ordered:
                        left = self.released(self._whose_turn(w.block for w in self.members(left[0])))
                    for gang_left in left:
                        self.ready.add(gang_left)
        if not complete.any():
            return None
        joined = gang.part(complete, op.pc)
        joined.masks = np.array([w.control.active for w in self.members(joined)], np.uint32)
        return joined

    def _joined_after(self, gang: Gang, op: Op) -> list[Gang]:
        self._flush(gang)

        def join(w: Warp, mask: int) -> None:
            if w.control.join():
                w.control.pc = op.following

        return control.each(self, gang, join, gang.masks.tolist())


def _restored(launch: Launch, device: DeviceMemory, wave: int, snapshot: Snapshot) -> Machine:
    machine = Machine(launch, device, wave * 32 * launch.warps)
    machine.restore(snapshot)
    return machine


def executing_lanes(state: State, op: Op, lanes: Lanes) -> Lanes:
    """Return the lanes that satisfy the condition of an instruction."""
    if op.never:
        return lanes.where(np.zeros(lanes.count, bool))
    if op.guard is None:
        return lanes
    return _where(lanes, op.guard.run(state, lanes, op.guard_params)[0].args[0])


def has_effect(op: Op, executing: Lanes) -> bool:
    """Return true if the meaning of an instruction is evaluated at all."""
    return not op.dropped and (op.controls or executing.active is None or bool(executing.active.any()))


def _where(lanes: Lanes, holds: object) -> Lanes:
    """Return the lanes that execute; the same object if all do."""
    if not isinstance(holds, np.ndarray):
        return lanes if holds else lanes.where(np.zeros(lanes.count, bool))
    some = cast(Array, holds)
    return lanes if some.all() else lanes.where(some)
