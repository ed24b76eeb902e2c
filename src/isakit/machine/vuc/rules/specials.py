"""Special registers: the values they read, and the effects of writes when they become visible.

Source: [vuc] 9, 10, 11. Registers whose access has effects outside of the core are left to the reference core.
"""

from __future__ import annotations

from isakit.arch.vuc.registers import NOT_P0, SR, TRUE
from isakit.machine.vuc.rules.state import CoreRecord
from isakit.sem.records import u32
from isakit.sem.routine import Static, external, routine

SPIDX, H2V, V2H, STAT, PARM, PC, CSPOS, CSTOP = (
    SR[n] for n in ("spidx", "h2v", "v2h", "stat", "parm", "pc", "cspos", "cstop")
)
LHI, LLO, PRED, ICNT, MBFLAGS = (SR[n] for n in ("lhi", "llo", "pred", "icnt", "mbflags"))
QPY, QPC, MBPART, MBXY, MBADDR, MBTYPE, SUBMBTYPE = (
    SR[n] for n in ("qpy", "qpc", "mbpart", "mbxy", "mbaddr", "mbtype", "submbtype")
)
VECTORS, REFS, RPIS = 16, 20, 22
"""The first of the motion vector registers, of the reference indices, of the picture indices."""
FIXED = 1 << NOT_P0 | 1 << TRUE
"""Predicates that cannot be written."""


@external
def stat(core: CoreRecord) -> u32:
    """Return $stat as it is now."""
    return core.sr.stat()  # type: ignore[attr-defined]


@external
def mbflags(core: CoreRecord) -> u32:
    """Return $mbflags as it is now."""
    return core.sr.mbflags()  # type: ignore[attr-defined]


@external
def refused(core: CoreRecord, number: u32, value: u32) -> bool:
    """Return true if a register accepts no writes."""
    return core.sr.refused(number, value)  # type: ignore[attr-defined]


@external
def write_outside(core: CoreRecord, number: u32, value: u32) -> None:
    """Write a register with an effect outside of the core, or a counter."""
    core.sr.write_outside(number, value)  # type: ignore[attr-defined]


# --- predicates -----------------------------------------------------------------------------------------------------
@routine
def remember_predicates(core: CoreRecord) -> None:
    """Record that an instruction will write predicates: $pred shows them one cycle after other readers see them."""
    for n in range(16):
        core.before[n] = core.pred[n]
    core.lagging = core.cycle + 1


@routine
def predicates(core: CoreRecord) -> u32:
    """Return $pred: all predicates, one bit each, without those that the previous instruction wrote."""
    seen = 0
    for n in range(16):
        bit = core.before[n] if core.lagging == core.cycle else core.pred[n]
        seen |= bit << n
    return seen


@routine
def set_predicates(core: CoreRecord, value: u32, own: u32) -> None:
    """Set all predicates but those in `own` from the bits of a number; $p1 and $p15 keep their invariants."""
    kept = own | FIXED
    for n in range(16):
        if kept >> n & 1 == 0:
            core.pred[n] = value >> n & 1
    if own & 1 == 0:
        core.pred[NOT_P0] = 1 - core.pred[0]


@routine
def land_predicates(core: CoreRecord, value: u32, own: u32) -> None:
    """Make a write of $pred visible; the instruction has just written the predicates in `own` itself, which wins."""
    set_predicates(core, value, own)
    if own != 0:  # $pred shows the predicates without what the instruction has written
        for n in range(16):
            if FIXED >> n & 1 == 0:
                core.before[n] = value >> n & 1
        core.before[NOT_P0] = 1 - core.before[0]


# --- reading --------------------------------------------------------------------------------------------------------
@routine
def special(core: CoreRecord, number: Static[int], vp2: Static[bool]) -> u32:
    """Return the value an instruction reads from a special register; reading $cstop does not pop the stack."""
    if number >= VECTORS and number < REFS:
        return core.mb.vectors[16 * (number - VECTORS) + (core.plain[SPIDX] & 15)]
    if number == REFS or number == REFS + 1:
        return core.mb.refs[4 * (number - REFS) + (core.plain[SPIDX] >> 2 & 3)]
    if number == RPIS or number == RPIS + 1:
        return core.mb.rpis[4 * (number - RPIS) + (core.plain[SPIDX] >> 2 & 3)]
    if number == STAT:
        return stat(core)
    if number == PARM:
        return core.parm & 0xFFFF
    if number == PC:
        return core.pc
    if number == CSPOS:
        return core.depth
    if number == CSTOP:
        if core.depth == 0:
            return 0
        return core.calls[core.depth - 1]
    if number == LHI:
        return core.long_view >> 16
    if number == LLO:
        return core.long_view & 0xFFFF
    if number == PRED:
        return predicates(core)
    if number == ICNT:
        return (core.cycle - core.stalled - core.icnt_base) & 0xFFFF
    if number == MBFLAGS:
        return mbflags(core)
    if number == QPY:
        return core.mb.qpy
    if number == QPC:
        return core.mb.qpc
    if number == MBPART:
        return core.mb.part
    if number == MBXY:
        return core.mb.xy
    if number == MBADDR:
        return core.mb.addr
    if number == MBTYPE:
        return core.mb.type
    if number == SUBMBTYPE:
        return core.mb.sub_types if vp2 else 0
    return core.plain[number]


# --- writing --------------------------------------------------------------------------------------------------------
@routine
def set_special(core: CoreRecord, number: u32, value: u32) -> None:
    """Write a special register that is storage, or the state behind a computed one."""
    if number < VECTORS:
        if number == SPIDX:
            core.plain[SPIDX] = value & 15
        elif number == LHI:
            core.long_view = core.long_view & 0xFFFF | value << 16
            core.accumulator[0] = core.accumulator[0] & 0xFFFF | value << 16
        elif number == LLO:
            core.long_view = core.long_view & 0xFFFF_0000 | value
            core.accumulator[0] = core.accumulator[0] & 0xFFFF_0000 | value
        else:
            core.plain[number] = value
    elif number < REFS:
        core.mb.vectors[16 * (number - VECTORS) + (core.plain[SPIDX] & 15)] = value
    elif number < RPIS:
        core.mb.refs[4 * (number - REFS) + (core.plain[SPIDX] >> 2 & 3)] = value
    elif number < MBFLAGS:
        core.mb.rpis[4 * (number - RPIS) + (core.plain[SPIDX] >> 2 & 3)] = value
    elif number == QPY:
        core.mb.qpy = value
    elif number == QPC:
        core.mb.qpc = value
    elif number == MBPART:
        core.mb.part = value
    elif number == MBXY:
        core.mb.xy = value
    elif number == MBADDR:
        core.mb.addr = value
    elif number == MBTYPE:
        core.mb.type = value
    elif number == SUBMBTYPE:
        core.mb.sub_types = value
    else:
        core.plain[number] = value


OUTSIDE = (V2H, STAT, PARM, PC, CSPOS, CSTOP, ICNT, MBFLAGS)
"""Registers whose writes have effects beyond storage in the core."""


@routine
def land_special(core: CoreRecord, number: u32, value: u32, own: u32) -> None:
    """Make a write of a special register visible; see `land_predicates` for `own`."""
    if number == PRED:
        land_predicates(core, value, own)
        return
    no = refused(core, number, value)
    if no:
        return
    if number in OUTSIDE:
        write_outside(core, number, value)
    else:
        set_special(core, number, value)
