"""Beginnings of blocks and warps, and the order in which compiled code runs the blocks of a launch.

Source: [tesla] 9.1, 10. The reference machine begins its warps by the same rule. External functions set memory, which
compiled code does in its own way.
"""

from __future__ import annotations

from enum import IntEnum

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.state import BARRIERS, BlockState, WarpState, WarpStatus
from isakit.machine.tesla.rules.turns import Ended, run_rounds, run_turns, tally
from isakit.sem.records import u32, u64
from isakit.sem.routine import external, routine, shared_routine, signed_less

BLOCK_X, BLOCK_Y = 6, 7
"""The halfwords of s[] with the number of the block."""


class Begin(IntEnum):
    """Arguments of `run_blocks`: all blocks are new, or the warps of the present one have turns."""

    NEW = 0
    TURNS = 1


class WrittenSpaces(IntEnum):
    """Spaces that the program stores to; others need not be cleared for each block."""

    SHARED = 1
    LOCAL = 2


@external
def clear_shared(block: BlockState) -> None:
    """Initialise s[] of a block: the launch header and the parameters, and 0 after them."""


@external
def clear_local(block: BlockState) -> None:
    """Clear l[] of a block."""


@external
def clear_warp(block: BlockState, w: WarpState) -> None:
    """Clear the counters of a warp, and the registers that its program may read before writing."""


@external
def set_thread_numbers(block: BlockState, w: WarpState, number: u64) -> None:
    """Set $r0 of a warp to the numbers of its threads."""


@external
def set_physical_numbers(block: BlockState, number: u64) -> None:
    """Set the value of $physid in a block: its position on the chip, given its number."""


@routine
def begin_warp(w: WarpState, lanes: u32, entry: u32) -> None:
    """Begin a warp with the lanes that have threads; the others count as exited."""
    w.pc = entry
    w.active = lanes
    w.exited = ~lanes
    w.broke = 0
    w.returned = 0
    w.depth = 0
    w.status = WarpStatus.READY
    w.barrier = 0
    w.lock = 0
    w.pending = 0


@routine
def begin_memory(block: BlockState, number: u64) -> None:
    """Initialise the memory of a block, and its number; block numbers count through x first."""
    block.number = number
    if block.written & WrittenSpaces.SHARED != 0:
        clear_shared(block)
    row = number // block.grid_x
    block.shared[BLOCK_X] = number - row * block.grid_x
    block.shared[BLOCK_Y] = row
    if block.written & WrittenSpaces.LOCAL != 0:
        clear_local(block)


@routine
def begin_block(block: BlockState, number: u64) -> None:
    """Initialise memory, barriers and warps of a block."""
    begin_memory(block, number)
    set_physical_numbers(block, number)
    for n in range(BARRIERS):
        block.barriers[n].count = 0
        block.barriers[n].target = 0
    block.ended = 0
    block.turn = 0
    block.spun = 0
    for k in range(block.block_warps):
        w = block.state[k]
        clear_warp(block, w)
        begin_warp(w, block.masks[k], block.entry)
        w.number = k
        set_thread_numbers(block, w, k)


@shared_routine
def next_block(block: BlockState) -> bool:
    """Begin the next block, if allowed, when all warps of a block have finished; return whether it has begun.

    For code of warps that never wait and do not read $physid: state that such a warp leaves as it was at its start is
    not set again.
    """
    if block.runs_on == 0 or block.number + 1 >= block.last or block.stop[0].asked != 0:
        return False
    if not signed_less(block.reserve, block.remaining):
        return False
    begin_memory(block, block.number + 1)
    before = block.warp_count
    for k in range(block.block_warps):
        w = block.state[k]
        block.thread_count += w.threads
        block.warp_count += w.issued
        w.issued = 0
        w.threads = 0
        w.lock = 0
        w.status = WarpStatus.READY
    block.remaining -= block.warp_count - before
    return True


@shared_routine
def run_blocks(block: BlockState, first: u64, last: u64, begin: u32, choices: Choices) -> u32:
    """Run the blocks from `first` up to `last`.

    Return the outcome (`Ended`) and, in the bits above it, the block's number.
    """
    if begin == Begin.TURNS:
        block.last = 0
        run_turns(block, choices)
        return Ended.DONE
    clear_shared(block)
    block.last = last
    number = first
    while number != last:
        begin_block(block, number)
        ended = run_rounds(block, choices)
        if ended != Ended.DONE:
            return ended | block.number << 8
        tally(block)
        number = block.number + 1
    return Ended.DONE
