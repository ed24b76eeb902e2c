"""One launch on compiled code: its blocks on a pool of threads, with faults handed to the reference machine."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from weakref import WeakKeyDictionary

import numpy as np

from isakit.engine.protocol import Array
from isakit.machine.interrupts import deferred, submitted, wait_stoppable
from isakit.machine.progress import Watcher, watcher
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel, Executable
from isakit.machine.tesla.compiled.launch.host_assist import go_on, interruptible, pool
from isakit.machine.tesla.compiled.launch.resident_blocks import ALONE, ResidentBlocks
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, to_machine
from isakit.machine.tesla.compiled.launch.worker_context import (
    SHORT,
    UNLIMITED,
    Bound,
    Slots,
    WorkerContext,
    address_of,
    aligned,
)
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.launch import HEADER_BYTES, Launch, Stats, physical_ids
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.rules.turns import Ended

CHUNKS_PER_THREAD = 8
WATCHED_CHUNKS = 200
PROGRESS_SECONDS = 0.2


Shape = tuple[int, int, int, int, int, int]
"""Bytes of a warp's state, warps, registers, bytes of s[], of l[] per thread, global accesses that cache a buffer."""


class Worker:
    """Memory one thread needs to run blocks: context, warp states, s[] and l[]. Later launches reuse it."""

    def __init__(self, shape: Shape) -> None:
        state_bytes, n, self.registers, shared_limit, local_limit, sites = shape
        self.shape = shape
        self.shared = aligned(shared_limit + 64)
        self.local = aligned(max(state_layout.NO_LOCAL, 32 * n * local_limit + 64))
        self.states = WarpStates(n, state_bytes, local=self.local)
        self.sites = np.zeros(max(1, sites), np.uint64)
        self.barriers = np.zeros(32, np.uint32)
        self.context = Slots()
        self.counts = False
        own = {"shared": self.shared, "local": self.local, "sites": self.sites, "barriers": self.barriers}
        self._own = {name: address_of(a) for name, a in {**own, "state": self.states.raw}.items()}

    @staticmethod
    def shape_of(run: CompiledLaunch) -> Shape:
        """Return the properties that determine the sizes."""
        launch, kernel = run.launch, run.kernel
        registers = launch.code.registers
        return kernel.state_bytes, launch.warps, registers, launch.shared_limit, launch.local_limit, kernel.sites

    def bind_launch(self, run: CompiledLaunch) -> None:
        """Fill the context with the values of a launch, and clear those of the previous one."""
        self.context.numbers[:] = run.context.numbers
        for name, address in self._own.items():
            self.context.set_slot(name, address)
        counted = run.kernel.facts.choices.pm_counters if run.kernel.known.reads_clock else ()
        self.counts = any(c not in ("none", "instructions") for c in counted)
        exactly = run.bounded or self.counts or run.kernel.facts.results
        self.context.set_slot("runs_on", 0 if exactly else SHORT)
        self.sites[:] = 0  # buffers may have gone
        if "l" in run.kernel.known.stored:
            self.local[:] = 0

    @property
    def turns(self) -> Array:
        """See `ServedWarps`."""
        return np.array([[self.context.get_slot("turn"), self.context.get_slot("spun")]], np.int64)

    def bind_executable(self, how: Executable, patience: int) -> None:
        """Set what depends on the tier: the function of a warp, and which registers are cleared before it starts."""
        self.context.set_executable(how, patience)
        self.context.set_slot("register_bytes", 128 * self.registers if how.clears or self.counts else 0)


class CompiledLaunch:
    """A launch with a kernel's code: `begin` gives it new parameters, `execute` runs all of its blocks."""

    def __init__(self, launch: Launch, device: DeviceMemory, kernel: CompiledKernel, max_instructions: int | None,
                 bound: Bound | None = None) -> None:  # fmt: skip
        launch.check()
        self.launch, self.device, self.kernel = launch, device, kernel
        self.budget = UNLIMITED if max_instructions is None else max_instructions
        self.bounded = max_instructions is not None
        # Compiled code looks at the budget at jumps back and returns: what it can execute in between is left to the
        # reference machine, which stops at the very instruction.
        self.reserve = kernel.reserve if self.bounded else 0
        self.bound = bound or Bound(launch, device)
        self.stop = self.bound.stop
        first_registers, masks, physid = _thread_numbers(launch)
        self.header = header = np.frombuffer(launch.header(0), np.uint8).copy()
        self.context = WorkerContext(self.bound, kernel)
        set_slot = self.context.set_slot
        set_slot("first_registers", first_registers)
        set_slot("masks", masks)
        set_slot("physid_all", physid)
        set_slot("physid_period", launch.chip.tpcs * launch.chip.mps_per_tpc)
        set_slot("header", header)
        set_slot("header_bytes", len(header))
        set_slot("grid_x", launch.grid[0])
        self.context.set_budget(self.budget)
        set_slot("reserve", self.reserve)
        self.stats = Stats()
        self.blocks_done = 0
        self.waiting: list[Machine] = []  # blocks that may wait for others, which are resident together from then on
        self.waits = False
        self._not_begun: list[tuple[int, int]] = []

    def begin(self, launch: Launch) -> None:
        """Reuse this object for a launch that differs in its parameters only."""
        self.launch = launch
        self.header[HEADER_BYTES:] = np.frombuffer(launch.params, np.uint8)
        self.stop[0] = 0
        self.stats = Stats()
        self.blocks_done = 0

    def finish_from(self, code: int, worker: Worker) -> None:
        """Run the rest of the grid where compiled code has stopped; `code` is its result. Raises MachineFault."""
        block, why = code >> 8, code & 0xFF
        self._count_work(worker)
        todo = [(block + 1, self.launch.blocks)]
        if why == Ended.HALTED and self._halted(worker) == state_layout.INTERRUPTED:
            # By now it was the bound that held it up: nothing says that it waits for another block.
            turns = self.kernel.patience // self.kernel.turn
            todo = self._resident([self.adopt(block, worker)], todo, turns)
        else:
            interruptible(lambda: self._hand_over(block, why, worker), self.stop)
        while any(first < last for first, last in todo):
            todo = self._run_chunks(todo, 1, watcher())

    def useful(self, threads: int) -> int:
        """Return the number of threads that the launch can use, of the given number."""
        if self.kernel.known.has_atomics or self.bounded:
            return 1  # the order of atomics is part of the result, and so is where a budget ends
        return max(1, min(threads, self.launch.blocks))

    def execute(self, threads: int) -> Stats:
        """Run all blocks. Raises MachineFault, BudgetExceeded, KeyboardInterrupt."""
        started = time.perf_counter()
        try:
            self._spread(self.useful(threads))
        finally:
            self.stats.seconds = time.perf_counter() - started
        return self.stats

    def _spread(self, threads: int) -> None:
        """Distribute the blocks in chunks. The first fault in block order is raised, as if blocks ran one by one."""
        blocks = self.launch.blocks
        chunks = min(blocks, threads * CHUNKS_PER_THREAD) if threads > 1 or self.kernel.compiled is None else 1
        told = watcher()
        if told is not None:
            chunks = min(blocks, max(chunks, WATCHED_CHUNKS))
        edges = [blocks * k // chunks for k in range(chunks + 1)]
        todo = [(edges[k], edges[k + 1]) for k in range(chunks)]
        if self.kernel.blocks_wait and blocks > 1:
            todo = self._resident([], todo)
        while todo:
            todo = self._run_chunks(todo, threads, told)

    def _run_chunks(self, todo: list[tuple[int, int]], threads: int, told: Watcher | None) -> list[tuple[int, int]]:
        """Run ranges of blocks; return the blocks that remain after those that wait for others have finished."""
        ranges = iter(todo)
        lock = threading.Lock()
        failed: list[tuple[int, BaseException]] = []

        def work() -> None:
            worker = acquire_worker(self)
            worker.bind_launch(self)
            try:
                while not failed and not self.stop[0]:
                    with lock:
                        chunk = next(ranges, None)
                    if chunk is None:
                        return
                    failure = self._chunk(worker, *chunk)
                    self.blocks_done += chunk[1] - chunk[0]
                    if failure is not None:
                        failed.append(failure)
            finally:
                with lock:
                    self._count_work(worker)
                release_worker(self.kernel, worker)

        if threads == 1 and threading.current_thread() is not threading.main_thread():
            work()
        else:
            with deferred():  # between the two an interrupt would leave the workers running
                self._wait([submitted(pool(threads), work) for _ in range(threads)], told)
        if failed:
            raise min(failed, key=lambda f: f[0])[1]
        if not self.waits:
            return []
        self.waits, self.stop[0] = False, 0
        machines, self.waiting = sorted(self.waiting, key=lambda m: m.blocks[0].number), []
        left, self._not_begun = sorted([*self._not_begun, *ranges]), []
        return self._resident(machines, left)

    def _resident(
        self, machines: list[Machine], left: list[tuple[int, int]], alone: int = ALONE
    ) -> list[tuple[int, int]]:
        """Time-slice the blocks that have begun, and as many more as they need.

        Returns the remaining ranges.
        """
        kernel = self.kernel.interpreted()
        residents = ResidentBlocks(self.launch, self.device, self.bound, kernel, machines, left, alone)
        if self.bounded:
            residents.budget = max(0, self.context.get_slot("remaining"))
        try:
            interruptible(residents.run, self.stop)
        finally:
            self._count(residents)
            if residents.budget is not None:
                self.context.set_budget(residents.budget)
        self.kernel.blocks_wait = self.kernel.blocks_wait or residents.widened
        return residents.not_begun

    def _chunk(self, worker: Worker, first: int, last: int) -> tuple[int, BaseException] | None:
        """Run some blocks, on the reference machine where compiled code stops.

        Return (block, exception) of a failed one, else None.
        """
        while first < last and not self.stop[0]:
            how, started = self.kernel.choose_executable(), time.thread_time()
            worker.bind_executable(how, self.kernel.patience)
            code = how.run(worker.context.address, first, last, Begin.NEW)
            self.kernel.count_run_time(how, time.thread_time() - started)
            if code & 0xFF == Ended.DONE:
                return None
            block = code >> 8
            try:
                self._hand_over(block, code & 0xFF, worker)
            except Exception as e:
                return block, e
            first = block + 1
        if self.waits and first < last:
            self._not_begun.append((first, last))
        return None

    def _wait(self, futures: Sequence[Future[None]], told: Watcher | None) -> None:
        """Wait for the workers; an interrupt stops them at the next backward jump."""

        def tell() -> None:
            assert told is not None
            told(self.blocks_done, self.launch.blocks)

        wait_stoppable(futures, self.stop, None if told is None else tell, PROGRESS_SECONDS)
        if told is not None:
            tell()

    # --- what compiled code does not do ---------------------------------------------------------------------
    def _hand_over(self, block: int, why: int, worker: Worker) -> None:
        """Finish a stopped block on the reference machine, which raises its fault, or on the interpreter in turns."""
        machine = self.adopt(block, worker)
        interrupted = why == Ended.HALTED and self._halted(worker) == state_layout.INTERRUPTED
        if interrupted and self.stop[0] and not self.waits:
            self._count(machine)
            return
        left = max(0, worker.context.get_slot("remaining")) if self.bounded else None
        if interrupted and self.launch.blocks > 1 and (left is None or left > self.reserve):
            self.waits, self.stop[0] = True, 1  # other workers stop at their next jump back
            self.waiting.append(machine)
            if left is not None:
                self.context.set_budget(left)
            return
        before = machine.stats.warp_instructions
        asks = why == Ended.HALTED and self._halted(worker) == state_layout.SERVED
        try:
            # It may wait for another warp, or it goes on with the host's help.
            if (interrupted or asks) and (left is None or left > self.reserve):
                go_on(machine, self.bound, self.kernel.interpreted(), left)
            else:
                machine.run(max_instructions=left)
        finally:
            self._count(machine)
            if self.bounded:
                left = worker.context.get_slot("remaining") - (machine.stats.warp_instructions - before)
                worker.context.set_budget(left)

    @staticmethod
    def _halted(worker: Worker) -> int:
        """Return the status of the warp at which compiled code stopped."""
        return int(worker.states.column(state_layout.STATUS)[worker.context.get_slot("halted_warp")])

    def _count_work(self, worker: Worker) -> None:
        """Add the counts of a worker's compiled code to the launch."""
        self.stats.count(worker.context.get_slot("thread_count"), worker.context.get_slot("warp_count"))

    def _count(self, machine: Machine | ResidentBlocks) -> None:
        self.stats.count(machine.stats.instructions, machine.stats.warp_instructions)

    def adopt(self, block: int, worker: Worker) -> Machine:
        """Return a reference machine in the state of the worker's block, counts included."""
        machine = Machine(self.launch, self.device, blocks=(block, block + 1))
        machine.blocks[0].shared[:] = worker.shared[: len(machine.blocks[0].shared)]
        to_machine(worker.states, worker.barriers.reshape(1, 16, 2), worker.turns, machine)
        return machine


# --- workers of earlier launches ----------------------------------------------------------------------------
_idle: WeakKeyDictionary[CompiledKernel, deque[Worker]] = WeakKeyDictionary()
IDLE = 8
"""Idle workers of a kernel that are kept."""


def acquire_worker(run: CompiledLaunch) -> Worker:
    """Return an idle worker of the right shape from an earlier launch, or a new one."""
    shape, idle = Worker.shape_of(run), _idle.setdefault(run.kernel, deque(maxlen=IDLE))
    for _ in range(len(idle)):
        try:
            worker = idle.popleft()
        except IndexError:  # another thread has taken it
            break
        if worker.shape == shape:
            return worker
        idle.append(worker)
    return Worker(shape)


def release_worker(kernel: CompiledKernel, worker: Worker) -> None:
    """Keep a worker for the next launch of the kernel."""
    _idle.setdefault(kernel, deque(maxlen=IDLE)).append(worker)


_numbers: dict[Hashable, tuple[Array, Array, Array]] = {}


def _thread_numbers(launch: Launch) -> tuple[Array, Array, Array]:
    """Return $r0 of the threads, the lanes that exist, and $physid of as many blocks as there are multiprocessors.

    They depend on the shape of the launch alone.
    """
    chip = launch.chip
    count = min(launch.blocks, chip.tpcs * chip.mps_per_tpc)
    key = launch.block, chip.variant, count
    found = _numbers.get(key)
    if found is None:
        if len(_numbers) >= 64:
            _numbers.clear()
        ids = np.ascontiguousarray(physical_ids(launch, 0, count))
        masks = np.array(launch.warp_masks(), np.uint32)
        found = _numbers[key] = np.ascontiguousarray(launch.first_registers()), masks, ids
    return found
