"""The function that runs one warp of a kernel: every block twice, for a full warp and for some of its lanes.

Registers are SSA values between the places where a warp may stop (barriers, faults, interrupts); the divergence stack
is in memory and works as `machine.tesla.stack` says.
"""

from __future__ import annotations

from collections.abc import Iterable

from isakit.engine.graph import Plan
from isakit.engine.llvm import Body, Host, Module, Ref, ValueLowering
from isakit.machine.tesla.code import uniform_number
from isakit.machine.tesla.native import layout
from isakit.machine.tesla.native.access import Access
from isakit.machine.tesla.native.flow import Flow, Place, Step
from isakit.machine.tesla.native.lanes import TRUE, V1, V32, Facts, LaneCode
from isakit.machine.tesla.native.transfer import Transfers
from isakit.sem.trace import Effect
from isakit.sem.value import Value


class WarpCode(LaneCode):
    """Generates `i32 @run_warp(ptr %ctx, ptr %ws)`, which returns a status of `layout`."""

    def __init__(self, flow: Flow, facts: Facts, host: Host) -> None:
        self._begin(Module(32), host)
        self.flow, self.facts, self.quads = flow, facts, flow.has_quadon
        self.transfer = Transfers(self)
        self._places = sorted(p for p in flow.places if p[0] != "r" or p[1] < facts.registers)
        self._parked = set(self._places) if flow.has_quads or flow.has_quadon else flow.parked
        self._tagged = sorted(n for file, n in flow.places if file == "a" and n)

    transfer: Transfers

    def _begin(self, module: Module, host: Host) -> None:
        super()._begin(module, host)
        self.access = Access(self)
        self._stops: list[tuple[str, Step, int, int]] = []
        self._stop_labels: dict[tuple[int, bool, int, int], str] = {}

    # --- where to go ----------------------------------------------------------------------------------------
    def goto(self, pc: int) -> None:
        """Continue at a block, in the version for the present mask."""
        if pc not in self.flow.leaders:
            raise AssertionError(f"{pc:#x} does not start a block")
        m = self.load32("mask")
        full = self.body(f"icmp eq i32 {m}, -1")
        self.body.do(f"br i1 {full}, label %F{pc}, label %M{pc}")

    def stay(self, pc: int) -> None:
        """Continue at a block without a change of the mask."""
        self.body.do(f"br label %{'F' if self.full else 'M'}{pc}")

    # --- the function ---------------------------------------------------------------------------------------
    def generate(self) -> str:
        """The whole module text, without the driver."""
        b = self.body
        leaders = [pc for pc in self.flow.order if pc in self.flow.leaders]
        for version in ("F", "M"):
            for k, pc in enumerate(leaders):
                following = leaders[k + 1] if k + 1 < len(leaders) else None
                self._block(version == "F", pc, following)
        self.transfer.unwinding()
        self.transfer.dispatching()
        for label, step, executed, counted in self._stops:
            b.label(label)
            self._stop_here(step, executed, counted)
        self._stopped()
        text = b.text()
        self.module.add(
            f"define internal i32 @run_warp(ptr noalias %ctx, ptr noalias %ws) nounwind noinline alignstack(64) {{\n"
            f"{self._entry()}\n{text}\n}}"
        )
        return str(self.module)

    def _entry(self) -> str:
        """Variables, and where to start. Emitted last, because it knows what the code looks up in the context."""
        b = Body(self.module, first=1_000_000)  # names must not meet those of the body
        b.label("entry")
        for name in ("mask", "broke", "returned", "exited", "depth", "next", "why"):
            b.do(f"%{name} = alloca i32")
        b.do("%issued = alloca i64")
        b.do("%threads = alloca i64")
        b.do("%uncounted = alloca i64")
        for n in self._tagged:
            for name in ("tag", "low", "high"):
                b.do(f"%a{n}{name} = alloca i32")
        for place in self._places:
            ty = V1 if place[0] == "c" else V32
            for part in range(4 if place[0] == "c" else 1):
                b.do(f"{self.variable(place, part)} = alloca {ty}, align 64")
        b.lines += self._scratch
        self.slot("remaining")
        b.lines += self._slots.values()
        saved, self.body = self.body, b
        for name, offset in self._controls():
            b.do(f"store i32 {b(f'load i32, ptr {self.state_pointer(offset)}')}, ptr %{name}")
        for name, offset in (("issued", layout.ISSUED), ("threads", layout.THREADS)):
            b.do(f"store i64 {b(f'load i64, ptr {self.state_pointer(offset)}')}, ptr %{name}")
        pc = b(f"load i32, ptr {self.state_pointer(layout.PC)}")
        issued = b("load i64, ptr %issued")
        used = b(f"icmp sge i64 {issued}, {self.slot('remaining')}")
        b.do(f"br i1 {used}, label %spent, label %start, !prof !0")
        b.label("spent")
        self.finish(layout.INTERRUPTED)
        b.label("start")
        b.do(f"br i1 {b(f'icmp eq i64 {issued}, 0')}, label %fresh, label %again")
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
        b.do(f"br label %R{self.flow.entry}")
        b.label("again")
        for place in self._places:
            self._restore(place)
        starts = sorted(self.flow.resumable & set(self.flow.steps))
        b.do(f"switch i32 {pc}, label %unknown [ " + " ".join(f"i32 {p}, label %R{p}" for p in starts) + " ]")
        for p in starts:
            b.label(f"R{p}")
            self.goto(p)
        b.label("unknown")
        b.do(f"ret i32 {layout.STOPPED}")
        self.body = saved
        return b.text()

    @staticmethod
    def _controls() -> Iterable[tuple[str, int]]:
        return (
            ("mask", layout.ACTIVE),
            ("broke", layout.BROKE),
            ("returned", layout.RETURNED),
            ("exited", layout.EXITED),
            ("depth", layout.DEPTH),
        )

    # --- state in memory ------------------------------------------------------------------------------------
    def _restore(self, place: Place) -> None:
        b, (file, n) = self.body, place
        if file == "c":
            for bit in range(4):
                m = b(f"load i32, ptr {self.state_pointer(layout.flag(n, bit))}")
                b.do(f"store {V1} {b(f'bitcast i32 {m} to {V1}')}, ptr {self.variable(place, bit)}")
            return
        offset = layout.register(n) if file == "r" else layout.address(n)
        v = b(f"load {V32}, ptr {self.state_pointer(offset)}, align 4")
        b.do(f"store {V32} {v}, ptr {self.variable(place)}")
        if file == "a":
            self.tag(n, v)

    def _save_place(self, place: Place) -> None:
        b, (file, n) = self.body, place
        if file == "c":
            for bit in range(4):
                m = b(f"bitcast {V1} {b(f'load {V1}, ptr {self.variable(place, bit)}')} to i32")
                b.do(f"store i32 {m}, ptr {self.state_pointer(layout.flag(n, bit))}")
            return
        offset = layout.register(n) if file == "r" else layout.address(n)
        v = b(f"load {V32}, ptr {self.variable(place)}")
        b.do(f"store {V32} {v}, ptr {self.state_pointer(offset)}, align 4")

    def save(self, pc: str, places: Iterable[Place]) -> None:
        """Write the warp's state to memory: registers that may still be read, masks, counts, where to go on."""
        b = self.body
        for place in sorted(places):
            if place in self._places:
                self._save_place(place)
        for name, offset in self._controls():
            b.do(f"store i32 {self.load32(name)}, ptr {self.state_pointer(offset)}")
        for name, offset in (("issued", layout.ISSUED), ("threads", layout.THREADS)):
            b.do(f"store i64 {b(f'load i64, ptr %{name}')}, ptr {self.state_pointer(offset)}")
        b.do(f"store i32 {pc}, ptr {self.state_pointer(layout.PC)}")

    def finish(self, status: int | str) -> None:
        """Return to the driver."""
        self.body.do(f"store i32 {status}, ptr {self.state_pointer(layout.STATUS)}")
        self.body.do(f"ret i32 {status}")

    def _active_count(self) -> str:
        f = self.module.declare("llvm.ctpop.i32", "i32 @(i32)")
        count = self.body(f"call i32 {f}(i32 {self.load32('mask')})")
        return self.body(f"zext i32 {count} to i64")

    def stop(self, step: Step, bad: str) -> None:
        """Leave compiled code before this instruction where the i1 `bad` is set."""
        on = self.body.fresh("on")
        counted = self.block_sizes[step.pc]  # none yet in front of a join
        key = step.pc, self.full, self.executed, counted
        label = self._stop_labels.get(key)
        if label is None:
            label = self._stop_labels[key] = self.body.fresh("stop")
            self._stops.append((label, step, self.executed, counted))
        self.body.do(f"br i1 {bad}, label %{label}, label %{on}, !prof !0")
        self.body.label(on)

    def _stop_here(self, step: Step, executed: int, counted: int) -> None:
        """Say where to go on; all stops save the state in one place. Registers nobody reads may hold anything."""
        self.store32(str(step.pc), "next")
        self.store32(str(layout.JOINED if step.op.join and counted else layout.STOPPED), "why")
        self.body.do(f"store i64 {counted - executed}, ptr %uncounted")
        for place in self._places:
            if place not in step.live and place not in step.reads:
                ty = V1 if place[0] == "c" else V32
                for part in range(4 if place[0] == "c" else 1):
                    self.body.do(f"store {ty} poison, ptr {self.variable(place, part)}")
        self.body.do("br label %stopped")

    def _stopped(self) -> None:
        """Leave to the reference machine; `uncounted` instructions of the block were counted but not executed."""
        b = self.body
        b.label("stopped")
        uncounted, issued, threads = (b(f"load i64, ptr %{n}") for n in ("uncounted", "issued", "threads"))
        b.do(f"store i64 {b(f'sub i64 {issued}, {uncounted}')}, ptr %issued")
        lanes = b(f"mul i64 {self._active_count()}, {uncounted}")
        b.do(f"store i64 {b(f'sub i64 {threads}, {lanes}')}, ptr %threads")
        self.save(self.load32("next"), self._places)
        self.finish(self.load32("why"))

    # --- blocks ---------------------------------------------------------------------------------------------
    def _block(self, full: bool, pc: int, following: int | None) -> None:
        b = self.body
        self.full = full
        b.label(f"{'F' if full else 'M'}{pc}")
        steps = self._steps_of(pc, following)
        first = steps[0]
        if first.trace is None:
            self._stops.append((f"{'F' if full else 'M'}{pc}x", first, 0, 0))
            self.block_sizes[first.pc] = 0
            b.do(f"br label %{'F' if full else 'M'}{pc}x")
            return
        if first.op.join:
            self.transfer.join(first)
        if first.served:
            self.save(str(first.pc), first.live | first.reads)
            self.finish(layout.SERVED)
            return
        self.mask32 = "-1" if full else self.load32("mask")
        self.mask = self.as_mask(self.mask32)
        self._count(len(steps))
        for k, step in enumerate(steps):
            self.executed = k
            self.block_sizes[step.pc] = len(steps)
            if self._instruction(step, k):
                return
        last = steps[-1]
        self.stay(last.op.following)

    def _steps_of(self, pc: int, following: int | None) -> list[Step]:
        out: list[Step] = []
        while pc in self.flow.steps and (not out or pc not in self.flow.leaders):
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
    def _instruction(self, step: Step, index: int) -> bool:
        """Emit one instruction; returns whether it ends the block."""
        assert step.trace is not None
        roots = [v for e in step.trace.effects for v in (*e.args, *((e.when,) if e.when is not None else ()))]
        if step.guard is not None:
            roots.append(step.guard)
        # A value of more than 64 bits is only ever stored or taken apart: give the plan its pieces.
        plan = Plan([p for v in roots for p in _pieces(v)], wide=False)

        def leaf(v: Value) -> Ref:
            return self._leaf(step, low, v)

        low: ValueLowering = ValueLowering(self.body, leaf, self.natives)
        executing, partial = self.mask, not self.full
        if step.guard is not None:
            holds = low.splat(low.value(plan.canonical(step.guard)))
            executing, partial = self.both(self.mask, holds.text), True
        if step.op.never:
            executing, partial = "zeroinitializer", True
        request = None
        if not step.op.dropped or step.control:
            if any(step.op.fixed_a):  # a register that cannot be written
                self.stop(step, self.body(f"icmp ne i32 {self.as_bits(executing)}, 0"))
            request = self._effects(step, plan, low, executing, partial)
        if step.control or step.op.exit:
            return self.transfer.perform(step, request, low, plan, executing)
        return False

    def _effects(self, step: Step, plan: Plan, low: ValueLowering, executing: str, partial: bool) -> Effect | None:
        assert step.trace is not None
        writes: list[tuple[Effect, Ref, str, bool]] = []
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
                writes.append((e, low.value(plan.canonical(e.args[1])), lanes, some))
            elif e.kind == "control":
                request = e
        for e, value, lanes, some in writes:
            self._write(step, e, low, value, lanes, some)
        return request

    def _write(self, step: Step, e: Effect, low: ValueLowering, value: Ref, lanes: str, some: bool) -> None:
        if e.name == "o":
            self.access.output(low.value(e.args[0]), low.splat(low.resize(value, 32)), low, lanes, some)
            return
        n = uniform_number(e.args[0], step.word)
        place = e.name, n
        if (e.name == "r" and n >= self.facts.registers) or (e.name == "a" and n == 0):
            return
        if e.name == "c":
            value = low.splat(low.resize(value, 4))
            some = some and not (lanes == self.mask and place not in self._parked)
            for bit in range(4):
                shifted = low.op("lshr", value, low.constant(bit, 4)) if bit else value
                self._assign(self.variable(place, bit), V1, low.resize(shifted, 1).text, lanes, some)
            return
        whole = low.splat(low.resize(value, 32)).text
        if lanes == self.mask and place not in self._parked:
            some = False  # what lanes that do not execute have in it is never read
        self._assign(self.variable(place), V32, whole, lanes, some)
        if e.name == "a":
            self.tag(n, whole if lanes == TRUE else None)

    def _assign(self, variable: str, ty: str, value: str, lanes: str, some: bool) -> None:
        b = self.body
        if some:
            value = b(f"select {V1} {lanes}, {ty} {value}, {ty} {b(f'load {ty}, ptr {variable}')}")
        b.do(f"store {ty} {value}, ptr {variable}")


def _pieces(v: Value) -> list[Value]:
    """A value as values of at most 64 bits."""
    return [v] if v.width <= 64 else [v.bits(k, 64) for k in range(0, v.width, 64)]
