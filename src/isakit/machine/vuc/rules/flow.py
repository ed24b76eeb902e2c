"""Branches, calls and returns.

In every cycle an instruction issues at `pc`. The one at `npc` is its delay slot and always issues next, so a branch
sets the instruction after its delay slot. Source: [vuc] 7, 8.
"""

from __future__ import annotations

from isakit.errors import MachineFault
from isakit.machine.vuc.options import Options
from isakit.machine.vuc.rules.state import ADDRESS_MASK, STACK_SIZE, CoreRecord
from isakit.sem.records import u32
from isakit.sem.routine import routine


def overflow(pc: int) -> MachineFault:
    """Return the fault of a call with a full stack."""
    return MachineFault("CALL_STACK_OVERFLOW", pc, detail="the call stack holds eight entries")


def underflow(pc: int) -> MachineFault:
    """Return the fault of a return with an empty stack."""
    return MachineFault("CALL_STACK_UNDERFLOW", pc, detail="the call stack is empty")


# --- branches -------------------------------------------------------------------------------------------------------
@routine
def relative(core: CoreRecord, number: u32, negated: bool, distance: u32, options: Options) -> None:
    """Execute the relative slot of VP2: `distance` instructions from this one on if the predicate holds (or does not).

    The predicate is read with the other sources. A branch in the main slot wins over it.
    """
    if core.pred[number] != negated:
        if options.signed_relative and distance >= 32:
            distance -= 64
        core.target = (core.pc + distance) & ADDRESS_MASK


@routine
def branch(core: CoreRecord, target: u32) -> None:
    """Execute `bra`."""
    core.target = target


@routine
def call(core: CoreRecord, target: u32, options: Options) -> None:
    """Execute `call`: the delay slot issues before the callee, and is not executed again after it."""
    push_call(core, (core.pc + options.return_offset) & ADDRESS_MASK, options)
    core.target = target


@routine
def ret(core: CoreRecord, options: Options) -> None:
    """Execute `ret`."""
    address = pop_call(core, options)
    core.target = address & ADDRESS_MASK


# --- the call stack -------------------------------------------------------------------------------------------------
@routine
def push_call(core: CoreRecord, value: u32, options: Options) -> None:
    """Push a value on the call stack."""
    if core.depth >= STACK_SIZE:
        if options.full_stack == "fault":
            raise overflow(core.pc)
        for k in range(STACK_SIZE - 1):
            core.calls[k] = core.calls[k + 1]
        core.depth -= 1
    core.calls[core.depth] = value
    core.depth += 1


@routine
def pop_call(core: CoreRecord, options: Options) -> u32:
    """Pop the top of the call stack and return it."""
    if core.depth == 0:
        if options.empty_stack == "fault":
            raise underflow(core.pc)
        return 0
    core.depth -= 1
    return core.calls[core.depth]
