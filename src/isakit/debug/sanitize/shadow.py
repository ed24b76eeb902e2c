"""Shadow memory: the last writer and readers of each cell, for races and uninitialised reads.

A cell is a byte, or an aligned word if a program never accesses less. Two accesses of different warps collide if one of
them writes and no barrier is between: within one block, if both warps have arrived at the same number of barriers;
between blocks, always. Atomics do not collide with atomics, nor writes of an unchanged value with other writes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isakit.engine.protocol import Array

_NONE = np.zeros(0, np.int64)


class Collision(NamedTuple):
    """Collisions: positions in the current access, and pc and thread of the earlier access for each."""

    where: Array
    pc: Array
    thread: Array
    earlier_wrote: bool


class Accesses(NamedTuple):
    """An access of some lanes: the cells, the threads (numbers in the grid), their warps, blocks and epochs."""

    place: Array
    thread: Array
    warp: Array
    block: Array
    epoch: Array


class _Span(NamedTuple):
    """The range of cells and epochs of an access, both ends included."""

    low: int
    high: int
    first: int
    last: int

    def joined(self, other: _Span) -> _Span:
        return _Span(min(self.low, other.low), max(self.high, other.high), min(self.first, other.first),
                     max(self.last, other.last))  # fmt: skip


class _LastAccesses:
    """The last access of a kind to each cell."""

    def __init__(self, places: int) -> None:
        self.span: _Span | None = None  # of all that was noted
        self._thread = np.zeros(places, np.int32)  # plus one: memory of zeros takes room where it is used only
        self.epoch = np.zeros(places, np.int32)
        self.pc = np.zeros(places, np.int32)
        self.atomic: Array | None = None

    def meets(self, a: Accesses, warps_of: Array, blocks_of: Array) -> Array:
        """Return, for each access, whether another warp accessed the cell last, with no barrier between."""
        thread = self.thread(a.place)
        known = thread >= 0
        other = np.where(known, thread, 0)
        warp = warps_of[other]
        apart = (blocks_of[warp] != a.block) | (self.epoch[a.place] == a.epoch)
        return known & (warp != a.warp) & apart

    def thread(self, place: Array) -> Array:
        """Return the threads that accessed cells last, -1 where none did."""
        return self._thread[place] - 1

    def set(self, a: Accesses, chosen: Array, pc: int, span: _Span) -> None:
        """Record the chosen reads of an access."""
        self.note(Accesses(*(column[chosen] for column in a)), pc, False, span)

    def note(self, a: Accesses, pc: int, atomic: bool, span: _Span) -> None:
        """Record an access within a span."""
        if len(a.place):
            place = a.place
            self._thread[place], self.epoch[place], self.pc[place] = a.thread + 1, a.epoch, pc
            if atomic or self.atomic is not None:
                self._atomics()[place] = atomic
            self.span = span if self.span is None else self.span.joined(span)

    def _atomics(self) -> Array:
        if self.atomic is None:
            self.atomic = np.zeros(len(self._thread), bool)
        return self.atomic


PENDING = 1 << 23
"""Reads that are kept unprocessed until a write may collide with them."""


class Shadow:
    """The shadow of the bytes `span` of a space: its first address, and the one after its last.

    `warps_of` and `blocks_of`: the warp of a thread, and the block of a warp; `own`: each block has cells of its own.
    """

    def __init__(self, span: range, grain: int, warps_of: Array, blocks_of: Array, *, written: bool, own: bool) -> None:
        self.grain, self.own = grain, own
        self._shift = grain.bit_length() - 1
        self._first = span.start >> self._shift
        places = -(-span.stop // grain) - self._first + 4
        self._unwritten = np.zeros(places, bool) if written else np.ones(places, bool)
        self._all_written = written
        self._index = np.zeros(places, np.int32)  # scratch: the position in an access that wrote a place
        self._of = warps_of, blocks_of
        self._write, self._read, self._more = (_LastAccesses(places) for _ in range(3))
        self._pending: list[tuple[_Span, Accesses, int]] = []
        self._waiting = 0
        self._epochs: tuple[object, int, int] = (None, 0, 0)

    def places(self, at: Array, size: int) -> tuple[Array, int]:
        """Return the cells of accesses of `size` bytes at byte offsets, and the number of cells per access."""
        n = max(1, size // self.grain)
        first = (at >> self._shift if self._shift else at) - self._first
        return (first if n == 1 else (first[:, None] + np.arange(n)).ravel()), n

    def mark(self, start: int, size: int) -> None:
        """Mark a range of bytes as written from outside the program."""
        self._unwritten[start // self.grain - self._first : -(-(start + size) // self.grain) - self._first] = False

    def mark_places(self, place: Array) -> None:
        """Mark cells as written without recording who wrote them."""
        self._unwritten[place] = False

    def unwritten(self, place: Array) -> Array:
        """Return the positions of uninitialised reads."""
        if self._all_written:
            return _NONE
        unknown = self._unwritten[place]
        return np.flatnonzero(unknown) if unknown.any() else _NONE

    def forget(self, start: int, size: int) -> None:
        """Mark the cells that lie wholly in a range of bytes as uninitialised."""
        places = range(-(-start // self.grain) - self._first, (start + size) // self.grain - self._first)
        self._unwritten[max(places.start, 0) : max(places.stop, 0)] = True
        self._all_written = False

    def _span(self, a: Accesses) -> _Span:
        epochs, first, last = self._epochs
        if epochs is not a.epoch:  # lanes that run on together share them
            first, last = int(a.epoch.min()), int(a.epoch.max())
            self._epochs = a.epoch, first, last
        return _Span(int(a.place.min()), int(a.place.max()), first, last)

    def read(self, a: Accesses, pc: int, atomic: bool = False) -> list[Collision]:
        """Record reads; return the writes they collide with."""
        if not len(a.place):
            return []
        span = self._span(a)
        out = self._against(self._write, a, span, True, atomic)
        if not atomic:
            self._pending.append((span, a, pc))
            self._waiting += len(a.place)
            if self._waiting > PENDING:
                self._take_up(None)
        return out

    def passed(self, oldest: int) -> None:
        """Record that no warp will access the space again before barrier number `oldest`."""
        if self.own:
            self._pending = [entry for entry in self._pending if entry[0].last >= oldest]
            self._waiting = sum(len(a.place) for _, a, _ in self._pending)

    def _take_up(self, span: _Span | None) -> None:
        """Process the pending reads that a write may collide with; without a span, all of them."""
        rest: list[tuple[_Span, Accesses, int]] = []
        for entry in self._pending:
            if span is not None and not self._may_meet(entry[0], span):
                rest.append(entry)
                continue
            span_of, a, pc = entry
            self._waiting -= len(a.place)
            self._read.set(a, ~self._read.meets(a, *self._of), pc, span_of)
            again = self._read.meets(a, *self._of)  # other warps that read it, too: one of them is remembered
            self._more.set(a, again, pc, span_of)
        self._pending = rest

    def _may_meet(self, one: _Span | None, other: _Span) -> bool:
        """Return true if accesses in the spans may collide."""
        if one is None or one.high < other.low or other.high < one.low:
            return False
        return not self.own or not (one.last < other.first or other.last < one.first)

    def write(self, a: Accesses, pc: int, value: Array | None, same: Array | None, atomic: bool) -> list[Collision]:
        """Record writes; return the accesses they collide with.

        `value`: the value written to each cell, `same`: whether it is unchanged; None if unknown.
        """
        out: list[Collision] = []
        if not len(a.place):
            return out
        span = self._span(a)
        if self._pending:
            self._take_up(span)
        for last in (self._read, self._more):
            out += self._against(last, a, span, False, False)
        for c in self._against(self._write, a, span, True, atomic):
            keep = np.ones(len(c.where), bool) if same is None else ~same[c.where]
            if keep.any():
                out.append(Collision(c.where[keep], c.pc[keep], c.thread[keep], True))
        self._unwritten[a.place] = False
        self._write.note(a, pc, atomic, span)
        if not atomic:  # several warps of this very access
            self._index[a.place] = np.arange(len(a.place))
            lost = self._write.meets(a, *self._of)
            if value is not None:
                lost &= value != value[self._index[a.place]]
            where = np.flatnonzero(lost)
            if len(where):
                place = a.place[where]
                out.append(Collision(where, self._write.pc[place], self._write.thread(place), True))
        return out

    def _against(self, last: _LastAccesses, a: Accesses, span: _Span, wrote: bool, atomic: bool) -> list[Collision]:
        if last.span is None or not self._may_meet(last.span, span):
            return []
        meets = last.meets(a, *self._of)
        if atomic and last.atomic is not None:
            meets &= ~last.atomic[a.place]
        where = np.flatnonzero(meets)
        if not len(where):
            return []
        place = a.place[where]
        return [Collision(where, last.pc[place], last.thread(place), wrote)]
