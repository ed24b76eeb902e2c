"""Runs a core on compiled code, and on the reference core where that cannot execute.

Python holds the core's state; it is copied into the shared memory before compiled code runs, and back after it. D[] is
copied only where the other side has changed it. Compiled code never executes a cycle in which an event of a unit, the
watchdog or a special register with side effects is involved: such cycles are left to the reference core.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container
from typing import TYPE_CHECKING, cast

from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.engine.record_bytes import Bytes
from isakit.machine.interrupts import allowed, deferred
from isakit.machine.vuc.compiled.code_image import CodeImage, image_of
from isakit.machine.vuc.compiled.core_functions import LAYOUT
from isakit.machine.vuc.compiled.shared_cells import SharedCells
from isakit.machine.vuc.compiled.word_code import CodeOptions, CoreConfig, landable
from isakit.machine.vuc.rules.state import CAPACITY, NEVER, CoreRecord, MacroblockState, QueueEntry, QueueKind

if TYPE_CHECKING:
    from isakit.machine.vuc.core import CoreMachine

_NATIVE_KINDS = (QueueKind.REGISTER, QueueKind.ACCUMULATOR, QueueKind.LONG_VIEW)
ROOM = CAPACITY // 2
"""Largest number of entries in the queue for which compiled code is entered; it adds fewer than ten."""

_CORE = Bytes(CoreRecord, without=("watch_at", "stat", "parm"))
_CORE_IN = Bytes(CoreRecord)
_MACROBLOCK, _ENTRY = Bytes(MacroblockState), Bytes(QueueEntry)
_MB, _QUEUE = LAYOUT.at("mb"), LAYOUT.at("queue")

MANY, MISSES = 256, 64
"""With more distinct words, only executed ones are compiled; others are added after this many misses, twice as many
the next time."""

UNINTERRUPTED = 1 << 24
"""Cycles after which Python can handle signals: some hundredths of a second."""

NOWHERE: frozenset[int] = frozenset()

SHORT, PATIENCE = 40, 1 << 12
"""Excursions of fewer cycles cost more than they save; then the reference core runs for up to this many cycles."""


def _order(e: QueueEntry) -> tuple[int, int, int]:
    """Return a key for the order in which entries land.

    Those of compiled code are already sorted (`rules.writes.enter`).
    """
    return e.visible, e.lands, e.serial


def _addresses(stops: Container[int]) -> frozenset[int]:
    if not stops:
        return NOWHERE
    if isinstance(stops, frozenset):
        return cast("frozenset[int]", stops)
    return frozenset(a for a in range(CODE_SIZE) if a in stops)


class Driver:
    """Compiled code for a core. `eager`: use it from the first cycle on, however short the runs are."""

    def __init__(self, core: CoreMachine, eager: bool) -> None:
        self.core, self.eager = core, eager
        self._state = (ctypes.c_uint8 * LAYOUT.size)()
        self._cells = SharedCells()
        self._table = (ctypes.c_uint16 * CODE_SIZE)()
        self._stops = NOWHERE
        self._image: CodeImage | None = None
        self._made_for: tuple[int, bool] = (-1, False)
        self._landable: frozenset[int] = frozenset()
        self._objects: dict[int, QueueEntry] = {}
        self._others: list[QueueEntry] = []
        self.rest = 0
        self._penalty = 0
        self._missed, self._allowed = 0, MISSES
        self.native_cycles = 0

    # --- running ------------------------------------------------------------------------------------------------------
    def advance(self, limit: int, stops: Container[int]) -> str:
        """Advance as `CoreMachine.advance` does."""
        core = self.core
        if not self.eager and limit - core.cycle < SHORT:
            return core.advance_reference(limit, stops)
        places = _addresses(stops)
        self._cells.listed = True  # D[] may have been written since
        with deferred() as signals:  # so that what raises an interrupt finds a whole state
            try:
                while core.cycle < limit:
                    signals.check()
                    if self.rest > 0:
                        reason = self._rest(limit, stops)
                        if reason != "limit":
                            return reason
                        continue
                    self._prepare(places)
                    if not core.halted and core.wait is None:
                        self._excursion(limit)
                        if core.cycle >= limit:
                            break
                    reason = self._reference_cycle(limit, stops)
                    if reason != "limit":
                        return reason
            finally:
                self._cells.to_list(core.dmem)
        return "limit"

    def _rest(self, limit: int, stops: Container[int]) -> str:
        """Run some cycles on the reference core, because compiled code was unprofitable."""
        core = self.core
        begin = core.cycle
        self._cells.lend(core.dmem)
        with allowed():
            reason = core.advance_reference(min(limit, begin + self.rest), stops)
        self.rest -= core.cycle - begin
        return reason

    def _reference_cycle(self, limit: int, stops: Container[int]) -> str:
        """Execute one cycle, or a whole wait, on the reference core."""
        core = self.core
        assert self._image is not None
        ahead = core.cycle + 1
        if core.wait is not None and not core.would_wake() and core.count:
            ahead = max(ahead, core.due)
        elif self._misses(core.code[core.pc]) or core.code[core.pc] in self._image.uses_cells:
            self._cells.lend(core.dmem)
        if core.host.on_interrupt is not None:  # it may look at everything, and change it
            self._cells.lend(core.dmem)
        elif any(e.kind == QueueKind.EVENT and e.visible <= ahead for e in core.queue[: core.count]):
            self._cells.to_list(core.dmem)  # mbiread looks into D[]
        if not core.calls_out:
            return core.advance_reference(min(limit, ahead), stops)
        with allowed():
            return core.advance_reference(min(limit, ahead), stops)

    def _misses(self, word: int | None) -> bool:
        """Return whether `word` is missing from the image; after too many misses, the image is recompiled."""
        assert self._image is not None
        if word is None or word in self._image.words:
            return False
        self._missed += 1
        if self._missed >= self._allowed:
            self._allowed *= 2
            self._made_for = -1, False
        return True

    def _excursion(self, limit: int) -> None:
        """Run compiled code as far as it gets."""
        core = self.core
        room = self._room(limit)
        if room <= core.cycle or not self._table[core.pc] or core.count > ROOM:
            if not self.eager:
                self._judge(0)
            return
        assert self._image is not None
        begin = core.cycle
        self._enter()
        self._image.run(self._state, self._cells.memory, self._table, min(room, begin + UNINTERRUPTED))
        self._leave()
        self.native_cycles += core.cycle - begin
        if not self.eager and core.cycle < limit:
            self._judge(core.cycle - begin)

    def _judge(self, cycles: int) -> None:
        """Stay on the reference core for a while if excursions are short."""
        if cycles >= SHORT:
            self._penalty = 0
        else:
            self._penalty = min(2 * self._penalty + 4, PATIENCE)
            self.rest = self._penalty

    def _room(self, limit: int) -> int:
        """Return the last cycle that compiled code may reach: it handles no events, side effects or watchdog."""
        core = self.core
        limit = min(limit, core.cycle + core.watch_at - core.issued - 1)
        for e in core.queue[: core.count]:
            if not self._native(e) and e.kind != QueueKind.DEAD:
                limit = min(limit, e.visible - 1)
        return limit

    def _native(self, e: QueueEntry) -> bool:
        return e.kind in _NATIVE_KINDS or (e.kind == QueueKind.SPECIAL and e.index in self._landable)

    # --- code ---------------------------------------------------------------------------------------------------------
    def _prepare(self, stops: frozenset[int]) -> None:
        """Compile the content of code memory, unless that has been done."""
        core = self.core
        made_for = core.code_version, core.shows_predicates
        if made_for != self._made_for:
            read_only = frozenset(core.sr.read_only)
            traits = CoreConfig(
                core.variant, core.features, CodeOptions.of(core.options), read_only, core.shows_predicates
            )
            words = core.words(issued=False)
            if len(words) > MANY:
                words = core.words(issued=True)
            self._image = image = image_of(tuple(words), traits)
            self._missed = 0
            self._landable = frozenset(n for n in range(64) if landable(n, core.features, read_only))
            self._table[:] = [image.number(word) for word in core.code]
            self._made_for, self._stops = made_for, NOWHERE
        if stops != self._stops:
            assert self._image is not None
            for address in self._stops:
                self._table[address] = self._image.number(core.code[address])
            for address in stops:
                self._table[address] = 0
            self._stops = stops

    # --- state --------------------------------------------------------------------------------------------------------
    def _enter(self) -> None:
        """Copy the core's state into the shared memory."""
        core, state = self.core, self._state
        queue = core.queue[: core.count]
        self._others = [e for e in queue if not self._native(e)]
        mine = [e for e in queue if self._native(e)] if self._others else queue
        self._objects = {e.serial: e for e in mine}
        count, due = core.count, core.due
        core.count, core.due = len(mine), mine[-1].visible if mine else NEVER
        core.stat = core.sr.stat()
        _CORE_IN.pack(core, state)
        core.count, core.due = count, due
        _MACROBLOCK.pack(core.mb, state, _MB)
        self._macroblock = _MACROBLOCK.numbers(state, _MB)
        for at, e in enumerate(mine):
            _ENTRY.pack(e, state, _QUEUE + at * _ENTRY.size)
        self._cells.to_memory(core.dmem)

    def _leave(self) -> None:
        """Copy the state back."""
        core, state = self.core, self._state
        before = core.cycle
        _CORE.unpack(core, state)
        if core.cycle == before:
            core.count = len(self._objects) + len(self._others)
            core.due = core.queue[core.count - 1].visible if core.count else NEVER  # the others count, too
            return
        if _MACROBLOCK.numbers(state, _MB) != self._macroblock:
            _MACROBLOCK.unpack(core.mb, state, _MB)
        self._cells.ran()
        mine: list[QueueEntry] = []
        for at in range(core.count):
            numbers = _ENTRY.numbers(state, _QUEUE + at * _ENTRY.size)
            e = self._objects.get(numbers[2]) or QueueEntry(*numbers)
            e.kind = numbers[3]
            mine.append(e)
        others = [e for e in self._others if e.visible > core.cycle]
        if others:
            mine = sorted([*mine, *others], key=_order, reverse=True)
        core.queue[:] = mine
        core.count, core.due = len(mine), mine[-1].visible if mine else NEVER
