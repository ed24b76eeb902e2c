"""One instruction of a warp at a time, on every engine.

Compiled code runs until a warp waits; here everything but the instruction at its pc stops it: the other records of the
interpreter are `stop_here`, and the kernel as a whole is compiled anew for each step, with all other instructions for
the reference machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import isakit
from isakit.engine.llvm import LoadedCode, host, object_code
from isakit.errors import MachineFault
from isakit.machine.tesla import Choices, Machine
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.interpreter import library
from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel, Executable, generate, kernel_of
from isakit.machine.tesla.compiled.launch.host_assist import ServedWarps
from isakit.machine.tesla.compiled.launch.warp_handover import WarpStates, every_place, from_machine
from isakit.machine.tesla.compiled.launch.worker_context import Bound
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.stack import Entry, Stack


class Seen(NamedTuple):
    """A warp between two instructions."""

    pc: int
    active: int
    entries: tuple[Entry, ...]


class OneStep(Flow):
    """A kernel of which only the instruction at `at` is compiled."""

    def __init__(self, kernel: CompiledKernel, at: int) -> None:
        self.at = at
        super().__init__(kernel.flow.code, at, frozenset(every_place(kernel.facts.registers)), kernel.facts.choices)

    def _step(self, op: Op) -> Step:
        return super()._step(op) if op.pc == self.at else Step(op, 0, None)

    @property
    def restarts(self) -> set[int]:
        """Where the warp stands."""
        return {self.at}


def only_this_record(kernel: CompiledKernel, pc: int) -> Callable[[], Executable]:
    """The interpreter, which stops at every other instruction."""
    program = kernel.program
    assert program is not None
    whole = program.records.copy()
    wide = program.records.view("int64")
    wide[:, :4] = program.library.stop
    wide[(pc - kernel.flow.code.address) // 4, :4] = whole.view("int64")[(pc - kernel.flow.code.address) // 4, :4]
    how = kernel.choose_executable()

    def put_back() -> Executable:
        program.records[:] = whole
        return how

    return put_back


def compiled_alone(kernel: CompiledKernel, pc: int) -> Executable:
    """The instruction at `pc`, compiled as part of a kernel."""
    text, sites = generate(OneStep(kernel, pc), kernel.facts, host())
    loaded = LoadedCode(object_code(text, host(), keep=False, quick=True), host())
    enter = kernel.choose_executable().run
    return Executable(enter, loaded.address("run_warp"), sites, True, (loaded, library(host(), kernel.facts.choices)))


def steps(
    text: str, choices: Choices, engine: str, limit: int = 60, prepare: Callable[[Machine], None] | None = None
) -> Iterator[Seen]:
    """What the only warp of a program looks like after each of its instructions; `engine`: or a tier.

    `prepare` may put the warp into another state before the first one.
    """
    device = isakit.Device("gt200", engine="reference", choices=choices)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=8)["main"]
    machine = kernel.machine(1, 32, [])
    warp = machine.warps[0]
    if prepare is not None:
        prepare(machine)
    if engine == "reference":
        for _ in range(limit):
            try:
                if machine.step() is None:
                    return
            except MachineFault:
                return
            yield Seen(warp.pc if warp.active else 0, warp.active, tuple(warp.stack))
        return
    made = kernel_of(machine.launch, "interp")
    states = WarpStates(1, made.state_bytes)
    warps: Any = ServedWarps(Bound(machine.launch, machine.device), made, machine.state, states, 1)
    from_machine(machine, states, warps.barriers, warps.turns)
    states.count(state_layout.ISSUED)[:] = 1  # it has begun: all registers are in memory
    stack = Stack(0, choices=choices)
    for _ in range(limit):
        pc, issued = int(states.column(state_layout.PC)[0]), int(states.count(state_layout.ISSUED)[0])
        states.column(state_layout.STATUS)[0] = state_layout.READY
        if engine == "interp":
            put_back = only_this_record(made, pc)
            warps._enter(0)
            put_back()
        else:
            how = compiled_alone(made, pc)
            warps.kernel = Chosen(made, how)
            warps._enter(0)
        if states.count(state_layout.ISSUED)[0] == issued and int(states.column(state_layout.PC)[0]) == pc:
            return  # it faults
        states.to_stack(0, stack)
        finished = int(states.column(state_layout.STATUS)[0]) == state_layout.FINISHED
        yield Seen(0 if finished else stack.pc, stack.active, tuple(stack.entries))
        if finished:
            return


class Chosen:
    """A kernel with one way to run."""

    def __init__(self, kernel: CompiledKernel, how: Executable) -> None:
        self.kernel, self.how = kernel, how

    def choose_executable(self) -> Executable:
        """The way."""
        return self.how

    def count_run_time(self, how: Executable, seconds: float) -> None:
        """Nothing follows from the time."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)


__all__ = ["Seen", "steps"]
