"""The state of a warp in memory: what is written when compiled code is left, and read where it is entered again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from isakit.machine.tesla.analysis.control_flow import Place, Step
from isakit.machine.tesla.analysis.nan_canonicalisation import LazyNans
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.lane_code import LaneCode
from isakit.machine.tesla.compiled.state_layout import V1, V32


@dataclass
class RestartPoint:
    """A place to which stops go back: before the instruction at `pc`, `line` in the text.

    `values` are its registers, loaded there once a stop needs them; `label` is the block that saves them. `status` is
    what the warp says when it stops: that the `join` tail was carried out already, or that it asks the host.
    """

    pc: int
    uncounted: int
    line: int
    uniform: frozenset[Place]
    status: int
    label: str = ""
    pending: str = "0"
    values: dict[Place, list[str]] = field(default_factory=dict[Place, list[str]])


class SavingCode(LaneCode):
    """Code of a warp that can stop: registers as vectors, saved and restored.

    `_places` are the registers the kernel names; with `_all_parked` every lane may look at every register. `_races`:
    `InstructionEntry.races` of accesses, by address.
    """

    _places: list[Place]
    _all_parked: bool
    _stops: list[RestartPoint]
    _lazy: LazyNans | None = None
    _chained = False
    _races: Mapping[int, int] = {}

    # --- registers kept as one number ------------------------------------------------------------------------
    def settle(self, places: set[Place] | None = None) -> None:
        """Write registers kept as one number to their lanes, for code that wants vectors (all of them by default)."""
        b = self.body
        for place in sorted(self.uniform if places is None else places):
            ty = V1 if place[0] == "c" else V32
            for part, v in enumerate(self.lanes_of(place)):
                b.do(f"store {ty} {v}, ptr {self.variable(place, part)}")

    def lanes_of(self, place: Place) -> list[str]:
        """The lanes of a register, or of its four flags."""
        b, n = self.body, 4 if place[0] == "c" else 1
        ty, scalar = (V1, "i1") if place[0] == "c" else (V32, "i32")
        if place not in self.uniform:
            return [b(f"load {ty}, ptr {self.variable(place, part)}") for part in range(n)]
        out: list[str] = []
        for part in range(n):
            one = b(f"load {scalar}, ptr {self.variable(place, part)}u")
            one = b(f"insertelement {ty} poison, {scalar} {one}, i64 0")
            out.append(b(f"shufflevector {ty} {one}, {ty} poison, {V32} zeroinitializer"))
        return out

    def _controls(self) -> Iterable[tuple[str, int]]:
        return (
            ("mask", state_layout.ACTIVE),
            ("broke", state_layout.BROKE),
            ("returned", state_layout.RETURNED),
            ("exited", state_layout.EXITED),
            ("depth", state_layout.DEPTH),
            *([("pending", state_layout.PENDING)] if self._races else ()),
        )

    # --- state in memory ------------------------------------------------------------------------------------
    def _restore(self, place: Place) -> None:
        b, (file, n) = self.body, place
        if file == "c":
            for bit in range(4):
                m = b(f"load i32, ptr {self.state_pointer(state_layout.flag(n, bit))}")
                b.do(f"store {V1} {b(f'bitcast i32 {m} to {V1}')}, ptr {self.variable(place, bit)}")
            return
        offset = state_layout.register(n) if file == "r" else state_layout.address(n)
        v = b(f"load {V32}, ptr {self.state_pointer(offset)}, align 4")
        b.do(f"store {V32} {v}, ptr {self.variable(place)}")
        if file == "a":
            self.tag(n, v)

    def _save_place(self, place: Place) -> None:
        self._save_values(place, self.lanes_of(place))

    def _save_values(self, place: Place, values: list[str]) -> None:
        """Write a register to memory: its lanes, or the four flags."""
        b, (file, n) = self.body, place
        if file == "c":
            for bit, v in enumerate(values):
                b.do(f"store i32 {b(f'bitcast {V1} {v} to i32')}, ptr {self.state_pointer(state_layout.flag(n, bit))}")
            return
        offset = state_layout.register(n) if file == "r" else state_layout.address(n)
        b.do(f"store {V32} {values[0]}, ptr {self.state_pointer(offset)}, align 4")

    def canonical(self, places: Iterable[Place]) -> None:
        """Make registers that may hold NaNs of the host hold the one NaN."""
        b = self.body
        for place in sorted(places):
            v = self._canonical(b(f"load {V32}, ptr {self.variable(place)}"))
            b.do(f"store {V32} {v}, ptr {self.variable(place)}")

    def _canonical(self, v: str) -> str:
        b, floats = self.body, "<32 x float>"
        f = b(f"bitcast {V32} {v} to {floats}")
        return b(f"select {V1} {b(f'fcmp uno {floats} {f}, {f}')}, {V32} splat (i32 {0x7FFFFFFF}), {V32} {v}")

    def dirty(self, pc: int | None) -> set[Place]:
        """Places that may hold NaNs of the host before an instruction; None: where waiting lanes go on."""
        if self._lazy is None:
            return set()
        return self._lazy.dirty_anywhere if pc is None else self._lazy.dirty[pc]

    def save(self, pc: str, places: Iterable[Place]) -> None:
        """Write the warp's state to memory: registers that may still be read, masks, counts, where to go on."""
        b = self.body
        for place in sorted(places):
            if place in self._places:
                self._save_place(place)
        for name, offset in self._controls():
            b.do(f"store i32 {self.load32(name)}, ptr {self.state_pointer(offset)}")
        b.do(f"store i32 {pc}, ptr {self.state_pointer(state_layout.PC)}")
        self._save_counts()

    def _save_counts(self) -> None:
        b = self.body
        for name, offset in (("issued", state_layout.ISSUED), ("threads", state_layout.THREADS)):
            b.do(f"store i64 {b(f'load i64, ptr %{name}')}, ptr {self.state_pointer(offset)}")

    def needed(self, pc: int) -> list[Place]:
        """Registers that some lane may still read from an instruction on, active or not."""
        if self._all_parked:
            return self._places
        read = self.flow.live[pc] | self.flow.parked(pc)
        return [place for place in self._places if place in read]

    def leave(self, pc: int, status: int, is_set: bool = False) -> None:
        """Return to the driver before an instruction, with all registers that any lane may still read.

        `is_set`: the warp's own status is not the one to return, and was set by a rule.
        """
        self.canonical(self.dirty(pc))
        self.save(str(pc), self.needed(pc))
        if is_set:
            self.body.do(f"ret i32 {status}")
        else:
            self.finish(status)

    def end(self) -> None:
        """The warp has finished; `blocks.next_block` wants its lanes and its stack as they were when it began."""
        if self._chained and not self.flow.results:
            self._save_counts()
        else:
            self.save("0", self.flow.results)
        self.finish(state_layout.FINISHED)

    def finish(self, status: int | str) -> None:
        """Return to the driver; or go on with the warps after, see `WarpCode.further_warps`."""
        b = self.body
        b.do(f"store i32 {status}, ptr {self.state_pointer(state_layout.STATUS)}")
        if not self._chained:
            b.do(f"ret i32 {status}")
        elif status == state_layout.FINISHED:
            b.do("br label %further")
        else:  # the driver is told of the warp that it knows of, and finds the other one as it comes to it
            alone = b("icmp eq ptr %ws, %first_warp")
            b.do(f"ret i32 {b(f'select i1 {alone}, i32 {status}, i32 {state_layout.FINISHED}')}")

    def _active_count(self) -> str:
        f = self.module.declare("llvm.ctpop.i32", "i32 @(i32)")
        count = self.body(f"call i32 {f}(i32 {self.load32('mask')})")
        return self.body(f"zext i32 {count} to i64")

    def _checkpoint(self, pc: int, uncounted: int, status: int = state_layout.STOPPED) -> None:
        """From here on a stop goes back to this instruction, up to the next thing that cannot be done twice.

        The registers of this place stay alive as far as the last stop; the instructions in between need no state of
        their own. `uncounted` instructions of the block were counted and will not have been executed.
        """
        self._point = RestartPoint(pc, uncounted, len(self.body.lines), frozenset(self.uniform), status)

    def stop(self, step: Step, bad: str) -> None:
        """Leave compiled code before this instruction where the i1 `bad` is set."""
        on = self.body.fresh("on")
        self.body.do(f"br i1 {bad}, label %{self.stop_label()}, label %{on}, !prof !0")
        self.body.label(on)

    def stop_label(self) -> str:
        """The block that leaves with the state of the checkpoint."""
        point, b = self._point, self.body
        if not point.label:
            point.label = b.fresh("stop")
            self._stops.append(point)
            after = b.lines[point.line :]
            del b.lines[point.line :]
            now, self.uniform = self.uniform, set(point.uniform)
            for place in self.needed(point.pc):
                point.values[place] = self.lanes_of(place)
            if self._races:
                point.pending = self.load32("pending")
            self.uniform = now
            b.lines += after
        return point.label

    def _stop_here(self, point: RestartPoint) -> None:
        """Save the registers of a checkpoint."""
        b, dirty = self.body, self.dirty(point.pc)
        b.label(point.label)
        for place, values in point.values.items():
            self._save_values(place, [self._canonical(v) for v in values] if place in dirty else values)
        self.store32(str(point.pc), "next")
        if self._races:
            self.store32(point.pending, "pending")
        self.store32(str(point.status), "why")
        b.do(f"store i64 {point.uncounted}, ptr %uncounted")
        b.do("br label %stopped")

    def _stopped(self) -> None:
        """Leave to the reference machine; `uncounted` instructions of the block were counted but not executed."""
        b = self.body
        b.label("stopped")
        uncounted, issued, threads = (b(f"load i64, ptr %{n}") for n in ("uncounted", "issued", "threads"))
        b.do(f"store i64 {b(f'sub i64 {issued}, {uncounted}')}, ptr %issued")
        lanes = b(f"mul i64 {self._active_count()}, {uncounted}")
        b.do(f"store i64 {b(f'sub i64 {threads}, {lanes}')}, ptr %threads")
        self.save(self.load32("next"), ())
        self.finish(self.load32("why"))
