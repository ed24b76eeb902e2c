"""Selects the engine that runs a stage: compiled code where it can and where it pays, else the reference machine."""

from __future__ import annotations

import threading
from collections.abc import Generator, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded
from isakit.forks import in_child
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.stage import Stage, StageMachine, StageRun, answered
from isakit.graphics.watchdog import Budget, Watchdog
from isakit.machine.interrupts import submitted
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.runtime.tesla_engine import engine_of, executor

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel

WORTH = 1 << 14
"""Lanes, over all draws of a program, from which on its code is used if it is cached."""
MAKING = 1 << 18
"""Lanes from which on compiling the code pays."""
LEAST = 1 << 13
"""Lanes that a run counts for at least: the reference machine takes about as long for fewer, and much longer than
compiled code. Compiling takes as long as some tens of runs with their overhead."""
PATIENCE = 0.02
"""Seconds to wait for code that may be found on disk before the reference machine begins."""
LONG = 1 << 12
"""Instructions of a warp on the reference machine from which on compiling is faster."""
SLICE = 1 << 16
"""Instructions of warps after which the reference machine looks whether it has been cancelled."""
ARRAYS = 4
"""Instructions that compiled code executes in the time of one on the reference machine, at least."""


class StageEngine:
    """Runs stages.

    Args:
        engine: `reference`; `llvm`: compiled code wherever it can; `auto`: compiled code for programs that run in many
            lanes, as soon as it has been compiled in the background.
        tier: `interp`, `jit`, or `auto`: interpreted until compiling pays.
        watchdog: limits the programs; None lets them run forever. A `Budget` limits all of them together.

    Attributes: `name`, the engine in use; `cancelled`. Raises LaunchError and NotModelled as `Device` does.
    """

    direct: ClassVar[bool] = True
    """True if nothing wraps this engine, so that a pipeline may run programs by itself."""

    def __init__(self, engine: str = "auto", tier: str = "auto", watchdog: Watchdog | Budget | None = None) -> None:
        self.name = engine_of(executor(engine, tier))
        self.tier, self._eager, self.watchdog = tier, engine == "llvm", watchdog
        self.cancelled = False
        self._left: int | None = None
        self._stops: dict[int, Array] = {}  # without a lock, which a forked process would find taken for ever

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """Run a program over the items of a stage to the end of all lanes.

        `results`: registers that are read afterwards, None for all; other registers are undefined. `borrow`: the
        returned state may be reused by the next run of this thread. Raises MachineFault, BudgetExceeded.
        """
        done = self._run(launch, stage, results, borrow)
        self.count(launch, done.stats.warp_instructions)
        return done

    def begin_draw(self) -> None:
        """Begin a draw, whose runs the watchdog also limits together."""
        self._left = None if self.watchdog is None else self.watchdog.allowed_to_draw(self.name != "llvm")

    def count(self, launch: Launch, instructions: int) -> None:
        """Count instructions that warps have executed. Raises BudgetExceeded if they exceed the rest of the budget."""
        if self.watchdog is not None:
            self.watchdog.charge(instructions, launch.entry)
        self.spend(instructions, launch.entry)

    def spend(self, instructions: int, pc: int = 0) -> None:
        """Count the work of a draw, in instructions of warps. Raises BudgetExceeded, KeyboardInterrupt if cancelled."""
        if self.cancelled:
            raise KeyboardInterrupt
        if self._left is not None:
            self._left -= instructions
            if self._left < 0:
                raise BudgetExceeded("TIMEOUT", pc, detail="a draw takes too long")

    def _run(self, launch: Launch, stage: Stage, results: Iterable[int] | None, borrow: bool) -> StageRun:
        wanted = range(launch.code.registers) if results is None else results
        if self.name == "llvm":
            done = self._compiled(launch, stage, wanted, self._eager, borrow)
            if done is not None:
                return done
        machine = StageMachine(launch, stage)
        if self.name == "llvm" and not self._eager:
            try:
                self._advance(machine, LONG * stage.warps)
            except BudgetExceeded:
                done = self._compiled(launch, stage, wanted, True, borrow)
                if done is not None:
                    return done
        self.finish(machine, stage)
        return StageRun(machine.state, machine.stats)

    def finish(self, machine: StageMachine, stage: Stage) -> None:
        """Run a reference machine to its end. Raises MachineFault, BudgetExceeded."""
        if self.watchdog is None:
            machine.run()
        else:
            machine.most_work = self.watchdog.work
            self._advance(machine, self.watchdog.allowed(stage.warps, reference=True))

    def _advance(self, machine: StageMachine, limit: int) -> None:
        """Run a reference machine to its end. Raises BudgetExceeded if that needs more than `limit` instructions."""
        while True:
            if self.cancelled:
                raise KeyboardInterrupt
            before = machine.stats.warp_instructions
            try:
                machine.run(max_instructions=min(limit, SLICE))
            except BudgetExceeded:
                limit -= machine.stats.warp_instructions - before
                if limit <= 0 or (machine.most_work is not None and machine.work >= machine.most_work):
                    raise
            else:
                return

    def spend_on_arrays(self, instructions: int) -> None:
        """Count work of array code, in instructions of the reference machine. See `spend`."""
        self.spend(instructions if self.name != "llvm" else ARRAYS * instructions)

    def interrupt(self) -> None:
        """Cancel runs in other threads; their results are undefined."""
        for stop in list(self._stops.values()):
            stop[0] = 1

    def cancel(self) -> None:
        """Cancel all runs, later ones included: they raise KeyboardInterrupt."""
        self.cancelled = True
        self.interrupt()

    def prepared(
        self, launch: Launch, lanes: int, results: Iterable[int], choices: GraphicsChoices, eager: bool | None = None
    ) -> tuple[Launch, CompiledKernel] | None:
        """Return the launch with the settings its program depends on, and its code.

        None if the reference machine must run it, or is faster. `lanes`: of the draw; `eager`: compile regardless of
        their number (default: as the engine's settings say).
        """
        if self.name != "llvm":
            return None
        from isakit.machine.tesla.analysis.kernel_steps import NotCompiled
        from isakit.machine.tesla.compiled.launch.compiled_kernels import kernel_of

        launch = answered(launch, choices)
        places = frozenset(("r", n) for n in results if n < launch.code.registers)
        try:
            if self._eager if eager is None else eager:
                kernel = kernel_of(launch, self.tier, results=places)
            else:
                kernel = _ready(launch, lanes, self.tier, places)
        except NotCompiled:
            return None
        return None if kernel is None else (launch, kernel)

    @contextmanager
    def running(self, stop: Array) -> Generator[None]:
        """Let `interrupt` set a flag, which stops runs inside of the block."""
        self._stops[id(stop)] = stop
        try:
            if self.cancelled:
                stop[0] = 1
            yield
        finally:
            del self._stops[id(stop)]

    def _compiled(
        self, launch: Launch, stage: Stage, results: Iterable[int], eager: bool, borrow: bool
    ) -> StageRun | None:
        """Run on compiled code; return None if the reference machine must do it or is faster."""
        ready = self.prepared(launch, stage.lanes, results, stage.choices, eager)
        if ready is None:
            return None
        from isakit.graphics.compiled_stage import StageLaunch, run_stage, stage_key
        from isakit.graphics.kept_launches import keep, kept

        launch, kernel = ready
        room = 1 << (stage.warps - 1).bit_length() if borrow else stage.warps
        key = stage_key(launch, kernel, stage, room) if borrow else None
        s = kept(key, lambda: StageLaunch(launch, kernel, stage, no_memory(), room))
        s.begin(launch, stage)
        s.bound.stop[0] = 0
        with self.running(s.bound.stop):
            done = run_stage(s, self.watchdog)
        if borrow:
            keep(key, s)
        return done


@lru_cache(maxsize=1)
def no_memory() -> DeviceMemory:
    """Return an empty memory: stages have no g[]."""
    return DeviceMemory()


# --- making code while the reference machine runs ---
_lanes: WeakKeyDictionary[Code, int] = WeakKeyDictionary()
_making: dict[Code, dict[Hashable, Future[CompiledKernel | None]]] = {}
KEPT = 256
"""Programs whose compiled code is cached; it holds the program, so that a weak reference would never die."""
_lock = threading.Lock()


@lru_cache(maxsize=1)
def _maker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="isakit-prepare")


@in_child
def _in_child() -> None:
    """Recreate the lock in a forked process, and drop compilations in progress: their threads do not exist there."""
    global _lock
    _lock = threading.Lock()
    _maker.cache_clear()
    _making.clear()


def _make(launch: Launch, tier: str, results: frozenset[tuple[str, int]], always: bool) -> CompiledKernel | None:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import at_hand, kernel_of

    return kernel_of(launch, tier, results=results) if always or at_hand(launch, results) else None


def _ready(launch: Launch, run: int, tier: str, results: frozenset[tuple[str, int]]) -> CompiledKernel | None:
    """Return the kernel if it is ready or cached; None for programs that run in few lanes. Raises NotCompiled."""
    code = launch.code
    with _lock:
        lanes = _lanes[code] = _lanes.get(code, 0) + max(run, LEAST)
        if lanes < WORTH:
            return None
        known = _making[code] = _making.pop(code, {})
        while len(_making) > KEPT:
            del _making[next(iter(_making))]  # used least recently
        key = tier, results, launch.flags, frozenset(launch.constants), launch.local_limit, launch.choices
        future = known.get((key, True)) or known.get((key, lanes >= MAKING))
        if future is None:
            always = lanes >= MAKING
            future = known[key, always] = submitted(_maker(), lambda: _make(launch, tier, results, always))
    try:
        return future.result(PATIENCE)
    except TimeoutError:
        return None
