"""Control transfers of compiled code: the divergence stack of `machine.tesla.stack`, in memory.

Only the default answers of `Choices` are compiled; launches with others run on the reference engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.requests import REQUESTS
from isakit.engine.graph import Plan
from isakit.engine.llvm import ValueLowering
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.analysis.control_flow import Step
from isakit.machine.tesla.compiled.state_layout import V32
from isakit.machine.tesla.stack import Kind
from isakit.sem.requests import ControlRequest, covered
from isakit.sem.trace import Effect

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.emit.warp_code import WarpCode

_GOES_ON = ("pmevent", "brkpt", "discard", "unlock")
"""Control actions that do not change who executes next."""


_NOT_COMPILED = {request.BRA_INDIRECT, request.EMIT, request.RESTART}
"""Control actions for the interpreter or for the host."""
Handler = Callable[[Step, Effect, ValueLowering, Plan, str], None]


class Transfers:
    """Branches, calls, joins, barriers and ends of one kernel."""

    def __init__(self, code: WarpCode) -> None:
        self.code = code

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """The control actions that are compiled, by name."""
        return covered("code of a kernel", REQUESTS.controls, self._table(), _NOT_COMPILED - self._table().keys())

    def _table(self) -> Mapping[ControlRequest, Handler]:
        return {
            request.BRA: self._bra,
            request.CALL: self._call,
            request.RET: self._ret,
            request.PREBRK: self._prebrk,
            request.BRK: self._brk,
            request.JOINAT: self._joinat,
            request.PRERET: self._preret,
            request.QUADON: self._quadon,
            request.QUADPOP: self._quadpop,
            request.BAR: self._bar,
            request.TRAP: self._trap,
            request.BRKPT: self._brkpt,
            request.PMEVENT: self._pmevent,
            request.UNLOCK: self._unlock,
            request.DISCARD: self._discard,
        }

    # --- the stack ------------------------------------------------------------------------------------------
    def _entry(self, depth: str) -> str:
        c, b = self.code, self.code.body
        offset = b(f"mul i64 {b(f'zext i32 {depth} to i64')}, {state_layout.ENTRY_BYTES}")
        return b(f"getelementptr i8, ptr {c.state_pointer(state_layout.STACK)}, i64 {offset}")

    def _no_quadon(self, step: Step, lanes: str = "-1") -> None:
        """Stop where `lanes` would transfer control while the topmost entry is that of a quadon."""
        c, b = self.code, self.code.body
        if not c.quads:
            return
        depth = c.load32("depth")
        top = self._entry(b(f"call i32 @llvm.usub.sat.i32(i32 {depth}, i32 1)"))
        c.module.declare("llvm.usub.sat.i32", "i32 @(i32, i32)")
        kind = b(f"lshr i32 {b(f'load i32, ptr {top}')}, 24")
        active = b(f"icmp eq i32 {kind}, {int(Kind.QUADON)}")
        held = b(f"and i1 {active}, {b(f'icmp ne i32 {depth}, 0')}")
        c.stop(step, b(f"and i1 {held}, {b(f'icmp ne i32 {lanes}, 0')}"))

    def push(self, step: Step, kind: Kind, pc: int, mask: str) -> None:
        """Push an entry; a full stack stops the warp."""
        c, b = self.code, self.code.body
        self._no_quadon(step)
        depth = c.load32("depth")
        c.stop(step, b(f"icmp uge i32 {depth}, {state_layout.STACK_ENTRIES}"))
        entry = self._entry(depth)
        b.do(f"store i32 {pc | kind << 24}, ptr {entry}")
        b.do(f"store i32 {mask}, ptr {b(f'getelementptr i8, ptr {entry}, i64 4')}")
        c.store32(b(f"add i32 {depth}, 1"), "depth")

    def _top(self) -> tuple[str, str, str, str]:
        """(depth - 1, pc, kind, mask) of the topmost entry, which stays."""
        c, b = self.code, self.code.body
        below = b(f"sub i32 {c.load32('depth')}, 1")
        entry = self._entry(below)
        both = b(f"load i32, ptr {entry}")
        mask = b(f"load i32, ptr {b(f'getelementptr i8, ptr {entry}, i64 4')}")
        return below, b(f"and i32 {both}, 16777215"), b(f"lshr i32 {both}, 24"), mask

    def _live(self, mask: str) -> str:
        c, b = self.code, self.code.body
        gone = b(f"or i32 {c.load32('broke')}, {c.load32('returned')}")
        gone = b(f"or i32 {gone}, {c.load32('exited')}")
        return b(f"and i32 {mask}, {b(f'xor i32 {gone}, -1')}")

    # --- joins ----------------------------------------------------------------------------------------------
    def join(self, step: Step) -> None:
        """The `join` tail, before the instruction: pop until the join is complete or another path is found.

        In front of the address its token names, a join with live lanes goes there and leaves the token.
        """
        c, b = self.code, self.code.body
        loop, some, branch, joined, resume = (b.fresh(x) for x in ("join", "some", "isbranch", "joined", "resume"))
        go, complete = b.fresh("go"), b.fresh("complete")
        b.do(f"br label %{loop}")
        b.label(loop)
        c.stop(step, b(f"icmp eq i32 {c.load32('depth')}, 0"))
        below, pc, kind, mask = self._top()
        b.do(
            f"switch i32 {kind}, label %{some} [ i32 {int(Kind.JOINAT)}, label %{joined} "
            f"i32 {int(Kind.BRANCH)}, label %{branch} ]"
        )
        b.label(some)
        c.stop(step, "true")
        b.do(f"br label %{branch}")
        b.label(branch)
        c.store32(below, "depth")
        live = self._live(mask)
        b.do(f"br i1 {b(f'icmp eq i32 {live}, 0')}, label %{loop}, label %{resume}")
        b.label(resume)
        c.store32(live, "mask")
        b.do(f"br label %{go}")
        b.label(joined)
        all_live = self._live(mask)
        c.store32(all_live, "mask")
        early = b(f"icmp ugt i32 {pc}, {self._here(step)}")
        early = b(f"and i1 {early}, {b(f'icmp ne i32 {all_live}, 0')}")
        b.do(f"br i1 {early}, label %{go}, label %{complete}")
        b.label(go)
        c.store32(pc, "next")
        b.do("br label %dispatch")
        b.label(complete)
        c.store32(below, "depth")
        self._joined(step)

    def _here(self, step: Step) -> str:
        """The address of an instruction."""
        return str(step.pc)

    def _joined(self, step: Step) -> None:
        """Go on with the instruction; a join may change which version of the block that is."""
        c, b = self.code, self.code.body
        whole = b(f"icmp eq i32 {c.load32('mask')}, -1")
        b.do(f"br i1 {whole}, label %FJ{step.pc}{'' if c.full else 'm'}, label %MJ{step.pc}{'f' if c.full else ''}")
        if c.full:
            b.label(f"MJ{step.pc}f")
            b.do(f"br label %MJ{step.pc}")
            b.label(f"FJ{step.pc}")
        else:
            b.label(f"FJ{step.pc}m")
            b.do(f"br label %FJ{step.pc}")
            b.label(f"MJ{step.pc}")

    # --- requests -------------------------------------------------------------------------------------------
    def perform(self, step: Step, request: Effect | None, low: ValueLowering, plan: Plan, executing: str) -> bool:
        """Carry out the control action and the `exit` tail of an instruction; returns whether the block ends."""
        handler = self.handlers[step.control] if step.control else None
        if handler is not None and request is not None:
            handler(step, request, low, plan, executing)
            if step.control in _GOES_ON and step.op.exit:
                self._exit(step)
            elif step.control in _GOES_ON:
                self.code.stay(step.op.following)
            return True
        if step.op.exit:
            self._exit(step)
        else:
            self.code.stay(step.op.following)
        return True

    def _taken(self, executing: str) -> str:
        return self.code.mask32 if executing == self.code.mask else self.code.as_bits(executing)

    def _backward(self, step: Step, target: int) -> None:
        """Before a jump back: let an interrupt, a used-up budget, or the end of the warp's turn through."""
        if target > step.pc:
            return
        c, b = self.code, self.code.body
        stop = b(f"load volatile i32, ptr {c.slot('stop', 'ptr')}")
        asked = b(f"icmp ne i32 {stop}, 0")
        limit = c.slot("patience" if c.flow.may_wait(step, target) else "remaining")
        used = b(f"icmp sge i64 {b('load i64, ptr %issued')}, {limit}")
        hit = b(f"or i1 {asked}, {used}")
        out, on = b.fresh("yield"), b.fresh("on")
        b.do(f"br i1 {hit}, label %{out}, label %{on}, !prof !0")
        b.label(out)
        c.leave(target, state_layout.INTERRUPTED)
        b.label(on)

    def _jump(self, step: Step, target: int) -> None:
        self._backward(step, target)
        self.code.stay(target)

    def _bra(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        target, following = step.target, step.op.following
        assert target is not None
        if not step.conditional:
            self._jump(step, target)
            return
        if step.op.never:
            c.stay(following)
            return
        some, split, whole, nobody = b.fresh("some"), b.fresh("split"), b.fresh("whole"), b.fresh("nobody")
        if c.decided is not None:
            b.do(f"br i1 {c.decided}, label %{whole}, label %{nobody}")
            b.label(whole)
            self._jump(step, target)
            b.label(nobody)
            c.stay(following)
            return
        taken = self._taken(executing)
        none = b(f"icmp eq i32 {taken}, 0")
        b.do(f"br i1 {none}, label %{nobody}, label %{some}")
        b.label(nobody)
        c.stay(following)
        b.label(some)
        b.do(f"br i1 {b(f'icmp eq i32 {taken}, {c.mask32}')}, label %{whole}, label %{split}")
        b.label(split)
        c.settle()
        rest = b(f"and i32 {c.mask32}, {b(f'xor i32 {taken}, -1')}")
        self.push(step, Kind.BRANCH, following, rest)
        c.store32(taken, "mask")
        self._backward(step, target)
        b.do(f"br label %M{target}")
        b.label(whole)
        self._jump(step, target)

    def _call(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        kind = Kind.LIMITED_CALL if e.get("lim") else Kind.CALL
        assert step.target is not None
        self.push(step, kind, step.op.following, self.code.mask32)
        self._jump(step, step.target)

    def _push_and_go(self, step: Step, kind: Kind) -> None:
        assert step.target is not None
        self.push(step, kind, step.target, self.code.mask32)
        self.code.stay(step.op.following)

    def _prebrk(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        self._push_and_go(step, Kind.BREAK)

    def _joinat(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        self._push_and_go(step, Kind.JOINAT)

    def _preret(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        self._push_and_go(step, Kind.CALL)

    def _ret(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        self._leave(step, "returned", executing)

    def _brk(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        depth = c.load32("depth")
        where = c.state_pointer(state_layout.STACK)
        found = b(f"call i1 {c.shared('has_entry')}(ptr {where}, i32 {depth}, i32 {int(Kind.BREAK)})")
        any_lane = b(f"icmp ne i32 {self._taken(executing)}, 0")
        c.stop(step, b(f"and i1 {any_lane}, {b(f'xor i1 {found}, true')}"))
        self._leave(step, "broke", executing)

    def _leave(self, step: Step, state: str, executing: str) -> None:
        """Lanes change state; the rest goes on, or the stack says who does."""
        c, b = self.code, self.code.body
        lanes = self._taken(executing)
        self._no_quadon(step, lanes)
        c.store32(b(f"or i32 {c.load32(state)}, {lanes}"), state)
        self._remove(step, lanes)

    def _exit(self, step: Step) -> None:
        """All active lanes end, whatever the predicate says."""
        c, b = self.code, self.code.body
        lanes = c.mask32
        if not step.control:
            self._no_quadon(step)
        c.store32(b(f"or i32 {c.load32('exited')}, {lanes}"), "exited")
        c.store32("0", "mask")
        c.settle()
        b.do("br label %unwind")

    def _remove(self, step: Step, lanes: str) -> None:
        c, b = self.code, self.code.body
        left = b(f"and i32 {c.mask32}, {b(f'xor i32 {lanes}, -1')}")
        c.store32(left, "mask")
        if not step.conditional:
            c.settle()
            b.do("br label %unwind")
            return
        gone, some, partly = (b.fresh(x) for x in ("gone", "some", "partly"))
        b.do(f"br i1 {b(f'icmp eq i32 {left}, 0')}, label %{gone}, label %{some}")
        b.label(gone)
        c.settle()
        b.do("br label %unwind")
        b.label(some)
        if c.full:
            nobody, unchanged = b(f"icmp eq i32 {lanes}, 0"), b.fresh("unchanged")
            b.do(f"br i1 {nobody}, label %{unchanged}, label %{partly}, !prof !3")
            b.label(unchanged)
            c.stay(step.op.following)
            b.label(partly)
            c.settle()
        b.do(f"br label %M{step.op.following}")

    def _trap(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        self.code.stop(step, "true")
        self.code.body.do("unreachable")

    def _brkpt(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        c.stop(step, b(f"icmp ne i32 {self._taken(executing)}, 0"))

    def _pmevent(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        """Counters of events are only kept by the reference engine."""

    def _unlock(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        address = low.splat(low.resize(low.value(plan.canonical(e.args[0])), 32)).text
        b.do(f"call void {c.shared('unlock')}(ptr %ws, {V32} {address}, i32 {self._taken(executing)})")

    def _discard(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        """Discarded lanes go on as helpers."""
        c, b = self.code, self.code.body
        p = c.state_pointer(state_layout.VISIBLE)
        kept = b(f"xor i32 {self._taken(executing)}, -1")
        before = b(f"load i32, ptr {p}")
        b.do(f"store i32 {b(f'and i32 {before}, {kept}')}, ptr {p}")

    def _quadon(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        self.push(step, Kind.QUADON, step.pc, c.mask32)
        m = c.mask32
        m = b(f"or i32 {m}, {b(f'lshr i32 {m}, 1')}")
        m = b(f"or i32 {m}, {b(f'lshr i32 {m}, 2')}")
        m = b(f"mul i32 {b(f'and i32 {m}, {0x11111111}')}, 15")
        c.store32(m, "mask")
        c.settle()
        c.goto(step.op.following)

    def _quadpop(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        c.stop(step, b(f"icmp eq i32 {c.load32('depth')}, 0"))
        below, _, kind, mask = self._top()
        c.stop(step, b(f"icmp ne i32 {kind}, {int(Kind.QUADON)}"))
        c.store32(below, "depth")
        c.store32(mask, "mask")
        c.settle()
        c.goto(step.op.following)

    def _bar(self, step: Step, e: Effect, low: ValueLowering, plan: Plan, executing: str) -> None:
        c, b = self.code, self.code.body
        number = low.resize(low.value(plan.canonical(e.args[0])), 32).text
        count = low.resize(low.value(plan.canonical(e.args[1])), 32).text
        c.stop(step, b(f"icmp uge i32 {number}, {c.slot('allowed_barriers', 'i32')}"))
        flags = int(bool(e.get("inc"))) | int(bool(e.get("wait"))) << 1
        waits = b(f"call i1 {c.shared('bar')}(ptr %ctx, i32 {number}, i32 {count}, i32 {flags})")
        if not e.get("wait"):
            c.stay(step.op.following)
            return
        held, on = b.fresh("held"), b.fresh("on")
        b.do(f"br i1 {waits}, label %{held}, label %{on}")
        b.label(held)
        b.do(f"store i32 {number}, ptr {c.state_pointer(state_layout.BARRIER)}")
        self._wait(step)
        b.label(on)
        c.stay(step.op.following)

    def _wait(self, step: Step) -> None:
        """Leave compiled code until the barrier opens."""
        self.code.leave(step.op.following, state_layout.WAITING)

    # --- blocks that all share ------------------------------------------------------------------------------
    def unwinding(self, name: str = "unwind") -> None:
        """The block `name` finds someone to run when nobody is active, and goes to `dispatch` or `finished`."""
        c, b = self.code, self.code.body
        b.label(name)
        empty = b(f"icmp eq i32 {c.load32('depth')}, 0")
        b.do(f"br i1 {empty}, label %finished, label %unwound")
        b.label("unwound")
        below, pc, kind, mask = self._top()
        c.store32(pc, "next")
        b.do(
            f"switch i32 {kind}, label %odd [ i32 {int(Kind.BRANCH)}, label %popped i32 {int(Kind.CALL)}, label %call "
            f"i32 {int(Kind.LIMITED_CALL)}, label %call i32 {int(Kind.BREAK)}, label %break "
            f"i32 {int(Kind.JOINAT)}, label %parked ]"
        )
        for block, state in (("call", "returned"), ("break", "broke")):
            b.label(block)
            c.store32(b(f"and i32 {c.load32(state)}, {b(f'xor i32 {mask}, -1')}"), state)
            b.do("br label %popped")
        b.label("popped")
        c.store32(below, "depth")
        live = self._live(mask)
        c.store32(live, "mask")
        b.do(f"br i1 {b(f'icmp eq i32 {live}, 0')}, label %{name}, label %dispatch")
        b.label("parked")  # the join instruction itself takes the entry off
        waiting = self._live(mask)
        c.store32(waiting, "mask")
        b.do(f"br i1 {b(f'icmp eq i32 {waiting}, 0')}, label %drop, label %dispatch")
        b.label("drop")
        c.store32(below, "depth")
        b.do(f"br label %{name}")

    def dispatching(self) -> None:
        """`dispatch` goes where the stack said; `finished` ends the warp."""
        c, b = self.code, self.code.body
        b.label("dispatch")
        used = b(f"icmp sge i64 {b('load i64, ptr %issued')}, {c.slot('remaining')}")
        b.do(f"br i1 {used}, label %elsewhere_spent, label %resumed, !prof !0")
        b.label("elsewhere_spent")
        c.canonical(c.dirty(None))
        c.save(c.load32("next"), c.flow.places)
        c.finish(state_layout.INTERRUPTED)
        b.label("resumed")
        targets = sorted(pc for pc in c.flow.resumable if pc in c.flow.steps)
        b.do(
            f"switch i32 {c.load32('next')}, label %elsewhere [ "
            + " ".join(f"i32 {t}, label %D{t}" for t in targets)
            + " ]"
        )
        for t in targets:
            b.label(f"D{t}")
            c.goto(t)
        b.label("elsewhere")
        c.canonical(c.dirty(None))
        c.save(c.load32("next"), c.flow.places)
        c.finish(state_layout.STOPPED)
        b.label("odd")
        c.canonical(c.dirty(None))
        c.save(c.load32("next"), c.flow.places)
        c.finish(state_layout.STOPPED)
        b.label("finished")
        c.save("0", c.flow.results)
        c.finish(state_layout.FINISHED)
