"""Compiled code that stops at an exact instruction, or where a probe says so: what debuggers run programs with.

The interpreter goes from record to record, and a record holds the addresses of the functions that execute its
instruction. A probed run gives it a copy of the records whose functions look at the budget and at probes first; then
they call those of the real record, which lies a fixed distance behind the copy.

Blocks run one after the other, and the warps of the resident block in their turns (`rules.turns`). So the number of
instructions executed by warps says where a launch is, and the same number is the same state every time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from isakit.engine.llvm import Builder, Host, LlvmModule, LoadedCode, Ref, object_code
from isakit.engine.llvm.builder import I1, I32, I64, PTR, IrFunction, array, define, pointer
from isakit.engine.protocol import Array
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit import interpreter_handlers as handlers
from isakit.machine.tesla.compiled.launch.compiled_kernels import Executable, kernel_of
from isakit.machine.tesla.compiled.launch.compiled_launch import CompiledLaunch, acquire_worker, release_worker
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps, interruptible
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, from_machine, to_machine
from isakit.machine.tesla.compiled.launch.worker_context import UNLIMITED, Slots, address_of
from isakit.machine.tesla.compiled.state_layout import CONTEXT, SLOT, STATE
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.rules.turns import Ended

RECORD, FIRST, BODY = handlers.RECORD, handlers.FIRST, handlers.BODY
_PAIRS = (("full", FIRST), ("some", FIRST + 8), ("body_full", BODY), ("body_some", BODY + 8))
"""The functions of a record: for all lanes and for some, with the join tail and after it."""
COUNT, SKIP, LAST, RECORDS = range(4)
"""Content of a probe's cell: hits, hits to let pass, position of the last hit, and whether it never stops."""
Conditions = Callable[[LlvmModule], None]
Why = Literal["until", "probe", "stuck", "finished", "interrupted"]


@dataclass(frozen=True)
class Probe:
    """A check before an instruction executes: `condition` names a function of the probes' IR.

    Such a function is `i1 @NAME(ptr %ctx, ptr %ws)`; None always holds. Hits are counted in cell `cell`.
    """

    cell: int
    condition: str | None = None


# --- the functions around the real ones -------------------------------------------------------------------------------
class _Progress:
    """The start of a function that wraps another one: whether the warp must stop here.

    `out` is whether it must; `issued` is the number of instructions executed, `end` the end of the budget.
    """

    def __init__(self, b: Builder) -> None:
        self.issued = b.load(I64, b.offset(STATE, state_layout.ISSUED))
        self.end = b.sub(b.load(I64, b.offset(CONTEXT, SLOT["remaining"])), 1)
        used = b.sge(self.issued, self.end)
        self.stop = b.load(PTR, b.offset(CONTEXT, SLOT["stop"]))
        asked = b.ne(b.load(I32, self.stop, volatile=True), 0)
        self.out = b.or_(used, asked)


_PARAMETERS = (CONTEXT, STATE, handlers.ENTRY)


def _called(p: Ref) -> IrFunction:
    """Return a function of an instruction by its address."""
    return IrFunction(p.text, I32, (PTR, PTR, PTR))


def _guards() -> str:
    """Return functions that stop at the end of the budget and on request, and record the warp that stopped."""
    module = LlvmModule(32)
    stride, who, resumed = (module.variable(name, I64) for name in ("stride", "who", "resumed"))
    for name, pair in _PAIRS:
        b = Builder(module)
        here = _Progress(b)

        def halt(b: Builder = b, here: _Progress = here) -> None:
            b.store(b.to_number(STATE), who)
            b.store(I32(1), here.stop, volatile=True)

        if pair < BODY:
            b.branch(here.out, "halt", "on")
            b.label("halt")
            halt()
            b.ret(I32(handlers.STOP))
        b.label("on")
        real = b.offset(handlers.ENTRY, b.load(I64, stride))
        result = b.call(_called(b.load(PTR, b.offset(real, pair))), CONTEXT, STATE, real)
        b.branch(b.or_(b.eq(result, handlers.STOP), b.eq(result, handlers.SERVE)), "odd", "fine")
        b.label("fine")
        b.switch(result, "counted", [(handlers.RESUMED, "other"), (handlers.COMPLETE, "rest")])
        b.label("other")
        b.store(b.add(b.load(I64, resumed), 1), resumed)
        b.jump("rest")
        b.label("counted")
        b.store(I64(0), resumed)
        b.label("rest")
        b.ret(result)
        b.label("odd")
        halt()
        b.ret(result)
        module.add(define(f"@guard_{name}", I32, _PARAMETERS, b.lines))
    return str(module)


def _probe_code(table: Mapping[int, Sequence[Probe]], conditions: Conditions, cells: int) -> str:
    """Return a function for every probed address, which checks its probes and leaves the rest to the guard."""
    module = LlvmModule(32)
    guards = {name: module.variable(f"guard_{name}", PTR) for name, _ in _PAIRS[:2]}
    for name in ("end", "hit", "memory_bytes", "instructions_before"):
        module.variable(name, I64)
    module.variable("cells", array(4 * max(1, cells), I64))
    conditions(module)
    for address, probes in table.items():
        for name, guard in guards.items():
            b = Builder(module)
            here = _Progress(b)
            b.branch(here.out, "on", "look0")
            for k, probe in enumerate(probes):
                _look(b, here, k, probe)
            b.label(f"look{len(probes)}")
            b.label("on")
            b.ret(b.call(_called(b.load(PTR, guard)), *_PARAMETERS, tail=True))
            module.add(define(f"@probe_{address:x}_{name}", I32, _PARAMETERS, b.lines))
    return str(module)


def _look(b: Builder, here: _Progress, k: int, probe: Probe) -> None:
    """Emit one probe: count the hit, and request a stop if it counts."""
    b.label(f"look{k}")
    holds = I1(1)
    if probe.condition is not None:
        holds = b.call(IrFunction(f"@{probe.condition}", I1, (PTR, PTR)), CONTEXT, STATE)
    b.branch(holds, f"hit{k}", f"look{k + 1}")
    b.label(f"hit{k}")
    count, skip, last, records = (
        b.offset(pointer("@cells"), 32 * probe.cell + 8 * n) for n in (COUNT, SKIP, LAST, RECORDS)
    )
    hits = b.add(b.load(I64, count), 1)
    b.store(hits, count)
    end = b.load(I64, pointer("@end"))
    b.store(b.sub(end, b.sub(here.end, here.issued)), last)
    counts = b.sgt(hits, b.load(I64, skip))
    stops = b.eq(b.load(I64, records), 0)
    b.branch(b.and_(counts, stops), f"take{k}", f"look{k + 1}")
    b.label(f"take{k}")
    b.store(I64(1), pointer("@hit"))
    b.store(I32(1), here.stop, volatile=True)


class _Globals:
    """Numbers in the memory of loaded code, by name; `sizes` has the length of each."""

    def __init__(self, loaded: LoadedCode, sizes: Mapping[str, int]) -> None:
        self._loaded = loaded  # its memory is read and written
        self._arrays = {n: (ctypes.c_int64 * k).from_address(loaded.variable(n)) for n, k in sizes.items()}

    def get(self, name: str, k: int = 0) -> int:
        return int(self._arrays[name][k])

    def set(self, name: str, value: int, k: int = 0) -> None:
        self._arrays[name][k] = value


class Probes(_Globals):
    """Compiled probes, with their cells. `functions`: per address the ones for all lanes and for some."""

    def __init__(self, loaded: LoadedCode, addresses: Sequence[int], cells: int, guards: LoadedCode) -> None:
        single = ("guard_full", "guard_some", "end", "hit", "memory_bytes", "instructions_before")
        super().__init__(loaded, {**dict.fromkeys(single, 1), "cells": 4 * max(1, cells)})
        names = [name for name, _ in _PAIRS[:2]]
        for name in names:
            self.set(f"guard_{name}", guards.address(f"guard_{name}"))
        self.functions = {a: [loaded.address(f"probe_{a:x}_{name}") for name in names] for a in addresses}

    def cell(self, k: int) -> list[int]:
        """Return hits, hits to let pass, position of the last hit, and whether the probe never stops."""
        return [self.get("cells", 4 * k + n) for n in range(4)]

    def set_cell(self, k: int, *, skip: int = 0, records: bool = False) -> None:
        """Reset the count; let `skip` hits pass or, with `records`, all of them."""
        for n, value in enumerate((0, skip, -1, int(records))):
            self.set("cells", value, 4 * k + n)


@cache
def _guard_code(target: Host) -> bytes:
    return object_code(_guards(), target)


# --- runs -------------------------------------------------------------------------------------------------------------
class ProbedRun:
    """A machine of one resident block, run on compiled code to exact instructions. Raises NotCompiled.

    Attributes: `current`: the warp of the resident block whose turn it is, or from which the search for the next one
    starts; `stop`: set it to stop the run from outside.
    """

    def __init__(self, machine: Machine) -> None:
        launch = machine.launch
        self.machine, self.kernel = machine, kernel_of(launch, "interp")
        self.current = 0
        self._native = CompiledLaunch(launch, machine.device, self.kernel, None)
        self.stop = self._native.stop
        self._version = machine.device.version
        program = self.kernel.program
        assert program is not None
        self._real = program.records
        self._guards = LoadedCode(_guard_code(self.kernel.target), self.kernel.target)
        self._memory = _Globals(self._guards, {"stride": 1, "who": 1, "resumed": 1})
        self._memory.set("stride", self._real.nbytes)
        self._layers: Array = np.zeros((2, *self._real.shape), np.uint8)
        self._layers[1] = self._real
        self._probes: Probes | None = None
        self.look_at(None)

    @property
    def resumed(self) -> int:
        """Number of joins since the last counted instruction that only resumed another path."""
        return self._memory.get("resumed")

    @resumed.setter
    def resumed(self, value: int) -> None:
        self._memory.set("resumed", value)

    @property
    def stale(self) -> bool:
        """True if allocations have changed since, so that a new run is needed."""
        return self._version != self.machine.device.version

    def probes(self, table: Mapping[int, Sequence[Probe]], conditions: Conditions, cells: int) -> Probes:
        """Return code that checks probes by address; `conditions` adds their functions to a module.

        The functions find the size of device memory in bytes in `@memory_bytes`, and in `@instructions_before` the
        number of instructions that threads had executed before the resident block, or the blocks after it, went on.
        """
        code = object_code(_probe_code(table, conditions, cells), self.kernel.target, keep=False)
        return Probes(LoadedCode(code, self.kernel.target), list(table), cells, self._guards)

    def look_at(self, probes: Probes | None) -> None:
        """Set the probes to check, or none."""
        if probes is self._probes and probes is not None:
            return
        top = self._layers[0]
        top[:] = self._real
        functions = top.view(np.int64)
        for name, pair in _PAIRS:
            functions[:, pair // 8] = self._guards.address(f"guard_{name}")
        self._probes = probes
        for address, entries in () if probes is None else probes.functions.items():
            k = (address - self.machine.launch.code.address) // 4
            for (_, pair), function in zip(_PAIRS, entries, strict=False):
                functions[k, pair // 8] = function

    @property
    def position(self) -> int:
        """Number of instructions that warps have executed."""
        return self.machine.stats.warp_instructions

    def run(self, until: int) -> Why:
        """Run on to position `until` at most. The machine is up to date afterwards, whatever happens.

        `probe`: a probe stopped before an instruction. `stuck`: the reference machine must execute the next instruction
        of the current warp, or raise its fault.
        """
        while True:
            left = until - self.position
            if self.machine.finished:
                return "finished"
            if left <= 0:
                return "until"
            work = self._block if self.machine.ready or self.machine.waits else self._blocks
            try:
                why = interruptible(partial(work, left, until), self.stop)
            finally:
                self.stop[0] = 0
            if why is not None:
                return why

    def _begin(self, context: Slots, left: int, until: int) -> None:
        context.set_slot("uops", address_of(self._layers))
        context.set_budget(left)
        context.set_slot("reserve", -1)  # the guards are the ones to see where the budget ends
        context.set_slot("turn_length", UNLIMITED)
        context.set_slot("ordered", 1)
        context.set_slot("stop", address_of(self.stop))
        self.stop[0] = 0
        self._memory.set("who", 0)
        if self._probes is not None:
            self._probes.set("end", until)
            self._probes.set("hit", 0)
            self._probes.set("memory_bytes", self.machine.device.memory.size)
            self._probes.set("instructions_before", self.machine.stats.instructions)

    def _why(self, who: int, stopped: int, until: int) -> Why | None:
        """Return the reason why the run ended, None if it just continues."""
        if self.position >= until:
            return "until"
        if self._probes is not None and self._probes.get("hit"):
            return "probe"
        if who:
            return "stuck"
        return "interrupted" if stopped else None

    # --- the resident block ---
    def _block(self, left: int, until: int) -> Why | None:
        """Run the resident block; return None when the block or the budget has ended."""
        machine, kernel = self.machine, self.kernel
        states = WarpStates(len(machine.warps), kernel.state_bytes)
        served = _Served(self._native.bound, kernel, machine.state, states, machine.launch.warps)
        machine.blocks[0].turn = self.current
        from_machine(machine, states, served.barriers, served.turns)
        how = kernel.choose_executable()
        served.context.set_executable(how, UNLIMITED)
        status = states.column(state_layout.STATUS)
        who = stopped = 0
        try:
            self._begin(served.context, left, until)
            while True:
                served.go(how)
                status[status == state_layout.INTERRUPTED] = state_layout.READY
                stopped, who = int(self.stop[0]), self._memory.get("who")
                if not who:
                    break
                current = (who - address_of(states.raw)) // kernel.state_bytes
                if status[current] != state_layout.SERVED:
                    break
                self.stop[0] = 0
                self._memory.set("who", 0)
                served.serve(current)
                self.resumed = 0
                if status[current] == state_layout.JOINED:
                    break  # the reference machine says what is wrong
        finally:
            to_machine(states, served.barriers, served.turns, machine)
            self.current = machine.blocks[0].turn
        if not who and not stopped:
            return "stuck" if machine.waits else None
        return self._why(who, stopped, until)

    # --- the blocks after it ---
    def _blocks(self, left: int, until: int) -> Why | None:
        machine, native = self.machine, self._native
        _, first, end, _ = machine.schedule()
        worker = acquire_worker(native)
        worker.bind_launch(native)
        how = self.kernel.choose_executable()
        worker.bind_executable(how, UNLIMITED)
        self._begin(worker.context, left, until)
        code = how.run(worker.context.address, first, end, Begin.NEW)
        why, block = code & 0xFF, code >> 8
        stopped, who = int(self.stop[0]), self._memory.get("who")
        done = why == Ended.DONE
        if done:
            block = end - 1
        context = worker.context
        stats = machine.stats
        before = stats.instructions, stats.warp_instructions
        machine.set_schedule((block, block + 1, end, -1))
        machine.blocks[0].shared[:] = worker.shared[: len(machine.blocks[0].shared)]
        served = worker.states.column(state_layout.STATUS)[context.get_slot("halted_warp")] == state_layout.SERVED
        to_machine(worker.states, worker.barriers.reshape(1, 16, 2), worker.turns, machine)
        if done:  # the last block is among those that were counted
            stats.instructions, stats.warp_instructions = before
        stats.count(context.get_slot("thread_count"), context.get_slot("warp_count"))
        release_worker(self.kernel, worker)
        self.current = machine.blocks[0].turn
        if done or (served and self.position < until):
            return None  # the block goes on with the host's help
        return "stuck" if why == Ended.DEADLOCK else self._why(who, stopped, until)


class _Served(ServedWarps):
    """The warps of the resident block."""

    def go(self, how: Executable) -> None:
        """Run the turns of the warps until one stops, or none can run."""
        self._run_block(how, 0)

    def serve(self, warp: int) -> None:
        """Execute the instruction that a warp requests."""
        pc = int(self.states.column(state_layout.PC)[warp])
        self._serve(pc, np.array([warp]))


__all__ = ["Probe", "ProbedRun", "Probes"]
