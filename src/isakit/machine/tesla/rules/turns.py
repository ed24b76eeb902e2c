"""In which order the warps of a block run: one order, fixed by the program, on every engine.

The warps have turns in ascending number, round after round. A turn ends when the warp has finished; at `bar`, also for
the warp whose arrival opens the barrier; before an access that conflicts with one the warp has made in the same turn;
and after so many instructions that the warp may be waiting for another one.

Two accesses conflict if another warp may make one of them between the same two barriers, to the same bytes, and one of
them writes (`analysis.racing_accesses` has the table, computed once for a program and a shape of blocks). So the other
warps make the first one before this warp makes the second: warps advance in step as far as a program can observe, which
old programs rely on ([tesla] 9.2, "Order of the warps of a block"; inferred). A warp that holds a lock continues. With
`Choices.warp_order` as `until_waiting`, a turn ends only when a warp waits or has finished.
"""

from __future__ import annotations

from enum import IntEnum

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.barriers import warp_ended
from isakit.machine.tesla.rules.state import BlockState, WarpState, WarpStatus
from isakit.sem.records import u32, u64
from isakit.sem.routine import external, routine, shared_routine, signed_less


class Ended(IntEnum):
    """The outcome for a block: all warps have finished; all remaining ones wait; a warp stopped or was interrupted."""

    DONE = 0
    DEADLOCK = 1
    HALTED = 2


NOBODY = 1 << 31
"""A status that no warp has."""


@external
def run_warp(block: BlockState, w: WarpState) -> u32:
    """Run a warp until its turn ends; return its status: READY before a racing access, WAITING at any barrier.

    The next warps, and whole blocks (`blocks.next_block`), may run in the same call.
    """
    return block.run(w)  # type: ignore[attr-defined]


@routine
def meets(w: WarpState, access: u32) -> bool:
    """Return true if a turn ends before an access, by the upper half of its `InstructionEntry.races`."""
    return w.pending & access >> 16 != 0 and w.lock == 0


@shared_routine
def next_in_turn(block: BlockState, halted: u32) -> u64:
    """Return the first warp from `block.turn` on, cyclically, that can run or has a status of `halted` or more.

    Returns `block_warps` if there is none.
    """
    for n in range(block.block_warps):
        k = block.turn + n
        if k >= block.block_warps:
            k = k - block.block_warps
        w = block.state[k]
        if w.status == WarpStatus.READY or w.status >= halted:
            return k
    return block.block_warps


@routine
def end_turn(block: BlockState, w: WarpState, k: u64) -> None:
    """End the turn of warp `k`."""
    w.pending = 0
    block.turn = k + 1


@routine
def take_turn(block: BlockState, w: WarpState, k: u64, choices: Choices) -> u32:
    """Give a warp a turn, within the remaining budget; the `reserve` is for the reference machine.

    A warp that stops before the end of its turn keeps it.
    """
    block.turn = k
    before = w.issued
    over = before + block.turn_length - block.spun
    limit = before + block.remaining - block.reserve
    block.remaining = limit
    block.patience = over if signed_less(over, limit) else limit
    status = run_warp(block, w)
    block.remaining = block.remaining + block.reserve - w.issued  # less than it was also by blocks that ran along
    block.spun = block.spun + w.issued - before
    if status == WarpStatus.INTERRUPTED and not signed_less(w.issued, over):
        block.spun = 0
        block.limits += 1
        end_turn(block, w, k)
    if status <= WarpStatus.FINISHED:
        if status != WarpStatus.READY:
            block.spun = 0
        end_turn(block, w, k)
    if status == WarpStatus.FINISHED and block.has_barriers != 0:
        warp_ended(block, choices)
    return status


@shared_routine
def run_rounds(block: BlockState, choices: Choices) -> u32:
    """Run the warps until all have finished, all wait, or one cannot continue in compiled code."""
    k = next_in_turn(block, WarpStatus.STOPPED)
    while k < block.block_warps:
        w = block.state[k]
        status = w.status
        if status < WarpStatus.STOPPED:  # else it was run along with one before it
            status = take_turn(block, w, k, choices)
        if status >= WarpStatus.STOPPED:
            block.halted_warp = k
            return Ended.HALTED
        k = next_in_turn(block, WarpStatus.STOPPED)
    for n in range(block.block_warps):
        w = block.state[n]
        if w.status == WarpStatus.WAITING:
            block.halted_warp = 0
            return Ended.DEADLOCK
    return Ended.DONE


@shared_routine
def run_turns(block: BlockState, choices: Choices) -> None:
    """Run the warps until none is ready.

    In an `ordered` block, one that stops holds up the others. When the budget ends, warps stay interrupted. With
    `one_round`, the warps run until each that can run has reached a limit.
    """
    halted = WarpStatus.STOPPED if block.ordered != 0 else NOBODY
    k = next_in_turn(block, halted)
    while k < block.block_warps:
        w = block.state[k]
        if w.status >= WarpStatus.STOPPED:
            return
        status = take_turn(block, w, k, choices)
        if status == WarpStatus.INTERRUPTED and signed_less(block.reserve, block.remaining):
            w.status = block.paused
        if block.stop[0].asked != 0:
            return
        following = next_in_turn(block, halted)
        if following <= k and block.limits != 0 and block.one_round != 0:
            return
        k = following


@shared_routine
def tally(block: BlockState) -> None:
    """Count the instructions that the warps of a block have executed."""
    for k in range(block.block_warps):
        block.thread_count += block.state[k].threads
        block.warp_count += block.state[k].issued
