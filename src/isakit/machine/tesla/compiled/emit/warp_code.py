"""The function that runs one warp of a kernel: every block twice, for a full warp and for some of its lanes.

Registers are SSA values between the points where a warp may stop (barriers, faults, interrupts); the divergence stack
is in memory and works as in `machine.tesla.stack`.
"""

from __future__ import annotations

from collections.abc import Iterable

from isakit.engine.llvm import Builder, Host, Ref
from isakit.engine.llvm.builder import I1, I32, I64, OFTEN, PTR, RARELY, define, pointer, vector
from isakit.machine.tesla.analysis.control_flow import Flow, RegisterKey, Step
from isakit.machine.tesla.analysis.lane_steps import LaneSteps
from isakit.machine.tesla.analysis.nan_canonicalisation import NanTracking
from isakit.machine.tesla.analysis.uniform_registers import UniformRegisters
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.control_transfer import KernelTransfers
from isakit.machine.tesla.compiled.emit.function_code import LaunchFacts, shape_of
from isakit.machine.tesla.compiled.emit.instruction_code import InstructionCode
from isakit.machine.tesla.compiled.emit.machine_values import MachineValues
from isakit.machine.tesla.compiled.emit.memory_ir import kernel_module
from isakit.machine.tesla.compiled.emit.state_saving import FIRST_STATE, StateSaving
from isakit.machine.tesla.compiled.state_layout import ALL, CONTEXT, STATE
from isakit.machine.tesla.rules import blocks, turns

UNBOUNDED = 1 << 61
"""A budget from which on there is no limit."""


class WarpCode(InstructionCode):
    """Generates `i32 @run_warp(ptr %ctx, ptr %ws)`, which returns a status of `layout`."""

    def __init__(self, flow: Flow, facts: LaunchFacts, host: Host) -> None:
        self._begin(kernel_module(host), host)
        self.flow, self.facts, self.quads, self.choices = flow, facts, "quadon" in flow.controls, facts.choices
        places = sorted(p for p in flow.places - {("a", 0)} if p[0] != "r" or p[1] < facts.registers)
        self.alike_places = frozenset(places)
        if host.embedded:
            self.lazy = NanTracking(flow, facts.registers)
        self.uniform_at = self._uniform = UniformRegisters(flow)
        self._lane_steps = LaneSteps(flow, facts.registers) if facts.consecutive else None
        self._tagged = sorted(n for file, n in flow.places if file == "a" and n)
        self.races = dict(facts.order.races)
        before = {pc for pc, bits in facts.order.races if bits >> 16}
        self._leaders, self._restarts = flow.leaders | before, flow.restarts | before
        self._chained = not self._restarts and "bar" not in flow.controls
        parked = flow.has_quads or self.quads
        self.saving = StateSaving(self, places, self.lazy, self.races, parked, self._chained)
        self.transfer = self._transfer = KernelTransfers(self, self.saving)
        self.values = MachineValues(self)

    def stop_label(self) -> str:
        """See `FunctionCode`."""
        return self.saving.stop_label()

    def is_parked(self, step: Step, place: RegisterKey) -> bool:
        """See `InstructionCode`."""
        return self.saving.all_parked or place in self.flow.parked(step.pc)

    # --- where to go ----------------------------------------------------------------------------------------
    def goto(self, pc: int) -> None:
        """Continue at a block, in the version for the present mask."""
        if pc not in self._leaders:
            raise AssertionError(f"{pc:#x} does not start a block")
        b = self.body
        b.branch(b.eq(self.load32("mask"), -1), f"F{pc}", f"M{pc}", OFTEN)

    # --- the function ---------------------------------------------------------------------------------------
    def generate(self) -> str:
        """Return the whole module text, without the driver."""
        b = self.body
        leaders = [pc for pc in self.flow.order if pc in self._leaders]
        for version in ("F", "M"):
            for k, pc in enumerate(leaders):
                following = leaders[k + 1] if k + 1 < len(leaders) else None
                self._block(version == "F", pc, following)
        self._transfer.unwinding()
        self._transfer.dispatching()
        if self._chained:
            self._further_warps()
        for point in self.saving.stops:
            self.saving.stop_here(point)
        self.saving.stopped()
        lines, first = b.lines, FIRST_STATE if self._chained else STATE
        self.module.add(
            define(
                "@run_warp",
                I32,
                [CONTEXT, first],
                self._entry(),
                lines,
                attributes="nounwind noinline alignstack(64)",
                noalias=(CONTEXT, STATE),
            )
        )
        return str(self.module)

    def _entry(self) -> list[str]:
        """Emit variables and the entry. Emitted last, because it depends on the context slots the code uses."""
        b = Builder(self.module, first=1_000_000)  # names must not meet those of the body
        b.label("entry")
        for name in ("mask", "broke", "returned", "exited", "depth", "next", "why", "pending"):
            b.alloca(I32, f"%{name}")
        for name in ("issued", "threads", "uncounted"):
            b.alloca(I64, f"%{name}")
        for n in self._tagged:
            for name in ("last", "low", "high"):
                b.alloca(I32, f"%a{n}{name}")
            b.alloca(I1, f"%a{n}row")
            b.alloca(I1, f"%a{n}plain")
            b.alloca(vector(16, I1), f"%a{n}rows")
        for place in self.saving.places:
            type, parts = shape_of(place)
            for part in range(parts):
                b.alloca(type, self.variable(place, part).text, align=64)
                b.alloca(type.element, self.number_variable(place, part).text)
        b.lines += self._scratch.lines
        self.slot("remaining")
        b.lines += self._loads.lines
        if self._chained:
            b.label("warp")
            ways = [(FIRST_STATE, "entry"), (pointer("%behind"), "begin"), (pointer("%front"), "next_block")]
            b.phi(ways, STATE.text)
        saved, self.body = self.body, b
        starts = sorted(self._restarts)
        if self._chained:
            self._controls_of_a_new_warp()
        else:
            for name, offset in self.saving.controls():
                b.store(b.load(I32, self.state_pointer(offset)), pointer("%" + name))
            for name, offset in (("issued", state_layout.ISSUED), ("threads", state_layout.THREADS)):
                b.store(b.load(I64, self.state_pointer(offset)), pointer("%" + name))
        issued = b.load(I64, pointer("%issued"))
        b.branch(b.sge(issued, self.slot("remaining")), "spent", "start", RARELY)
        b.label("spent")
        self.saving.finish(state_layout.INTERRUPTED)
        b.label("start")
        if starts:
            b.branch(b.eq(issued, 0), "fresh", "again")
        b.label("fresh")  # nothing but $r0 is set: the state need not be read
        for place in self.saving.places:
            if place == ("r", 0):
                self.saving.restore(place)
                continue
            type, parts = shape_of(place)
            for part in range(parts):
                b.store(type.zero, self.variable(place, part))
            if place[0] == "a":
                self.tag(place[1], None)
        self.goto(self.flow.entry)
        if starts:
            self._again(starts)
        self.body = saved
        return b.lines

    def _controls_of_a_new_warp(self) -> None:
        """Set the fields that `blocks.begin_warp` has set: no loads, since new warps start at the entry only."""
        b = self.body
        mask = b.load(I32, self.state_pointer(state_layout.ACTIVE))
        self.store32(mask, "mask")
        self.store32(b.not_(mask), "exited")
        for name in ("broke", "returned", "depth"):
            self.store32(0, name)
        for name in ("issued", "threads"):
            b.store(I64(0), pointer("%" + name))

    def _further_warps(self) -> None:
        """After a warp has finished, run the warps of the block that have not begun, then those of the next blocks.

        `rules.blocks.run_blocks` would run them in the same order, each to its end: no warp of such a kernel waits for
        another one, and without a budget nothing is counted in between. A bound that need not be exact is checked after
        every block, and after warps that have run for long.
        """
        b = self.body
        b.label("further")
        more = b.ult(b.add(self.number_of_warp(), 1), self.slot("block_warps", I32))
        unbounded = b.sge(self.slot("remaining"), UNBOUNDED)
        short = b.slt(b.load(I64, pointer("%issued")), self.slot("runs_on"))
        b.branch(b.or_(unbounded, short), "along", "ended")
        b.label("along")
        b.branch(more, "begin", "after_last")
        b.label("after_last")
        is_numbered = any(key.startswith("%ctx_physid_") for key in self._slots)
        begun = I1(0) if is_numbered else self.transfer.rule(None, blocks.next_block)
        b.branch(begun, "next_block", "ended")
        b.label("next_block")
        b.named("%front", b.offset(self.slot("state", PTR), 0))
        b.jump("warp")
        b.label("begin")
        behind = b.named("%behind", b.offset(STATE, self.slot("state_bytes")))
        status = b.load(I32, b.offset(behind, state_layout.STATUS))
        issued = b.load(I64, b.offset(behind, state_layout.ISSUED))
        new = b.eq(issued, 0)
        ready = b.eq(status, state_layout.READY)
        b.branch(b.and_(new, ready), "warp", "ended")
        b.label("ended")
        b.ret(I32(state_layout.FINISHED))

    def _again(self, starts: list[int]) -> None:
        """Resume the warp where it was left: after a barrier, or after an instruction that the host executed."""
        b = self.body
        b.label("again")
        pc = b.load(I32, self.state_pointer(state_layout.PC))
        needed = {p: self.saving.needed(p) for p in starts}
        tagged = {place for places in needed.values() for place in places if place[0] == "a"}
        for place in sorted(tagged):  # what their lanes have in common takes some code: it is here once for all places
            self.saving.restore(place)
        b.switch(pc, "unknown", [(p, f"R{p}") for p in starts])
        for p in starts:
            b.label(f"R{p}")
            for place in needed[p]:
                if place not in tagged:
                    self.saving.restore(place)
            self._as_numbers(p, needed[p])
            self.goto(p)
        b.label("unknown")
        b.ret(I32(state_layout.STOPPED))

    def _as_numbers(self, pc: int, places: Iterable[RegisterKey]) -> None:
        """Keep registers as scalars if the block at an address expects that; only its version for all lanes does."""
        b, uniform = self.body, self._uniform.at[pc]
        for place in places:
            if place in uniform:
                type, parts = shape_of(place)
                for part in range(parts):
                    lanes = b.load(type, self.variable(place, part))
                    b.store(b.extract(lanes, 0), self.number_variable(place, part))

    # --- blocks ---------------------------------------------------------------------------------------------
    def _before_access(self, pc: int) -> None:
        """End the turn before a racing access that conflicts with one made earlier in it: `rules.turns.meets`."""
        bits = self.races.get(pc, 0)
        if not bits >> 16:
            return
        b = self.body
        over = self.transfer.rule(None, turns.meets, {"access": I32(bits)})
        with b.if_(over, "turn"):
            self.saving.leave(pc, state_layout.READY)

    def _block(self, full: bool, pc: int, following: int | None) -> None:
        b = self.body
        self.full = full
        b.label(f"{'F' if full else 'M'}{pc}")
        steps = self._steps_of(pc, following)
        first = steps[0]
        self.uniform = set(self.saving.places) & self._uniform.at[pc] if full else set()
        self.steps_known = self._lane_steps.at.get(pc, {}) if full and self._lane_steps is not None else {}
        self._before_access(pc)
        self.saving.checkpoint(pc, 0)
        if first.trace is None:
            b.jump(self.stop_label())
            return
        if first.op.join and self.choices.join == "before":
            self.transfer.join(first)
        if first.served and not first.sampled:
            self.saving.leave(first.pc, state_layout.SERVED)  # the host executes it
            return
        self.certain = self.access.ahead(steps) if full else set()
        self.mask32 = ALL if full else self.load32("mask")
        self.mask = self.as_mask(self.mask32)
        self._count(len(steps))
        self.habit = self.scratch("%habit", I1)
        b.store(I1(0), self.habit)
        not_twice = False
        for k, step in enumerate(steps):
            if not k or not_twice:
                self.saving.checkpoint(step.pc, len(steps) - k, self._if_stopped(step))
            assert step.trace is not None
            not_twice = step.once
            self.executed = k
            self.block_sizes[step.pc] = len(steps)
            if self.instruction(step):
                return
            if full and self._lane_steps is not None:
                self.steps_known = self._lane_steps.after(step, self.steps_known)
        last = steps[-1]
        self.stay(last.op.following)

    def _if_stopped(self, step: Step) -> int:
        """Return the status with which a warp stops before an instruction."""
        if step.sampled:
            return state_layout.SERVED
        return state_layout.JOINED if step.op.join and self.choices.join == "before" else state_layout.STOPPED

    def unit_of(self, step: Step) -> Ref:
        """See `LaneCode`."""
        return I64((step.pc - self.flow.code.address) // 4)

    def in_loop(self, step: Step) -> bool:
        """See `LaneCode`."""
        return step.pc in self.flow.looping

    def _steps_of(self, pc: int, following: int | None) -> list[Step]:
        out: list[Step] = []
        while pc in self.flow.steps and (not out or pc not in self._leaders):
            step = self.flow.steps[pc]
            out.append(step)
            if step.trace is None or step.control or step.op.exit:
                break
            pc = step.op.following
        return out

    def _count(self, n: int) -> None:
        b, issued, threads = self.body, pointer("%issued"), pointer("%threads")
        b.store(b.add(b.load(I64, issued), n), issued)
        lanes = I64(32 * n) if self.full else b.mul(self.active_count(), n)
        b.store(b.add(b.load(I64, threads), lanes), threads)
