"""The state of a warp in memory: saved when compiled code is left, restored when it is entered again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from isakit.engine.llvm import Ref
from isakit.engine.llvm.builder import F32, I32, I64, pointer, vector
from isakit.machine.tesla.analysis.control_flow import RegisterKey
from isakit.machine.tesla.analysis.nan_canonicalisation import NanTracking
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.function_code import FunctionCode
from isakit.machine.tesla.compiled.state_layout import STATE, V1, V32


@dataclass
class RestartPoint:
    """A point at which stopped warps restart: before the instruction at `pc`, `line` in the text.

    `values` are its registers, loaded there once a stop needs them; `label` is the block that saves them. `status` is
    that of the stopped warp: the `join` tail was executed already, or the host is requested.
    """

    pc: int
    uncounted: int
    line: int
    uniform: frozenset[RegisterKey]
    status: int
    label: str = ""
    pending: Ref = field(default_factory=lambda: I32(0))
    values: dict[RegisterKey, list[Ref]] = field(default_factory=dict[RegisterKey, list[Ref]])


FIRST_STATE = pointer("%first_warp")
"""The state of the first warp of a function that continues with other warps."""


class StateSaving:
    """Saves the registers of a kernel's warp where it stops, and restores them where it resumes.

    `places` are the registers the kernel names; with `all_parked` every lane may read every register. `races`:
    `InstructionEntry.races` of accesses, by address. `chained`: the function continues with the next warps.
    """

    def __init__(self, code: FunctionCode, places: list[RegisterKey], lazy: NanTracking | None,
                 races: Mapping[int, int], all_parked: bool, chained: bool) -> None:  # fmt: skip
        self.code, self.places, self.races, self.all_parked, self.chained = code, places, races, all_parked, chained
        self._lazy = lazy
        self.stops: list[RestartPoint] = []

    def controls(self) -> Iterable[tuple[str, int]]:
        left_out = {"pc"} if self.races else {"pc", "pending"}
        fields = state_layout.VARIABLES.items()
        return [(name, state_layout.WARP.at(field)) for field, name in fields if field not in left_out]

    # --- state in memory ------------------------------------------------------------------------------------
    def restore(self, place: RegisterKey) -> None:
        b, (file, n) = self.code.body, place
        if file == "c":
            for bit in range(4):
                m = b.load(I32, self.code.state_pointer(state_layout.flag(n, bit)))
                b.store(b.bitcast(m, V1), self.code.variable(place, bit))
            return
        v = b.load(V32, self.code.state_pointer(state_layout.register(n, file)), 4)
        b.store(v, self.code.variable(place))
        if file == "a":
            self.code.tag(n, v)

    def _save_place(self, place: RegisterKey) -> None:
        self._save_values(place, self.code.lanes_of(place))

    def _save_values(self, place: RegisterKey, values: list[Ref]) -> None:
        """Write a register to memory: its lanes, or the four flags."""
        b, (file, n) = self.code.body, place
        if file == "c":
            for bit, v in enumerate(values):
                b.store(b.bitcast(v, I32), self.code.state_pointer(state_layout.flag(n, bit)))
            return
        b.store(values[0], self.code.state_pointer(state_layout.register(n, file)), 4)

    def canonical(self, places: Iterable[RegisterKey]) -> None:
        """Canonicalise the NaNs of registers that may hold NaNs of the host."""
        b = self.code.body
        for place in sorted(places):
            b.store(self._canonical(b.load(V32, self.code.variable(place))), self.code.variable(place))

    def _canonical(self, v: Ref) -> Ref:
        b = self.code.body
        return b.select(b.is_nan(b.bitcast(v, vector(32, F32))), V32(0x7FFFFFFF), v)

    def dirty(self, pc: int | None) -> set[RegisterKey]:
        """Return the registers that may hold NaNs of the host before an instruction.

        None: where waiting lanes resume.
        """
        if self._lazy is None:
            return set()
        return self._lazy.dirty_anywhere if pc is None else self._lazy.dirty[pc]

    def save(self, pc: Ref, places: Iterable[RegisterKey]) -> None:
        """Write the warp's state to memory: registers that may still be read, masks, counts, and where to continue."""
        b = self.code.body
        for place in sorted(places):
            if place in self.places:
                self._save_place(place)
        for name, offset in self.controls():
            b.store(self.code.load32(name), self.code.state_pointer(offset))
        b.store(pc, self.code.state_pointer(state_layout.PC))
        self._save_counts()

    def _save_counts(self) -> None:
        b = self.code.body
        for name, offset in (("issued", state_layout.ISSUED), ("threads", state_layout.THREADS)):
            b.store(b.load(I64, pointer("%" + name)), self.code.state_pointer(offset))

    def needed(self, pc: int) -> list[RegisterKey]:
        """Return the registers that some lane may still read from an instruction on, active or not."""
        if self.all_parked:
            return self.places
        read = self.code.flow.live[pc] | self.code.flow.parked(pc)
        return [place for place in self.places if place in read]

    def leave(self, pc: int, status: int, is_set: bool = False) -> None:
        """Return to the driver before an instruction, with all registers that any lane may still read.

        `is_set`: the warp's own status is not the one to return, and was set by a rule.
        """
        self.canonical(self.dirty(pc))
        self.save(I32(pc), self.needed(pc))
        if is_set:
            self.code.body.ret(I32(status))
        else:
            self.finish(status)

    def end(self) -> None:
        """End the warp; leave lanes and stack as at its start, as `blocks.next_block` expects them."""
        if self.chained and not self.code.flow.results:
            self._save_counts()
        else:
            self.save(I32(0), self.code.flow.results)
        self.finish(state_layout.FINISHED)

    def finish(self, status: int | Ref) -> None:
        """Return to the driver, or continue with the next warps, see `WarpCode`."""
        b, said = self.code.body, status if isinstance(status, Ref) else I32(status)
        b.store(said, self.code.state_pointer(state_layout.STATUS))
        if not self.chained:
            b.ret(said)
        elif status == state_layout.FINISHED:
            b.jump("further")
        else:  # the driver is told of the warp that it knows of, and finds the other one as it comes to it
            alone = b.eq(STATE, FIRST_STATE)
            b.ret(b.select(alone, said, state_layout.FINISHED))

    def checkpoint(self, pc: int, uncounted: int, status: int = state_layout.STOPPED) -> None:
        """Make stops from here on restart at this instruction, up to the next effect that must not happen twice.

        The registers at this point stay live up to the last stop; the instructions in between need no state of their
        own. `uncounted` instructions of the block were counted and will not have been executed.
        """
        self._point = RestartPoint(pc, uncounted, len(self.code.body.lines), frozenset(self.code.uniform), status)

    def stop_label(self) -> str:
        """Return the label of the block that leaves with the state of the checkpoint."""
        point, b = self._point, self.code.body
        if not point.label:
            point.label = b.fresh("stop")
            self.stops.append(point)
            after = b.lines[point.line :]
            del b.lines[point.line :]
            now, self.code.uniform = self.code.uniform, set(point.uniform)
            for place in self.needed(point.pc):
                point.values[place] = self.code.lanes_of(place)
            if self.races:
                point.pending = self.code.load32("pending")
            self.code.uniform = now
            b.lines += after
        return point.label

    def stop_here(self, point: RestartPoint) -> None:
        """Emit the save of a checkpoint's registers and the exit behind it."""
        b, dirty = self.code.body, self.dirty(point.pc)
        b.label(point.label)
        for place, values in point.values.items():
            self._save_values(place, [self._canonical(v) for v in values] if place in dirty else values)
        self.code.store32(point.pc, "next")
        if self.races:
            self.code.store32(point.pending, "pending")
        self.code.store32(point.status, "why")
        b.store(I64(point.uncounted), pointer("%uncounted"))
        b.jump("stopped")

    def stopped(self) -> None:
        """Leave to the reference machine; `uncounted` instructions of the block were counted but not executed."""
        b = self.code.body
        b.label("stopped")
        uncounted, issued, threads = (b.load(I64, pointer("%" + n)) for n in ("uncounted", "issued", "threads"))
        b.store(b.sub(issued, uncounted), pointer("%issued"))
        lanes = b.mul(self.code.active_count(), uncounted)
        b.store(b.sub(threads, lanes), pointer("%threads"))
        self.save(self.code.load32("next"), ())
        self.finish(self.code.load32("why"))
