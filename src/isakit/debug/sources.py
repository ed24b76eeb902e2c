"""Source lines of a program being debugged: from its compiler's line table, else from its assembly text."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from isakit.debug.session import Session
from isakit.debug.stops import Stop
from isakit.line_table import LineTable, SourceLine

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
POLLED = 64
"""Instructions of a line between two checks whether to continue."""


class SourcePlace(NamedTuple):
    """A line of a source file; without a path a line of the PTX that the program was compiled from."""

    path: str
    line: int


class Sources:
    """The source of a session's program. `files` are absolute paths."""

    def __init__(self, session: Session) -> None:
        self.session, self._program = session, session.program
        self.table = session.program.source_table or LineTable([])
        self._lines: dict[str, set[int]] = {}
        self._from_files = any(_own(where) for _, where in self.table)
        for _, where in self.table:
            place = self._place(where)
            if place is not None:
                self._lines.setdefault(place.path, set()).add(place.line)

    def current(self) -> Sources:
        """Return this object, or the sources of the program that the session has moved to."""
        return self if self._program is self.session.program else Sources(self.session)

    @property
    def files(self) -> list[str]:
        """Paths of the files in the line table."""
        return sorted(path for path in self._lines if path)

    @property
    def ptx(self) -> str:
        """The PTX, if the instructions have no other known source."""
        return self.table.ptx if "" in self._lines else ""

    def at(self, address: int | None) -> SourcePlace | None:
        """Return the source line of the instruction at an address."""
        where = None if address is None else self.table.at(address)
        return None if where is None else self._place(where)

    def _place(self, where: SourceLine) -> SourcePlace | None:
        """Return the line of a file; a line of PTX only if there are no files."""
        if self._from_files:
            return SourcePlace(os.path.abspath(where.path), where.line) if _own(where) else None
        return SourcePlace("", where.ptx) if where.ptx else None

    def lines(self, path: str, first: int = 1, last: int | None = None) -> Sequence[int]:
        """Return the lines of a file that have code, from `first` to `last`."""
        return sorted(n for n in self._lines.get(self._known(path), ()) if n >= first and (last is None or n <= last))

    def place(self, path: str, line: int) -> str | None:
        """Return the line, or the next one with code, as `Session.break_at` takes it; None after the last one."""
        known = self._known(path)
        lines = self.lines(path)
        k = bisect_left(lines, line)
        if k == len(lines):
            return None
        if not known:
            return f"ptx:{lines[k]}"
        spelled = next(w.path for _, w in self.table if w.line == lines[k] and os.path.abspath(w.path) == known)
        return f"{spelled}:{lines[k]}"

    def _known(self, path: str) -> str:
        """Return the path that the table has for a file; `path` itself if it has none."""
        wanted = os.path.realpath(path) if path else ""
        return next((p for p in self._lines if p and os.path.realpath(p) == wanted), path)

    def text(self, path: str) -> list[str] | None:
        """Return the lines of a source, None if it cannot be read."""
        if not path:
            return self.ptx.splitlines() if self.ptx else None
        return self.table.file_lines(path)

    # --- moving by lines ----------------------------------------------------------------------------------------------
    def step(self, *, into: bool) -> Stop:
        """Execute the rest of the focused thread's line; calls as a whole unless `into`."""
        return self._to_another_line(self.session.step if into else self.session.next)

    def reverse_step(self) -> Stop:
        """Undo instructions back to those of another line."""
        return self._to_another_line(self.session.reverse_step)

    def _to_another_line(self, move: Callable[[], Stop]) -> Stop:
        """Move until the focused thread is at another line, or something else stops it."""
        session = self.session
        start = self.at(session.address)
        count = 0
        while True:
            stop = move()
            count += 1
            here = self.at(session.address)
            if stop.reason != "step" or session.finished or start is None or (here is not None and here != start):
                return stop
            if count % POLLED == 0 and session.asked is not None and session.asked():
                return stop


def _own(where: SourceLine) -> bool:
    """Return whether a line is one of the user's files: headers of the package are stepped over like an operator."""
    return bool(where.line) and not os.path.abspath(where.path).startswith(_PACKAGE)
