"""Locks of the words of s[]: a warp holds one at a time.

Source: [tesla] 7 (the lowest lane with a free word gets it; inferred).
"""

from __future__ import annotations

from isakit.errors import IsakitError
from isakit.machine.tesla.rules.state import BlockState, WarpState
from isakit.sem.records import u32
from isakit.sem.routine import Lanes, Static, highest, lanes_equal, shared_routine


class LockHeld(IsakitError):
    """Another warp holds the lock of a word, in code whose warps run until they wait: the holder must get its turn."""


@shared_routine
def try_lock(block: BlockState, w: WarpState, words: Lanes, lanes: u32, in_turns: Static[bool]) -> u32:
    """Return the mask of the lane (one at most) that gets the lock of its word. Words are counted from 1.

    `in_turns`: the warps of the block run interleaved, so that retrying is enough.
    """
    if w.lock != 0:
        return 0
    free = lanes
    for k in range(block.block_warps):
        other = block.state[k]
        taken = lanes & lanes_equal(words, other.lock)
        if taken != 0:
            if not in_turns:
                raise LockHeld("a lock that another warp holds")
            free &= ~taken
    first = free & -free
    if first != 0:
        w.lock = words[highest(first)]
    return first


@shared_routine
def unlock(w: WarpState, words: Lanes, lanes: u32) -> None:
    """Release the word the warp holds, if it is among these."""
    if w.lock != 0 and lanes & lanes_equal(words, w.lock) != 0:
        w.lock = 0
