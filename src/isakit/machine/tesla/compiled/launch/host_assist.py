"""Compiled code with the host's help: instructions that are not compiled are executed in NumPy for all warps at them.

A warp that reaches a texture instruction (or another `served` one) leaves compiled code. When no warp of the batch can
run, those at the same instruction execute it together on the reference engine, with the registers it names copied there
and back, and then resume in compiled code.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar, cast

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError, LaunchError
from isakit.forks import in_child
from isakit.machine.interrupts import deferred, wait_stoppable
from isakit.machine.progress import Watcher, watcher
from isakit.machine.tesla.address_spaces import OwnSpace
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel, Executable, kernel_of
from isakit.machine.tesla.compiled.launch.warp_handover import (
    BlockOfRecords,
    WarpStates,
    from_machine,
    lanes_of,
    to_machine,
)
from isakit.machine.tesla.compiled.launch.worker_context import Bound, WorkerContext, aligned
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.gang_state import State
from isakit.machine.tesla.machine import Machine, executing_lanes, has_effect
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.stack import Kind, Stack, rules_of

T = TypeVar("T")


class ServedWarps:
    """Warps of a reference machine's `state`, in blocks of `per_block`, that run on compiled code.

    s[] stays in the state; registers and l[] are in `states`. `barriers`: u32 [blocks, 16, 2]; `turns`: i64 [blocks,
    2], whose turn it is in each, and for how long (`turn` and `spun` of `BlockState`).
    """

    def __init__(self, bound: Bound, kernel: CompiledKernel, state: State, states: WarpStates, per_block: int) -> None:
        self.bound, self.kernel, self.state, self.states, self.per_block = bound, kernel, state, states, per_block
        self.launch = bound.launch
        self.blocks = len(states.words) // per_block
        self.barriers = np.zeros((self.blocks, 16, 2), np.uint32)
        self.turns = np.zeros((self.blocks, 2), np.int64)
        self.context = WorkerContext(bound, kernel)
        self.context.set_slot("block_warps", per_block)
        self.context.set_slot("sites", np.zeros(max(1, kernel.sites), np.uint64))
        threads = 32 * per_block
        # What belongs to a block: slot -> (address for the first block, bytes from one block to the next).
        self._of_block = {
            "state": (states.raw.ctypes.data, kernel.state_bytes * per_block),
            "physid": (state.physid.ctypes.data, 4 * threads),
            "barriers": (self.barriers.ctypes.data, self.barriers[0].nbytes),
        }
        shared = state.spaces.get("s")
        if shared is None:
            self.context.set_slot("shared_limit", 0)
        else:
            self._of_block["shared"] = cast(OwnSpace, shared).memory.bytes.ctypes.data, self.launch.shared_limit
        if "l" in state.spaces:
            step = self.launch.local_limit * threads
            states.local = aligned(self.blocks * step)
            self._of_block["local"] = states.local.ctypes.data, step
        else:
            self.context.set_slot("local_limit", 0)
            self.context.set_slot("local", aligned(state_layout.NO_LOCAL))

    # --- running --------------------------------------------------------------------------------------------
    def run(self) -> bool:
        """Run until all warps have finished.

        Return False if the reference machine must continue, or after an interrupt.
        """
        status = self.states.column(state_layout.STATUS)
        while True:
            ready = (status == state_layout.READY).reshape(self.blocks, -1).any(axis=1)
            for block in np.flatnonzero(ready).tolist():
                self._enter(block)
            if self.bound.stop[0]:
                return False
            if (status == state_layout.FINISHED).all():
                return True
            asking = np.flatnonzero(status == state_layout.SERVED)
            if not len(asking):
                return False
            self._serve_all(asking)

    def turn(self) -> bool:
        """Run each warp that can run for one turn; return whether any can still run afterwards."""
        self.context.set_slot("one_round", 1)
        status = self.states.column(state_layout.STATUS)
        for block in np.flatnonzero((status == state_layout.READY).reshape(self.blocks, -1).any(axis=1)).tolist():
            self._enter(block)
        self._serve_all(np.flatnonzero(status == state_layout.SERVED))
        stuck = np.isin(status, (state_layout.STOPPED, state_layout.JOINED, state_layout.INTERRUPTED)).any()
        return bool((status == state_layout.READY).any() and not stuck)

    @property
    def finished(self) -> bool:
        """True if all warps have finished."""
        return bool((self.states.column(state_layout.STATUS) == state_layout.FINISHED).all())

    def _enter(self, block: int) -> None:
        how, started = self.kernel.choose_executable(), time.thread_time()
        self.context.set_executable(how, self.kernel.turn if how.resumes else self.kernel.patience)
        self._run_block(how, block)
        self.kernel.count_run_time(how, time.thread_time() - started)

    def _run_block(self, how: Executable, block: int) -> None:
        """Run the turns of a block's warps, from where they were left."""
        set_slot = self.context.set_slot
        for slot, (start, step) in self._of_block.items():
            set_slot(slot, start + block * step)
        set_slot("ended", self._ended(block))
        set_slot("limits", 0)
        turn, spun = self.turns[block].tolist()
        set_slot("turn", turn)
        set_slot("spun", spun)
        how.run(self.context.address, 0, 0, Begin.TURNS)
        self.turns[block] = self.context.get_slot("turn"), self.context.get_slot("spun")

    # --- one instruction ------------------------------------------------------------------------------------
    def _serve_all(self, warps: Array) -> None:
        """Execute the instructions that warps have requested, one address after the other."""
        where = self.states.column(state_layout.PC)[warps]
        for pc in np.unique(where).tolist():
            self._serve(pc, warps[where == pc])

    def _serve(self, pc: int, warps: Array) -> None:
        """Execute the instruction at `pc` for the warps that requested it; stop those that fault."""
        step, op = self.kernel.flow.steps[pc], self.launch.code.at(pc)
        states, state = self.states, self.state
        where = _compact(warps)
        masks = states.column(state_layout.ACTIVE)[where]
        gang = Gang(warps, np.ascontiguousarray(masks), pc)
        status = states.column(state_layout.STATUS)
        if op.exit and self._quads_on(warps):
            status[where] = state_layout.JOINED  # a fault after the instruction itself
            return
        states.to_files(state.files, step.reads | step.writes, where)  # lanes that do not execute keep theirs
        self._before(where)
        state.lanes = lanes = gang.lanes
        try:
            executing = executing_lanes(state, op, lanes)
            if op.body is not None and has_effect(op, executing):
                for request in op.body.run(state, executing, op.params):
                    state.actions[request.name](state, executing)
        except (IsakitError, ArithmeticError):
            status[where] = state_layout.JOINED  # the reference machine says what is wrong
            return
        states.from_files(state.files, step.writes, where)
        states.count(state_layout.ISSUED)[where] += 1
        self.context.set_budget(self.context.get_slot("remaining") - len(warps))
        states.count(state_layout.THREADS)[where] += lanes_of(masks).sum(axis=1)
        states.column(state_layout.PC)[where] = op.following
        status[where] = state_layout.READY
        if op.exit:
            self._exit(warps)

    def _before(self, warps: Array | slice) -> None:
        """Update more of the state before an instruction of these warps."""

    def _quads_on(self, warps: Array) -> bool:
        """Return whether any warp has an entry of a `quadon` on its stack, which the end of its lanes may pop."""
        for k in warps[self.states.column(state_layout.DEPTH)[warps] != 0].tolist():
            depth = int(self.states.column(state_layout.DEPTH)[k])
            if (self.states.entries(k)[:depth, 2] == Kind.QUADON).any():
                return True
        return False

    def _exit(self, warps: Array) -> None:
        """End all active lanes."""
        states = self.states
        depth = states.column(state_layout.DEPTH)[warps]
        done = warps[depth == 0]
        states.column(state_layout.EXITED)[done] |= states.column(state_layout.ACTIVE)[done]
        for offset, value in (
            (state_layout.ACTIVE, 0),
            (state_layout.PC, 0),
            (state_layout.STATUS, state_layout.FINISHED),
        ):
            states.column(offset)[done] = value
        for k in warps[depth != 0].tolist():
            stack = Stack(0, choices=self.launch.choices, size_at=self.launch.code.size_at)
            states.to_stack(k, stack)
            stack.exit()
            states.from_stack(k, stack)
            if stack.finished:
                states.column(state_layout.STATUS)[k] = state_layout.FINISHED
        if self.barriers.any():
            for block in np.unique(warps // self.per_block).tolist():
                self._open_barriers(block)

    def _ended(self, block: int) -> int:
        """Return how many warps of a block have finished."""
        status = self.states.column(state_layout.STATUS).reshape(self.blocks, -1)[block]
        return int(np.count_nonzero(status == state_layout.FINISHED))

    def _open_barriers(self, block: int) -> None:
        """Count finished warps at the barriers of a block, using objects for the records."""
        held = BlockOfRecords(self.states, self.barriers[block], block * self.per_block, self.per_block)
        held.ended = self._ended(block) - 1  # one by one they would have opened the same barriers
        rules_of(self.launch.choices).warp_ended(held)
        held.put_back()


def _compact(numbers: Array) -> Array | slice:
    """Return consecutive numbers as a slice."""
    first, last = int(numbers[0]), int(numbers[-1])
    return slice(first, last + 1) if last - first == len(numbers) - 1 else numbers


# --- machines -----------------------------------------------------------------------------------------------
def finish(machine: Machine, tier: str = "interp", portable: bool = False) -> None:
    """Run a reference machine to its end on compiled code, wherever its warps are.

    The interpreter (`tier` "interp") can take over at any instruction, also inside divergence and at barriers; compiled
    kernels ("jit", "auto") only a machine that has not begun. Faults are raised, and the machine is left, as by
    `machine.run()`. Raises NotCompiled if the kernel needs the reference engine, LaunchError for a tier that cannot
    take over here.
    """
    launch = machine.launch
    if tier != "interp" and machine.state.issued.any():
        raise LaunchError("only the interpreter can take over a kernel that has begun")
    kernel = kernel_of(launch, tier, portable)
    bound = Bound(launch, machine.device)
    told = watcher()
    started = time.perf_counter()
    try:
        interruptible(lambda: go_on(machine, bound, kernel, told=told), bound.stop)
    finally:
        machine.stats.seconds = max(machine.stats.seconds, time.perf_counter() - started)


def go_on(
    machine: Machine, bound: Bound, kernel: CompiledKernel, budget: int | None = None, *, told: Watcher | None = None
) -> None:
    """Run a machine on a kernel's code, in this thread, to its end or until `bound.stop` is set.

    `budget`: instructions of warps, for a machine with one wave of blocks. Raises BudgetExceeded.
    """
    while not machine.idle() and not bound.stop[0]:
        before = machine.stats.warp_instructions
        if not _wave(machine, bound, kernel, budget):
            if not bound.stop[0]:
                left = None if budget is None else max(0, budget - (machine.stats.warp_instructions - before))
                machine.run(max_instructions=left)
            return
        if told is not None:
            told(machine.blocks[-1].number + 1, machine.launch.blocks)


def _wave(machine: Machine, bound: Bound, kernel: CompiledKernel, budget: int | None) -> bool:
    """Run the resident blocks; return whether they have finished."""
    states = WarpStates(len(machine.warps), kernel.state_bytes)
    warps = ServedWarps(bound, kernel, machine.state, states, machine.launch.warps)
    if budget is not None:
        warps.context.set_budget(budget)
        warps.context.set_slot("reserve", kernel.reserve)
    from_machine(machine, states, warps.barriers, warps.turns)
    try:
        return warps.run()
    finally:
        to_machine(states, warps.barriers, warps.turns, machine)


@lru_cache(maxsize=8)
def pool(threads: int) -> ThreadPoolExecutor:
    """Return so many threads that run launches."""
    return ThreadPoolExecutor(threads, thread_name_prefix="isakit")


in_child(pool.cache_clear)  # the child has the pools without their threads


def interruptible(work: Callable[[], T], stop: Array, brief: bool = False) -> T:
    """Return the result of `work`, run in another thread: the main one stays free for an interrupt, which sets `stop`.

    `brief`: it takes so little time that an interrupt can wait, and the main thread does it.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    if brief:
        with deferred():
            return work()
    with deferred():  # between the two an interrupt would leave the work running, and the process wait for it for ever
        future = pool(1).submit(work)
        told = watcher()
        wait_stoppable([future], stop, None if told is None else lambda: told(0, 0))
    return future.result()
