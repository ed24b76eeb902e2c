"""Control transfers of compiled code: the routines of `rules.stack`, inlined where they are needed.

In code of a whole kernel most conditions are known, of which the special versions here make use: `jump` and `remain` go
to the block of a known address, `unwind` to the block that all share, and a branch that all lanes or none take does not
access the stack.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.requests import REQUESTS
from isakit.engine.graph import Plan
from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, I64, OFTEN, PTR, RARELY, IrType, pointer
from isakit.engine.llvm.routine_ir import (
    CallArguments,
    InlineSite,
    Lowering,
    RecordStorage,
    Special,
    SpecialCalls,
    emit,
)
from isakit.lean import cached_property
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.function_code import FunctionCode
from isakit.machine.tesla.compiled.emit.state_saving import StateSaving
from isakit.machine.tesla.compiled.state_layout import CONTEXT, STATE
from isakit.machine.tesla.rules import barriers, locks, stack
from isakit.sem.requests import ControlRequest, covered
from isakit.sem.routine import AnyRoutine
from isakit.sem.routine_code import Callee
from isakit.sem.trace import Effect

_GOES_ON = ("pmevent", "brkpt", "discard", "unlock")
"""Control actions that do not change which lanes execute next."""


_NOT_COMPILED = {request.BRA_INDIRECT, request.EMIT, request.RESTART}
"""Control actions for the interpreter or for the host."""
Handler = Callable[[Step, Effect, ValueLowering, Plan, Ref], None]
KEPT = {field: pointer(f"%{name}") for field, name in state_layout.VARIABLES.items()}
"""Fields of a warp that code of a kernel keeps in variables; in code of one instruction they are pointers to memory."""
WARP = RecordStorage(STATE, KEPT)


class Transfers:
    """Branches, calls, joins, barriers and ends of one kernel."""

    def __init__(self, code: FunctionCode) -> None:
        self.code = code

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """The control actions that are compiled, by name."""
        return covered("code of a kernel", REQUESTS.controls, self._table(), _NOT_COMPILED - self._table().keys())

    def _table(self) -> Mapping[ControlRequest, Handler]:
        return {
            request.BRA: self._bra,
            request.CALL: self._call,
            request.RET: partial(self._leave, stack.ret),
            request.PREBRK: partial(self._push, stack.prebrk),
            request.BRK: partial(self._leave, stack.brk),
            request.JOINAT: partial(self._push, stack.joinat),
            request.PRERET: partial(self._push, stack.preret),
            request.QUADON: partial(self._quad, stack.quadon),
            request.QUADPOP: partial(self._quad, stack.quadpop),
            request.BAR: self._bar,
            request.TRAP: self._trap,
            request.BRKPT: self._brkpt,
            request.PMEVENT: self._pmevent,
            request.UNLOCK: self._unlock,
            request.DISCARD: self._discard,
        }

    # --- routines -------------------------------------------------------------------------------------------
    def rule(self, step: Step | None, routine: AnyRoutine, given: Mapping[str, Ref] | None = None,
             specials: SpecialCalls | None = None, odd: str = "", **statics: object) -> Ref:  # fmt: skip
        """Inline a routine for this warp; if it raises, the warp stops before the instruction (or at `odd`)."""
        c, b = self.code, self.code.body

        def raising(s: object) -> None:
            b.jump(odd or c.stop_label())

        def variable(type: IrType) -> Ref:
            return c.scratch(b.fresh("%local"), type)

        around = InlineSite(raising, variable, c.routine_symbol, {**self._specials(step), **(specials or {})})
        named: dict[str, Ref | RecordStorage] = {"w": WARP, "block": RecordStorage(CONTEXT), **(given or {})}
        known = {"choices": c.choices, "in_turns": False, **statics}
        return emit(b, around, routine, named, **{n: known[n] for n in routine.statics})

    def _specials(self, step: Step | None) -> dict[Callee, Special]:
        """Return the versions, for this instruction, of functions that routines call."""

        def nothing(low: Lowering, args: CallArguments) -> None:
            """Do nothing: the kernel has no quadon."""

        def unwind(low: Lowering, args: CallArguments) -> None:
            self.code.settle()
            self.code.body.jump("unwind")

        specials: dict[Callee, Special] = {stack.unwind: unwind}
        if not self.code.quads:
            specials[stack.not_between_quads] = nothing
        return specials

    @abstractmethod
    def _address(self, pc: int) -> Ref:
        """Return an address as an argument of a routine."""

    @abstractmethod
    def _pc_of(self, r: Ref) -> int:
        """Return the address that is an argument of a routine."""

    @abstractmethod
    def _joined(self, step: Step) -> None:
        """Continue with the instruction after its join."""

    @abstractmethod
    def _backward(self, step: Step, target: int) -> None:
        """Check for an interrupt, a used-up budget and the end of the warp's turn before a jump back."""

    @abstractmethod
    def _end_turn(self, step: Step) -> None:
        """Leave compiled code, at least until the other warps have had their turns."""

    # --- joins ----------------------------------------------------------------------------------------------
    def join(self, step: Step) -> None:
        """Emit the `join` tail before the instruction: pop until the join is complete or another path is found."""
        self._pop(step)
        self._joined(step)

    def _join_after(self, step: Step) -> None:
        """Emit the `join` tail after the instruction; nothing in it may stop."""
        self.code.settle()
        self._pop(step)
        self.code.goto(step.op.following)

    def _pop(self, step: Step) -> None:
        """Pop until the join is complete; if another path is found, continue there."""
        b = self.code.body
        done = self.rule(step, stack.join, {"here": self._address(step.pc)})
        complete = b.fresh("complete")
        b.branch(done, complete, "dispatch")
        b.label(complete)

    # --- requests -------------------------------------------------------------------------------------------
    def perform(self, step: Step, request: Effect | None, low: ValueLowering, plan: Plan, executing: Ref) -> bool:
        """Emit the control action and the tail of an instruction; return whether the block ends."""
        handler = self.handlers[step.control] if step.control else None
        if handler is not None and request is not None:
            handler(step, request, low, plan, executing)
            if step.control not in _GOES_ON or step.leaves:
                return True
        if step.op.exit:
            self.rule(step, stack.exit_warp)
        elif step.op.join and self.code.choices.join == "after":
            self._join_after(step)
        else:
            self.code.stay(step.op.following)
        return True

    def _taken(self, executing: Ref) -> Ref:
        return self.code.mask32 if executing == self.code.mask else self.code.as_bits(executing)

    def _jump(self, step: Step, target: int) -> None:
        self._backward(step, target)
        self.code.stay(target)

    def _count(self, step: Step, name: str) -> None:
        """Count an event if a $pm register of the launch counts it."""
        c, b = self.code, self.code.body
        if name in c.choices.pm_counters:
            p = c.state_pointer(state_layout.WARP.at(name))
            b.store(b.add(b.load(I32, p), 1), p)

    def _bra(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        """Emit `rules.stack.branch` where all lanes branch, or none; the rest is the routine."""
        c, b = self.code, self.code.body
        target, following = step.target, step.op.following
        assert target is not None
        self._count(step, "branches")
        if not step.conditional:
            self._jump(step, target)
            return
        if step.op.never:
            c.stay(following)
            return
        some, split, whole, untaken = b.fresh("some"), b.fresh("split"), b.fresh("whole"), b.fresh("untaken")
        if c.decided is not None:
            b.branch(c.decided, whole, untaken)
            b.label(whole)
            self._jump(step, target)
            b.label(untaken)
            c.stay(following)
            return
        taken = self._taken(executing)
        b.branch(b.eq(taken, 0), untaken, some)
        b.label(untaken)
        c.stay(following)
        b.label(some)
        b.branch(b.eq(taken, c.mask32), whole, split)
        b.label(split)
        self._count(step, "divergent_branches")
        c.settle()
        given = {"taken": taken, "target": self._address(target), "following": self._address(following)}

        def some_lanes(low: Lowering, args: CallArguments) -> None:
            pc = self._pc_of(args.number(1))
            self._backward(step, pc)
            b.jump(f"M{pc}")

        self.rule(step, stack.diverge, given, {stack.jump: some_lanes})
        b.label(whole)
        self._jump(step, target)

    def _call(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        assert step.target is not None
        given = {"target": self._address(step.target), "following": self._address(step.op.following)}
        jump: SpecialCalls = {stack.jump: lambda low, args: self._jump(step, self._pc_of(args.number(1)))}
        self.rule(step, stack.call, given, jump, limited=bool(e.get("lim")))

    def _push(self, routine: AnyRoutine, step: Step, *_: object) -> None:
        """Emit a routine that pushes an entry and leaves pc and lanes alone."""
        assert step.target is not None
        self.rule(step, routine, {"target": self._address(step.target)})
        self.code.stay(step.op.following)

    def _leave(
        self, routine: AnyRoutine, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref
    ) -> None:
        """Change the state of lanes; the others continue, or the stack decides which lanes do."""
        lanes = self._taken(executing)
        given = {"lanes": lanes, "following": self._address(step.op.following)}
        self.rule(step, routine, given, {stack.remain: lambda low, args: self._remain(step, lanes)})

    def _remain(self, step: Step, lanes: Ref) -> None:
        """Emit `rules.stack.remain` after a known instruction: if no lane has left, nothing has changed."""
        c, b = self.code, self.code.body
        if not step.conditional:
            c.settle()
            b.jump("unwind")
            return
        gone, some, partly = (b.fresh(x) for x in ("gone", "some", "partly"))
        b.branch(b.eq(c.load32("mask"), 0), gone, some)
        b.label(gone)
        c.settle()
        b.jump("unwind")
        b.label(some)
        if c.full:
            no_lane, unchanged = b.eq(lanes, 0), b.fresh("unchanged")
            b.branch(no_lane, unchanged, partly, OFTEN)
            b.label(unchanged)
            c.stay(step.op.following)
            b.label(partly)
            c.settle()
        b.jump(f"M{step.op.following}")

    def _trap(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        self.code.stop(step, I1(1))
        self.code.body.unreachable()

    def _brkpt(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        hit = self.rule(step, stack.breakpoint_hit, {"lanes": self._taken(executing)})
        if hit != I1(0):
            self.code.stop(step, hit)

    def _pmevent(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        self._count(step, "pm_events")

    def _unlock(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        words = self.code.lock_words(low, low.value(plan.canonical(e.args[0])))
        self.rule(step, locks.unlock, {"words": words, "lanes": self._taken(executing)})

    def _discard(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        """Hide discarded lanes; they end, or continue as helpers."""
        c, b = self.code, self.code.body
        p = c.state_pointer(state_layout.VISIBLE)
        kept = b.not_(self._taken(executing))
        b.store(b.and_(b.load(I32, p), kept), p)
        if step.leaves:
            self._leave(stack.discard, step, e, low, plan, executing)

    def _quad(self, routine: AnyRoutine, step: Step, *_: object) -> None:
        """Write a routine that changes which lanes execute the next instruction."""
        self.rule(step, routine, {"here": self._address(step.pc)} if routine is stack.quadon else {})
        self.code.settle()
        self.code.goto(step.op.following)

    def _bar(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: Ref) -> None:
        c, b = self.code, self.code.body
        number, count = (low.resize(low.value(plan.canonical(a)), 32) for a in e.args[:2])
        count = low.constant(barriers.ALL, 32) if e.get("all") else count
        missing = self.rule(step, barriers.missing, {"number": number})
        c.stop(step, missing)
        flags = {name: low.constant(int(bool(e.get(name))), 1) for name in ("inc", "wait")}
        over = self.rule(step, barriers.arrive, {"number": number, "count": count, **flags})
        with b.if_(over, "ended"):
            self._end_turn(step)
        c.stay(step.op.following)


class KernelTransfers(Transfers):
    """Control transfers of a kernel as a whole, whose blocks are all in one function."""

    def __init__(self, code: FunctionCode, saving: StateSaving) -> None:
        super().__init__(code)
        self.saving = saving

    def _specials(self, step: Step | None) -> dict[Callee, Special]:
        return {**super()._specials(step), stack.size_at: self._size_at}

    def _size_at(self, low: Lowering, args: CallArguments) -> Ref:
        """Return the size of an instruction that a `joinat` of the kernel names."""
        b, flow = self.code.body, self.code.flow
        size = I32(8)
        for target in sorted({s.target for s in flow.steps.values() if s.control == "joinat" and s.target is not None}):
            size = b.select(b.eq(args.number(1), target), I32(flow.code.size_at(target)), size)
        return size

    def _address(self, pc: int) -> Ref:
        """Return an address as an argument of a routine."""
        return I32(pc)

    def _pc_of(self, r: Ref) -> int:
        """Return the pc of an address that `_address` made."""
        return int(r.text)

    def _joined(self, step: Step) -> None:
        """Continue with the instruction, in the version of its block for the mask after a join."""
        c, b = self.code, self.code.body
        whole = b.eq(c.load32("mask"), -1)
        b.branch(whole, f"FJ{step.pc}{'' if c.full else 'm'}", f"MJ{step.pc}{'f' if c.full else ''}")
        if c.full:
            b.label(f"MJ{step.pc}f")
            b.jump(f"MJ{step.pc}")
            b.label(f"FJ{step.pc}")
        else:
            b.label(f"FJ{step.pc}m")
            b.jump(f"FJ{step.pc}")
            b.label(f"MJ{step.pc}")

    def _backward(self, step: Step, target: int) -> None:
        """Check for an interrupt, a used-up budget and the end of the warp's turn before a jump back."""
        if target > step.pc:
            return
        c, b = self.code, self.code.body
        asked = b.ne(b.load(I32, c.slot("stop", PTR), volatile=True), 0)
        limit = c.slot("patience" if c.flow.may_wait(step, target) else "remaining")
        used = b.sge(b.load(I64, pointer("%issued")), limit)
        hit = b.or_(asked, used)
        with b.if_(hit, "yield", weights=RARELY):
            self.saving.leave(target, state_layout.INTERRUPTED)

    def _end_turn(self, step: Step) -> None:
        """Leave compiled code, at least until the other warps have had their turns."""
        self.saving.leave(step.op.following, state_layout.WAITING, is_set=True)

    # --- blocks that all share ------------------------------------------------------------------------------
    def unwinding(self) -> None:
        """Write the block `unwind`, which unwinds the stack and goes to `dispatch` or `finished`."""
        c, b = self.code, self.code.body
        b.label("unwind")
        self.rule(None, stack.unwind, odd="odd")
        b.branch(b.eq(c.load32("mask"), 0), "finished", "dispatch")

    def dispatching(self) -> None:
        """Emit `dispatch`, which continues where the stack decided, and `finished`, which ends the warp."""
        c, b = self.code, self.code.body
        b.label("dispatch")
        used = b.sge(b.load(I64, pointer("%issued")), c.slot("remaining"))
        b.branch(used, "elsewhere_spent", "resumed", RARELY)
        b.label("elsewhere_spent")
        self._leave_at_next(state_layout.INTERRUPTED)
        b.label("resumed")
        targets = sorted(pc for pc in c.flow.resumable if pc in c.flow.steps)
        b.switch(c.load32("next"), "elsewhere", [(t, f"D{t}") for t in targets])
        for t in targets:
            b.label(f"D{t}")
            c.goto(t)
        b.label("elsewhere")
        self._leave_at_next(state_layout.STOPPED)
        b.label("odd")
        self._leave_at_next(state_layout.STOPPED)
        b.label("finished")
        self.saving.end()

    def _leave_at_next(self, status: int) -> None:
        """Save the warp, which continues at the address in `next`, and leave with a status."""
        self.saving.canonical(self.saving.dirty(None))
        self.saving.save(self.code.load32("next"), self.code.flow.places)
        self.saving.finish(status)


__all__ = ["KEPT", "WARP", "Handler", "KernelTransfers", "Transfers"]
