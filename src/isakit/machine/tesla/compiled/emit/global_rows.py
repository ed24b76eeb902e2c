"""Accesses to g[] by all lanes at adjacent words, at a known step, or at one address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, MOSTLY, integer, vector
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled.emit.lane_vectors import all_equal, multiples
from isakit.machine.tesla.compiled.emit.memory_windows import HALF, halves_joined, load_from_windows
from isakit.machine.tesla.compiled.emit.own_access import OwnAccess
from isakit.machine.tesla.compiled.emit.placed_access import LaneOffsets
from isakit.machine.tesla.compiled.state_layout import TRUE, V32

LOADED_AT_ONCE, STORED_AT_ONCE = (0, -4, 8), (0, -4)
"""Bytes from the word of a lane to that of the next one, other than a word, with a fast path without gathers."""
NEAR = 12
"""Largest distance in bytes between the words of adjacent lanes at which windows may hold all words."""


@dataclass(frozen=True)
class _Rows:
    """Accesses that may be to adjacent words, or at a step known when code is generated.

    The addresses, the accessing lanes, the pointer in that case; label of the other case, label after both, site, and
    the buffer that it caches (start, length). `apart`: bytes from the word of a lane to that of the next one in that
    case; the pointer is that of the lowest word.
    """

    addresses: Ref
    lanes: Ref
    pointer: Ref
    far: str
    done: str
    site: Ref
    buffer: tuple[Ref, Ref]
    apart: int


class GlobalRows(OwnAccess):
    """Fast paths without gathers and scatters for the usual shapes of an access, followed by the general one."""

    def _alike(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> list[Ref]:
        """Load the words of g[] at one address for all lanes, all active; outside of all buffers the warp stops."""
        return self._loaded(space, self._placed_alike(step, space, address, size, low), size, low)

    def _placed_alike(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> LaneOffsets:
        """Return the offsets of an access of all lanes to one address of g[]; outside of all buffers the warp stops."""
        c, b = self.code, self.code.body
        address = self._even(step, address, size, TRUE, low)
        at, lanes = self._windowed(step, space, address, low, TRUE)
        site = c.site()
        good = self._inside(at, self._last_buffer(site), size, 1)
        far, done = b.fresh("far"), b.fresh("done")
        b.branch(good, done, far, MOSTLY)
        b.label(far)
        self._in_buffers(step, site, low.fork().splat(at), size, lanes, low)
        b.label(done)
        return LaneOffsets(at, lanes)

    def _rows(
        self,
        step: Step,
        space: str,
        address: Ref,
        size: int,
        low: ValueLowering,
        apart: int | None,
        others: tuple[int, ...] = (),
    ) -> _Rows:
        """Branch on whether the lanes access adjacent words of `size` bytes in the buffer last accessed here.

        Emission continues in the block of the case in which they do. `apart` is the distance in bytes from lane to
        lane, if it is known; `others` are distances besides `size` that there is code for.
        """
        c, b = self.code, self.code.body
        address = self._even(step, address, size, TRUE, low)
        address, lanes = self._windowed(step, space, address, low, TRUE)
        site = c.site()
        taken = apart if apart is not None and apart in others else size
        first = b.extract(address, 31 if taken < 0 else 0)
        buffer = self._last_buffer(site)
        good = self._inside(first, buffer, size, 1 + 31 * abs(taken) // size)
        if apart is None:
            row = low.op("add", low.splat(first), multiples(size))
            good = b.and_(all_equal(b, address, row), good)
        elif apart != taken:
            good = I1(0)
        if lanes != TRUE:
            good = b.and_(good, b.eq(c.as_bits(lanes), -1))
        near, far, done = b.fresh("near"), b.fresh("far"), b.fresh("done")
        b.branch(good, near, far, MOSTLY)
        b.label(near)
        return _Rows(address, lanes, self._scalar_pointer(space, first), far, done, site, buffer, taken)

    def _last_buffer(self, site: Ref) -> tuple[Ref, Ref]:
        """Return the start and length of the buffer that the instruction accessed last."""
        b = self.code.body
        return b.load(I32, site, 8), b.load(I32, b.offset(site, 4), 4)

    def _row(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, apart: int | None) -> list[Ref]:
        """Load the words of g[] for an access of `size` bytes per lane, all lanes active.

        `apart`: the distance in bytes from lane to lane, if it is known.
        """
        b, words = self.code.body, max(size // 4, 1)
        rows = self._rows(step, space, address, size, low, apart, LOADED_AT_ONCE if size == 4 else ())
        v1 = self._near_words(rows, size)
        b.jump(rows.done)
        near = b.current
        ways = [(v1, near)]
        b.label(rows.far)
        unusual = apart is None or (apart != rows.apart and abs(apart) <= NEAR)
        if size == 4 and rows.lanes == TRUE and self.code.host.embedded and unusual:
            inline = self.code.in_loop(step)
            if inline and apart is None:
                ways.append(self._load_falling(space, rows, low.fork()))
            ways.append(self._load_windows(space, rows) if inline else self._load_near(space, rows))
        v2 = self._load_missed(step, space, rows, size, low.fork())
        ways.append((v2, b.current))
        b.label(rows.done)
        return [b.phi([(each[k], label) for each, label in ways]) for k in range(words)]

    def _near_words(self, rows: _Rows, size: int) -> list[Ref]:
        """Load the words at a pointer, all of them in the buffer."""
        b, words = self.code.body, max(size // 4, 1)
        if rows.apart == 0:
            return [b.splat(b.load(I32, rows.pointer, 4), V32)]
        if rows.apart == 2 * size == 8:
            return [self._every_second(rows.pointer)]
        nbytes = min(size, 4)
        whole = b.load(vector(32 * words, integer(8 * nbytes)), rows.pointer, nbytes)
        if words > 1:
            return [b.shuffle(whole, range(k, k + 32 * words, words)) for k in range(words)]
        if rows.apart < 0:
            return [self._descending(b, whole)]
        return [whole if size >= 4 else b.zext(whole, V32)]

    def _every_second(self, start: Ref) -> Ref:
        """Return every second word from a pointer on, reading nothing after the last one: 63 words."""
        b, index = self.code.body, [2 * j if j < 8 else 2 * j + 1 for j in range(16)]
        halves: list[Ref] = []
        for k in (0, 128):
            at = [b.offset(start, k + n) for n in (0, 60)]  # words 0 to 15, 15 to 30
            low, high = (b.load(HALF, p, 4) for p in at)
            halves.append(b.shuffle(low, index, high))
        return halves_joined(b, halves)

    def _load_falling(self, space: str, rows: _Rows, low: ValueLowering) -> tuple[list[Ref], str]:
        """Load adjacent words at falling addresses; emission continues in the block of the other cases."""
        b, (lowest, beyond) = self.code.body, self._falling(space, rows.addresses, rows.buffer, low)
        found = self._descending(b, b.load(V32, lowest, 4))
        near = b.current
        b.jump(rows.done)
        b.label(beyond)
        return [found], near

    def _load_windows(self, space: str, rows: _Rows) -> tuple[list[Ref], str]:
        """Load words that are near each other, see `memory_windows`.

        Emission continues in the block of the other cases.
        """
        b, beyond = self.code.body, self.code.body.fresh("beyond")
        found = load_from_windows(b, self._base(space), rows.addresses, rows.buffer, beyond)
        b.jump(rows.done)
        near = b.current
        b.label(beyond)
        return [found], near

    def _load_near(self, space: str, rows: _Rows) -> tuple[list[Ref], str]:
        """Load words of a few adjacent lines of memory, in any order.

        Emission continues in the block of the other cases.
        """
        c, b = self.code, self.code.body
        both = b.call(c.shared("load_near"), self._base(space), rows.site, rows.addresses)
        found = b.part(both, 0)
        near, beyond = b.fresh("lines"), b.fresh("beyond")
        b.branch(b.part(both, 1), near, beyond)
        b.label(near)
        b.jump(rows.done)
        b.label(beyond)
        return [found], near

    def _load_missed(self, step: Step, space: str, rows: _Rows, size: int, low: ValueLowering) -> list[Ref]:
        """Load the words where the lanes do not access adjacent ones in the buffer that was accessed last."""
        placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, low)
        got = self._loaded(space, placed, size, low)
        if placed.lanes == TRUE:
            return got
        return [low.select(placed.lanes, g, low.constant(0, g.width)) for g in got]

    def _store_row(
        self,
        step: Step,
        space: str,
        address: Ref,
        words: Sequence[Ref],
        size: int,
        low: ValueLowering,
        apart: int | None,
    ) -> None:
        """Store `size` bytes of g[] per lane, all lanes active, see `_row`."""
        b = self.code.body
        rows = self._rows(step, space, address, size, low, apart, STORED_AT_ONCE if size == 4 else ())
        self._store_near(rows, words, size)
        b.jump(rows.done)
        b.label(rows.far)
        if size == 4 and rows.lanes == TRUE and self.code.in_loop(step) and apart is None:
            self._store_falling(space, rows.addresses, words[0], rows.buffer, rows.done, low.fork())
        inner = low.fork()
        placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, inner)
        if size < 4:
            self._store_small(space, placed.offsets, words[0], size, placed.lanes)
        else:
            self._store_each(space, placed, words, inner)
        b.label(rows.done)

    def _store_near(self, rows: _Rows, words: Sequence[Ref], size: int) -> None:
        """Store at a pointer; the whole range is in the buffer."""
        b = self.code.body
        if rows.apart == 0:  # where lanes hit the same place the highest one wins
            b.store(b.extract(words[0], 31), rows.pointer, 4)
            return
        whole, count = [*words], 32
        while len(whole) > 1:
            # Words k and k + n/2 first, so that the last round puts the words of a lane side by side.
            half, index = len(whole) // 2, [j + k for j in range(count) for k in (0, count)]
            whole = [b.shuffle(x, index, y) for x, y in zip(whole[:half], whole[half:], strict=True)]
            count *= 2
        if rows.apart < 0:
            whole = [self._descending(b, whole[0])]
        if size < 4:
            whole = [b.trunc(whole[0], vector(32, integer(8 * size)))]
        b.store(whole[0], rows.pointer, min(size, 4))
