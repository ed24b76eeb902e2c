"""Control of the USSE core: rules that the machine and compiled stretches share, as routines (`isakit.sem.routine`).

Everything else about control (links, returns, killed lanes, which group of invocations runs) happens between stretches,
in `shader_machine` alone, for both engines. Source: [usse] 2.5, 2.7, 3.4.
"""

from __future__ import annotations

from isakit.sem.records import u32
from isakit.sem.routine import Static, routine


@routine
def executes(stands: bool, predicate: bool, inverted: Static[bool]) -> bool:
    """Return true if a lane at an instruction executes it: its predicate holds, or does not hold if `inverted`."""
    return stands and not predicate if inverted else stands and predicate


@routine
def target(here: u32, operand: u32, relative: Static[bool]) -> u32:
    """Return the number of the instruction that a branch at the instruction `here` goes to."""
    return here + operand if relative else operand


@routine
def neighbour(lane: u32, without: Static[int], added: Static[int]) -> u32:
    """Return the lane of the quad that an instruction looks at from `lane`."""
    return lane & ~without | added
