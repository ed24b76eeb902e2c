"""Control of the USSE core: rules that the machine and compiled runs share, as routines (`isakit.sem.routine`).

Everything else about control (links, returns, killed lanes, which group of invocations runs) happens between runs, in
`shader_machine` alone, for both engines. Source: [usse] 2.5, 2.7, 3.4.
"""

from __future__ import annotations

from isakit.sem.records import u32
from isakit.sem.routine import Static, routine


@routine
def executes(stands: bool, predicate: bool, inverted: Static[bool]) -> bool:
    """Return true if a lane at an instruction executes it: its predicate is true, or false if `inverted`."""
    return stands and not predicate if inverted else stands and predicate


@routine
def target(here: u32, operand: u32, relative: Static[bool]) -> u32:
    """Return the number of the target instruction of a branch at the instruction `here`."""
    return here + operand if relative else operand


@routine
def neighbour(lane: u32, without: Static[int], added: Static[int]) -> u32:
    """Return the lane of the quad that an instruction reads from, seen from `lane`."""
    return lane & ~without | added
