"""The report of a run: logs of methods, counts of unsupported features, statistics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from isakit.results import record

_MOST = 4096
"""Limit of distinct texts: a program can produce any number."""
_OTHERS = "others"


@record
class ReportRecord:
    """The counts of a run for JSON."""

    counts: dict[str, int]
    seconds: dict[str, float]
    unsupported: dict[str, int]
    faults: dict[str, int]


@dataclass
class Report:
    """Collects over all programs of a run; several threads may write.

    Attributes: `unsupported`: requested feature that is not supported -> count; `faults`: errors the card reported;
    `counts`: draws, clears, copies and the like; `seconds` by kind of work; `log`: where method writes go.
    """

    log: IO[str] | None = None
    unsupported: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    on_fault: Callable[[str], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def missing(self, what: str) -> None:
        """Count a requested feature that is not supported."""
        with self._lock:
            self.unsupported[_told_apart(self.unsupported, what)] += 1

    def fault(self, what: str) -> None:
        """Count an error that the card reports."""
        with self._lock:
            self.faults[_told_apart(self.faults, what)] += 1
        if self.on_fault is not None:
            self.on_fault(what)

    def count(self, what: str, n: int = 1) -> None:
        """Count an executed operation."""
        with self._lock:
            self.counts[what] += n

    def add_seconds(self, what: str, seconds: float) -> None:
        """Add seconds to the time spent on `what`."""
        with self._lock:
            self.seconds[what] = self.seconds.get(what, 0.0) + seconds

    def line(self, text: str) -> None:
        """Write a line of the log, if there is one."""
        if self.log is not None:
            self.log.write(text + "\n")

    def record(self) -> ReportRecord:
        """Return all counts as a record."""
        return ReportRecord(self.counts, self.seconds, self.unsupported, self.faults)


def _told_apart(counts: Counter[str], what: str) -> str:
    return what if what in counts or len(counts) < _MOST else _OTHERS
