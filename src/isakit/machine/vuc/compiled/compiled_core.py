"""Runs a core on compiled code, and on the reference core where something is not for compiled code.

Python holds the core's state; it is copied into the shared memory before compiled code runs, and back behind it. D[] is
copied only where the other side has changed it. Compiled code never sees a cycle in which an event of a unit, the
watchdog or a special register with side effects plays a part: such cycles are the reference core's.
"""

from __future__ import annotations

import ctypes
import heapq
from collections.abc import Container
from struct import Struct
from typing import TYPE_CHECKING, cast

from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.machine.interrupts import deferred
from isakit.machine.vuc.compiled import shared_state as at
from isakit.machine.vuc.compiled.code_image import Image, image_of
from isakit.machine.vuc.compiled.state_access import landable
from isakit.machine.vuc.compiled.word_code import Traits
from isakit.machine.vuc.core_memory import D_CELLS
from isakit.machine.vuc.queue_entries import ACCUMULATOR, DEAD, EVENT, LONG_VIEW, REGISTER, SPECIAL, Entry

if TYPE_CHECKING:
    from isakit.machine.vuc.core import Core

_NATIVE_KINDS = (REGISTER, ACCUMULATOR, LONG_VIEW)
_SCALARS = ("qpy", "qpc", "part", "xy", "addr", "type", "sub_types")
ROOM = at.CAPACITY // 2
"""Entries a queue may have for compiled code to take it; it adds fewer than ten."""

CELLS = Struct(f"={D_CELLS}H")
MANY, MISSES = 256, 64
"""Of more different words only those are compiled that have been executed; others join them after so many misses,
twice as many the next time."""

UNINTERRUPTED = 1 << 24
"""Cycles after which Python gets a chance to handle signals: some hundredths of a second."""

NOWHERE: frozenset[int] = frozenset()

SHORT, PATIENCE = 40, 1 << 12
"""Excursions of fewer cycles cost more than they save; for how many cycles the reference core goes on then, at most."""


def _addresses(stops: Container[int]) -> frozenset[int]:
    if not stops:
        return NOWHERE
    if isinstance(stops, frozenset):
        return cast("frozenset[int]", stops)
    return frozenset(a for a in range(CODE_SIZE) if a in stops)


class Driver:
    """Compiled code beside a core. `eager`: use it from the first cycle on, and however short the runs are."""

    def __init__(self, core: Core, eager: bool) -> None:
        self.core, self.eager = core, eager
        self._state = (ctypes.c_int64 * at.SIZE)()
        self._data = (ctypes.c_uint16 * D_CELLS)()
        self._table = (ctypes.c_uint16 * CODE_SIZE)()
        self._stops = NOWHERE
        self._image: Image | None = None
        self._made_for: tuple[int, bool] = (-1, False)
        self._landable: frozenset[int] = frozenset()
        self._objects: dict[int, Entry] = {}
        self._others: list[Entry] = []
        self._cells_known = self._cells_newer = False
        self.rest = 0
        self._penalty = 0
        self._missed, self._allowed = 0, MISSES
        self.native_cycles = 0

    # --- running ------------------------------------------------------------------------------------------------------
    def advance(self, limit: int, stops: Container[int]) -> str:
        """Like `Core.advance`."""
        core = self.core
        if not self.eager and limit - core.cycle < SHORT:
            return core.advance_reference(limit, stops)
        places = _addresses(stops)
        self._cells_known = False  # D[] may have been written since
        try:
            while core.cycle < limit:
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
            self._export_cells()
        return "limit"

    def _rest(self, limit: int, stops: Container[int]) -> str:
        """Some cycles on the reference core, because compiled code was of no use."""
        core = self.core
        begin = core.cycle
        self._export_cells()
        self._cells_known = False
        reason = core.advance_reference(min(limit, begin + self.rest), stops)
        self.rest -= core.cycle - begin
        return reason

    def _reference_cycle(self, limit: int, stops: Container[int]) -> str:
        """One cycle, or a whole wait, on the reference core."""
        core = self.core
        assert self._image is not None
        ahead = core.cycle + 1
        if core.wait is not None and not core.would_wake() and core.queue:
            ahead = max(ahead, core.queue[0][0])
        elif self._misses(core.code[core.pc]) or core.code[core.pc] in self._image.uses_cells:
            self._export_cells()
            self._cells_known = False
        if core.host.on_interrupt is not None:  # it may look at everything, and change it
            self._export_cells()
            self._cells_known = False
        elif any(e[3] == EVENT and e[0] <= ahead for e in core.queue):
            self._export_cells()  # mbiread looks into D[]
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
        """Run compiled code as far as it goes."""
        core = self.core
        room = self._room(limit)
        if room <= core.cycle or not self._table[core.pc] or len(core.queue) > ROOM:
            if not self.eager:
                self._judge(0)
            return
        assert self._image is not None
        begin = core.cycle
        with deferred():  # so that what raises an interrupt finds a whole state
            self._enter()
            self._image.run(self._state, self._data, self._table, min(room, begin + UNINTERRUPTED))
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
        """The cycle up to which compiled code may go: events, side effects and the watchdog are not for it."""
        core = self.core
        if core.watch_at >= core.issued:
            limit = min(limit, core.cycle + core.watch_at - core.issued - 1)
        for e in core.queue:
            if not self._native(e) and e[3] != DEAD:
                limit = min(limit, e[0] - 1)
        return limit

    def _native(self, e: Entry) -> bool:
        return e[3] in _NATIVE_KINDS or (e[3] == SPECIAL and e[4] in self._landable)

    # --- code ---------------------------------------------------------------------------------------------------------
    def _prepare(self, stops: frozenset[int]) -> None:
        """Compile what code memory holds, unless that is done."""
        core = self.core
        made_for = core.code_version, core.shows_predicates
        if made_for != self._made_for:
            o, read_only = core.options, frozenset(core.sr.read_only)
            traits = Traits(
                core.variant, core.features, o.signed_relative, o.return_offset, read_only, core.shows_predicates
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
        core, s, sr = self.core, self._state, self.core.sr
        s[at.R : at.R + 16] = core.r
        s[at.P] = core.predicates()
        s[at.CYCLE], s[at.PC], s[at.NPC] = core.cycle, core.pc, core.npc
        s[at.ACC], s[at.VIEW] = core.acc[0], core.long_view
        s[at.BEFORE_CYCLE], s[at.BEFORE] = core.predicates_before
        s[at.DEPTH] = len(sr.stack)
        s[at.STACK : at.STACK + len(sr.stack)] = sr.stack
        s[at.STORED] = s[at.TOUCHED] = 0
        s[at.STAT], s[at.PARM] = sr.stat(), core.parm & 0xFFFF
        s[at.COUNTED] = core.icnt - core.cycle
        s[at.PLAIN : at.PLAIN + 64] = sr.plain
        mb = core.mb
        s[at.VECTORS : at.VECTORS + 64] = [v for row in mb.vectors for v in row]
        s[at.REFS : at.REFS + 8] = [*mb.refs[0], *mb.refs[1]]
        s[at.RPIS : at.RPIS + 8] = [*mb.rpis[0], *mb.rpis[1]]
        s[at.SCALARS : at.SCALARS + 7] = [getattr(mb, n) for n in _SCALARS]
        self._enter_queue()
        if not self._cells_known:
            CELLS.pack_into(self._data, 0, *core.data)
            self._cells_known = True

    def _enter_queue(self) -> None:
        core, s = self.core, self._state
        self._others = [e for e in core.queue if not self._native(e)]
        mine = sorted((e for e in core.queue if self._native(e)), reverse=True)
        self._objects = {e[2]: e for e in mine}
        slot = at.QUEUE
        for e in mine:
            s[slot : slot + 7] = e
            slot += at.ENTRY
        s[at.SERIAL], s[at.COUNT] = core.serial, len(mine)
        s[at.NEXT] = mine[-1][0] if mine else at.NEVER
        long = core.long_operation
        s[at.LONG_LANDS], s[at.LONG_SERIAL] = (long[0][1], long[0][2]) if long is not None else (-1, -1)

    def _leave(self) -> None:
        """Copy the state back."""
        core, s, sr = self.core, self._state, self.core.sr
        passed = s[at.CYCLE] - core.cycle
        if not passed:
            return
        core.r[:] = s[at.R : at.R + 16]
        predicates = s[at.P]
        core.p[:] = [predicates >> n & 1 for n in range(16)]
        core.cycle, core.pc, core.npc = s[at.CYCLE], s[at.PC], s[at.NPC]
        core.issued += passed
        core.acc[0], core.long_view = s[at.ACC], s[at.VIEW]
        if core.shows_predicates:
            core.predicates_before = s[at.BEFORE_CYCLE], s[at.BEFORE]
        sr.stack[:] = s[at.STACK : at.STACK + s[at.DEPTH]]
        sr.plain[:] = s[at.PLAIN : at.PLAIN + 64]
        if s[at.TOUCHED]:
            self._leave_macroblock()
        if s[at.STORED]:
            self._cells_newer = True
        self._leave_queue()

    def _leave_macroblock(self) -> None:
        mb, s = self.core.mb, self._state
        for k in range(4):
            mb.vectors[k][:] = s[at.VECTORS + 16 * k : at.VECTORS + 16 * k + 16]
        for k in range(2):
            mb.refs[k][:] = s[at.REFS + 4 * k : at.REFS + 4 * k + 4]
            mb.rpis[k][:] = s[at.RPIS + 4 * k : at.RPIS + 4 * k + 4]
        for k, name in enumerate(_SCALARS):
            setattr(mb, name, s[at.SCALARS + k])

    def _leave_queue(self) -> None:
        core, s = self.core, self._state
        by_serial: dict[int, Entry] = {}
        for slot in range(at.QUEUE, at.QUEUE + at.ENTRY * s[at.COUNT], at.ENTRY):
            entry: Entry = list(s[slot : slot + 7])
            by_serial[entry[2]] = self._objects.get(entry[2], entry)
        core.queue[:] = [*by_serial.values(), *(e for e in self._others if e[0] > core.cycle)]
        heapq.heapify(core.queue)
        core.serial = s[at.SERIAL]
        serial = s[at.LONG_SERIAL]
        if serial in by_serial:
            core.long_operation = by_serial[serial], by_serial[serial + 1]
        else:
            core.long_operation = None  # it has landed, so nothing can abort it

    def _export_cells(self) -> None:
        """Bring the core's D[] up to date."""
        if self._cells_newer:
            self.core.data[:] = CELLS.unpack_from(self._data)
            self._cells_newer = False
