"""The vµc core, cycle by cycle.

One instruction issues per cycle and nothing is ever held back: an instruction reads all its sources in its cycle t, and
what it writes becomes visible when its latency X has passed. $r and $p are forwarded (readers at t + X see the new
value), special registers are one cycle later. Writes of one-cycle instructions to $r and $p need no queue; everything
else waits in a heap, ordered by the cycle of visibility, the cycle of landing and the order of issue.
Source: [vuc] 7, 8, 11.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Sequence
from typing import Any

from isakit.arch.vuc import vuc
from isakit.arch.vuc.fields import SR_SRC1
from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.arch.vuc.registers import NOT_P0, SR, TRUE
from isakit.errors import MachineFault
from isakit.machine.snapshot import Snapshot, freeze_parts, thaw_parts
from isakit.machine.vuc.core_code import Op, decode
from isakit.machine.vuc.core_memory import D_CELLS, PWT_BYTES, HostMemory
from isakit.machine.vuc.execution_state import View
from isakit.machine.vuc.host_registers import Host
from isakit.machine.vuc.macroblock import Macroblock
from isakit.machine.vuc.mbring import Ring
from isakit.machine.vuc.mvsurf import Output, Source
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.queue_entries import ACCUMULATOR, DEAD, EVENT, LONG_VIEW, REGISTER, SPECIAL, Entry
from isakit.machine.vuc.special_registers import WATCHDOG_BIT, SpecialRegisters
from isakit.machine.vuc.unit_requests import ACTIONS, H264_MODE, Units
from isakit.machine.vuc.vpring import VpRing

MASK = CODE_SIZE - 1
NO_WATCHDOG = 0xFFFF


_PARTS = ("memory", "units", "ring", "vpring", "mvs_in", "mvs_out", "sr", "host", "_view")
_NO_STATE = {
    "core": frozenset(
        (
            "variant",
            "features",
            "options",
            "vp2",
            "_ops",
            "listener",
            "accelerator",
            "code_version",
            "engine",
            "on_cycle",
            "on_io_load",
            "on_io_store",
        )
    ),
    "sr": frozenset(("names", "named", "read_only")),
    "host": frozenset(("base", "window", "interrupts", "on_interrupt", "_registers", "_by_offset")),
    "_view": frozenset(("data", "files")),
}
"""Attributes of the parts that a snapshot leaves out: fixed when the core is made, derived, or the user's."""


def _restored(kind: type[Core], variant: str, options: Options, snapshot: Snapshot) -> Core:
    core = kind(variant, options)
    core.restore(snapshot)
    return core


def _packed(bits: Sequence[int]) -> int:
    """Bits as one number, the first in bit 0."""
    return sum(bit << n for n, bit in enumerate(bits))


def _unpack(value: int, predicates: list[int]) -> None:
    """Set all predicates from the bits of a number; $p1 and $p15 keep their meaning."""
    for n in range(16):
        if n not in (NOT_P0, TRUE):
            predicates[n] = value >> n & 1
    predicates[NOT_P0] = 1 - predicates[0]


class Core:
    """A core of one variant with its surroundings.

    `r`, `p`: registers as lists (write $p with `set_predicates`); `sr`: special registers by number or name; `data`:
    D[]; `code`: instruction words, None where nothing was written; `pc`, `cycle`; `memory`: the memory the rings and
    surfaces lie in; `host`: the host's registers; `diagnostics`: (cycle, pc, kind, text) of odd things that happened.
    `on_io_load(space, address)` answers loads of B6[] and B7[] (None: what the options say), and
    `on_io_store(space, address, value)` is told of stores there.
    """

    def __init__(self, variant: str = "vp3", options: Options | None = None) -> None:
        v = vuc.variant(variant)
        self.variant, self.features = v.name, v.features | {v.name}
        self.options = options or Options()
        self.vp2 = v.name == "vp2"
        self.code: list[int | None] = [None] * CODE_SIZE
        self._ops: list[Op | None] = [None] * CODE_SIZE
        self.memory = HostMemory()
        self.shows_predicates = False
        self.io_writes: list[tuple[int, str, int, int]] = []
        self.on_io_load: Callable[[str, int], int | None] | None = None
        self.on_io_store: Callable[[str, int, int], None] | None = None
        self.listener: Callable[[Entry], None] | None = None
        self.accelerator: Callable[[int, Container[int]], str] | None = None
        self.code_version = 0
        self.reset()

    # --- state --------------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """A unit reset: everything but code and host memory is cleared, the core is halted."""
        self.r, self.p, self.acc = [0] * 16, [0] * 16, [0]
        self.p[NOT_P0] = self.p[TRUE] = 1
        self.long_view = 0
        self.data = [0] * D_CELLS
        self._view = View(self)
        self.pwt = bytearray(PWT_BYTES)
        self.weight_denominators = 0
        self.mb = Macroblock()
        self.parm = 0 if self.vp2 else H264_MODE
        self.rpitab = self.reftab = 0
        self.stat_bits = 0
        self.pulses = 0
        self.cycle = self.issued = 0
        self.pc: int = 0
        self.npc: int = 1
        self.halted = True
        self._icnt_base = 0
        self.wdcnt = NO_WATCHDOG
        self.watch_at: int = -1
        self.queue: list[Entry] = []
        self.serial = 0
        self.long_operation: tuple[Entry, Entry] | None = None
        self.wait: tuple[int, int, bool] | None = None
        self.target = -1
        self._predicates_before: tuple[int, list[int]] = (-2, self.p)
        self.mvs_in, self.mvs_out = Source(self.memory), Output(self.memory)
        self.mvs_in_busy = False
        self.units = Units(self)
        self.ring = Ring(self.memory, self.vp2)
        self.vpring = VpRing(
            self.memory,
            self.later,
            self._ring_full,
            self.options.vpring_cycles,
        )
        self.sr = SpecialRegisters(self)
        self.host = Host(self)
        self.diagnostics: list[tuple[int, int, str, str]] = []

    def _ring_full(self, name: str) -> None:
        self.host.raise_interrupt(f"VPRING_{name}_HALT")

    # --- snapshots ----------------------------------------------------------------------------------------------------
    def _parts(self) -> dict[str, object]:
        """The objects the state is in, by name."""
        parts: dict[str, object] = {n: getattr(self, n) for n in _PARTS}
        rings: dict[str, object] = {f"vpring.{k}": ring for k, ring in enumerate(self.vpring.rings)}
        return {"core": self, **parts, **rings}

    def snapshot(self) -> Snapshot:
        """The state of the core and its surroundings, code and host memory included."""
        return freeze_parts(f"vuc {self.variant}", self._parts(), _NO_STATE)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this core, or of one made alike.

        What is set from outside stays: options, and functions that are told of cycles and interrupts. Raises
        LaunchError for a snapshot of another machine.
        """
        before = list(self.code)
        thaw_parts(f"vuc {self.variant}", snapshot, self._parts())
        changed = [a for a, (old, new) in enumerate(zip(before, self.code, strict=True)) if old != new]
        for address in changed:
            self._ops[address] = None
        self.code_version += bool(changed)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.variant, self.options, self.snapshot())

    def note(self, kind: str, text: str) -> None:
        """Remember something odd; at most 1000 notes are kept."""
        if len(self.diagnostics) < 1000:
            self.diagnostics.append((self.cycle, self.pc, kind, text))

    def set_code(self, address: int, word: int) -> None:
        """Write one instruction word."""
        self.code[address] = word
        self.code_version += 1
        if word >> 26 & 5 == 1 and SR_SRC1.get(word) == SR["pred"]:
            self.shows_predicates = True  # the program reads $pred, which lags behind
        self._ops[address] = None

    def load_words(self, words: Sequence[int], address: int = 0) -> None:
        """Write instruction words from an instruction address on."""
        if address + len(words) > CODE_SIZE:
            raise MachineFault("CODE_SIZE", address, detail=f"{len(words)} words do not fit 0x800")
        for i, w in enumerate(words):
            self.set_code(address + i, w)

    def start(self) -> None:
        """Begin execution at address 0. Registers, call stack and pending writes stay as they are."""
        self.halted = False
        self.pc, self.npc = 0, 1
        self.wait = None

    def halt(self) -> None:
        """Stop; `start` begins anew."""
        self.halted = True

    @property
    def idle(self) -> bool:
        """Halted or asleep."""
        return self.halted or (self.wait is not None and self.wait[2])

    @property
    def waiting(self) -> bool:
        """Stalled in sleep, wstc or wsts."""
        return self.wait is not None

    @property
    def pending(self) -> list[Entry]:
        """Writes and events that have not landed yet, in the order they will."""
        return sorted(e for e in self.queue if e[3] != DEAD)

    def op(self, address: int) -> Op:
        """The decoded instruction at an address; raises MachineFault where there is none."""
        op = self._ops[address]
        if op is None:
            word = self.code[address]
            if word is None:
                raise MachineFault("UNWRITTEN_CODE", address, detail="no instruction was written there")
            op = self._ops[address] = decode(self.variant, word, address)
        return op

    def words(self, *, issued: bool) -> list[int]:
        """The different words of code memory in ascending order; with `issued` only those that have been executed."""
        pairs = zip(self.code, self._ops, strict=True)
        return sorted({w for w, op in pairs if w is not None and (op is not None or not issued)})

    # --- counters -----------------------------------------------------------------------------------------------------
    @property
    def icnt(self) -> int:
        """$icnt."""
        return (self.issued - self._icnt_base) & 0xFFFF

    def set_icnt(self, value: int) -> None:
        """Write $icnt; clears the watchdog bit."""
        self._icnt_base = self.issued - (value & 0xFFFF)
        self._rearm()

    def set_wdcnt(self, value: int) -> None:
        """Write the watchdog limit; clears the watchdog bit."""
        self.wdcnt = value & 0xFFFF
        self._rearm()

    def _rearm(self) -> None:
        self.stat_bits &= ~(1 << WATCHDOG_BIT)
        if self.wdcnt == NO_WATCHDOG:
            self.watch_at = -1
        else:
            ahead = (self.wdcnt - self.icnt) & 0xFFFF
            self.watch_at = self.issued + (ahead or 0x10000)

    def _count(self) -> None:
        """A stalled cycle counts."""
        self.issued += 1
        if self.issued == self.watch_at:
            self.watch_at += 0x10000
            self.later(2, self._bark, "watchdog")

    def _bark(self) -> None:
        self.stat_bits |= 1 << WATCHDOG_BIT
        self.host.raise_interrupt("WATCHDOG")
        if self.options.watchdog_halts:
            self.halt()

    # --- predicates ---------------------------------------------------------------------------------------------------
    def set_predicates(self, value: int, mask: int) -> None:
        """Set the predicates in `mask` from the bits of `value`; $p1 and $p15 keep their meaning."""
        for n in range(16):
            if mask >> n & 1 and n not in (NOT_P0, TRUE):
                self.p[n] = value >> n & 1
        if mask & 1:
            self.p[NOT_P0] = 1 - self.p[0]

    def predicates(self) -> int:
        """All predicates, one bit each, as forwarded readers see them."""
        return _packed(self.p)

    @property
    def predicates_before(self) -> tuple[int, int]:
        """Cycle of the last instruction that wrote predicates, and all predicates before it, one bit each."""
        cycle, before = self._predicates_before
        return cycle, _packed(before)

    @predicates_before.setter
    def predicates_before(self, value: tuple[int, int]) -> None:
        self._predicates_before = value[0], [value[1] >> n & 1 for n in range(16)]

    def predicates_seen(self) -> int:
        """$pred: without what the previous instruction wrote."""
        cycle, before = self._predicates_before
        return _packed(before if cycle == self.cycle - 1 else self.p)

    # --- writes that land later ---------------------------------------------------------------------------------------
    def write_later(self, file: str, index: int, value: int, latency: int) -> None:
        """A write of an instruction that lands `latency` cycles after the current one."""
        lands = self.cycle + latency
        if file == "r":
            self._push(lands, lands, REGISTER, index, value)
        elif file == "sr":
            if index == 10:
                self.sr.push(value)
            else:
                self._push(lands + 1, lands, SPECIAL, index, value)
        else:
            self._start_long(lands, value)

    def _start_long(self, lands: int, value: int) -> None:
        if self.long_operation is not None and self.long_operation[0][1] > self.cycle:
            for e in self.long_operation:
                e[3] = DEAD
            self.note("LONG_ABORTED", f"the long operation of {self.long_operation[0][6]:#x} never lands")
        self.long_operation = (
            self._push(lands, lands, ACCUMULATOR, 0, value),
            self._push(lands + 1, lands, LONG_VIEW, 0, value),
        )

    def _push(self, visible: int, lands: int, kind: int, index: int | str, value: Any) -> Entry:
        self.serial += 1
        entry = [visible, lands, self.serial, kind, index, value, self.pc]
        heapq.heappush(self.queue, entry)
        return entry

    def later(self, cycles: int, action: Callable[[], None], name: str = "") -> Entry:
        """Do something whose effect is visible `cycles` after the current cycle; `name` is for people who watch."""
        return self._push(self.cycle + cycles, self.cycle + cycles, EVENT, name, action)

    # --- running ------------------------------------------------------------------------------------------------------
    def pass_cycles(self, n: int = 1) -> None:
        """Run `n` cycles; nothing happens while the core is halted."""
        limit = self.cycle + n
        self.advance(limit)
        if not self.halted and self.cycle < limit:
            self.cycle = limit

    def advance(self, limit: int, stops: Container[int] = ()) -> str:
        """Run until cycle `limit`, until an address of `stops` is about to issue, or until nothing can happen any more.

        Returns why: `limit`, `stop`, `halted` or `asleep` (nothing inside the unit will end the wait).
        """
        if self.accelerator is not None and self.listener is None:
            return self.accelerator(limit, stops)
        return self.advance_reference(limit, stops)

    def advance_reference(self, limit: int, stops: Container[int] = ()) -> str:
        """`advance` without compiled code."""
        ops, p, heap, view = self._ops, self.p, self.queue, self._view
        none = ()
        while self.cycle < limit:
            if self.halted:
                return "halted"
            if self.wait is not None:
                if not self.would_wake():
                    if not self._stall(limit):
                        return "asleep"
                    continue
                self.wait = None
            self._hurry(limit, stops)
            if self.cycle >= limit:
                break
            pc = self.pc
            if pc in stops:
                return "stop"
            op = ops[pc] or self.op(pc)
            npc = self.npc
            self.target = -1
            relative = op.relative
            taken = relative is not None and p[relative[0]] != relative[1]
            guard = op.guard
            executes = guard < 0 or p[guard]
            if executes:
                before = p[:] if op.predicates and self.shows_predicates else None
                for name, args, attrs in op.run(view, None, none):
                    ACTIONS[name](self.units, args, attrs)
                if before is not None:
                    self._predicates_before = self.cycle, before
            if self.target < 0:  # the main slot's branch wins
                self.target = self._relative_target(pc, relative) if taken else (npc + 1) & MASK
            self.cycle += 1
            self.issued += 1
            if self.issued == self.watch_at:
                self.watch_at += 0x10000
                self.later(1, self._bark, "watchdog")
            if heap and heap[0][0] <= self.cycle:
                self._land(op if executes else None)
            self.pc, self.npc = npc, self.target
        return "limit"

    def _hurry(self, limit: int, stops: Container[int]) -> None:
        """Issue plain instructions and branches in a row, while no late write is due and no limit is counted."""
        heap, start = self.queue, self.cycle
        if heap and heap[0][0] - 1 < limit:
            limit = heap[0][0] - 1
        if 0 <= self.watch_at - self.issued <= limit - start:
            limit = start + self.watch_at - self.issued - 1
        ops, p, view = self._ops, self.p, self._view
        pc, npc, cycle = self.pc, self.npc, start
        least = 1 if self.shows_predicates else 0
        none = ()
        while cycle < limit and pc not in stops:
            op = ops[pc]
            if op is None or op.plain <= least:
                break
            guard = op.guard
            target = npc + 1 & MASK
            if guard < 0 or p[guard]:
                if op.jump < 0:
                    op.run(view, None, none)
                else:
                    target = op.jump
            pc, npc = npc, target
            cycle += 1
        self.pc, self.npc, self.cycle = pc, npc, cycle
        self.issued += cycle - start

    def _relative_target(self, pc: int, relative: Any) -> int:
        distance = relative[2]
        if self.options.signed_relative and distance >= 32:
            distance -= 64
        return (pc + distance) & MASK

    def would_wake(self) -> bool:
        """Whether the condition of a wait holds now (True when the core does not wait)."""
        if self.wait is None:
            return True
        mask, level, sleeping = self.wait
        stat = self.sr.stat()
        return bool(stat & mask) if sleeping else bool(stat & mask) == bool(level)

    def _stall(self, limit: int) -> bool:
        """Let stalled cycles pass, up to the next one in which something lands; False when nothing ever will."""
        assert self.wait is not None
        heap = self.queue
        counting = self.options.count_waits and not self.wait[2]
        if not heap and not counting:
            return False
        if counting:
            self._count()
            self.cycle += 1
        else:
            self.cycle = min(limit, heap[0][0])
        if heap and heap[0][0] <= self.cycle:
            self._land(None)
        return True

    def _land(self, op: Op | None) -> None:
        """Apply what is visible from the cycle that begins now; `op` has just written its own registers."""
        heap = self.queue
        kept = op.registers if op is not None else ()
        while heap and heap[0][0] <= self.cycle:
            entry = heapq.heappop(heap)
            kind, index, value = entry[3], entry[4], entry[5]
            if kind == DEAD:
                continue
            if kind == REGISTER:
                if index not in kept:
                    self.r[index] = value
            elif kind == SPECIAL:
                if index == 14:
                    own = op.predicates if op is not None else 0
                    self.set_predicates(value, 0xFFFF & ~own)
                    if own and self.shows_predicates:
                        _unpack(value, self._predicates_before[1])
                else:
                    self.sr.write(index, value)
            elif kind == ACCUMULATOR:
                self.acc[0] = value
            elif kind == LONG_VIEW:
                self.long_view = value
            else:
                value()
            if self.listener is not None:
                self.listener(entry)

    # --- macroblock input ---------------------------------------------------------------------------------------------
    @property
    def mb_available(self) -> bool:
        """$stat bit 10."""
        return bool(self.ring.ready)

    def parse_ring(self) -> None:
        """Take packets out of the macroblock ring."""
        self.units.parse_ring()

    def feed(self, words: Sequence[int]) -> None:
        """Append packets to the macroblock ring the way the host does, at a place of the core's own choice.

        For a ring whose place the host has set, write `memory` and READ_AVAIL instead.
        """
        ring = self.ring
        if not ring.size:
            ring.offset, ring.size = 0x1000_0000, 0x10_0000
        data = b"".join(w.to_bytes(4, "little") for w in words)
        end = ring.position + ring.available
        for k in range(0, len(data), 4):
            self.memory.write(ring.offset + (end + k) % ring.size, data[k : k + 4])
        ring.available += len(data)
        self.parse_ring()
