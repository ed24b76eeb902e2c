"""The vµc core, cycle by cycle.

One instruction issues per cycle and nothing is ever held back. Delay slots, late writes, special registers and the long
unit are in the routines of `machine.vuc.rules`; here instructions are fetched and executed, and stalls passed. Source:
[vuc] 7, 8, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.arch.vuc.registers import NOT_P0, TRUE
from isakit.errors import MachineFault
from isakit.machine.interrupts import deferred
from isakit.machine.snapshot import Snapshot, freeze_parts, thaw_parts
from isakit.machine.vuc.core_code import CoreOp, decode
from isakit.machine.vuc.core_state import CoreState
from isakit.machine.vuc.execution_state import StateView
from isakit.machine.vuc.host_registers import HostRegisters
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.register_views import RegisterView
from isakit.machine.vuc.rules import CoreRules
from isakit.machine.vuc.rules.state import ADDRESS_MASK
from isakit.machine.vuc.special_registers import SpecialRegisters
from isakit.machine.vuc.unit_requests import ACTIONS, Units

_UNINTERRUPTED = 4096
"""Cycles between two checks for a keyboard interrupt."""


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
            "raise_interrupt",
            "on_io_load",
            "on_io_store",
        )
    ),
    "sr": frozenset(("names", "named", "read_only")),
    "host": frozenset(
        ("base", "window", "interrupts", "on_interrupt", "_registers", "_by_offset", "sr", "_parse_ring")
    ),
    "_view": frozenset(("data", "files", "sr")),
}
"""Attributes of the parts that a snapshot leaves out: fixed on construction, derived, or the user's."""


def _restored(kind: type[CoreMachine], variant: str, options: Options, snapshot: Snapshot) -> CoreMachine:
    core = kind(variant, options)
    core.restore(snapshot)
    return core


def _settle_registers(registers: list[int]) -> None:
    registers[0] = 0


def _settle_predicates(predicates: list[int]) -> None:
    predicates[NOT_P0], predicates[TRUE] = 1 - predicates[0], 1


class CoreMachine(CoreState):
    """A core of one variant with its surroundings.

    `r`, `p`, `acc`, `data` (D[]): rows of numbers, whose writes keep their invariants ($p1 follows $p0); `sr`: special
    registers by number or name; `code`: instruction words, None where nothing was written; `pc`, `cycle`; `memory`: the
    memory the rings and surfaces lie in; `host`: the host's registers; `diagnostics`: (cycle, pc, kind, text) of
    unusual events. `on_io_load(space, address)` returns the value of loads from B6[] and B7[] (None: as in the
    options), and `on_io_store(space, address, value)` is called for stores there.
    """

    def __init__(self, variant: str = "vp3", options: Options | None = None) -> None:
        super().__init__(variant, options)
        self.raise_interrupt = lambda name: self.host.raise_interrupt(name)
        self.reset()

    def reset(self) -> None:
        """Reset the unit: everything but code and host memory is cleared, the core is halted."""
        super().reset()
        self.units = Units(self)
        self.sr = SpecialRegisters(self)
        self.host = HostRegisters(self, self.sr, self.units.parse_ring)
        self._view = StateView(self, self.sr)

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
        """The long accumulator, 32 bits; $lhi and $llo show values written here."""
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

    # --- snapshots ----------------------------------------------------------------------------------------------------
    def _parts(self) -> dict[str, object]:
        """Return the objects that hold the state, by name."""
        parts: dict[str, object] = {n: getattr(self, n) for n in _PARTS}
        rings: dict[str, object] = {f"vpring.{k}": ring for k, ring in enumerate(self.vpring.rings)}
        return {"core": self, **parts, **rings}

    def snapshot(self) -> Snapshot:
        """Return the state of the core and its surroundings, code and host memory included."""
        del self.queue[self.count :]
        return freeze_parts(f"vuc {self.variant}", self._parts(), _NO_STATE)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this core, or of one with the same options.

        Settings from outside are kept: options, and functions called for cycles and interrupts. Raises LaunchError for
        a snapshot of another machine.
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

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.variant, self.options, self.snapshot())

    def load_words(self, words: Sequence[int], address: int = 0) -> None:
        """Write instruction words from an instruction address on. Raises MachineFault for more than fit."""
        if address + len(words) > CODE_SIZE:
            raise MachineFault("CODE_SIZE", address, detail=f"{len(words)} words do not fit 0x800")
        for i, w in enumerate(words):
            self.set_code(address + i, w)

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
        """Return the distinct words of code memory in ascending order; with `issued`, only the executed ones."""
        pairs = zip(self.code, self._ops, strict=True)
        return sorted({w for w, op in pairs if w is not None and (op is not None or not issued)})

    @property
    def calls_out(self) -> bool:
        """True if instructions and events may call functions of the caller, which may take any time."""
        return any(f is not None for f in (self.on_io_load, self.on_io_store, self.host.on_interrupt))

    def _remember(self, before: list[int]) -> None:
        """Record that an instruction has written predicates; `before` are their previous values."""
        now = self.pred[:]
        self.pred[:] = before
        self.rules.remember_predicates(self)
        self.pred[:] = now

    # --- writes that land later ---------------------------------------------------------------------------------------
    def tell_of_abort(self) -> None:
        """Record that the result of the long operation in progress is lost."""
        origin = next(e.origin for e in self.queue[: self.count] if e.serial == self.long_serial)
        self.note("LONG_ABORTED", f"the long operation of {origin:#x} never lands")

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

        Returns the reason: `limit`, `stop`, `halted` or `asleep` (nothing inside the unit will end the wait).
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
        """Issue consecutive plain instructions and branches, while no late write is due and no limit is counted.

        Returns whether any issued. It is a fast path of `rules.cycle` and `rules.flow.branch` for such instructions.
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

    @property
    def _counts_wait(self) -> bool:
        """True if the core waits in such a way that the watchdog counts."""
        return self.options.count_waits and self.wait is not None and not self.wait[2]

    @property
    def waits_for_host(self) -> bool:
        """True if nothing inside the unit will end the wait of the core."""
        return not self.would_wake() and not self.count and not self._counts_wait

    def _stall(self, limit: int) -> bool:
        """Skip stalled cycles up to the next one in which a write or event lands; return False if none ever will."""
        counting = self._counts_wait
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
    def parse_ring(self) -> None:
        """Process the packets in the macroblock ring."""
        self.units.parse_ring()

    def feed(self, words: Sequence[int]) -> None:
        """Append packets to the macroblock ring as the host does, at an address chosen here.

        For a ring whose address the host has set, write `memory` and READ_AVAIL instead.
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
