"""Stage engines that wrap another one: a base class, and one that reports its runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isakit.engine.protocol import Array
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.stage import Stage, StageMachine, StageRun
from isakit.graphics.stage_engine import StageEngine
from isakit.machine.tesla.launch import Launch

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel


class WrappedStages(StageEngine):
    """Delegates to another engine; subclasses override methods."""

    direct = False

    def __init__(self, inner: StageEngine) -> None:
        self._inner = inner
        self.name, self.watchdog = inner.name, inner.watchdog

    def prepared(
        self, launch: Launch, lanes: int, results: Iterable[int], choices: GraphicsChoices, eager: bool | None = None
    ) -> tuple[Launch, CompiledKernel] | None:
        """See `StageEngine`."""
        return self._inner.prepared(launch, lanes, results, choices, eager)

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """See `StageEngine`."""
        return self._inner.run(launch, stage, results, borrow=borrow)

    @contextmanager
    def running(self, stop: Array) -> Generator[None]:
        """See `StageEngine`."""
        with self._inner.running(stop):
            yield

    def begin_draw(self) -> None:
        """See `StageEngine`."""
        self._inner.begin_draw()

    def count(self, launch: Launch, instructions: int) -> None:
        """See `StageEngine`."""
        self._inner.count(launch, instructions)

    def spend(self, instructions: int, pc: int = 0) -> None:
        """See `StageEngine`."""
        self._inner.spend(instructions, pc)

    def spend_on_arrays(self, instructions: int) -> None:
        """See `StageEngine`."""
        self._inner.spend_on_arrays(instructions)

    def finish(self, machine: StageMachine, stage: Stage) -> None:
        """See `StageEngine`."""
        self._inner.finish(machine, stage)

    def interrupt(self) -> None:
        """See `StageEngine`."""
        self._inner.interrupt()

    def cancel(self) -> None:
        """See `StageEngine`."""
        self._inner.cancel()


class WatchedStages(WrappedStages):
    """Runs programs like the wrapped engine, and calls `seen` with each launch, its stage and its result."""

    def __init__(self, inner: StageEngine, seen: Callable[[Launch, Stage, StageRun], None]) -> None:
        super().__init__(inner)
        self._seen = seen

    def prepared(self, *_: object, **__: object) -> None:
        """Observe every run: draws go batch by batch through `run`."""

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """See `StageEngine`."""
        done = super().run(launch, stage, results, borrow=borrow)
        self._seen(launch, stage, done)
        return done


__all__ = ["WatchedStages", "WrappedStages"]
