"""Time that goes both ways: an execution with checkpoints, and a journal of what was done to it from outside.

A past state is reached from the last checkpoint before it, because an execution is deterministic. External changes (a
register that was set, a warp that was preferred) are in the journal and repeated at their position. Checkpoints are far
apart where the program ran fast, and close together before the position last requested, so that going back step by step
costs little.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isakit.debug.execution import Ended, Execution, Hit, Point, SavedState
from isakit.errors import LaunchError

MEMORY = 256 << 20
"""Default limit of checkpoints in bytes. The first one is always kept."""
SECONDS = 0.2
"""Seconds of running between two checkpoints."""
SLICE = 1 << 16, 1 << 22
"""Smallest and largest number of positions run at once."""
NEAR = (4096, 256, 16)
"""Distances of the checkpoints made before a position of the past."""


@dataclass(frozen=True)
class Event:
    """A change from outside, at a moment (see `Execution.moment`); `text` describes it."""

    moment: tuple[int, int]
    text: str
    do: Callable[[], object]


@dataclass(frozen=True)
class Checkpoint:
    """A saved state: its moment, the number of journal events before it, and the state."""

    moment: tuple[int, int]
    events: int
    saved: SavedState

    @property
    def size(self) -> int:
        """Size of the checkpoint in bytes."""
        return len(self.saved[0].data)


class Timeline:
    """The past and present of an execution; `memory` limits its checkpoints, in bytes.

    Attributes: `checkpoints` in order of time; `journal`; `done`: the number of journal events that have been applied.
    """

    def __init__(self, execution: Execution, memory: int = MEMORY) -> None:
        self.execution, self.memory = execution, memory
        self.journal: list[Event] = []
        self.done = 0
        self.checkpoints: list[Checkpoint] = []
        self._slice = min(SLICE[0], execution.turn)
        self._most = SLICE[1] if execution.turn >= SLICE[0] else execution.turn
        self._kept_at = time.perf_counter()
        self._frontier = self.moment  # the furthest moment reached; the journal says all about what lies before it
        self.keep()

    @property
    def position(self) -> int:
        """The current position of the execution."""
        return self.execution.position

    @property
    def moment(self) -> tuple[int, int]:
        """The current moment: position and uncounted steps."""
        return self.execution.moment

    @property
    def used(self) -> int:
        """Bytes that checkpoints take."""
        return sum(c.size for c in self.checkpoints)

    # --- checkpoints ---
    def keep(self) -> None:
        """Make a checkpoint here, if there is none; others are dropped when memory runs out."""
        here = self.moment, self.done
        k = bisect_right(self.checkpoints, here, key=lambda c: (c.moment, c.events))
        self._kept_at = time.perf_counter()
        if k and (self.checkpoints[k - 1].moment, self.checkpoints[k - 1].events) == here:
            return
        self.checkpoints.insert(k, Checkpoint(self.moment, self.done, self.execution.save()))
        self._thin(k)

    def _thin(self, newest: int) -> None:
        """Drop checkpoints until the rest fits: one of the neighbours that are closest together for their age."""
        used = self.used
        here = self.position
        while used > self.memory and len(self.checkpoints) > 2:
            points = self.checkpoints

            def worth(k: int, points: list[Checkpoint] = points) -> float:
                gap = points[k + 1].moment[0] - points[k - 1].moment[0] if k + 1 < len(points) else here
                return gap / (1 + abs(here - points[k].moment[0]))

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
        """Apply a change from outside, now and each time this moment is reached again.

        The recorded future is discarded.
        """
        do()
        del self.journal[self.done :]
        self.journal.append(Event(self.moment, text, do))
        self.done += 1
        self._frontier = self.moment
        here = self.moment, self.done
        self.checkpoints = [c for c in self.checkpoints if (c.moment, c.events) < here]
        if not self.checkpoints:
            self.keep()

    def _next_event(self) -> tuple[int, int] | None:
        """Return the moment of the first event not applied yet."""
        return self.journal[self.done].moment if self.done < len(self.journal) else None

    def _catch_up(self) -> None:
        """Apply the events of this moment."""
        while self._next_event() == self.moment:
            self.journal[self.done].do()
            self.done += 1

    # --- going ---
    def step(self) -> int | None:
        """Execute one instruction; return a thread of the group that executed it."""
        thread = self.execution.step()
        self._catch_up()
        self._frontier = max(self._frontier, self.moment)
        return thread

    def run(self, points: Sequence[Point] = (), until: int | None = None, record: bool = False,
            asked: Callable[[], bool] | None = None) -> Hit | Ended:  # fmt: skip
        """Run, making checkpoints, to a position or a point. Raises what `Execution.run` raises.

        `asked` is called periodically; if it returns True, the run ends as at `until`.
        """
        while until is None or self.position < until:
            started, before = time.perf_counter(), self.position
            event = self._next_event()
            if event is not None and event[0] == before:  # at a step that is not counted
                while self.moment < event:
                    self.execution.step()
                self._catch_up()
                continue
            end = min(x for x in (before + self._slice, until, event and event[0]) if x is not None)
            self.execution.mark()
            result = self.execution.run(end, points, record)
            took = time.perf_counter() - started
            if self.position - before == self._slice:
                factor = 2 if took < SECONDS / 2 else 0.5 if took > 2 * SECONDS else 1
                self._slice = int(min(self._most, max(SLICE[0] // 64, self._slice * factor)))
            self._catch_up()
            if (
                result == "until"
                and event is None
                and self.moment > self._frontier
                and self.position - before >= self.execution.turn
            ):
                other = self.execution.overdue()
                if other is not None:
                    self.happen("turn", lambda other=other: self.execution.prefer(other))
            self._frontier = max(self._frontier, self.moment)
            if result != "until":
                return result
            if time.perf_counter() - self._kept_at > SECONDS:
                self.keep()
            if asked is not None and asked():
                break
        return "until"

    def seek(self, to: int | tuple[int, int], asked: Callable[[], bool] | None = None) -> None:
        """Go to a position, or exactly to a moment, of the past or the future.

        Raises LaunchError for one before the start, MachineFault if the program faults on the way.
        """
        moment = (to, 0) if isinstance(to, int) else to
        position = moment[0]
        if position < 0:
            raise LaunchError("nothing lies before the start")
        event = self._next_event()
        if moment < self.moment or (moment == self.moment and event == moment):
            self._back_to(moment)
        for distance in NEAR:
            if self.position < position - distance:
                self.run((), position - distance, asked=asked)
                if self.position == position - distance:
                    self.keep()
        if self.run((), position, asked=asked) == "asleep":
            while self.position < position:  # cycles pass for a core that waits for the host
                self.step()
        while self.moment < moment and self.position == position:
            self.step()

    def back(self, asked: Callable[[], bool] | None = None) -> None:
        """Undo the last step. Raises LaunchError at the start."""
        position, sub = self.moment
        if sub:
            self.seek((position, sub - 1), asked)
            return
        self.seek(position - 1, asked)
        here = self.moment
        while self.execution.may_not_count:
            here = self.moment
            self.step()
            if self.position == position:
                self.seek(here, asked)
                return

    def _back_to(self, moment: tuple[int, int]) -> None:
        """Restore the last checkpoint that is not after a moment."""
        k = bisect_right(self.checkpoints, moment, key=lambda c: c.moment)
        c = self.checkpoints[k - 1]
        self.execution.load(c.saved, c.moment[0])
        self.done = c.events
        self._catch_up()

    def last(self, points: Sequence[Point], before: int, asked: Callable[[], bool] | None = None) -> int | None:
        """Return the last position before `before` at which a point is met; None if there is none.

        Afterwards the execution is at an unspecified position of the past.
        """
        end = before
        while end > 0:
            self._back_to((end - 1, 0))
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
