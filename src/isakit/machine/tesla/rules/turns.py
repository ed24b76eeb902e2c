"""In which order the warps of a block run in compiled code: one after the other, each until it waits, in rounds.

The reference machine runs the warps at the lowest address first, side by side (`machine.tesla.gang`); a kernel without
races cannot tell. A warp may execute so many instructions until it has to let the others run: it may turn in a loop
until one of them has written something.
"""

from __future__ import annotations

from enum import IntEnum

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.barriers import warp_ended
from isakit.machine.tesla.rules.state import BlockState, WarpState, WarpStatus
from isakit.sem.records import u32
from isakit.sem.routine import external, routine, shared_routine, signed_less


class Ended(IntEnum):
    """What became of a block: all warps have finished; all that are left wait; a warp stopped or was interrupted."""

    DONE = 0
    DEADLOCK = 1
    HALTED = 2


@external
def run_warp(block: BlockState, w: WarpState) -> u32:
    """Run a warp until it waits, stops, or has had its turn; returns its status.

    Warps after it, and whole blocks (`blocks.next_block`), may run along.
    """
    return block.run(w)  # type: ignore[attr-defined]


@routine
def take_turn(block: BlockState, w: WarpState) -> u32:
    """Give a warp a turn, within what is left of the budget; the `reserve` is for the reference machine."""
    before = w.issued
    budget = block.remaining
    limit = before + budget - block.reserve
    over = before + block.turn_length
    block.remaining = limit
    block.patience = over if signed_less(over, limit) else limit
    status = run_warp(block, w)
    block.remaining = block.remaining + block.reserve - w.issued  # less than it was also by blocks that ran along
    return status


@shared_routine
def run_rounds(block: BlockState, choices: Choices) -> u32:
    """Run the warps until all have finished, all wait, or one cannot go on in compiled code."""
    waiting = 1
    while waiting != 0:
        waiting = 0
        ran = 0
        for k in range(block.block_warps):
            w = block.state[k]
            if w.status == WarpStatus.READY:
                status = take_turn(block, w)
                if status >= WarpStatus.STOPPED:
                    block.halted_warp = k
                    return Ended.HALTED
                if status == WarpStatus.FINISHED and block.has_barriers != 0:
                    warp_ended(block, choices)
                if status == WarpStatus.WAITING:
                    waiting += 1
                ran += 1
            elif w.status == WarpStatus.WAITING:
                waiting += 1
            elif w.status >= WarpStatus.STOPPED:  # it was run along with one before it
                block.halted_warp = k
                return Ended.HALTED
        if waiting != 0 and ran == 0:
            block.halted_warp = 0
            return Ended.DEADLOCK
    return Ended.DONE


@shared_routine
def run_turns(block: BlockState, choices: Choices) -> None:
    """Run the warps until none is ready; one that stops does not hold up the others, and all get their turns.

    Where the budget ends warps stay interrupted. With `one_round` every warp gets one turn.
    """
    some = True
    while some:
        some = False
        for k in range(block.block_warps):
            w = block.state[k]
            if w.status == WarpStatus.READY:
                status = take_turn(block, w)
                some = True
                if status == WarpStatus.INTERRUPTED and signed_less(block.reserve, block.remaining):
                    w.status = block.paused
                if status == WarpStatus.FINISHED and block.has_barriers != 0:
                    warp_ended(block, choices)
        if block.stop[0].asked != 0 or block.one_round != 0:
            return


@shared_routine
def tally(block: BlockState) -> None:
    """Count what the warps of a block have executed."""
    for k in range(block.block_warps):
        block.thread_count += block.state[k].threads
        block.warp_count += block.state[k].issued
