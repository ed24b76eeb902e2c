"""The rules of a core in compiled code: the functions that instructions share, and the external functions of the rules.

Compiled code never runs cycles in which an event of a unit, the watchdog or a register with side effects is involved,
so most external functions of the rules do nothing here.
"""

from __future__ import annotations

from isakit.engine.llvm import Builder, LlvmModule, Ref
from isakit.engine.llvm.builder import I1, I32, I64, IrType, pointer
from isakit.engine.llvm.routine_ir import (
    CallArguments,
    InlineSite,
    Lowering,
    RecordStorage,
    SpecialCalls,
    function,
    unasked,
)
from isakit.machine.vuc.rules import cycle, specials, writes
from isakit.machine.vuc.rules.state import CoreRecord, QueueEntry
from isakit.sem.records import layout_of
from isakit.sem.routine_code import RaiseStatement, RoutineCode

LAYOUT = layout_of(CoreRecord)
CLOCK = ("cycle", "pc", "npc")
"""Fields that compiled code keeps in variables while it runs; `target` need not be loaded or stored."""


def _nothing(low: Lowering, given: CallArguments) -> None:
    """Refuse a call that never happens here."""


def _never(low: Lowering, given: CallArguments) -> Ref:
    """Return false: only accepted writes are queued here."""
    return I1(0)


def _leave(low: Lowering, given: CallArguments) -> None:
    """Leave the cycle to the reference core, which reports it."""
    low.around.raising(None)


def _stat(low: Lowering, given: CallArguments) -> Ref:
    """Return $stat, which changes with events only: it is as it was when compiled code was entered."""
    core = given.record(0)
    return low.body.load(I32, core.pointer(low.body, LAYOUT["stat"]))


def _place(low: Lowering, given: CallArguments) -> None:
    """Move entries of the queue up and fill the gap."""
    b, core = low.body, given.record(0)
    at, *numbers = [given.number(k) for k in range(1, len(given.values))]
    size = layout_of(QueueEntry).size
    where = core.pointer(b, LAYOUT["count"])
    count = b.load(I32, where)
    queue = core.pointer(b, LAYOUT["queue"])
    gap = b.offset(queue, b.mul(b.zext(at, I64), size))
    behind = b.offset(gap, size)
    above = b.sub(count, at)
    length = b.mul(b.zext(above, I64), size)
    with b.unless(b.eq(above, 0), "some", "none"):
        b.move_bytes(behind, gap, length)
    serial = b.load(I64, core.pointer(b, LAYOUT["serial"]))
    visible, lands, *rest = numbers
    fields = layout_of(QueueEntry).fields.values()
    for f, number in zip(fields, (visible, lands, serial, *rest), strict=True):
        b.store(number, b.offset(gap, f.offset))
    b.store(b.add(count, 1), where)


SPECIALS: SpecialCalls = {
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
    """The functions of shared rules in a module, and the inline sites of code in its `run`."""

    def __init__(self, module: LlvmModule) -> None:
        self.module = module

    def symbol(self, code: RoutineCode) -> str:
        """Return the name of the function of a shared rule."""
        around = InlineSite(unasked, unasked, self.symbol, SPECIALS)
        key = "rule", code.routine.name, code.key
        return self.module.function(key, lambda name: function(self.module, code, name, around))

    def around(self, body: Builder, leave: str, variables: Builder) -> InlineSite:
        """Return the inline site of code that branches to the label `leave` if a rule raises.

        Its variables are added to `variables`.
        """

        def raising(_: RaiseStatement | None) -> None:
            body.jump(leave)

        def variable(type: IrType) -> Ref:
            return variables.alloca(type, f"%v{len(variables.lines)}")

        return InlineSite(raising, variable, self.symbol, SPECIALS)


def core_at(state: Ref) -> RecordStorage:
    """Return the core in `run`: in memory except for the fields kept in variables."""
    return RecordStorage(state, {name: pointer(f"%{name}_at") for name in (*CLOCK, "target")})


__all__ = ["CLOCK", "LAYOUT", "Functions", "core_at"]
