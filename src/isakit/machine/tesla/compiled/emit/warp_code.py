"""The function that runs one warp of a kernel: every block twice, for a full warp and for some of its lanes.

Registers are SSA values between the places where a warp may stop (barriers, faults, interrupts); the divergence stack
is in memory and works as `machine.tesla.stack` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from isakit.engine.graph import Plan
from isakit.engine.llvm import Body, Host, LlvmModule, Ref, ValueLowering
from isakit.machine.tesla.analysis.control_flow import Flow, Place, Step
from isakit.machine.tesla.analysis.lane_steps import LaneSteps
from isakit.machine.tesla.analysis.nan_canonicalisation import LazyNans
from isakit.machine.tesla.analysis.uniform_registers import UniformRegisters, makes_uniform
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.control_transfer import Transfers
from isakit.machine.tesla.compiled.emit.lane_code import LaunchFacts
from isakit.machine.tesla.compiled.emit.memory_access import KernelAccesses
from isakit.machine.tesla.compiled.emit.memory_ir import kernel_module
from isakit.machine.tesla.compiled.emit.state_saving import RestartPoint, SavingCode
from isakit.machine.tesla.compiled.state_layout import TRUE, V1, V32
from isakit.machine.tesla.kernel_code import FIXED
from isakit.machine.tesla.rules import blocks, turns
from isakit.machine.tesla.rules.interpreter import RACES
from isakit.sem.trace import Effect
from isakit.sem.value import Value, uniform_number

UNBOUNDED = 1 << 61
"""A budget of instructions from here on is none."""


class WarpCode(SavingCode):
    """Generates `i32 @run_warp(ptr %ctx, ptr %ws)`, which returns a status of `layout`."""

    def __init__(self, flow: Flow, facts: LaunchFacts, host: Host) -> None:
        self._begin(kernel_module(host), host)
        self.flow, self.facts, self.quads, self.choices = flow, facts, flow.has_quadon, facts.choices
        self.transfer = Transfers(self)
        self._places = sorted(p for p in flow.places - {("a", 0)} if p[0] != "r" or p[1] < facts.registers)
        self._all_parked = flow.has_quads or flow.has_quadon
        if host.embedded:
            self._lazy = LazyNans(flow, facts.registers)
        self._uniform = UniformRegisters(flow)
        self._lane_steps = LaneSteps(flow, facts.registers) if facts.consecutive else None
        self._tagged = sorted(n for file, n in flow.places if file == "a" and n)
        self._races = dict(facts.order.races)
        before = {pc for pc, bits in facts.order.races if bits >> 16}
        self._leaders, self._restarts = flow.leaders | before, flow.restarts | before
        self._chained = not self._restarts and not flow.has_barriers

    transfer: Transfers
    _uniform: UniformRegisters | None = None
    _habit: str | None = None

    def _begin(self, module: LlvmModule, host: Host) -> None:
        super()._begin(module, host)
        self.access = KernelAccesses(self)
        self._stops: list[RestartPoint] = []
        self._plans: dict[int, tuple[Step, Plan]] = {}

    @property
    def rules(self) -> Transfers:
        """What writes the routines of control into this code."""
        return self.transfer

    # --- where to go ----------------------------------------------------------------------------------------
    def goto(self, pc: int) -> None:
        """Continue at a block, in the version for the present mask."""
        if pc not in self._leaders:
            raise AssertionError(f"{pc:#x} does not start a block")
        m = self.load32("mask")
        full = self.body(f"icmp eq i32 {m}, -1")
        self.body.do(f"br i1 {full}, label %F{pc}, label %M{pc}, !prof !3")

    def stay(self, pc: int) -> None:
        """Continue at a block without a change of the mask."""
        if self.uniform and self._uniform is not None:
            self.settle((self.uniform - self._uniform.at[pc]) & self.flow.live[pc])
        self.body.do(f"br label %{'F' if self.full else 'M'}{pc}")

    # --- the function ---------------------------------------------------------------------------------------
    def generate(self) -> str:
        """The whole module text, without the driver."""
        b = self.body
        leaders = [pc for pc in self.flow.order if pc in self._leaders]
        for version in ("F", "M"):
            for k, pc in enumerate(leaders):
                following = leaders[k + 1] if k + 1 < len(leaders) else None
                self._block(version == "F", pc, following)
        self.transfer.unwinding()
        self.transfer.dispatching()
        if self._chained:
            self._further_warps()
        for point in self._stops:
            self._stop_here(point)
        self._stopped()
        text, first = b.text(), "%first_warp" if self._chained else "noalias %ws"
        self.module.add(
            f"define i32 @run_warp(ptr noalias %ctx, ptr {first}) nounwind noinline alignstack(64) {{\n"
            f"{self._entry()}\n{text}\n}}"
        )
        return str(self.module)

    def _entry(self) -> str:
        """Variables, and where to start. Emitted last, because it knows what the code looks up in the context."""
        b = Body(self.module, first=1_000_000)  # names must not meet those of the body
        b.label("entry")
        for name in ("mask", "broke", "returned", "exited", "depth", "next", "why", "pending"):
            b.do(f"%{name} = alloca i32")
        b.do("%issued = alloca i64")
        b.do("%threads = alloca i64")
        b.do("%uncounted = alloca i64")
        for n in self._tagged:
            for name in ("last", "low", "high"):
                b.do(f"%a{n}{name} = alloca i32")
            b.do(f"%a{n}row = alloca i1")
            b.do(f"%a{n}plain = alloca i1")
            b.do(f"%a{n}rows = alloca <16 x i1>")
        for place in self._places:
            ty = V1 if place[0] == "c" else V32
            for part in range(4 if place[0] == "c" else 1):
                b.do(f"{self.variable(place, part)} = alloca {ty}, align 64")
                b.do(f"{self.variable(place, part)}u = alloca {'i1' if place[0] == 'c' else 'i32'}")
        b.lines += self._scratch
        self.slot("remaining")
        b.lines += self._slots.values()
        if self._chained:
            b.do("br label %warp")
            b.label("warp")
            b.do("%ws = phi ptr [ %first_warp, %entry ], [ %behind, %begin ], [ %front, %next_block ]")
        saved, self.body = self.body, b
        starts = sorted(self._restarts)
        if self._chained:
            self._controls_of_a_new_warp()
        else:
            for name, offset in self._controls():
                b.do(f"store i32 {b(f'load i32, ptr {self.state_pointer(offset)}')}, ptr %{name}")
            for name, offset in (("issued", state_layout.ISSUED), ("threads", state_layout.THREADS)):
                b.do(f"store i64 {b(f'load i64, ptr {self.state_pointer(offset)}')}, ptr %{name}")
        issued = b("load i64, ptr %issued")
        used = b(f"icmp sge i64 {issued}, {self.slot('remaining')}")
        b.do(f"br i1 {used}, label %spent, label %start, !prof !0")
        b.label("spent")
        self.finish(state_layout.INTERRUPTED)
        b.label("start")
        if starts:
            b.do(f"br i1 {b(f'icmp eq i64 {issued}, 0')}, label %fresh, label %again")
        else:
            b.do("br label %fresh")
        b.label("fresh")  # nothing but $r0 is set: the state need not be read
        for place in self._places:
            if place == ("r", 0):
                self._restore(place)
                continue
            ty = V1 if place[0] == "c" else V32
            for part in range(4 if place[0] == "c" else 1):
                b.do(f"store {ty} zeroinitializer, ptr {self.variable(place, part)}")
            if place[0] == "a":
                self.tag(place[1], None)
        self.goto(self.flow.entry)
        if starts:
            self._again(starts)
        self.body = saved
        return b.text()

    def _controls_of_a_new_warp(self) -> None:
        """Warps of such a kernel begin nowhere but at its entry: what `blocks.begin_warp` has set need not be read."""
        b = self.body
        mask = b(f"load i32, ptr {self.state_pointer(state_layout.ACTIVE)}")
        b.do(f"store i32 {mask}, ptr %mask")
        b.do(f"store i32 {b(f'xor i32 {mask}, -1')}, ptr %exited")
        for name in ("broke", "returned", "depth"):
            b.do(f"store i32 0, ptr %{name}")
        for name in ("issued", "threads"):
            b.do(f"store i64 0, ptr %{name}")

    def _further_warps(self) -> None:
        """A warp has finished: those after it that have not begun have their turns as well, and those of next blocks.

        They would have them from `rules.blocks.run_blocks`, in the same order, each of them to its end: no warp of such
        a kernel waits for another one, and with no budget nothing has to be counted in between. A bound that need not
        be exact is looked at after every block, and after warps that have run for long.
        """
        b = self.body
        b.label("further")
        number = b(f"load i32, ptr {self.state_pointer(state_layout.NUMBER)}")
        more = b(f"icmp ult i32 {b(f'add i32 {number}, 1')}, {self.slot('block_warps', 'i32')}")
        unbounded = b(f"icmp sge i64 {self.slot('remaining')}, {UNBOUNDED}")
        short = b(f"icmp slt i64 {b('load i64, ptr %issued')}, {self.slot('runs_on')}")
        goes_on = b(f"or i1 {unbounded}, {short}")
        b.do(f"br i1 {goes_on}, label %along, label %ended")
        b.label("along")
        b.do(f"br i1 {more}, label %begin, label %after_last")
        b.label("after_last")
        begun = None if self._looks_up("physid") else self.transfer.rule(None, blocks.next_block)
        b.do(f"br i1 {'false' if begun is None else begun.text}, label %next_block, label %ended")
        b.label("next_block")
        b.do(f"%front = getelementptr i8, ptr {self.slot('state', 'ptr')}, i64 0")
        b.do("br label %warp")
        b.label("begin")
        b.do(f"%behind = getelementptr i8, ptr %ws, i64 {self.slot('state_bytes')}")
        status, issued = (
            b(f"load {ty}, ptr {b(f'getelementptr i8, ptr %behind, i64 {offset}')}")
            for ty, offset in (("i32", state_layout.STATUS), ("i64", state_layout.ISSUED))
        )
        new = b(f"icmp eq i64 {issued}, 0")
        ready = b(f"icmp eq i32 {status}, {state_layout.READY}")
        b.do(f"br i1 {b(f'and i1 {new}, {ready}')}, label %warp, label %ended")
        b.label("ended")
        b.do(f"ret i32 {state_layout.FINISHED}")

    def _looks_up(self, name: str) -> bool:
        """Whether the code has looked up a slot of the context, as it was when the function was called."""
        return any(key.startswith(f"%ctx_{name}_") for key in self._slots)

    def _again(self, starts: list[int]) -> None:
        """Go on where the warp was left: after a barrier, or after what the host did."""
        b = self.body
        b.label("again")
        pc = b(f"load i32, ptr {self.state_pointer(state_layout.PC)}")
        needed = {p: self.needed(p) for p in starts}
        tagged = {place for places in needed.values() for place in places if place[0] == "a"}
        for place in sorted(tagged):  # what their lanes have in common takes some code: it is here once for all places
            self._restore(place)
        b.do(f"switch i32 {pc}, label %unknown [ " + " ".join(f"i32 {p}, label %R{p}" for p in starts) + " ]")
        for p in starts:
            b.label(f"R{p}")
            for place in needed[p]:
                if place not in tagged:
                    self._restore(place)
            self._as_numbers(p, needed[p])
            self.goto(p)
        b.label("unknown")
        b.do(f"ret i32 {state_layout.STOPPED}")

    def _as_numbers(self, pc: int, places: Iterable[Place]) -> None:
        """Keep registers as one number that the block at an address expects so; only its version for all lanes does."""
        b, uniform = self.body, set[Place]() if self._uniform is None else self._uniform.at[pc]
        for place in places:
            if place in uniform:
                ty, scalar = (V1, "i1") if place[0] == "c" else (V32, "i32")
                for part in range(4 if place[0] == "c" else 1):
                    lanes = b(f"load {ty}, ptr {self.variable(place, part)}")
                    one = b(f"extractelement {ty} {lanes}, i64 0")
                    b.do(f"store {scalar} {one}, ptr {self.variable(place, part)}u")

    # --- blocks ---------------------------------------------------------------------------------------------
    def _before_access(self, pc: int) -> None:
        """End the turn before a racing access that meets one made in it: `rules.turns.meets`."""
        bits = self._races.get(pc, 0)
        if not bits >> 16:
            return
        b = self.body
        over = self.transfer.rule(None, turns.meets, {"access": Ref(str(bits), 32, True)})
        assert over is not None
        turn, on = b.fresh("turn"), b.fresh("on")
        b.do(f"br i1 {over.text}, label %{turn}, label %{on}")
        b.label(turn)
        self.leave(pc, state_layout.READY)
        b.label(on)

    def _block(self, full: bool, pc: int, following: int | None) -> None:
        b = self.body
        self.full = full
        b.label(f"{'F' if full else 'M'}{pc}")
        steps = self._steps_of(pc, following)
        first = steps[0]
        self.uniform = set(self._places) & self._uniform.at[pc] if full and self._uniform is not None else set()
        self.steps_known = self._lane_steps.at.get(pc, {}) if full and self._lane_steps is not None else {}
        self._before_access(pc)
        self._checkpoint(pc, 0)
        if first.trace is None:
            b.do(f"br label %{self.stop_label()}")
            return
        if first.op.join and self.choices.join == "before":
            self.transfer.join(first)
        if first.served and not first.sampled:
            self.leave(first.pc, state_layout.SERVED)  # the host executes it
            return
        self.certain = self.access.ahead(steps) if full else set()
        self.mask32 = "-1" if full else self.load32("mask")
        self.mask = self.as_mask(self.mask32)
        self._count(len(steps))
        self._habit = "%habit"
        self.scratch(self._habit, "i1")
        b.do(f"store i1 false, ptr {self._habit}")
        not_twice = False
        for k, step in enumerate(steps):
            if not k or not_twice:
                self._checkpoint(step.pc, len(steps) - k, self._if_stopped(step))
            assert step.trace is not None
            not_twice = step.once
            self.executed = k
            self.block_sizes[step.pc] = len(steps)
            if self._instruction(step):
                return
            if full and self._lane_steps is not None:
                self.steps_known = self._lane_steps.after(step, self.steps_known)
        last = steps[-1]
        self.stay(last.op.following)

    def _if_stopped(self, step: Step) -> int:
        """What a warp says that stops before an instruction."""
        if step.sampled:
            return state_layout.SERVED
        return state_layout.JOINED if step.op.join and self.choices.join == "before" else state_layout.STOPPED

    def unit_of(self, step: Step) -> str:
        """See `LaneCode`."""
        return str((step.pc - self.flow.code.address) // 4)

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
        b = self.body
        issued = b("load i64, ptr %issued")
        b.do(f"store i64 {b(f'add i64 {issued}, {n}')}, ptr %issued")
        lanes = str(32 * n) if self.full else b(f"mul i64 {self._active_count()}, {n}")
        threads = b("load i64, ptr %threads")
        b.do(f"store i64 {b(f'add i64 {threads}, {lanes}')}, ptr %threads")

    # --- instructions ---------------------------------------------------------------------------------------
    def _plan(self, step: Step) -> Plan:
        """What is computed for an instruction; both versions of a block need the same."""
        kept = self._plans.get(step.pc)
        if kept is not None and kept[0] is step:
            return kept[1]
        assert step.trace is not None
        roots = [v for e in step.trace.effects for v in e.inputs]
        if step.guard is not None:
            roots.append(step.guard)
        # A value of more than 64 bits is only ever stored or taken apart: give the plan its pieces.
        plan = Plan([p for v in roots for p in _pieces(v)], wide=False, numbers=self._numbers(step))
        self._plans[step.pc] = step, plan
        return plan

    def _instruction(self, step: Step) -> bool:
        """Emit one instruction; returns whether it ends the block."""
        assert step.trace is not None
        plan = self._plan(step)

        def leaf(v: Value) -> Ref:
            return self._leaf(step, low, v)

        raw = self._lazy is not None and any((step.pc, place) in self._lazy.raw for place in step.writes)
        low: ValueLowering = ValueLowering(
            self.body, leaf, self.raw_natives if raw else self.natives, self._flag_leaf(step)
        )
        low.habit = self._habit
        executing, partial = self.mask, not self.full
        self.decided = None
        if step.guard is not None:
            holds = low.value(plan.canonical(step.guard))
            self.decided = holds.text if holds.uniform and self.full else None
            holds = low.splat(holds)
            executing, partial = self.both(self.mask, holds.text), True
        if step.op.never:
            executing, partial = "zeroinitializer", True
        self.executing = executing
        request = None
        if not step.op.dropped or step.control:
            if any(step.op.fixed_a) and self.choices.nonzero_a56 == "fault":  # a register that cannot be written
                self.stop(step, self.body(f"icmp ne i32 {self.as_bits(executing)}, 0"))
            request = self._effects(step, plan, low, executing, partial)
        bits = self._races.get(step.pc, 0) & RACES
        if bits:
            self.store32(self.body(f"or i32 {self.load32('pending')}, {bits}"), "pending")
        if step.control or step.op.exit or (step.op.join and self.choices.join == "after"):
            return self.transfer.perform(step, request, low, plan, executing)
        return False

    def _numbers(self, step: Step) -> Callable[[Value], int | None]:
        """What is known of an instruction's fields and of the launch."""

        def number(v: Value) -> int | None:
            if v.op == "param":
                return int(v.attr.get(step.word))
            if v.op == "read":
                n = uniform_number(v.args[0], step.word)
                return 0 if (v.attr == "a" and not n) or (v.attr == "r" and n >= self.facts.registers) else None
            name, attrs = v.attr
            return int(dict(attrs)["name"] in self.facts.flags) if name == "mp_flag" else None

        return number

    def _flag_leaf(self, step: Step) -> Callable[[Value, int], Ref | None]:
        """One bit of a $c register, without the others."""

        def flag(v: Value, bit: int) -> Ref | None:
            if v.op != "read" or v.attr != "c" or bit > 3:
                return None
            place = "c", uniform_number(v.args[0], step.word)
            if place in self.uniform:
                return Ref(self.body(f"load i1, ptr {self.variable(place, bit)}u"), 1, True)
            return Ref(self.body(f"load {V1}, ptr {self.variable(place, bit)}"), 1)

        return flag

    def _effects(self, step: Step, plan: Plan, low: ValueLowering, executing: str, partial: bool) -> Effect | None:
        assert step.trace is not None
        writes: list[tuple[Effect, list[Ref], str, bool]] = []
        request = None
        for e in step.trace.effects:
            lanes, some = executing, partial
            if e.when is not None:
                when = low.splat(low.value(plan.canonical(e.when)))
                lanes, some = self.both(executing, when.text), True
            if e.kind == "load":
                self.access.load(step, e, plan, low, lanes, some)
            elif e.kind == "store":
                self.access.store(step, e, plan, low, lanes, some)
            elif e.kind == "atomic":
                self.access.atomic(step, e, plan, low, lanes)
            elif e.kind == "write":
                parts = [e.args[1]] if e.name != "c" else [e.args[1].bits(bit, 1) for bit in range(4)]
                writes.append((e, [low.value(plan.canonical(p)) for p in parts], lanes, some))
            elif e.kind == "control":
                request = e
        alike = self.full and self._uniform is not None and makes_uniform(step, self.uniform)
        if not alike:
            self.settle(self.uniform & step.writes)  # lanes that keep the old value
        for e, values, lanes, some in writes:
            if not alike:
                self._write(step, e, low, values, lanes, some)
        if alike:
            for e, values, _, _ in writes:
                self._write_alike(step, e, low, values)
        self.uniform -= step.writes
        if alike:
            self.uniform |= step.writes & set(self._places)
        return request

    def _write(self, step: Step, e: Effect, low: ValueLowering, values: list[Ref], lanes: str, some: bool) -> None:
        if e.name == "o":
            self.access.output(low.value(e.args[0]), low.splat(low.resize(values[0], 32)), low, lanes, some)
            return
        n = uniform_number(e.args[0], step.word)
        place = e.name, n
        if (e.name == "r" and n >= self.facts.registers) or (e.name == "a" and n in FIXED):
            return
        if e.name == "c":
            some = some and not (lanes == self.mask and not self._is_parked(step, place))
            for bit, flag in enumerate(values):
                self._assign(self.variable(place, bit), V1, low.splat(flag).text, lanes, some)
            return
        whole = low.splat(low.resize(values[0], 32)).text
        if lanes == self.mask and not self._is_parked(step, place):
            some = False  # what lanes that do not execute have in it is never read
        self._assign(self.variable(place), V32, whole, lanes, some)
        if e.name == "a":
            self.certain.discard(n)
            self.tag(n, whole if lanes == TRUE else None)

    def _write_alike(self, step: Step, e: Effect, low: ValueLowering, values: list[Ref]) -> None:
        """Write one number for all lanes."""
        place = e.name, uniform_number(e.args[0], step.word)
        if e.name == "r" and place[1] >= self.facts.registers:
            return
        for part, value in enumerate(values):
            r = value if e.name == "c" else low.resize(value, 32)
            if not r.uniform:  # the analysis knows better
                r = Ref(self.body(f"extractelement {low.type(r)} {r.text}, i64 0"), r.width, True)
            self.body.do(f"store i{r.width} {r.text}, ptr {self.variable(place, part)}u")

    def _is_parked(self, step: Step, place: Place) -> bool:
        """Whether lanes that do not execute the instruction may still read the place."""
        return self._all_parked or place in self.flow.parked(step.pc)

    def _assign(self, variable: str, ty: str, value: str, lanes: str, some: bool) -> None:
        b = self.body
        if some:
            value = b(f"select {V1} {lanes}, {ty} {value}, {ty} {b(f'load {ty}, ptr {variable}')}")
        b.do(f"store {ty} {value}, ptr {variable}")


def _pieces(v: Value) -> list[Value]:
    """A value as values of at most 64 bits."""
    return [v] if v.width <= 64 else [v.bits(k, 64) for k in range(0, v.width, 64)]
