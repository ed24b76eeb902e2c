"""Launches on compiled code: compile once, run blocks on a pool of threads, hand faults to the reference machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any, cast

import numpy as np

from isakit.machine.tesla.launch import MP_FLAGS, Launch
from isakit.machine.tesla.machine import Machine, Stats, physical_ids
from isakit.machine.tesla.memory import Array, DeviceMemory
from isakit.machine.tesla.native import driver, layout
from isakit.machine.tesla.native.kernels import Kernel, kernel_of
from isakit.machine.tesla.native.layout import CONTEXT_BYTES, SLOT
from isakit.machine.tesla.native.select import Watcher, watcher
from isakit.machine.tesla.spaces import LinearWindow, OwnSpace
from isakit.machine.tesla.stack import Entry, Kind

UNLIMITED = 1 << 62
CHUNKS_PER_THREAD = 8
WATCHED_CHUNKS = 200
PROGRESS_SECONDS = 0.2


def _aligned(nbytes: int) -> Array:
    raw = np.zeros(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


class Worker:
    """Memory one thread needs to run blocks: context, warp states, shared and local memory."""

    def __init__(self, run: NativeRun) -> None:
        launch, kernel = run.launch, run.kernel
        n = launch.warps
        self.register_bytes = 128 * launch.code.registers
        self.state = _aligned(kernel.state_bytes * n)
        self.shared = _aligned(launch.shared_limit + 64)
        self.local = _aligned(max(64, 32 * n * launch.local_limit + 64))
        self.sites = np.zeros(max(1, kernel.sites), np.uint64)
        self.barriers = np.zeros(32, np.uint32)
        self.context = np.zeros(CONTEXT_BYTES // 8, np.int64)
        put = self._put
        put("memory", run.memory_base)
        put("ranges", run.ranges)
        put("range_count", len(run.ranges))
        put("shared", self.shared)
        put("shared_limit", launch.shared_limit)
        put("local", self.local)
        put("local_limit", launch.local_limit)
        put("stop", run.stop)
        put("clock_step", launch.choices.clock_step)
        put("sites", self.sites)
        put("warps", n)
        put("barriers", self.barriers)
        put("first_registers", run.first_registers)
        put("masks", run.masks)
        put("header", run.header)
        put("header_bytes", len(run.header))
        put("grid_x", launch.grid[0])
        put("state", self.state)
        put("state_bytes", kernel.state_bytes)
        put("physid_all", run.physid)
        put("physid_period", launch.chip.tpcs * launch.chip.mps_per_tpc)
        if kernel.program is not None:
            put("uops", kernel.program.records)
        put("code_address", launch.code.address)
        put("code_bytes", 4 * len(launch.code.units))
        put("barrier_mask", (1 << launch.chip.barrier_bits) - 1)
        put("entry", launch.entry)
        put("remaining", run.budget)
        put("reserve", run.reserve)
        put("allowed_barriers", launch.barriers)
        put("flags", sum(1 << k for k, name in enumerate(MP_FLAGS) if name in launch.flags))
        for k, window in launch.windows.items():
            if isinstance(window, LinearWindow):
                put(f"g{k}_base", window.base)
                put(f"g{k}_size", window.size)
        for k in range(16):  # a load no lane executes may still touch the first word of a bank
            put(f"c{k}", run.nothing)
        for k, data in run.constants.items():
            put(f"c{k}", data)
            put(f"c{k}_size", run.constant_sizes[k])

    def _put(self, name: str, value: Any) -> None:
        self.context[SLOT[name] // 8] = value.ctypes.data if isinstance(value, np.ndarray) else int(value)

    def clearing(self, everything: bool) -> None:
        """What of a warp's state is cleared before it starts: all registers, or its head alone."""
        self._put("cleared_bytes", layout.STACK if everything else layout.CONDITIONS)
        self._put("register_bytes", self.register_bytes if everything else 0)

    def get(self, name: str) -> int:
        """A slot of the context."""
        return int(self.context[SLOT[name] // 8])

    def words(self, warp: int, size: int) -> Array:
        """The state of a warp as 32-bit words."""
        return self.state[warp * size : (warp + 1) * size].view(np.uint32)


class NativeRun:
    """One launch on compiled code."""

    def __init__(self, launch: Launch, device: DeviceMemory, kernel: Kernel, max_instructions: int | None) -> None:
        launch.check()
        self.launch, self.device, self.kernel = launch, device, kernel
        self.budget = UNLIMITED if max_instructions is None else max_instructions
        self.bounded = max_instructions is not None
        # Compiled code looks at the budget at jumps back and returns: what it can execute in between is left to the
        # reference machine, which stops at the very instruction.
        self.reserve = len(kernel.flow.steps) + 1 if self.bounded else 0
        self.nothing = _aligned(64)
        self.stop = np.zeros(1, np.int32)
        self.memory_base = device.memory.bytes
        pairs = [(a, n) for a, n in device.allocations.items() if n]
        self.ranges = np.array(pairs, np.uint32).reshape(-1, 2)
        self.first_registers = np.ascontiguousarray(launch.first_registers())
        self.masks = np.array(launch.warp_masks(), np.uint32)
        self.header = np.frombuffer(launch.header(0), np.uint8).copy()
        self.constants: dict[int, Array] = {}
        self.constant_sizes: dict[int, int] = {}
        for k, data in launch.constants.items():
            room = _aligned(max(64, -(-len(data) // 64) * 64 + 64))
            room[: len(data)] = np.frombuffer(data, np.uint8)
            self.constants[k] = room
            self.constant_sizes[k] = len(data)
        self.physid = _physid(launch)
        self.stats = Stats()
        self.blocks_done = 0

    def execute(self, threads: int) -> Stats:
        """Run all blocks. Raises MachineFault, BudgetExceeded, KeyboardInterrupt."""
        launch = self.launch
        started = time.perf_counter()
        if self.kernel.flow.has_atomics or self.bounded:
            threads = 1  # the order of atomics is part of the result, and so is where a budget ends
        threads = max(1, min(threads, launch.blocks))
        try:
            self._spread(threads)
        finally:
            self.stats.seconds = time.perf_counter() - started
        return self.stats

    def _spread(self, threads: int) -> None:
        """Hand out the blocks in chunks. The first fault in block order counts, as if blocks ran one by one."""
        blocks = self.launch.blocks
        chunks = min(blocks, threads * CHUNKS_PER_THREAD) if threads > 1 or self.kernel.compiled is None else 1
        told = watcher()
        if told is not None:
            chunks = min(blocks, max(chunks, WATCHED_CHUNKS))
        edges = [blocks * k // chunks for k in range(chunks + 1)]
        todo = iter(range(chunks))
        lock = threading.Lock()
        failed: list[tuple[int, BaseException]] = []

        def work() -> None:
            worker = Worker(self)
            try:
                while not failed and not self.stop[0]:
                    with lock:
                        k = next(todo, None)
                    if k is None:
                        return
                    failure = self._chunk(worker, edges[k], edges[k + 1])
                    self.blocks_done += edges[k + 1] - edges[k]
                    if failure is not None:
                        failed.append(failure)
            finally:
                with lock:
                    self.stats.instructions += worker.get("thread_count")
                    self.stats.warp_instructions += worker.get("warp_count")

        if threads == 1 and threading.current_thread() is not threading.main_thread():
            work()
        else:
            self._wait([_pool(threads).submit(work) for _ in range(threads)], told)
        if failed:
            raise min(failed, key=lambda f: f[0])[1]

    def _chunk(self, worker: Worker, first: int, last: int) -> tuple[int, BaseException] | None:
        """Run some blocks, on the reference machine where compiled code stops; returns (block, what it raised)."""
        while first < last and not self.stop[0]:
            how, started = self.kernel.choose(), time.perf_counter()
            worker.clearing(how.clears)
            code = how.run(worker.context.ctypes.data, first, last, 1)
            self.kernel.spent(how, time.perf_counter() - started)
            if code & 0xFF == driver.DONE:
                return None
            block = code >> 8
            try:
                self._hand_over(block, code & 0xFF, worker)
            except Exception as e:
                return block, e
            first = block + 1
        return None

    def _wait(self, futures: Sequence[Future[None]], told: Watcher | None) -> None:
        """Wait for the workers; an interrupt stops them at the next jump back."""
        try:
            while told is not None and wait(futures, PROGRESS_SECONDS).not_done:
                told(self.blocks_done, self.launch.blocks)
            for f in futures:
                f.result()
        except BaseException:
            self.stop[0] = 1
            wait(futures)
            raise
        if told is not None:
            told(self.blocks_done, self.launch.blocks)

    # --- what compiled code does not do ---------------------------------------------------------------------
    def _hand_over(self, block: int, why: int, worker: Worker) -> None:
        """Finish a block on the reference machine, which also raises the faults."""
        machine = self.adopt(block, worker)
        halted = machine.warps[worker.get("halted_warp")]
        self.stats.warp_instructions += int(machine.state.issued.sum())
        for w in machine.warps:
            words = worker.words(w.index, self.kernel.state_bytes)
            self.stats.instructions += int(words[layout.THREADS // 4 :][:2].view(np.int64)[0])
        status = int(worker.words(halted.index, self.kernel.state_bytes)[layout.STATUS // 4])
        if why == driver.HALTED and status == layout.INTERRUPTED and self.stop[0]:
            return
        left = max(0, worker.get("remaining")) if self.bounded else None
        try:
            machine.run(max_instructions=left)
        finally:
            self.stats.instructions += machine.stats.instructions
            self.stats.warp_instructions += machine.stats.warp_instructions
            if self.bounded:
                worker.context[SLOT["remaining"] // 8] -= machine.stats.warp_instructions

    def adopt(self, block: int, worker: Worker) -> Machine:
        """A reference machine in the state the worker's block is in."""
        machine = Machine(self.launch, self.device, blocks=(block, block + 1))
        size = self.kernel.state_bytes
        registers = self.launch.code.registers
        files = machine.state.files
        machine.blocks[0].shared[:] = worker.shared[: len(machine.blocks[0].shared)]
        local = machine.state.spaces.get("l")
        if local is not None:
            memory = cast(OwnSpace, local).memory
            memory.bytes[: memory.size] = worker.local[: memory.size]
        counters = worker.barriers.reshape(16, 2)
        machine.blocks[0].counters[:] = [int(c) for c in counters[:, 0]]
        machine.blocks[0].targets[:] = [int(t) for t in counters[:, 1]]
        for w in machine.warps:
            words = worker.words(w.index, size)
            self._adopt_control(machine, w, words)
            if not machine.state.issued[w.number]:
                continue  # it has not begun: its registers are as the machine made them
            for n in range(registers):
                start = layout.register(n) // 4
                files["r"][n, w.lanes] = words[start : start + 32]
            for n in range(8):
                start = layout.address(n) // 4
                files["a"][n, w.lanes] = words[start : start + 32]
            for n in range(4):
                value = np.zeros(32, np.uint32)
                for bit in range(4):
                    m = int(words[layout.flag(n, bit) // 4])
                    value |= (np.uint32(m) >> np.arange(32, dtype=np.uint32) & 1) << bit
                files["c"][n, w.lanes] = value
        machine.requeue()
        return machine

    def _adopt_control(self, machine: Machine, w: Any, words: Array) -> None:
        c = w.control
        status = int(words[layout.STATUS // 4])
        c.active, c.pc = int(words[layout.ACTIVE // 4]), int(words[layout.PC // 4])
        c.broke, c.returned, c.exited = (int(words[o // 4]) for o in (layout.BROKE, layout.RETURNED, layout.EXITED))
        depth = int(words[layout.DEPTH // 4])
        base = layout.STACK // 4
        c.entries.clear()
        for k in range(depth):
            both, mask = int(words[base + 2 * k]), int(words[base + 2 * k + 1])
            c.entries.append(Entry(Kind(both >> 24), both & 0xFFFFFF, mask))
        machine.state.issued[w.number] = int(words[layout.ISSUED // 4 :][:2].view(np.int64)[0])
        if status == layout.FINISHED:
            c.active = 0
            w.block.retire(w)
        elif status == layout.WAITING:
            w.status, w.barrier = "waiting", int(words[layout.BARRIER // 4])


def _physid(launch: Launch) -> Array:
    """$physid of the threads of as many blocks as there are multiprocessors; later blocks repeat them."""
    chip = launch.chip
    return np.ascontiguousarray(physical_ids(launch, 0, min(launch.blocks, chip.tpcs * chip.mps_per_tpc)))


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="isakit")


def execute(
    launch: Launch,
    device: DeviceMemory,
    max_instructions: int | None,
    threads: int | None = None,
    tier: str = "auto",
    portable: bool = False,
) -> Stats:
    """Run a launch on compiled code. Raises NotCompiled where the reference engine is needed."""
    kernel = kernel_of(launch, tier, portable)
    return NativeRun(launch, device, kernel, max_instructions).execute(threads or os.cpu_count() or 1)
