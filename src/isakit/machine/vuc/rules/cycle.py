"""The steps common to every instruction that issues. Source: [vuc] 7, 8."""

from __future__ import annotations

from isakit.machine.vuc.rules.state import ADDRESS_MASK, CoreRecord
from isakit.machine.vuc.rules.writes import land
from isakit.sem.records import u32
from isakit.sem.routine import Static, external, routine


@external
def watchdog(core: CoreRecord) -> None:
    """Schedule the watchdog: its count of issued instructions is reached."""
    core.watchdog()  # type: ignore[attr-defined]


@routine
def begin(core: CoreRecord) -> None:
    """Issue an instruction. Unless one branches, instructions are consecutive."""
    core.target = (core.npc + 1) & ADDRESS_MASK


@routine
def end(core: CoreRecord, kept: u32, own: u32, watched: Static[bool]) -> None:
    """End the cycle: writes land, and the delay slot issues next; see `writes.land` for `kept` and `own`."""
    now = core.cycle + 1
    core.cycle = now
    if now == core.watch_at + core.stalled:
        watchdog(core)
    if core.due <= now:
        land(core, now, kept, own, watched)
    core.pc = core.npc
    core.npc = core.target
