"""The rules of a core in compiled code: the functions that instructions share, and what the rules ask for.

Compiled code never runs cycles in which an event of a unit, the watchdog or a register with side effects plays a part,
so most of what the rules ask of their surroundings is nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isakit.engine.llvm import Body, LlvmModule, Ref
from isakit.engine.llvm.routine_ir import InMemory, Lowering, Special, Surroundings, Where, function
from isakit.machine.vuc.rules import cycle, specials, writes
from isakit.machine.vuc.rules.state import CoreRecord, QueueEntry
from isakit.sem.records import layout_of
from isakit.sem.routine_code import Raise, RoutineCode

LAYOUT = layout_of(CoreRecord)
CLOCK = ("cycle", "pc", "npc")
"""Fields that compiled code has in variables while it runs; `target` is one that need not come in or go out."""


def _nothing(low: Lowering, given: Sequence[Any]) -> None:
    """What never happens here."""


def _never(low: Lowering, given: Sequence[Any]) -> Ref:
    """Only writes that are taken are queued here."""
    return Ref("false", 1, True)


def _leave(low: Lowering, given: Sequence[Any]) -> None:
    """The reference core does the cycle, and tells of it."""
    low.around.raising(None)


def _stat(low: Lowering, given: Sequence[Any]) -> Ref:
    """$stat changes with events only: it is what it was when compiled code began."""
    core: Where = given[0]
    return Ref(low.body(f"load i32, ptr {core.pointer(low.body, LAYOUT['stat'])}"), 32, True)


def _place(low: Lowering, given: Sequence[Any]) -> None:
    """Move entries up and fill the gap."""
    b, core = low.body, given[0]
    at, *numbers = given[1:]
    size = layout_of(QueueEntry).size
    where = core.pointer(b, LAYOUT["count"])
    count = b(f"load i32, ptr {where}")
    queue = core.pointer(b, LAYOUT["queue"])
    offset = b(f"mul i64 {b(f'zext i32 {at.text} to i64')}, {size}")
    gap = b(f"getelementptr i8, ptr {queue}, i64 {offset}")
    behind = b(f"getelementptr i8, ptr {gap}, i64 {size}")
    above = b(f"sub i32 {count}, {at.text}")
    length = b(f"mul i64 {b(f'zext i32 {above} to i64')}, {size}")
    move = b.module.declare("llvm.memmove.p0.p0.i64", "void @(ptr, ptr, i64, i1)")
    some, none = b.fresh("some"), b.fresh("none")
    b.do(f"br i1 {b(f'icmp eq i32 {above}, 0')}, label %{none}, label %{some}")
    b.label(some)
    b.do(f"call void {move}(ptr {behind}, ptr {gap}, i64 {length}, i1 false)")
    b.do(f"br label %{none}")
    b.label(none)
    serial = Ref(b(f"load i64, ptr {core.pointer(b, LAYOUT['serial'])}"), 64, True)
    visible, lands, *rest = numbers
    fields = layout_of(QueueEntry).fields.values()
    for f, number in zip(fields, (visible, lands, serial, *rest), strict=True):
        b.do(f"store i{number.width} {number.text}, ptr {b(f'getelementptr i8, ptr {gap}, i64 {f.offset}')}")
    b.do(f"store i32 {b(f'add i32 {count}, 1')}, ptr {where}")


SPECIALS: Mapping[Any, Special] = {
    cycle.watchdog: _nothing,
    writes.place: _place,
    writes.act: _nothing,
    writes.landed: _nothing,
    writes.tell_of_abort: _leave,
    specials.refused: _never,
    specials.write_outside: _nothing,
    specials.stat: _stat,
}


class Functions:
    """The functions of shared rules in a module, and the surroundings of code in its `run`."""

    def __init__(self, module: LlvmModule) -> None:
        self.module = module

    def symbol(self, code: RoutineCode) -> str:
        """The name of the function of a shared rule."""
        around = Surroundings(_fails, _fails, self.symbol, SPECIALS)
        key = "rule", code.routine.name, code.key
        return self.module.function(key, lambda name: function(self.module, code, name, around))

    def around(self, body: Body, leave: str, variables: list[str]) -> Surroundings:
        """Surroundings of code that ends at the label `leave` where a rule raises; adds to `variables`."""

        def raising(_: Raise | None) -> None:
            body.do(f"br label %{leave}")

        def variable(kind: str) -> str:
            variables.append(f"  %v{len(variables)} = alloca {kind}")
            return f"%v{len(variables) - 1}"

        return Surroundings(raising, variable, self.symbol, SPECIALS)


def _fails(*_: object) -> Any:
    raise AssertionError("functions have these of their own")


def core_at(state: str) -> InMemory:
    """The core in `run`: in memory but for what is kept in variables."""
    return InMemory(state, {name: f"%{name}_at" for name in (*CLOCK, "target")})


__all__ = ["CLOCK", "LAYOUT", "Functions", "core_at"]
