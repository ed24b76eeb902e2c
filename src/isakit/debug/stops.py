"""The stops of a session: breakpoints, watchpoints and tracepoints as a user sets them, and the reason for a stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from isakit.debug.execution import Execution, MemoryAccess, Point
from isakit.debug.expressions import Node
from isakit.debug.views import holds, untold
from isakit.json_text import JsonObject

Kind = Literal["breakpoint", "watchpoint", "tracepoint"]
Watched = Literal["write", "read", "access", "change"]
Reason = Literal["start", "step", "breakpoint", "watchpoint", "until", "fault", "finished", "asleep", "budget",
                 "interrupt", "history", "moved"]  # fmt: skip


@dataclass(frozen=True)
class Range:
    """Bytes of a memory space; `thread`: the owner, where each thread has its own memory."""

    space: str
    address: int
    size: int
    thread: int | None = None

    def hit_by(self, touch: MemoryAccess) -> bool:
        """Return true if an access touches any of the bytes."""
        if touch.space != self.space or (self.thread is not None and self.thread != touch.thread):
            return False
        return touch.address < self.address + self.size and self.address < touch.address + touch.size

    def __str__(self) -> str:
        return f"{self.space}[{self.address:#x}..{self.address + self.size - 1:#x}]"


@dataclass(frozen=True)
class Cell:
    """A register of a thread."""

    file: str
    number: int
    thread: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Breakpoint:
    """A breakpoint, watchpoint or tracepoint.

    Attributes: `number`; `where`: as the user wrote it; `condition`: its text; `ignore`: hits to ignore; `once`: it is
    removed when hit; `watched` and `access`: the data and accesses of a watchpoint; `collect`: the texts and
    expressions whose values a tracepoint records; `point`: its point in the execution.
    """

    number: int
    kind: Kind
    where: str
    point: Point
    condition: str = ""
    enabled: bool = True
    once: bool = False
    watched: Range | Cell | None = None
    access: Watched = "change"
    node: Node | None = None
    collect: list[tuple[str, Node]] = field(default_factory=list[tuple[str, Node]])
    unknown: str = ""
    """The reason why its condition cannot be evaluated anywhere in this program."""

    @property
    def hits(self) -> int:
        """The number of times it was hit."""
        return self.point.hits

    @property
    def ignore(self) -> int:
        """Number of hits that are still ignored."""
        return max(0, self.point.skip - self.point.hits)

    def thread_met(self, execution: Execution, focus: int) -> int:
        """Return the thread of the next group for which the condition holds or cannot be told, `focus` if it may be."""
        following = execution.following or 0
        lanes = execution.lanes(following)
        if focus in lanes:
            lanes = [focus, *lanes]
        return next((t for t in lanes if self.node is None or holds(execution, self.node, t)), following)

    def doubt(self, execution: Execution, thread: int) -> str:
        """Return why its condition cannot be evaluated for a thread, "" if it can."""
        why = untold(execution, self.node, thread) if self.node is not None else self.unknown
        return f"cannot tell whether {self.condition}: {why}" if why else ""

    def as_json(self) -> JsonObject:
        """Return plain data."""
        return {
            "number": self.number, "kind": self.kind, "where": self.where, "condition": self.condition,
            "enabled": self.enabled, "hits": self.hits, "ignore": self.ignore,
            "addresses": sorted(self.point.addresses),
        }  # fmt: skip

    def __str__(self) -> str:
        parts = [f"{self.number} {self.kind} {self.where}"]
        parts += [f"if {self.condition}"] if self.condition else []
        parts += ["disabled"] if not self.enabled else []
        parts += [f"hit {self.hits} time{'s' * (self.hits != 1)}"] if self.hits else []
        parts += [f"ignores {self.ignore} more"] if self.ignore else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Stop:
    """The reason and position of a stop.

    `numbers`: of the breakpoints that stopped it; `text`: one line about it; `fault`: the program's error.
    """

    reason: Reason
    position: int
    thread: int | None
    address: int | None
    text: str
    numbers: tuple[int, ...] = ()
    fault: Exception | None = None

    def as_json(self) -> JsonObject:
        """Return plain data."""
        return {
            "reason": self.reason, "position": self.position, "thread": self.thread, "address": self.address,
            "breakpoints": list(self.numbers), "text": self.text,
        }  # fmt: skip

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TracepointHit:
    """The record of a tracepoint: its number, the position, the thread, and the values by their expressions' text."""

    number: int
    position: int
    thread: int
    values: dict[str, int | float | str]

    def as_json(self) -> JsonObject:
        """Return plain data."""
        return {"number": self.number, "position": self.position, "thread": self.thread, "values": self.values}


__all__ = ["Breakpoint", "Cell", "Kind", "Range", "Reason", "Stop", "TracepointHit", "Watched"]
