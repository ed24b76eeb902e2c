"""A program stepped to its end, or to a limit, with the effects of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from isakit.debug.execution import Execution, MemoryAccess
from isakit.debug.groups import name_of
from isakit.errors import IsakitError, MachineFault, NotModelled


class TracedStep(NamedTuple):
    """A step.

    `position` before it; `thread`: one of the `group` that executed it, by name; `address`; `active` lanes; `touches`:
    their accesses; `waits`: whether the group waits after it.
    """

    position: int
    thread: int
    group: str
    address: int
    active: int
    touches: Sequence[MemoryAccess]
    waits: bool


class Steps:
    """The steps of an execution from its position on, at most `limit`; iterate once.

    Args:
        execution: the execution to step.
        limit: largest number of steps.
        about: called with accesses right before they are made, see `Execution.touched`.

    Attributes:
        end: the reason why there are no more steps; set after the last one.
    """

    def __init__(
        self, execution: Execution, limit: int, about: Callable[[Sequence[MemoryAccess]], None] | None = None
    ) -> None:
        self.execution, self.limit, self._about = execution, limit, about
        self.end = ""

    def __iter__(self) -> Iterator[TracedStep]:
        execution = self.execution
        target = execution.target
        for _ in range(self.limit):
            thread = execution.following
            if thread is None:
                self.end = "the program has ended"
                return
            t = target.thread(thread)
            position, active = execution.position, len(execution.lanes(thread))
            try:
                touches = execution.touched(execution.step, self._about)
            except (MachineFault, NotModelled) as e:
                self.end = str(e)
                return
            yield TracedStep(position, thread, name_of(t), t.address or 0, active, touches, self._waits(thread))
        self.end = f"{self.limit} steps are shown" if execution.following is not None else "the program has ended"

    def _waits(self, thread: int) -> bool:
        try:
            return self.execution.target.thread(thread).state == "waiting"
        except IsakitError:  # its block has ended
            return False
