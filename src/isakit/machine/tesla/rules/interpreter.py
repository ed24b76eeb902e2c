"""The interpreter's loop over the instructions of a warp.

The effects of an instruction are in the functions that its record names (`InstructionEntry`); here is the control
around them.
"""

from __future__ import annotations

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.stack import unwind
from isakit.machine.tesla.rules.state import BlockState, InstructionEntry, StepOutcome, WarpState, WarpStatus
from isakit.machine.tesla.rules.turns import meets
from isakit.sem.records import u32, u64
from isakit.sem.routine import external, routine, shared_routine, signed_less, wide

ALL = 0xFFFF_FFFF
RACES = 0xFFFF
"""The bits of `InstructionEntry.races` that a warp has pending after it."""


@external
def execute(block: BlockState, w: WarpState, uop: InstructionEntry, function: u64) -> u32:
    """Call one of the functions of an instruction; return how the warp continues (`StepOutcome`)."""
    return block.execute(w, uop, function)  # type: ignore[attr-defined]


@external
def number_of(lanes: u32) -> u32:
    """Return the number of lanes in a mask."""
    return lanes.bit_count()


@routine
def count(w: WarpState, lanes: u32) -> None:
    """Count an instruction that the warp has executed in these lanes."""
    executed = number_of(lanes)
    w.issued += 1
    w.threads += wide(executed)


@routine
def size_at(block: BlockState, pc: u32) -> u32:
    """Return `stack.size_at`: the size in bytes of the instruction at an address, 4 if there is none."""
    offset = wide(pc) - block.code_address
    if offset >= block.code_bytes or offset & 3 != 0:
        return 4
    uop = block.uops[offset >> 2]
    return uop.following - pc


@routine
def leave(w: WarpState, status: u32) -> u32:
    """Leave the warp as it is, with a status."""
    w.status = status
    return status


@shared_routine
def interpret(block: BlockState, w: WarpState, choices: Choices) -> u32:
    """Run a warp until it waits, stops, ends, or its turn is over; return its status.

    Interrupts and turns are checked at jumps, not between consecutive instructions.
    """
    while block.stop[0].asked == 0 and signed_less(w.issued, block.patience):
        offset = wide(w.pc) - block.code_address
        if offset >= block.code_bytes or offset & 3 != 0:
            return leave(w, WarpStatus.STOPPED)
        unit = offset >> 2
        then = StepOutcome.NEXT
        while then == StepOutcome.NEXT:
            uop = block.uops[unit]
            if uop.races != 0 and meets(w, uop.races):
                w.pc = uop.pc
                return leave(w, WarpStatus.READY)
            lanes = w.active
            then = execute(block, w, uop, uop.first_all if lanes == ALL else uop.first_some)
            stopped = WarpStatus.STOPPED
            if then == StepOutcome.COMPLETE:
                lanes = w.active
                then = execute(block, w, uop, uop.body_all if lanes == ALL else uop.body_some)
                stopped = WarpStatus.JOINED
            if then < StepOutcome.STOP:
                count(w, lanes)
                unit += wide(uop.units)
                w.pending |= uop.races & RACES
            elif then == StepOutcome.WAIT:
                count(w, lanes)
                w.pc = uop.following
                return WarpStatus.WAITING  # or READY by now: see `barriers.arrive`
            elif then != StepOutcome.RESUMED:
                w.pc = uop.pc
                return leave(w, WarpStatus.SERVED if then == StepOutcome.SERVE else stopped)
        if then == StepOutcome.UNWIND:
            unwind(w, choices)
            if w.active == 0:
                w.pc = 0
                return leave(w, WarpStatus.FINISHED)
    return leave(w, WarpStatus.INTERRUPTED)


@shared_routine
def stop_here(block: BlockState, w: WarpState, uop: InstructionEntry) -> u32:
    """Stop: the function of instructions that are not compiled."""
    return StepOutcome.STOP


@shared_routine
def serve_here(block: BlockState, w: WarpState, uop: InstructionEntry) -> u32:
    """Request the host: the function of instructions that the host executes."""
    return StepOutcome.SERVE
