"""The code of an instruction: its computation, its effects, and where the warp continues.

`InstructionCode` is the emitter: one object whose parts write into it. `warp_code` generates functions of kernels with
it, `interpreter_handlers` functions of single instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from isakit.engine.graph import Plan
from isakit.engine.llvm import Host, LlvmModule, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32
from isakit.machine.tesla.analysis.control_flow import RegisterKey, Step
from isakit.machine.tesla.analysis.nan_canonicalisation import NanTracking
from isakit.machine.tesla.analysis.uniform_registers import UniformRegisters, has_calls, makes_uniform
from isakit.machine.tesla.compiled.emit.control_transfer import Transfers
from isakit.machine.tesla.compiled.emit.function_code import FunctionCode
from isakit.machine.tesla.compiled.emit.machine_values import MachineValues
from isakit.machine.tesla.compiled.emit.memory_access import KernelAccesses
from isakit.machine.tesla.compiled.state_layout import TRUE, V1, V32
from isakit.machine.tesla.kernel_code import FIXED
from isakit.machine.tesla.rules.interpreter import RACES
from isakit.sem.routine import AnyRoutine
from isakit.sem.trace import Effect
from isakit.sem.value import Value, uniform_number


class InstructionCode(FunctionCode):
    """Emits instructions, one after the other.

    Parts: `access` to memory, `transfer` of control, `values` of the machine. `uniform_at`: scalar registers, by
    address; `lazy`: registers that may hold NaNs of the host; `races`: see `StateSaving`; `alike_places`: registers
    that may be kept as scalars.
    """

    transfer: Transfers
    values: MachineValues
    uniform_at: UniformRegisters | None = None
    lazy: NanTracking | None = None
    races: Mapping[int, int] = {}
    alike_places: frozenset[RegisterKey] = frozenset()
    habit: Ref | None = None

    def _begin(self, module: LlvmModule, host: Host) -> None:
        super()._begin(module, host)
        self.access = KernelAccesses(self)
        self._plans: dict[int, tuple[Step, Plan]] = {}

    def rule(self, step: Step | None, routine: AnyRoutine, given: Mapping[str, Ref] | None = None) -> Ref:
        """See `FunctionCode`."""
        return self.transfer.rule(step, routine, given)

    def is_parked(self, step: Step, place: RegisterKey) -> bool:
        """Return true if lanes that do not execute the instruction may still read the register."""
        return True

    def stay(self, pc: int) -> None:
        """Continue at a block without a change of the mask."""
        if self.uniform and self.uniform_at is not None:
            self.settle((self.uniform - self.uniform_at.at[pc]) & self.flow.live[pc])
        self.body.jump(f"{'F' if self.full else 'M'}{pc}")

    # --- instructions ---------------------------------------------------------------------------------------
    def _plan(self, step: Step) -> Plan:
        """Plan the values of an instruction; both versions of a block need the same."""
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

    def instruction(self, step: Step) -> bool:
        """Emit one instruction; return whether it ends the block."""
        assert step.trace is not None
        plan = self._plan(step)

        def leaf(v: Value) -> Ref:
            return self._leaf(step, low, v)

        raw = self.lazy is not None and any((step.pc, place) in self.lazy.raw for place in step.writes)
        low: ValueLowering = ValueLowering(
            self.body, leaf, self.raw_natives if raw else self.natives, self._flag_leaf(step)
        )
        low.habit = self.habit
        executing, partial = self.mask, not self.full
        self.decided = None
        if step.guard is not None:
            holds = low.value(plan.canonical(step.guard))
            self.decided = holds if holds.uniform and self.full else None
            executing, partial = self.both(self.mask, low.splat(holds)), True
        if step.op.never:
            executing, partial = V1.zero, True
        self.executing = executing
        request = None
        if not step.op.dropped or step.control:
            if any(step.op.fixed_a) and self.choices.nonzero_a56 == "fault":  # a register that cannot be written
                self.stop(step, self.body.ne(self.as_bits(executing), 0))
            request = self._effects(step, plan, low, executing, partial)
        bits = self.races.get(step.pc, 0) & RACES
        if bits:
            self.store32(self.body.or_(self.load32("pending"), bits), "pending")
        if step.control or step.op.exit or (step.op.join and self.choices.join == "after"):
            return self.transfer.perform(step, request, low, plan, executing)
        return False

    def _numbers(self, step: Step) -> Callable[[Value], int | None]:
        """Return the known values of an instruction's fields and of the launch."""

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
        """Return the function that returns one bit of a $c register without computing the others."""

        def flag(v: Value, bit: int) -> Ref | None:
            if v.op != "read" or v.attr != "c" or bit > 3:
                return None
            return next(self._flags(step, v, [bit]))

        return flag

    def _flags(self, step: Step, v: Value, bits: Iterable[int]) -> Iterator[Ref]:
        """Yield some flags of the $c register that a value reads."""
        place = "c", uniform_number(v.args[0], step.word)
        for bit in bits:
            if place in self.uniform:
                yield self.body.load(I1, self.number_variable(place, bit))
            else:
                yield self.body.load(V1, self.variable(place, bit))

    def _effects(self, step: Step, plan: Plan, low: ValueLowering, executing: Ref, partial: bool) -> Effect | None:
        assert step.trace is not None
        writes: list[tuple[Effect, list[Ref], Ref, bool]] = []
        request = None
        for e in step.trace.effects:
            lanes, some = executing, partial
            if e.when is not None:
                when = low.splat(low.value(plan.canonical(e.when)))
                lanes, some = self.both(executing, when), True
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
        alike = self.full and self.uniform_at is not None and makes_uniform(step, self.uniform)
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
            self.uniform |= step.writes & self.alike_places
        return request

    def _write(self, step: Step, e: Effect, low: ValueLowering, values: list[Ref], lanes: Ref, some: bool) -> None:
        if e.name == "o":
            self.access.output(low.value(e.args[0]), low.splat(low.resize(values[0], 32)), low, lanes, some)
            return
        n = uniform_number(e.args[0], step.word)
        place = e.name, n
        if (e.name == "r" and n >= self.facts.registers) or (e.name == "a" and n in FIXED):
            return
        if e.name == "c":
            some = some and not (lanes == self.mask and not self.is_parked(step, place))
            for bit, flag in enumerate(values):
                self._assign(self.variable(place, bit), low.splat(flag), lanes, some)
            return
        whole = low.splat(low.resize(values[0], 32))
        if lanes == self.mask and not self.is_parked(step, place):
            some = False  # what lanes that do not execute have in it is never read
        self._assign(self.variable(place), whole, lanes, some)
        if e.name == "a":
            self.certain.discard(n)
            self.tag(n, whole if lanes == TRUE else None)

    def _write_alike(self, step: Step, e: Effect, low: ValueLowering, values: list[Ref]) -> None:
        """Emit the write of a scalar for all lanes."""
        place = e.name, uniform_number(e.args[0], step.word)
        if e.name == "r" and place[1] >= self.facts.registers:
            return
        for part, value in enumerate(values):
            r = value if e.name == "c" else low.resize(value, 32)
            if not r.uniform:  # the analysis knows better
                r = self.body.extract(r, 0)
            self.body.store(r, self.number_variable(place, part))

    def _assign(self, variable: Ref, value: Ref, lanes: Ref, some: bool) -> None:
        b = self.body
        if some:
            value = b.select(lanes, value, b.load(value.type, variable))
        b.store(value, variable)

    # --- leaves ---------------------------------------------------------------------------------------------
    def _leaf(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        if v.op == "param":
            return low.constant(v.attr.get(step.word), v.width)
        if v.op == "read" and v.attr == "c":
            total = low.constant(0, 4)
            for bit, flag in enumerate(self._flags(step, v, range(4))):
                one = low.resize(flag, 4)
                total = low.op("or", total, low.op("shl", one, low.constant(bit, 4))) if bit else one
            return low.resize(total, v.width)
        if v.op == "read":
            return self._read(step, low, v)
        if v.op == "half":
            first, second = self.halves[id(v.args[0])]
            return second if v.attr else first
        if v.op == "machine":
            name, attrs = v.attr
            return self.values.lowerings[name](step, low, v, **dict(attrs))
        raise AssertionError(f"no lowering for {v.op}")

    def _read(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        b, n = self.body, uniform_number(v.args[0], step.word)
        place = v.attr, n
        if (place[0] == "r" and n >= self.facts.registers) or (place[0] == "a" and n == 0):
            return low.constant(0, v.width)
        if place in self.uniform:
            one = low.resize(b.load(I32, self.number_variable(place)), v.width)
            return low.splat(one) if step.trace is not None and has_calls(step.trace) else one
        return low.resize(b.load(V32, self.variable(place)), v.width)


def _pieces(v: Value) -> list[Value]:
    """Split a value into values of at most 64 bits."""
    return [v] if v.width <= 64 else [v.bits(k, 64) for k in range(0, v.width, 64)]
