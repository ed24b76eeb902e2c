"""Launches on compiled code: compile once, run blocks on a pool of threads, hand faults to the reference machine."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from isakit.engine.llvm import Host, Loaded, build, flushing_wrapper, host
from isakit.errors import MachineFault
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.code import Code
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.machine import Machine, Stats
from isakit.machine.tesla.memory import Array, DeviceMemory
from isakit.machine.tesla.native import driver, layout
from isakit.machine.tesla.native.flow import Flow, NotCompiled
from isakit.machine.tesla.native.layout import CONTEXT_BYTES, SLOT, StateLayout
from isakit.machine.tesla.native.warp import Facts, WarpCode
from isakit.machine.tesla.spaces import LinearWindow, OwnSpace
from isakit.machine.tesla.stack import Entry, Kind

UNLIMITED = 1 << 62
CHUNKS_PER_THREAD = 8


@dataclass(eq=False)
class CompiledKernel:
    """Machine code of a kernel for one set of facts."""

    flow: Flow
    state: StateLayout
    sites: int
    loaded: Loaded
    seconds: float

    def __post_init__(self) -> None:
        self.run = self.loaded.function(
            "enter", ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32
        )


def generate(flow: Flow, facts: Facts, target: Host) -> tuple[str, StateLayout, int]:
    """The IR of a kernel, the layout of its warps' state, and the number of global access sites."""
    code = WarpCode(flow, facts, target)
    text = code.generate()
    arguments = ["ptr", "i64", "i64", "i32"]
    ir = text + driver.support() + driver.driver(code.state)
    if target.embedded:
        ir += flushing_wrapper("enter", "@run_blocks", arguments)
    else:
        ir += (
            "define i32 @enter(ptr %ctx, i64 %first, i64 %last, i32 %fresh) nounwind {\n"
            "  %r = call i32 @run_blocks(ptr %ctx, i64 %first, i64 %last, i32 %fresh)\n  ret i32 %r\n}\n"
        )
    return ir + '\n!0 = !{!"branch_weights", i32 1, i32 100000}\n!1 = !{}\n', code.state, code.access.sites


_kernels: dict[tuple[Any, ...], CompiledKernel] = {}
_lock = threading.Lock()


def supported(launch: Launch) -> str | None:
    """Why the launch needs the reference engine, or None."""
    if launch.choices != DEFAULT:
        return "answers to open questions differ from the defaults"
    if any(not isinstance(w, LinearWindow) for w in launch.windows.values()):
        return "a 2D window of global memory"
    if any(w.base + w.size > 1 << 32 for w in launch.windows.values() if isinstance(w, LinearWindow)):
        return "a window beyond the address space"
    return None


_flows: WeakKeyDictionary[Code, dict[int, Flow]] = WeakKeyDictionary()


def flow_of(launch: Launch) -> Flow:
    """The control flow of the kernel of a launch. Raises NotCompiled."""
    known = _flows.setdefault(launch.code, {})
    flow = known.get(launch.entry)
    if flow is None:
        flow = known[launch.entry] = Flow(launch.code, launch.entry)
    return flow


def has_loops(launch: Launch) -> bool:
    """Whether the kernel jumps back somewhere. Raises NotCompiled."""
    return any(n <= s.pc for s in flow_of(launch).steps.values() for n in s.successors)


def compile_kernel(launch: Launch, portable: bool = False) -> CompiledKernel:
    """The machine code for a launch, made at most once per process and facts. Raises NotCompiled."""
    reason = supported(launch)
    if reason is not None:
        raise NotCompiled(reason)
    facts = Facts.of(launch)
    key = (
        tuple(launch.code.units),
        launch.code.registers,
        launch.code.address,
        launch.entry,
        launch.code.decoder,
        facts,
        portable,
    )
    with _lock:
        kernel = _kernels.get(key)
        if kernel is None:
            started = time.perf_counter()
            target = host(portable)
            flow = flow_of(launch)
            ir, state, sites = generate(flow, facts, target)
            kernel = CompiledKernel(flow, state, sites, build(ir, target), time.perf_counter() - started)
            _kernels[key] = kernel
        return kernel


def _aligned(nbytes: int) -> Array:
    raw = np.zeros(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


class Worker:
    """Memory one thread needs to run blocks: context, warp states, shared and local memory."""

    def __init__(self, run: NativeRun) -> None:
        launch, kernel = run.launch, run.kernel
        n = launch.warps
        self.state = _aligned(kernel.state.size * n)
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
        put("state_bytes", kernel.state.size)
        put("physid_all", run.physid)
        put("barrier_mask", (1 << launch.chip.barrier_bits) - 1)
        put("entry", launch.entry)
        put("remaining", run.budget)
        put("reserve", run.reserve)
        for k in range(16):  # a load no lane executes may still touch the first word of a bank
            put(f"c{k}", run.nothing)
        for k, data in run.constants.items():
            put(f"c{k}", data)
            put(f"c{k}_size", run.constant_sizes[k])

    def _put(self, name: str, value: Any) -> None:
        self.context[SLOT[name] // 8] = value.ctypes.data if isinstance(value, np.ndarray) else int(value)

    def get(self, name: str) -> int:
        """A slot of the context."""
        return int(self.context[SLOT[name] // 8])

    def words(self, warp: int, size: int) -> Array:
        """The state of a warp as 32-bit words."""
        return self.state[warp * size : (warp + 1) * size].view(np.uint32)


class NativeRun:
    """One launch on compiled code."""

    def __init__(
        self, launch: Launch, device: DeviceMemory, kernel: CompiledKernel, max_instructions: int | None
    ) -> None:
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
        chunks = min(blocks, threads * CHUNKS_PER_THREAD) if threads > 1 else 1
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
                    if failure is not None:
                        failed.append(failure)
            finally:
                with lock:
                    self.stats.instructions += worker.get("thread_count")
                    self.stats.warp_instructions += worker.get("warp_count")

        if threads == 1 and threading.current_thread() is not threading.main_thread():
            work()
        else:
            self._wait([_pool(threads).submit(work) for _ in range(threads)])
        if failed:
            raise min(failed, key=lambda f: f[0])[1]

    def _chunk(self, worker: Worker, first: int, last: int) -> tuple[int, BaseException] | None:
        """Run some blocks, on the reference machine where compiled code stops; returns (block, what it raised)."""
        while first < last and not self.stop[0]:
            code = self.kernel.run(worker.context.ctypes.data, first, last, 1)
            if code & 0xFF == driver.DONE:
                return None
            block = code >> 8
            try:
                self._hand_over(block, code & 0xFF, worker)
            except Exception as e:
                return block, e
            first = block + 1
        return None

    def _wait(self, futures: Sequence[Future[None]]) -> None:
        """Wait for the workers; an interrupt stops them at the next jump back."""
        try:
            for f in futures:
                f.result()
        except KeyboardInterrupt:
            self.stop[0] = 1
            for f in futures:
                f.exception()
            raise

    # --- what compiled code does not do ---------------------------------------------------------------------
    def _hand_over(self, block: int, why: int, worker: Worker) -> None:
        """Finish a block on the reference machine, which also raises the faults."""
        machine = self.adopt(block, worker)
        halted = machine.warps[worker.get("halted_warp")]
        self.stats.warp_instructions += int(machine.state.issued.sum())
        for w in machine.warps:
            words = worker.words(w.index, self.kernel.state.size)
            self.stats.instructions += int(words[layout.THREADS // 4 :][:2].view(np.int64)[0])
        status = int(worker.words(halted.index, self.kernel.state.size)[layout.STATUS // 4])
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
        size = self.kernel.state.size
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
            self._adopt_control(machine, w, words)
        machine.requeue()
        return machine

    def _adopt_control(self, machine: Machine, w: Any, words: Array) -> None:
        c = w.control
        status = int(words[layout.STATUS // 4])
        c.active, c.pc = int(words[layout.ACTIVE // 4]), int(words[layout.PC // 4])
        c.broke, c.returned, c.exited = (int(words[o // 4]) for o in (layout.BROKE, layout.RETURNED, layout.EXITED))
        depth = int(words[layout.DEPTH // 4])
        base = self.kernel.state.stack // 4
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
    """$physid of every thread of the grid, blocks one after the other."""
    from isakit.machine.tesla.machine import physical_ids

    return np.ascontiguousarray(physical_ids(launch, 0, launch.blocks))


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="isakit")


def execute(
    launch: Launch,
    device: DeviceMemory,
    max_instructions: int | None,
    threads: int | None = None,
    portable: bool = False,
) -> Stats:
    """Run a launch on compiled code. Raises NotCompiled where the reference engine is needed."""
    kernel = compile_kernel(launch, portable)
    return NativeRun(launch, device, kernel, max_instructions).execute(threads or os.cpu_count() or 1)


__all__ = ["CompiledKernel", "MachineFault", "NativeRun", "NotCompiled", "compile_kernel", "execute", "supported"]
