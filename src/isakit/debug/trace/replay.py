"""A small launch as one self-contained HTML page, in which a reader steps forwards and backwards.

The page holds the state at the start and, for every step, the changes: before and after, for both directions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from isakit.debug.execution import MemoryAccess
from isakit.debug.session import Session
from isakit.debug.trace.recorder import Steps
from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.machine.pictures import ROW, rows
from isakit.machine.target import MemorySpace
from isakit.programs.kernel_names import source_name
from isakit.results import plain, record

STEPS = 2000
"""Steps of a page, if nothing else is asked for."""
THREADS = 1024
"""Threads whose registers a page shows."""
_WORD = 4
_WHOLE = 1 << 14
"""Bytes of a memory that is compared as a whole, if the machine does not report accesses."""
_Cell = tuple[str, int]
"""A memory's name (with the thread that owns it), and the address of a word."""


def replay(session: Session, steps: int = STEPS, title: str = "") -> str:
    """Return the page of a session from its position on, moving the session. Raises everything that stepping raises."""
    data = plain(recorded(session, steps))
    name = escape(title or f"{session.target.isa} {session.target.variant}")
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    page = files("isakit.debug.trace").joinpath("replay.html").read_text("utf-8")
    return page.replace("@TITLE@", name).replace("@DATA@", text)


Row = list[Any]
"""A row of a trace as JSON: strings, numbers, lists of these."""


@record
class TraceRecord:
    """A session as a page holds it.

    `code`: byte address, text and label of each instruction; `start`: the state before the first step; `steps`: each
    with its position, thread, byte address, and its changes, before and after; `end`: why there are no more.
    """

    isa: str
    variant: str
    unit: str
    code: list[Row]
    start: JsonObject
    steps: list[JsonObject]
    end: str


def recorded(session: Session, steps: int = STEPS) -> TraceRecord:
    """Return the next steps of a session, moving it."""
    watcher = _Watcher(session)
    start = watcher.state()
    taken = Steps(session.execution, steps, watcher.before)
    out: list[JsonObject] = []
    for step in taken:
        row = {"at": step.position, "thread": step.thread, "address": step.address}
        out.append(row | watcher.changes(step.touches))
    labels = {a: source_name(n) for n, a in session.labels.items() if n != "entry"}
    code = [[i.address, i.text, labels.get(i.address, "")] for i in session.program]
    target, begun = session.target, {**start, "memory": watcher.initial}
    return TraceRecord(target.isa, target.variant, session.execution.unit, code, begun, out, taken.end)


class _Watcher:
    """Compares states of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.initial: dict[str, dict[str, str]] = {}
        """Words of shared memories that were there at the start, as far as they were looked at."""
        self._cells: dict[_Cell, bytes | None] = {}
        self._rows: list[Row] = self._all_rows()
        self._stacks = self._all_stacks()
        self._registers = self._arrays()
        self._whole = {n: self._read_all(n) for n in self._whole_memories()}
        self.initial = {n: {f"{a:x}": w.hex() for a, w in _words(d)} for n, d in self._whole.items()}

    # --- at the start ---
    def state(self) -> JsonObject:
        """Return rows, stacks and registers now; registers that are 0 are left out."""
        registers: Row = []
        for name, array in self._registers.items():
            registers += _differences(name, np.zeros_like(array), array)
        return {"rows": self._rows, "stacks": self._stacks, "registers": [[r[0], r[1], r[2], r[4]] for r in registers]}

    # --- what there is ---
    @property
    def _count(self) -> int:
        return min(THREADS, self.session.target.thread_count)

    def _all_rows(self) -> list[Row]:
        """Return rows of threads: name, active lanes, ended lanes, state, address, number."""
        shown = rows(self.session.target, count=self._count, most=THREADS // ROW)
        return [[r.name, r.lanes("#"), r.lanes("-"), r.state, r.address, len(r.picture)] for r in shown]

    def _all_stacks(self) -> list[Row]:
        execution = self.session.execution
        if self.session.target.isa == "usse":
            return [[] for _ in self._rows]
        return [[list(f) for f in execution.frames(ROW * k)] for k in range(len(self._rows))]

    def _arrays(self) -> JsonObject:
        """Return the registers of all threads shown, by file."""
        target = self.session.target
        out: JsonObject = {}
        for name in target.register_files:
            out[name] = target.read_file(name)[:, : self._count].astype(np.uint64)
        return out

    def _whole_memories(self) -> list[str]:
        """Return memories that are compared as a whole: those a block shares, and those without observed accesses."""
        spaces: Mapping[str, MemorySpace] = self.session.target.memories
        if self.session.execution.tells_touches:
            return ["s"] if "s" in spaces and spaces["s"].size <= _WHOLE else []
        return [m.name for m in spaces.values() if m.writable and m.size <= _WHOLE]

    def _read_all(self, name: str) -> bytes:
        target = self.session.target
        return target.read_memory(name, 0, target.memories[name].size, 0) if target.thread_count else b""

    # --- a step ---
    def before(self, touches: Sequence[MemoryAccess]) -> None:
        """Keep the contents of the words that are about to be accessed."""
        for t in touches:
            for cell, thread in self._cells_of(t):
                if cell not in self._cells:
                    word = self._read(cell, thread)
                    self._cells[cell] = None if self._own(t.space) else word
                    if not self._own(t.space) and word is not None:
                        self.initial.setdefault(cell[0], {})[f"{cell[1]:x}"] = word.hex()

    def _own(self, space: str) -> bool:
        return not self.session.target.memories[space].shared

    def _cells_of(self, t: MemoryAccess) -> list[tuple[_Cell, int]]:
        if t.space in self._whole:
            return []
        name = f"{t.space} of thread {t.thread}" if self._own(t.space) else t.space
        first = t.address // _WORD * _WORD
        return [((name, a), t.thread) for a in range(first, t.address + t.size, _WORD)]

    def _read(self, cell: _Cell, thread: int) -> bytes | None:
        try:
            return self.session.target.read_memory(cell[0].partition(" ")[0], cell[1], _WORD, thread)
        except IsakitError:
            return None

    def changes(self, touches: Sequence[MemoryAccess]) -> JsonObject:
        """Return the values that differ from the last call, before and after."""
        out: JsonObject = {}
        lanes, stacks, registers = self._all_rows(), self._all_stacks(), self._arrays()
        if len(lanes) == len(self._rows):  # else everything has ended
            out["rows"] = _pairs(self._rows, lanes)
            out["stacks"] = _pairs(self._stacks, stacks)
            out["registers"] = [d for n, a in registers.items() for d in _differences(n, self._registers[n], a)]
            new_block = any(a[0] != b[0] for a, b in zip(self._rows, lanes, strict=True))
            out["memory"] = self._memory(touches, new_block)
            self._rows, self._stacks, self._registers = lanes, stacks, registers
        return {k: v for k, v in out.items() if v}

    def _memory(self, touches: Sequence[MemoryAccess], new_block: bool) -> list[Row]:
        out: list[Row] = []

        def note(name: str, address: int, before: bytes | None, after: bytes | None) -> None:
            out.append([name, address, before and before.hex(), after and after.hex()])

        for t in touches:
            for cell, thread in self._cells_of(t):
                before, after = self._cells[cell], self._read(cell, thread)
                if before != after:
                    note(*cell, before, after)
                    self._cells[cell] = after
        if new_block:  # the cells of threads belong to those of the block before
            for cell in [c for c in self._cells if " of " in c[0]]:
                note(*cell, self._cells.pop(cell), None)
        for name, before in self._whole.items():
            after = self._read_all(name)
            if after != before:
                pairs = zip(_words(before), _words(after), strict=True)
                for (address, old), (_, new) in pairs:
                    if old != new:
                        note(name, address, old, new)
                self._whole[name] = after
        return out


def _words(data: bytes) -> list[tuple[int, bytes]]:
    return [(a, data[a : a + _WORD]) for a in range(0, len(data), _WORD)]


def _pairs(old: Row, new: Row) -> list[Row]:
    """Return (key, before, after) of the entries that differ."""
    return [[k, a, b] for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]


def _differences(name: str, old: Array, new: Array) -> list[Row]:
    """Return (file, number, threads, values before, values after) of the registers that differ."""
    out: list[Row] = []
    differ = old != new
    for number in np.flatnonzero(differ.any(axis=1)).tolist():
        threads = np.flatnonzero(differ[number]).tolist()
        out.append([name, number, threads, old[number, threads].tolist(), new[number, threads].tolist()])
    return out


__all__ = ["STEPS", "recorded", "replay"]
