"""The barriers of a block: counters of warps.

Source: [tesla] 9.3. The behaviour of diverged warps is inferred (a warp that executes `bar` twice counts twice);
whether finished warps count is `Choices.barrier_all`.
"""

from __future__ import annotations

from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.state import BlockState, WarpState, WarpStatus
from isakit.sem.records import u32
from isakit.sem.routine import routine, shared_routine, wide

ALL = 0xFFF
"""The count that means all warps of the block."""


@routine
def everyone(block: BlockState, choices: Choices) -> u32:
    """Return the number of warps that `all` means."""
    return block.block_warps - block.ended if choices.barrier_all == "unfinished" else block.block_warps


@routine
def missing(block: BlockState, number: u32) -> bool:
    """Return true if the program has no barrier of this number, which is a fault."""
    return wide(number) >= block.allowed_barriers


@shared_routine
def arrive(block: BlockState, w: WarpState, number: u32, count: u32, inc: bool, wait: bool, choices: Choices) -> bool:
    """Execute `bar`: count up, reset at the target; wait until 0. Returns whether the turn ends."""
    barrier = block.barriers[number]
    if inc:
        barrier.target = 0 if count == ALL else count
        barrier.count = (barrier.count + 1) & block.barrier_mask
        open_if_reached(block, number, choices)
    if wait and barrier.count != 0:
        w.status = WarpStatus.WAITING
        w.barrier = number
        return True
    return choices.warp_order == "turns" and block.block_warps - block.ended > 1


@shared_routine
def open_if_reached(block: BlockState, number: u32, choices: Choices) -> None:
    """Reset a barrier counter that has reached its target, and release the warps waiting at it."""
    barrier = block.barriers[number]
    target = barrier.target if barrier.target != 0 else everyone(block, choices)
    if barrier.count != 0 and barrier.count >= target:
        barrier.count = 0
        for k in range(block.block_warps):
            w = block.state[k]
            if w.status == WarpStatus.WAITING and w.barrier == number:
                w.status = WarpStatus.READY


@shared_routine
def warp_ended(block: BlockState, choices: Choices) -> None:
    """Record that a warp of the block has finished, which may complete the barriers that wait for all warps."""
    block.ended += 1
    if choices.barrier_all == "unfinished":
        for number in range(block.allowed_barriers):
            if block.barriers[number].count != 0 and block.barriers[number].target == 0:
                open_if_reached(block, number, choices)
