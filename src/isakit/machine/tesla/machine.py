"""The machine: runs the blocks of a launch, warp by warp or many warps at once, and stops where a program faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from isakit.engine import Control, Lanes
from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded, LaunchError, MachineFault, NotModelled
from isakit.machine.snapshot import Snapshot, frozen
from isakit.machine.tesla import control_requests as control
from isakit.machine.tesla.address_spaces import AccessFault, GlobalSpace, OwnSpace
from isakit.machine.tesla.block import READY, WAITING, ThreadBlock, Warp
from isakit.machine.tesla.device_memory import DeviceMemory, FlatMemory
from isakit.machine.tesla.gang import Gang, Ready
from isakit.machine.tesla.gang_state import State, Trap, UnknownValue
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import Launch, Stats, physical_ids
from isakit.machine.tesla.machine_snapshot import content_of, put_back
from isakit.machine.tesla.rules.interpreter import RACES
from isakit.machine.tesla.stack import Stack

RESIDENT_LANES = 1 << 16
"""Lanes that run side by side; more blocks wait for the next wave."""
LONGEST_TURN = 1 << 20
"""Instructions of warps of a block after which a turn ends, since one has come to a barrier: this one may wait."""
RESIDENT_BYTES = 1 << 28
"""Local and shared memory of the resident blocks together."""

Until = int | Collection[int] | Callable[["Machine"], object] | None


class Machine:
    """Executes one launch.

    Attributes: `blocks` (the resident blocks: as many as fit, the next ones follow when all have finished), `warps` (of
    all resident blocks), `wave` (resident blocks at most), `ready` (gangs that can execute), `state` (registers and
    memory), `stats`, `finished`, `ordered` (the program can tell in which order the warps of a block run, so that only
    the warp of each block whose turn it is executes), `after` (called whenever a run or step has ended, however it
    ended). After a fault, a budget that ran out or an interrupt the state is that before the
    instruction and can be inspected. `handlers` are the control actions of the program's type, by name.
    """

    handlers: Mapping[str, control.Handler] = control.COMPUTE
    keeps_order = True
    """Whether the warps of a block run in the order of `rules.turns` where a program can tell."""
    observer: Callable[[Op], object] | None = None
    """Told of every instruction that a gang of any machine has executed; for coverage reports."""

    def __init__(
        self,
        launch: Launch,
        device: DeviceMemory,
        resident_lanes: int = RESIDENT_LANES,
        blocks: tuple[int, int] | None = None,
    ) -> None:
        launch.check()
        self.launch, self.device = launch, device
        self.stats = Stats()
        per_block = launch.warps * 32 * launch.local_limit + launch.shared_limit
        fitting = min(resident_lanes // (32 * launch.warps), RESIDENT_BYTES // per_block)
        self.wave = max(1, min(launch.blocks, fitting))
        self._next_block, self._end_block = blocks or (0, launch.blocks)
        self.ready = Ready()
        self._running: Gang | None = None
        self._turn = -1
        self.ordered, self._races = self._order()
        self.after: Callable[[], object] | None = None
        self.blocks: Sequence[ThreadBlock] = []
        self.warps: list[Warp] = []
        self._constants = {n: FlatMemory.holding(data) for n, data in launch.constants.items()}
        self._start_wave()

    def _order(self) -> tuple[bool, dict[int, int]]:
        """Return whether the order of a block's warps shows, and where turns end (`WarpOrder.races`)."""
        if not self.keeps_order or self.launch.warps == 1:
            return False, {}
        from isakit.machine.tesla.analysis.racing_accesses import warp_order  # a short run does without it

        order = warp_order(self.launch)
        return order.ordered, dict(order.races)

    # --- setting up -------------------------------------------------------------------------------------------------
    def _start_wave(self) -> None:
        """Make the next blocks of the grid resident."""
        launch = self.launch
        first, count = self._next_block, min(self.wave, self._end_block - self._next_block)
        self._next_block += count
        n = launch.warps
        self.state = state = State(launch, count * n)
        limit = launch.shared_limit
        shared = FlatMemory(limit * count)
        of_lane = np.arange(32 * n * count) // (32 * n)
        state.block_of_warp = np.arange(n * count) // n
        choices = launch.choices
        state.spaces["s"] = OwnSpace("s", shared, limit, of_lane * limit, choices)
        local = launch.local_limit
        if local:
            lanes = np.arange(32 * n * count)
            state.spaces["l"] = OwnSpace("l", FlatMemory(local * len(lanes)), local, lanes * local, choices)
        for k, memory in self._constants.items():
            state.spaces[f"c{k}"] = OwnSpace(f"c{k}", memory, memory.size, None, choices, writable=False)
        for k, window in launch.windows.items():
            state.spaces[f"g{k}"] = GlobalSpace(f"g{k}", self.device, window, choices)
        state.files["r"][0] = np.tile(launch.first_registers(), count)
        state.physid = physical_ids(launch, first, count)
        masks = launch.warp_masks()
        self.blocks, self.warps = [], []
        for b in range(count):
            header = launch.header(first + b)
            view = shared.bytes[b * limit : (b + 1) * limit]
            view[: len(header)] = np.frombuffer(header, np.uint8)
            block = ThreadBlock(launch, first + b, view)
            for i in range(n):
                stack = Stack(masks[i], launch.entry, choices, launch.code.size_at)
                block.add(Warp(state, block, i, b * n + i, stack))
            self.blocks.append(block)
            self.warps += block.warps
        state.blocks = self.blocks
        if self.ordered:
            self.requeue()
        else:
            self.ready.add(Gang(np.arange(count * n), np.tile(np.array(masks, np.uint32), count), launch.entry))

    def requeue(self, gangs: Iterable[Gang] | None = None) -> None:
        """Take up what the warps' own states say, after they were set from outside; `gangs`: in these groups."""
        self.ready = Ready()
        if gangs is None:
            gangs = self.released(self._whose_turn(self.blocks)) if self.ordered else _alone(self.warps)
        for gang in gangs:
            self.ready.add(gang)

    def again(self, blocks: int = 1) -> Machine:
        """Return a machine for the same launch on the same device memory, with so many blocks resident at a time."""
        return Machine(self.launch, self.device, resident_lanes=blocks * 32 * self.launch.warps)

    # --- snapshots --------------------------------------------------------------------------------------------------
    def snapshot(self) -> Snapshot:
        """Return the state of the launch, with the memory of the device.

        Must not be taken inside of `run` or `step`.
        """
        return frozen("tesla", self._content())

    def _content(self) -> dict[str, Any]:
        return content_of(self)

    def _put_back(self, content: dict[str, Any]) -> None:
        put_back(self, content)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this machine, or of one of an equal launch; the device's memory goes back, too.

        Blocks and warps are new objects if other blocks are resident then. Raises LaunchError for a snapshot of another
        machine.
        """
        self._put_back(snapshot.content("tesla"))

    def schedule(self) -> tuple[int, int, int, int]:
        """(first resident block, next block, end of the blocks, warp that executed the last step)."""
        return self.blocks[0].number if self.blocks else 0, self._next_block, self._end_block, self._turn

    def set_schedule(self, schedule: tuple[int, int, int, int]) -> None:
        """Make the blocks resident that `schedule` says, if they are not."""
        first, following, self._end_block, self._turn = schedule
        if (first, following) != self.schedule()[:2]:
            self._next_block = first
            self._start_wave()
        self._next_block = following

    def _repr_html_(self) -> str:
        from isakit.machine.pictures import html_of

        return html_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.launch, self.device, self.wave, self.snapshot())

    # --- running ----------------------------------------------------------------------------------------------------
    @property
    def ready_warps(self) -> list[Warp]:
        """The warps that can execute an instruction; where `ordered`, those whose turn it is."""
        return [self.warps[n] for n in sorted(n for g in self.ready.gangs for n in g.numbers.tolist())]

    @property
    def finished(self) -> bool:
        """All blocks of the grid have ended."""
        return not self.ready and not self._waiting() and self._next_block >= self._end_block

    @property
    def waits(self) -> bool:
        """Some warp waits at a barrier."""
        return any(w.status == WAITING for w in self.warps)

    def _waiting(self) -> list[Warp]:
        return [w for w in self.warps if w.status == WAITING]

    def run(self, until: Until = None, max_instructions: int | None = None) -> bool:
        """Execute until everything has finished; returns whether it has.

        `until`: a byte address or several (stop when a warp is about to execute one; a warp that stands there already
        moves on first), or a function of the machine that is asked after every instruction of a warp.
        `max_instructions` bounds the instructions of this call, counted per warp. Raises MachineFault, BudgetExceeded.
        """
        if callable(until):
            return self._run_stepwise(until, max_instructions)
        stops: frozenset[int] = frozenset(() if until is None else (until,) if isinstance(until, int) else until)
        started = time.perf_counter()
        limit = None if max_instructions is None else self.stats.warp_instructions + max_instructions
        passing = {int(n) for g in self.ready.gangs if g.pc in stops for n in g.numbers}
        try:
            while not self.idle():
                gang = self._running = self.ready.take()
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
        """Whatever ended a run or step: no gang is running any more, and the warps' own state is up to date."""
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

        Without `warp` the ready warps are scheduled round-robin; where the order of the warps of a block can be seen
        (`ordered`) its warps have their turns, and the blocks are scheduled round-robin. The time it takes does not
        depend on the number of resident warps. Raises LaunchError for a warp that cannot execute.
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
        """Let a warp that can go on have the turn of its block."""
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
        """Nothing left to do; starts the next wave when this one has ended. Raises MachineFault for a deadlock."""
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
        self._turn = -1
        return False

    def _affordable(self, gang: Gang, limit: int | None) -> Gang:
        """Return the warps of the gang that may execute one more instruction.

        Raises BudgetExceeded if there is none.
        """
        if limit is None or self.stats.warp_instructions + len(gang) <= limit:
            return gang
        left = limit - self.stats.warp_instructions
        if left <= 0:
            w = self.members(gang)[0]
            raise BudgetExceeded(
                "TIMEOUT", gang.pc, w.block.index, w.index, detail="the allowed number of instructions is used up"
            )
        self._flush(gang)
        first = np.arange(len(gang)) < left
        self.ready.add(gang.part(~first, gang.pc))
        return gang.part(first, gang.pc)

    def _settle(self, gangs: Iterable[Gang]) -> None:
        """Bring the warps' own pc and instruction count up to date."""
        for gang in gangs:
            self._flush(gang)
            for w in self.members(gang):
                w.control.pc = gang.pc

    def _flush(self, gang: Gang) -> None:
        if gang.pending:
            self.state.issued[gang.numbers] += gang.pending
            gang.pending = 0

    # --- one instruction ----------------------------------------------------------------------------------------------
    def _advance(self, gang: Gang, alone: bool = False) -> Gang | None:
        """Execute the instruction at the gang's pc; returns the gang if it just goes on, else queues what it became."""
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
                self._check_address_registers(op, executing)
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
        self.stats.warp_instructions += len(gang)
        self.stats.instructions += gang.threads
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
        """Warps have executed an instruction: those that go on after it, where turns end."""
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

    def _whose_turn(self, blocks: Iterable[ThreadBlock]) -> Iterator[Warp]:
        """Yield the warps that may go on; a turn ends before a racing access that meets one made in it."""
        for block in blocks:
            while (w := block.next_warp()) is not None:
                bits = self._races.get(w.pc)
                if bits is None or not block.rules.meets(w.control, bits):
                    yield w
                    break
                block.end_turn(w, spins=True)

    def _check_address_registers(self, op: Op, lanes: Lanes) -> None:
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
        """Take the tokens off before the instruction executes; warps with another path to run leave the gang."""
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

    def members(self, gang: Gang) -> list[Warp]:
        """Return the warps of a gang."""
        warps = self.warps
        return [warps[n] for n in gang.numbers.tolist()]

    def split_at_fault(self, gang: Gang, done: list[Gang], k: int) -> None:
        """Warp `k` of the running gang faults: the ones before it have executed and are queued as `done`."""
        for part in done:
            self.ready.add(part)
        faulting = np.arange(len(gang)) >= k
        before = gang.part(~faulting, gang.pc)
        if len(before):
            self.state.issued[before.numbers] += 1
            self.stats.warp_instructions += len(before)
            self.stats.instructions += before.threads
        self._running = gang.part(faulting, gang.pc)

    def released(self, warps: Iterable[Warp]) -> list[Gang]:
        """Gangs of warps that waited at a barrier and can go on."""
        by_pc: dict[int, list[Warp]] = {}
        for w in warps:
            by_pc.setdefault(w.control.pc, []).append(w)
        return [
            Gang(np.array([w.number for w in ws]), np.array([w.control.active for w in ws], np.uint32), pc)
            for pc, ws in by_pc.items()
        ]

    # --- faults -----------------------------------------------------------------------------------------------------
    def fault(
        self,
        kind: str,
        pc: int,
        *,
        warp: Warp | None = None,
        lane: int | None = None,
        gang: Gang | None = None,
        space: str | None = None,
        address: int | None = None,
        detail: str = "",
    ) -> MachineFault:
        """Return a fault with its place filled in.

        `lane` is a position on the lane axis, `gang` stands for its first warp.
        """
        if warp is None:
            number = lane >> 5 if lane is not None else int(gang.numbers[0]) if gang is not None else 0
            warp = self.warps[number]
        if kind == "CODE_OUT_OF_RANGE" and pc == self.launch.code.end:
            detail = detail or "the program runs past its end: an `exit` is missing"
        return MachineFault(
            kind, pc, warp.block.index, warp.index, None if lane is None else lane & 31, space, address, detail
        )


def _alone(warps: Iterable[Warp]) -> Iterator[Gang]:
    """Every ready warp as a gang."""
    for w in warps:
        if w.status == READY and w.control.active:
            yield Gang(np.array([w.number]), np.array([w.control.active], np.uint32), w.control.pc)


def _restored(launch: Launch, device: DeviceMemory, wave: int, snapshot: Snapshot) -> Machine:
    machine = Machine(launch, device, wave * 32 * launch.warps)
    machine.restore(snapshot)
    return machine


def executing_lanes(state: State, op: Op, lanes: Lanes) -> Lanes:
    """Return the lanes that fulfil the condition of an instruction."""
    if op.never:
        return lanes.where(np.zeros(lanes.count, bool))
    if op.guard is None:
        return lanes
    return _where(lanes, op.guard.run(state, lanes, op.guard_params)[0].args[0])


def has_effect(op: Op, executing: Lanes) -> bool:
    """Return true if the meaning of an instruction is evaluated at all."""
    return not op.dropped and (op.controls or executing.active is None or bool(executing.active.any()))


def _where(lanes: Lanes, holds: Any) -> Lanes:
    """Return the lanes that execute: the same object if all do."""
    if not isinstance(holds, np.ndarray):
        return lanes if holds else lanes.where(np.zeros(lanes.count, bool))
    some = cast(Array, holds)
    return lanes if some.all() else lanes.where(some)
