"""The state of a machine: its launch, the resident blocks with their warps, registers, memories, and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from isakit.engine import Control, Lanes
from isakit.errors import MachineFault
from isakit.machine.tesla.address_spaces import GlobalSpace, OwnSpace
from isakit.machine.tesla.block import READY, ThreadBlock, Warp
from isakit.machine.tesla.device_memory import DeviceMemory, FlatMemory
from isakit.machine.tesla.gang import Gang, Ready
from isakit.machine.tesla.gang_state import State
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import Launch, Stats, physical_ids
from isakit.machine.tesla.stack import Stack

RESIDENT_LANES = 1 << 16
"""Lanes that are resident at once; more blocks wait for the next wave."""
RESIDENT_BYTES = 1 << 28
"""Limit of the local and shared memory of all resident blocks together, in bytes."""

Handler = Callable[["MachineState", Gang, Op, Lanes, Control], list[Gang]]
"""A control action: takes the machine, a gang, its instruction, the lanes that execute it and the request; returns
the gangs that continue."""


class MachineState:
    """A launch with its resident blocks, for control actions, snapshots and the machine.

    Attributes: `blocks` (the resident blocks: as many as fit, the next ones follow when all have finished), `warps` (of
    all resident blocks), `wave` (resident blocks at most), `ready` (gangs that can execute), `state` (registers and
    memory), `stats`, `ordered` (the program can observe the order of the warps of a block, so that only the warp of
    each block whose turn it is executes). `handlers` are the control actions of the program's type, by name.
    """

    handlers: Mapping[str, Handler]
    keeps_order = True
    """True for machines whose warps run in the order of `rules.turns` if a program can observe it."""

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
        self.blocks: Sequence[ThreadBlock] = []
        self.warps: list[Warp] = []
        self._constants = {n: FlatMemory.holding(data) for n, data in launch.constants.items()}
        self._start_wave()

    def _order(self) -> tuple[bool, dict[int, int]]:
        """Return whether the order of a block's warps is observable, and where turns end (`WarpOrder.races`)."""
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
        """Queue warps again after their states were set from outside; `gangs`: in these groups."""
        self.ready = Ready()
        if gangs is None:
            gangs = self.released(self._whose_turn(self.blocks)) if self.ordered else _alone(self.warps)
        for gang in gangs:
            self.ready.add(gang)

    def schedule(self) -> tuple[int, int, int, int]:
        """Return (first resident block, next block, end of the blocks, warp that executed the last step)."""
        return self.blocks[0].number if self.blocks else 0, self._next_block, self._end_block, self._turn

    def set_schedule(self, schedule: tuple[int, int, int, int]) -> None:
        """Make the blocks of `schedule` resident, if they are not."""
        first, following, self._end_block, self._turn = schedule
        if (first, following) != self.schedule()[:2]:
            self._next_block = first
            self._start_wave()
        self._next_block = following

    # --- warps and gangs ----------------------------------------------------------------------------------------------
    def _whose_turn(self, blocks: Iterable[ThreadBlock]) -> Iterator[Warp]:
        """Yield the warps that may run; a turn ends before a racing access that conflicts with one made in it."""
        for block in blocks:
            while (w := block.next_warp()) is not None:
                bits = self._races.get(w.pc)
                if bits is None or not block.rules.meets(w.control, bits):
                    yield w
                    break
                block.end_turn(w, spins=True)

    def _flush(self, gang: Gang) -> None:
        if gang.pending:
            self.state.issued[gang.numbers] += gang.pending
            gang.pending = 0

    def members(self, gang: Gang) -> list[Warp]:
        """Return the warps of a gang."""
        warps = self.warps
        return [warps[n] for n in gang.numbers.tolist()]

    def split_at_fault(self, gang: Gang, done: list[Gang], k: int) -> None:
        """Split the running gang at warp `k`, which faults: those before it have executed and are queued as `done`."""
        for part in done:
            self.ready.add(part)
        faulting = np.arange(len(gang)) >= k
        before = gang.part(~faulting, gang.pc)
        if len(before):
            self.state.issued[before.numbers] += 1
            self.stats.count(before.threads, len(before))
        self._running = gang.part(faulting, gang.pc)

    def released(self, warps: Iterable[Warp]) -> list[Gang]:
        """Return gangs of warps that waited at a barrier and can continue."""
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
        """Return a fault with its location filled in.

        `lane` is a position on the lane axis; `gang` stands for its first warp.
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
    """Yield every ready warp as a gang."""
    for w in warps:
        if w.status == READY and w.control.active:
            yield Gang(np.array([w.number]), np.array([w.control.active], np.uint32), w.control.pc)
