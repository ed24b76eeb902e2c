"""Writes that land later, forwarding, and the long unit.

There are no interlocks: an instruction reads all its sources in its cycle t, and its results become visible after its
latency X. $r and $p are forwarded (readers at t + X see the new value), special registers are one cycle later. Source:
[vuc] 7, 8, 11.
"""

from __future__ import annotations

from isakit.machine.vuc.options import Options
from isakit.machine.vuc.rules.flow import push_call
from isakit.machine.vuc.rules.specials import CSTOP, land_special
from isakit.machine.vuc.rules.state import NEVER, CoreRecord, QueueEntry, QueueKind
from isakit.sem.records import u32, u64
from isakit.sem.routine import Static, external, routine, shared_routine


@external
def place(core: CoreRecord, at: u32, visible: u64, lands: u64, kind: u32, index: u32, value: u32, origin: u32) -> None:
    """Insert an entry at a position of the queue; the entries from there on move up."""
    queue: list[QueueEntry] = core.queue
    count = core.count
    if len(queue) != count:
        del queue[count:]  # they have landed
    queue.insert(at, QueueEntry(visible, lands, core.serial, kind, index, value, origin))
    core.count = count + 1


@external
def act(core: CoreRecord, entry: QueueEntry) -> None:
    """Call the function of an event that is due."""
    entry.value()  # type: ignore[operator]


@external
def landed(core: CoreRecord, entry: QueueEntry) -> None:
    """Notify the listener that an entry has landed."""
    core.listener(entry)  # type: ignore[attr-defined]


@external
def tell_of_abort(core: CoreRecord) -> None:
    """Report that the result of a long operation is lost."""
    core.tell_of_abort()  # type: ignore[attr-defined]


# --- the queue ------------------------------------------------------------------------------------------------------
@shared_routine
def enter(core: CoreRecord, visible: u64, lands: u64, kind: u32, index: u32, value: u32, origin: u32) -> None:
    """Queue a write, ordered by visibility, landing and issue; the next entry is the last one of the queue."""
    core.serial += 1
    if visible < core.due:
        core.due = visible
    count = core.count
    for at in range(count):
        other = core.queue[at]
        if other.visible < visible or (other.visible == visible and other.lands <= lands):
            place(core, at, visible, lands, kind, index, value, origin)
            return
    place(core, count, visible, lands, kind, index, value, origin)


@shared_routine
def land(core: CoreRecord, now: u64, kept: u32, own: u32, watched: Static[bool]) -> None:
    """Apply the writes that become visible in cycle `now`.

    `kept` are the $r registers and `own` the predicates that the previous cycle's instruction has written itself, one
    bit each: of two writes that become visible together, that of the later instruction wins.
    """
    while core.count != 0:
        last = core.count - 1
        entry = core.queue[last]
        if entry.visible > now:
            core.due = entry.visible
            return
        core.count = last
        if entry.kind == QueueKind.REGISTER:
            if kept >> entry.index & 1 == 0:
                core.gpr[entry.index] = entry.value
        elif entry.kind == QueueKind.SPECIAL:
            land_special(core, entry.index, entry.value, own)
        elif entry.kind == QueueKind.ACCUMULATOR:
            core.accumulator[0] = entry.value
        elif entry.kind == QueueKind.LONG_VIEW:
            core.long_view = entry.value
        elif entry.kind == QueueKind.EVENT:
            act(core, entry)
        if watched and entry.kind != QueueKind.DEAD:
            landed(core, entry)
    core.due = NEVER


# --- what instructions write ----------------------------------------------------------------------------------------
@routine
def write_register(core: CoreRecord, index: u32, value: u32, latency: u32) -> None:
    """Write a $r register, visible when it lands."""
    lands = core.cycle + latency
    enter(core, lands, lands, QueueKind.REGISTER, index, value, core.pc)


@routine
def write_special(core: CoreRecord, index: u32, value: u32, latency: u32, options: Options) -> None:
    """Write a special register, visible one cycle after it lands; a write of $cstop pushes at once."""
    if index == CSTOP:
        push_call(core, value, options)
    else:
        lands = core.cycle + latency
        enter(core, lands + 1, lands, QueueKind.SPECIAL, index, value, core.pc)


@routine
def write_long(core: CoreRecord, value: u32, latency: u32) -> None:
    """Write the result of a long operation: forwarded to long operations, one cycle later in $lhi and $llo.

    The unit performs one operation at a time: a new one discards the result of one that has not landed yet.
    """
    if core.long_lands > core.cycle:
        tell_of_abort(core)
        for at in range(core.count):
            other = core.queue[at]
            if other.serial == core.long_serial or other.serial == core.long_serial + 1:
                other.kind = QueueKind.DEAD
    lands = core.cycle + latency
    core.long_lands = lands
    core.long_serial = core.serial + 1
    enter(core, lands, lands, QueueKind.ACCUMULATOR, 0, value, core.pc)
    enter(core, lands + 1, lands, QueueKind.LONG_VIEW, 0, value, core.pc)
