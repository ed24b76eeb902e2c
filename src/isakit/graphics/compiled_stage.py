"""Graphics stages on compiled code.

a[], p[] and o[] stay in the memory of the stage's state, where compiled code reads and writes them. The inputs of
fragments are evaluated before the program begins, a row for each one that it names.
"""

from __future__ import annotations

import threading

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded
from isakit.graphics.stage import Stage, StageRun, StageState
from isakit.graphics.stage_spaces import RowSpace
from isakit.graphics.watchdog import Budget, Watchdog
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.lane_code import VARYING_WORDS
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps, interruptible
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, lanes_of, masks_of
from isakit.machine.tesla.compiled.launch.worker_context import Bound, aligned
from isakit.machine.tesla.launch import Launch, Stats

_spare = threading.local()
MOST_KEPT = 1 << 26
"""Bytes of records that a thread keeps; most of them are room for divergence stacks, and never touched."""


class StageWarps(ServedWarps):
    """The warps of a stage: one block that has rows of items, and lanes that are not visible."""

    state: StageState

    def __init__(
        self, bound: Bound, kernel: CompiledKernel, state: StageState, states: WarpStates, table: Array | None = None
    ) -> None:
        """`table`: see `_table`; made here if it is not given."""
        super().__init__(bound, kernel, state, states, state.stage.warps)
        set_slot = self.context.set_slot
        set_slot("row_bytes", 4 * state.lane_count)
        set_slot("live_all", 0xFFFF_FFFF if state.stage.choices.live_helpers == "fetch" else 0)
        for name in ("a", "p", "o"):
            space = state.spaces.get(name)
            if isinstance(space, RowSpace):
                set_slot(name, space.memory.bytes)
                set_slot(f"{name}_size", space.limit)
        self._rows = [np.zeros(state.lane_count, np.uint32)]
        set_slot("varyings", self._table() if table is None else table)

    def _table(self) -> Array:
        """Addresses of the rows of v[]; words that are not named share one of zeros."""
        table = np.full(4 * VARYING_WORDS, self._rows[0].ctypes.data, np.int64)
        varyings = self.state.stage.varyings
        everyone = Lanes.span(0, self.state.lane_count)
        for word, flat, centroid in self.kernel.flow.varyings if varyings is not None else ():
            if word < VARYING_WORDS:
                assert varyings is not None
                row = np.ascontiguousarray(varyings.read(word, flat, centroid, everyone), np.uint32)
                self._rows.append(row)
                table[word + VARYING_WORDS * (flat + 2 * centroid)] = row.ctypes.data
        return table

    def bound_by(self, watchdog: Watchdog | Budget) -> None:
        """Execute no more than a watchdog allows. Programs without loops end by themselves."""
        if self.kernel.known.has_loops:
            self.context.set_budget(watchdog.allowed(self.per_block, reference=False))
            self.context.set_slot("reserve", self.kernel.reserve)

    def check_ended(self) -> None:
        """Compiled code has stopped. Raises BudgetExceeded if a watchdog is why."""
        stopped = np.flatnonzero(self.states.column(state_layout.STATUS) == state_layout.INTERRUPTED)
        if len(stopped):
            warp = int(stopped[0])
            pc = int(self.states.column(state_layout.PC)[warp])
            raise BudgetExceeded("TIMEOUT", pc, warp=warp, detail="the allowed number of instructions is used up")

    def _before(self, warps: Array | slice) -> None:
        lanes = lanes_of(self.states.column(state_layout.VISIBLE)[warps])
        self.state.visible.reshape(-1, 32)[warps] = lanes


def run_stage(
    bound: Bound, kernel: CompiledKernel, stage: Stage, watchdog: Watchdog | Budget | None = None
) -> StageRun | None:
    """Run a program to the end of all lanes; None where the reference machine must run it, from the beginning.

    Raises BudgetExceeded where the watchdog allows no more.
    """
    launch = bound.launch
    state = StageState(launch, stage)
    states = spare_states(stage.warps, kernel.state_bytes)
    states.clear()
    start_warps(states, launch, stage.masks(), masks_of(state.visible))
    warps = StageWarps(bound, kernel, state, states)
    if watchdog is not None:
        warps.bound_by(watchdog)
    finished = interruptible(warps.run, bound.stop)
    if bound.stop[0]:
        raise KeyboardInterrupt
    if not finished:
        if watchdog is not None:
            warps.check_ended()
        return None
    state.visible[:] = lanes_of(states.column(state_layout.VISIBLE)).ravel()
    states.to_files(state.files, kernel.flow.results, slice(None))
    stats = Stats(int(states.count(state_layout.THREADS).sum()), int(states.count(state_layout.ISSUED).sum()))
    return StageRun(state, stats)


def start_warps(states: WarpStates, launch: Launch, masks: Array, visible: Array) -> None:
    """Let warps stand at the entry of a program, with the lanes that run and those that are no helpers, u32 [warps]."""
    for offset, value in (
        (state_layout.PC, launch.entry),
        (state_layout.ACTIVE, masks),
        (state_layout.EXITED, ~masks),
        (state_layout.STATUS, np.where(masks == 0, state_layout.FINISHED, state_layout.READY)),
        (state_layout.NUMBER, np.arange(len(masks))),
        (state_layout.VISIBLE, visible),
    ):
        states.column(offset)[:] = value


def spare_states(warps: int, state_bytes: int) -> WarpStates:
    """Records for a batch. A thread uses their memory again for the next one: the first touch of pages takes time."""
    room = getattr(_spare, "room", None)
    nbytes = warps * state_bytes
    if room is None or len(room) < nbytes:
        room = aligned(nbytes)
        if nbytes <= MOST_KEPT:
            _spare.room = room
    return WarpStates(warps, state_bytes, room[:nbytes])
