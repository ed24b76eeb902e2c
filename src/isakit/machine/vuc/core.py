"""The vµc core, cycle by cycle.

One instruction issues per cycle and nothing is ever held back. Delay slots, late writes, special registers and the long
unit are the routines of `machine.vuc.rules`; here instructions are fetched and executed, and waits pass.
Source: [vuc] 7, 8, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from isakit.arch.vuc import vuc
from isakit.arch.vuc.fields import SR_SRC1
from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.arch.vuc.registers import NOT_P0, SR, TRUE
from isakit.errors import MachineFault
from isakit.machine.interrupts import deferred
from isakit.machine.snapshot import Snapshot, freeze_parts, thaw_parts
from isakit.machine.vuc.core_code import CoreOp, decode
from isakit.machine.vuc.core_memory import D_CELLS, PWT_BYTES, HostMemory
from isakit.machine.vuc.execution_state import StateView
from isakit.machine.vuc.host_registers import HostRegisters
from isakit.machine.vuc.macroblock import Macroblock
from isakit.machine.vuc.mbring import Ring
from isakit.machine.vuc.mvsurf import SurfaceOutput, SurfaceSource
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.register_views import RegisterView
from isakit.machine.vuc.rules import CoreRules
from isakit.machine.vuc.rules.state import ADDRESS_MASK, NEVER, CoreRecord, QueueEntry, QueueKind
from isakit.machine.vuc.special_registers import WATCHDOG_BIT, SpecialRegisters
from isakit.machine.vuc.unit_requests import ACTIONS, H264_MODE, Units
from isakit.machine.vuc.vpring import VpRing

NO_WATCHDOG = 0xFFFF
_UNINTERRUPTED = 4096
"""Cycles between two looks at an interrupt from the keyboard."""


_PARTS = ("memory", "units", "ring", "vpring", "mvs_in", "mvs_out", "sr", "host", "_view")
_NO_STATE = {
    "core": frozenset(
        (
            "variant",
            "features",
            "options",
            "rules",
            "stat",
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


def _restored(kind: type[CoreMachine], variant: str, options: Options, snapshot: Snapshot) -> CoreMachine:
    core = kind(variant, options)
    core.restore(snapshot)
    return core


def _settle_registers(registers: list[int]) -> None:
    registers[0] = 0


def _settle_predicates(predicates: list[int]) -> None:
    predicates[NOT_P0], predicates[TRUE] = 1 - predicates[0], 1


class CoreMachine(CoreRecord):
    """A core of one variant with its surroundings.

    `r`, `p`, `acc`, `data` (D[]): rows of numbers, whose writes keep what the core knows of them ($p1 follows $p0);
    `sr`: special registers by number or name; `code`: instruction words, None where nothing was written; `pc`, `cycle`;
    `memory`: the memory the rings and surfaces lie in; `host`: the host's registers; `diagnostics`: (cycle, pc, kind,
    text) of odd things that happened. `on_io_load(space, address)` answers loads of B6[] and B7[] (None: what the
    options say), and `on_io_store(space, address, value)` is told of stores there.
    """

    def __init__(self, variant: str = "vp3", options: Options | None = None) -> None:
        v = vuc.variant(variant)
        self.variant, self.features = v.name, v.features | {v.name}
        self.options = options or Options()
        self.vp2 = v.name == "vp2"
        self.rules = CoreRules(self.options, self.vp2)
        self.code: list[int | None] = [None] * CODE_SIZE
        self._ops: list[CoreOp | None] = [None] * CODE_SIZE
        self.memory = HostMemory()
        self.shows_predicates = False
        self.io_writes: list[tuple[int, str, int, int]] = []
        self.on_io_load: Callable[[str, int], int | None] | None = None
        self.on_io_store: Callable[[str, int, int], None] | None = None
        self.listener: Callable[[QueueEntry], None] | None = None
        self.accelerator: Callable[[int, Container[int]], str] | None = None
        self.code_version = 0
        self.reset()

    # --- registers ----------------------------------------------------------------------------------------------------
    @property
    def r(self) -> RegisterView:
        """$r0 to $r15, 16 bits each; $r0 is always 0."""
        return RegisterView("$r", self.gpr, 16, _settle_registers)

    @r.setter
    def r(self, values: Iterable[int]) -> None:
        self.r[:] = values

    @property
    def p(self) -> RegisterView:
        """$p0 to $p15, 0 or 1; $p1 is always the opposite of $p0, and $p15 is 1."""
        return RegisterView("$p", self.pred, 1, _settle_predicates)

    @p.setter
    def p(self, values: Iterable[int]) -> None:
        self.p[:] = values

    @property
    def acc(self) -> RegisterView:
        """The long accumulator, 32 bits; $lhi and $llo show what is written here."""
        return RegisterView("the accumulator", self.accumulator, 32, self._settle_accumulator)

    @acc.setter
    def acc(self, values: Iterable[int]) -> None:
        self.acc[:] = values

    @property
    def data(self) -> RegisterView:
        """D[], cells of 16 bits."""
        return RegisterView("D[]", self.dmem, 16)

    @data.setter
    def data(self, values: Iterable[int]) -> None:
        self.data[:] = values

    def _settle_accumulator(self, accumulator: list[int]) -> None:
        self.long_view = accumulator[0]

    # --- state --------------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """Reset the unit: everything but code and host memory is cleared, the core is halted."""
        super().__init__()
        self.pred[NOT_P0] = self.pred[TRUE] = 1
        self.dmem = [0] * D_CELLS
        self._view = StateView(self)
        self.pwt = bytearray(PWT_BYTES)
        self.weight_denominators = 0
        self.mb = Macroblock()
        self.parm = 0 if self.vp2 else H264_MODE
        self.rpitab = self.reftab = 0
        self.stat_bits = 0
        self.pulses = 0
        self.npc = 1
        self.halted = True
        self.wdcnt = NO_WATCHDOG
        self.watch_at = self.due = self.lagging = NEVER
        self.queue: list[QueueEntry] = []
        self.wait: tuple[int, int, bool] | None = None
        self.mvs_in, self.mvs_out = SurfaceSource(self.memory), SurfaceOutput(self.memory)
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
        self.host = HostRegisters(self)
        self.diagnostics: list[tuple[int, int, str, str]] = []

    def _ring_full(self, name: str) -> None:
        self.host.raise_interrupt(f"VPRING_{name}_HALT")

    # --- snapshots ----------------------------------------------------------------------------------------------------
    def _parts(self) -> dict[str, object]:
        """Return the objects the state is in, by name."""
        parts: dict[str, object] = {n: getattr(self, n) for n in _PARTS}
        rings: dict[str, object] = {f"vpring.{k}": ring for k, ring in enumerate(self.vpring.rings)}
        return {"core": self, **parts, **rings}

    def snapshot(self) -> Snapshot:
        """Return the state of the core and its surroundings, code and host memory included."""
        del self.queue[self.count :]
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

    def _repr_html_(self) -> str:
        from isakit.machine.pictures import html_of

        return html_of(self)

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
        """Write instruction words from an instruction address on. Raises MachineFault for more than fit."""
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
    def pending(self) -> list[QueueEntry]:
        """Writes and events that have not landed yet, in the order they will."""
        return [e for e in reversed(self.queue[: self.count]) if e.kind != QueueKind.DEAD]

    def op(self, address: int) -> CoreOp:
        """Return the decoded instruction at an address; raises MachineFault if there is none."""
        op = self._ops[address]
        if op is None:
            word = self.code[address]
            if word is None:
                raise MachineFault("UNWRITTEN_CODE", address, detail="no instruction was written there")
            op = self._ops[address] = decode(self.variant, word, address)
        return op

    def words(self, *, issued: bool) -> list[int]:
        """Return the different words of code memory in ascending order; with `issued` only the executed ones."""
        pairs = zip(self.code, self._ops, strict=True)
        return sorted({w for w, op in pairs if w is not None and (op is not None or not issued)})

    @property
    def calls_out(self) -> bool:
        """True if instructions and events may call functions of the caller's, which may take any time."""
        return any(f is not None for f in (self.on_io_load, self.on_io_store, self.host.on_interrupt))

    # --- counters -----------------------------------------------------------------------------------------------------
    @property
    def issued(self) -> int:
        """Instructions that have issued, and stalled cycles that count as such."""
        return self.cycle - self.stalled

    @property
    def icnt(self) -> int:
        """$icnt."""
        return (self.issued - self.icnt_base) & 0xFFFF

    def set_icnt(self, value: int) -> None:
        """Write $icnt; clears the watchdog bit."""
        self.icnt_base = (self.issued - (value & 0xFFFF)) & (1 << 64) - 1
        self._rearm()

    def set_wdcnt(self, value: int) -> None:
        """Write the watchdog limit; clears the watchdog bit."""
        self.wdcnt = value & 0xFFFF
        self._rearm()

    def _rearm(self) -> None:
        self.stat_bits &= ~(1 << WATCHDOG_BIT)
        if self.wdcnt == NO_WATCHDOG:
            self.watch_at = NEVER
        else:
            ahead = (self.wdcnt - self.icnt) & 0xFFFF
            self.watch_at = self.issued + (ahead or 0x10000)

    def watchdog(self, cycles: int = 1) -> None:
        """Let the watchdog bark `cycles` later: so many instructions have issued."""
        self.watch_at += 0x10000
        self.later(cycles, self._bark, "watchdog")

    def _bark(self) -> None:
        self.stat_bits |= 1 << WATCHDOG_BIT
        self.host.raise_interrupt("WATCHDOG")
        if self.options.watchdog_halts:
            self.halt()

    # --- predicates ---------------------------------------------------------------------------------------------------
    def set_predicates(self, value: int, mask: int) -> None:
        """Set the predicates in `mask` from the bits of `value`; $p1 and $p15 keep their meaning."""
        self.rules.set_predicates(self, value, 0xFFFF & ~mask)

    def predicates(self) -> int:
        """Return all predicates, one bit each, as forwarded readers see them."""
        return sum(bit << n for n, bit in enumerate(self.pred))

    def predicates_seen(self) -> int:
        """Return $pred: without what the previous instruction wrote."""
        return self.rules.predicates(self)

    def _remember(self, before: list[int]) -> None:
        """Note that an instruction has written predicates; `before` are those that it found."""
        now = self.pred[:]
        self.pred[:] = before
        self.rules.remember_predicates(self)
        self.pred[:] = now

    # --- writes that land later ---------------------------------------------------------------------------------------
    def tell_of_abort(self) -> None:
        """Note that the result of the long operation that is under way is lost."""
        origin = next(e.origin for e in self.queue[: self.count] if e.serial == self.long_serial)
        self.note("LONG_ABORTED", f"the long operation of {origin:#x} never lands")

    def later(self, cycles: int, action: Callable[[], None], name: str = "") -> QueueEntry:
        """Do something whose effect is visible `cycles` after the current cycle; `name` is for people who watch."""
        visible = self.cycle + cycles
        self.rules.enter(self, visible, visible, QueueKind.EVENT, name, action, self.pc)
        return next(e for e in self.queue if e.serial == self.serial)

    # --- running ------------------------------------------------------------------------------------------------------
    def pass_cycles(self, n: int = 1) -> None:
        """Run `n` cycles; nothing happens while the core is halted."""
        limit = self.cycle + n
        self.advance(limit)
        if not self.halted and self.cycle < limit:
            self.stalled += limit - self.cycle
            self.cycle = limit

    def advance(self, limit: int, stops: Container[int] = ()) -> str:
        """Run until cycle `limit`, until an address of `stops` is about to issue, or until nothing can happen any more.

        Returns why: `limit`, `stop`, `halted` or `asleep` (nothing inside the unit will end the wait).
        """
        if self.accelerator is not None and self.listener is None:
            return self.accelerator(limit, stops)
        if self.calls_out:  # what is called may take long, and may want to end the run
            return self.advance_reference(limit, stops)
        reason = "limit"
        with deferred() as signals:  # so that what raises an interrupt finds whole cycles
            while reason == "limit" and self.cycle < limit:
                signals.check()
                reason = self.advance_reference(min(limit, self.cycle + _UNINTERRUPTED), stops)
        return reason

    def advance_reference(self, limit: int, stops: Container[int] = ()) -> str:
        """`advance` without compiled code."""
        ops, p, view = self._ops, self.pred, self._view
        rules = self.rules if self.listener is None else CoreRules(self.options, self.vp2, watched=True)
        begin, end = rules.begin, rules.end
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
            pc = self.pc
            if pc in stops:
                return "stop"
            op = ops[pc] or self.op(pc)
            if op.plain and self._hurry(limit, stops, end):
                continue
            begin(self)
            if op.relative is not None:
                rules.relative(self, *op.relative)
            guard = op.guard
            if guard < 0 or p[guard]:
                before = p[:] if op.predicates and self.shows_predicates else None
                for name, args, attrs in op.run(view, None, none):
                    ACTIONS[name](self.units, args, attrs)
                if before is not None:
                    self._remember(before)
                end(self, op.kept, op.predicates)
            else:
                end(self, 0, 0)
        return "limit"

    def _hurry(self, limit: int, stops: Container[int], end: Callable[[CoreMachine, int, int], None]) -> bool:
        """Issue plain instructions and branches in a row, while no late write is due and no limit is counted.

        Returns whether any issued. A special version of `rules.cycle` and `rules.flow.branch` for such instructions.
        """
        start = cycle = self.cycle
        if self.watch_at + self.stalled <= limit:
            limit = self.watch_at + self.stalled - 1
        if self.due <= limit:
            limit = self.due - 1
        ops, p, view = self._ops, self.pred, self._view
        pc, npc = self.pc, self.npc
        least = 1 if self.shows_predicates else 0
        none = ()
        while cycle < limit and pc not in stops:
            op = ops[pc]
            if op is None or op.plain <= least:
                break
            guard = op.guard
            target = npc + 1 & ADDRESS_MASK
            if guard < 0 or p[guard]:
                if op.jump >= 0:
                    target = op.jump
                elif op.clocked:
                    self.pc, self.npc, self.cycle = pc, npc, cycle
                    op.run(view, None, none)
                    if self.due <= limit:
                        limit = self.due - 1
                        if limit == cycle:
                            self.target = target
                            end(self, op.kept, op.predicates)
                            return True
                else:
                    op.run(view, None, none)
            pc, npc = npc, target
            cycle += 1
        self.pc, self.npc, self.cycle = pc, npc, cycle
        return cycle != start

    def would_wake(self) -> bool:
        """Return true if the condition of a wait holds now, or the core does not wait."""
        if self.wait is None:
            return True
        mask, level, sleeping = self.wait
        stat = self.sr.stat()
        return bool(stat & mask) if sleeping else bool(stat & mask) == bool(level)

    def _stall(self, limit: int) -> bool:
        """Let stalled cycles pass, up to the next one in which something lands; False when nothing ever will."""
        assert self.wait is not None
        counting = self.options.count_waits and not self.wait[2]
        if not self.count and not counting:
            return False
        if counting:
            self.cycle += 1
            if self.issued == self.watch_at:
                self.watchdog(1)
        else:
            now = min(limit, self.due)
            self.stalled += now - self.cycle
            self.cycle = now
        if self.due <= self.cycle:
            rules = self.rules if self.listener is None else CoreRules(self.options, self.vp2, watched=True)
            rules.land(self, self.cycle, 0, 0)
        return True

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
