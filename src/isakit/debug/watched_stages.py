"""A stage engine that shows the runs of programs to somebody who looks for a vertex or a pixel."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from isakit.graphics.stage import Stage, StageRun
from isakit.graphics.stage_engine import StageEngine
from isakit.machine.tesla.launch import Launch


class WatchedStages(StageEngine):
    """Runs programs as another engine does, and calls `seen` with each launch, its stage and what the run left."""

    def __init__(self, inner: StageEngine, seen: Callable[[Launch, Stage, StageRun], None]) -> None:
        self._inner, self._seen = inner, seen
        self.name, self.watchdog = inner.name, inner.watchdog

    def prepared(self, *_: object, **__: object) -> None:
        """Watch every run: draws go batch by batch through `run`."""

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """See `StageEngine`."""
        done = self._inner.run(launch, stage, results, borrow=borrow)
        self._seen(launch, stage, done)
        return done

    def interrupt(self) -> None:
        """See `StageEngine`."""
        self._inner.interrupt()

    def cancel(self) -> None:
        """See `StageEngine`."""
        self._inner.cancel()


__all__ = ["WatchedStages"]
