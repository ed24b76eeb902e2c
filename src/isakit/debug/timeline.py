"""Time that goes both ways: an execution with checkpoints, and a journal of what was done to it from outside.

A state of the past is the last checkpoint in front of it and what was executed since, because an execution is
deterministic. What is not (a register somebody set, a warp somebody preferred) stands in the journal and is done again
at its position. Checkpoints lie far apart where the program ran fast, and close together in front of the position that
was last asked for, so that going back step by step costs little.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isakit.debug.execution import Ended, Execution, Hit, Point
from isakit.errors import LaunchError
from isakit.machine.snapshot import Snapshot

MEMORY = 256 << 20
"""Bytes that checkpoints may take, if nothing else is asked for. The first one is always kept."""
SECONDS = 0.2
"""Time to run between two checkpoints."""
SLICE = 1 << 16, 1 << 22
"""Fewest and most positions that are run at once."""
NEAR = (4096, 256, 16)
"""Distances of the checkpoints that are made in front of a position of the past."""


@dataclass(frozen=True)
class Event:
    """Something done from outside, at a position; `text` says what."""

    position: int
    text: str
    do: Callable[[], object]


@dataclass(frozen=True)
class Checkpoint:
    """A kept state: its position, the events of the journal that are part of it, and what it takes."""

    position: int
    events: int
    saved: tuple[Snapshot, Any]

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.saved[0].data)


class Timeline:
    """The past and present of an execution; `memory` bounds the bytes of its checkpoints.

    Attributes: `checkpoints` in order of time; `journal`; `done`: how many events of the journal have been done.
    """

    def __init__(self, execution: Execution, memory: int = MEMORY) -> None:
        self.execution, self.memory = execution, memory
        self.journal: list[Event] = []
        self.done = 0
        self.checkpoints: list[Checkpoint] = []
        self._slice = SLICE[0]
        self._kept_at = time.perf_counter()
        self._frontier = self.position  # the furthest position reached; the journal says all about what lies before it
        self.keep()

    @property
    def position(self) -> int:
        """Where the execution is."""
        return self.execution.position

    @property
    def used(self) -> int:
        """Bytes that checkpoints take."""
        return sum(c.size for c in self.checkpoints)

    # --- checkpoints ---
    def keep(self) -> None:
        """Make a checkpoint here, if there is none; others go where memory ends."""
        here = self.position, self.done
        k = bisect_right(self.checkpoints, here, key=lambda c: (c.position, c.events))
        self._kept_at = time.perf_counter()
        if k and (self.checkpoints[k - 1].position, self.checkpoints[k - 1].events) == here:
            return
        self.checkpoints.insert(k, Checkpoint(self.position, self.done, self.execution.save()))
        self._thin(k)

    def _thin(self, newest: int) -> None:
        """Give checkpoints up until the rest fits: of neighbours that lie closest together, as seen from here, one."""
        used = self.used
        here = self.position
        while used > self.memory and len(self.checkpoints) > 2:
            points = self.checkpoints

            def worth(k: int, points: list[Checkpoint] = points) -> float:
                gap = points[k + 1].position - points[k - 1].position if k + 1 < len(points) else here
                return gap / (1 + abs(here - points[k].position))

            candidates = [k for k in range(1, len(points)) if points[k] is not points[min(newest, len(points) - 1)]]
            if not candidates:
                break
            k = min(candidates, key=worth)
            used -= points[k].size
            del points[k]
            newest -= k < newest
        if used > self.memory and len(self.checkpoints) == 2:
            del self.checkpoints[1]

    # --- from outside ---
    def happen(self, text: str, do: Callable[[], object]) -> None:
        """Do something from outside, here and each time this position is reached again; what was future is gone."""
        do()
        del self.journal[self.done :]
        self.journal.append(Event(self.position, text, do))
        self.done += 1
        self._frontier = self.position
        here = self.position, self.done
        self.checkpoints = [c for c in self.checkpoints if (c.position, c.events) < here]
        if not self.checkpoints:
            self.keep()

    def _next_event(self) -> int | None:
        """Position of the first event that has not been done."""
        return self.journal[self.done].position if self.done < len(self.journal) else None

    def _catch_up(self) -> None:
        """Do the events of this position."""
        while self._next_event() == self.position:
            self.journal[self.done].do()
            self.done += 1

    # --- going ---
    def step(self) -> int | None:
        """One instruction; returns a thread of the group that executed it."""
        thread = self.execution.step()
        self._catch_up()
        self._frontier = max(self._frontier, self.position)
        return thread

    def run(self, points: Sequence[Point] = (), until: int | None = None, record: bool = False,
            asked: Callable[[], bool] | None = None) -> Hit | Ended:  # fmt: skip
        """Run on, with checkpoints, to a position or a point. Raises what `Execution.run` raises.

        `asked` is called from time to time; the run ends as with `until` where it returns True.
        """
        while until is None or self.position < until:
            started, before = time.perf_counter(), self.position
            event = self._next_event()
            end = min(x for x in (before + self._slice, until, event) if x is not None)
            self.execution.mark()
            result = self.execution.run(end, points, record)
            took = time.perf_counter() - started
            if self.position - before == self._slice:
                factor = 2 if took < SECONDS / 2 else 0.5 if took > 2 * SECONDS else 1
                self._slice = int(min(SLICE[1], max(SLICE[0] // 64, self._slice * factor)))
            if self.position == event:
                self._catch_up()
            elif result == "until" and self.position > self._frontier and self.position - before >= SLICE[0]:
                other = self.execution.overdue()
                if other is not None:
                    self.happen("turn", lambda other=other: self.execution.prefer(other))
            self._frontier = max(self._frontier, self.position)
            if result != "until":
                return result
            if time.perf_counter() - self._kept_at > SECONDS:
                self.keep()
            if asked is not None and asked():
                break
        return "until"

    def seek(self, position: int, asked: Callable[[], bool] | None = None) -> None:
        """Be at a position of the past or the future.

        Raises LaunchError for one in front of the start, MachineFault where the program faults on the way.
        """
        if position < 0:
            raise LaunchError("nothing lies in front of the start")
        if position < self.position or (position == self.position and self._next_event() == position):
            self._back_to(position)
        for distance in NEAR:
            if self.position < position - distance:
                self.run((), position - distance, asked=asked)
                if self.position == position - distance:
                    self.keep()
        self.run((), position, asked=asked)

    def _back_to(self, position: int) -> None:
        """Be at the last checkpoint that is not behind a position."""
        k = bisect_right(self.checkpoints, position, key=lambda c: c.position)
        c = self.checkpoints[k - 1]
        self.execution.load(c.saved, c.position)
        self.done = c.events
        self._catch_up()

    def last(self, points: Sequence[Point], before: int, asked: Callable[[], bool] | None = None) -> int | None:
        """The last position in front of `before` at which a point is met; None where there is none.

        The execution is somewhere in the past then.
        """
        end = before
        while end > 0:
            self._back_to(end - 1)
            start = self.position
            for p in points:
                p.last = -1
            hits = [p.hits for p in points]
            self.run(points, end, record=True, asked=asked)
            for p, n in zip(points, hits, strict=True):
                p.hits = n
            found = max((p.last for p in points), default=-1)
            if found >= start:
                return found
            end = start
        return None
