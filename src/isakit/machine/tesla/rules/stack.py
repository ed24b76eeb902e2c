"""The divergence stack of a warp: which lanes execute, where, and which wait.

Source: [tesla] 9.1, 9.2 (inferred from the seeds, the hardware's register database, patent claims and compiler output);
open questions are fields of `Choices`. A routine that raises has changed nothing but entries without live lanes, so
that an engine can leave the instruction to another one.
"""

from __future__ import annotations

from isakit.errors import IsakitError
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.rules.state import Entries, Kind, WarpState
from isakit.sem.records import u32
from isakit.sem.routine import (
    Lanes,
    Static,
    external,
    highest,
    lanes_equal,
    lowest,
    routine,
    shared_routine,
)  # fmt: skip

CALLS = (Kind.CALL, Kind.LIMITED_CALL)


class StackFault(IsakitError):
    """A control instruction the stack refuses; the machine adds the location. `kind` is the hardware's name."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind}: {detail}")


def name_of(kind: int) -> str:
    """Return the name of an entry in messages."""
    return Kind(kind).name.lower()


@external
def size_at(w: WarpState, pc: u32) -> u32:
    """Return the size of the instruction at an address in bytes."""
    return w.size_at(pc)  # type: ignore[attr-defined]


# --- pieces ---------------------------------------------------------------------------------------------------------
@routine
def live(w: WarpState, mask: u32) -> u32:
    """Return the lanes of `mask` that neither broke, returned nor exited."""
    return mask & ~(w.broke | w.returned | w.exited)


@routine
def jump(w: WarpState, pc: u32) -> None:
    """Continue at `pc`."""
    w.pc = pc


@routine
def breakpoint_hit(lanes: u32, choices: Choices) -> bool:
    """Return true if a `brkpt` that these lanes execute is a fault."""
    return choices.brkpt == "fault" and lanes != 0


@routine
def not_between_quads(w: WarpState) -> None:
    """Fault between quadon and quadpop, where no other control flow is allowed."""
    if w.depth != 0 and w.stack[w.depth - 1].kind == Kind.QUADON:
        raise StackFault("QUADON_ACTIVE", "control flow between quadon and quadpop")


@routine
def push(w: WarpState, kind: u32, pc: u32, mask: u32, choices: Choices) -> None:
    """Push (kind, pc, mask)."""
    not_between_quads(w)
    if w.depth >= choices.stack_entries:
        if choices.stack_overflow == "fault":
            raise StackFault("STACK_OVERFLOW", f"{w.depth} entries")
    else:
        entry = w.stack[w.depth]
        entry.pc = pc
        entry.mask = mask
        entry.kind = kind
        w.depth += 1


@shared_routine
def entries_of(stack: Entries, depth: u32, kind: u32) -> u32:
    """Return the number of entries of a kind."""
    found = 0
    for k in range(depth):
        if stack[k].kind == kind:
            found += 1
    return found


@shared_routine
def nearest_of(stack: Entries, depth: u32) -> u32:
    """Return the kind of the nearest entry that does not belong to a branch, 0 if there is none."""
    k = depth
    while k != 0:
        k -= 1
        if stack[k].kind != Kind.BRANCH:
            return stack[k].kind
    return 0


# --- unwinding ------------------------------------------------------------------------------------------------------
@routine
def unwind(w: WarpState, choices: Choices) -> None:
    """Pop while no lane is active. With an empty stack the warp has finished."""
    while w.active == 0 and w.depth != 0:
        entry = w.stack[w.depth - 1]
        if entry.kind == Kind.QUADON:
            raise StackFault("QUADON_ACTIVE", "all lanes ended between quadon and quadpop")
        if entry.kind in CALLS:
            w.returned &= ~entry.mask
        if entry.kind == Kind.BREAK:
            w.broke &= ~entry.mask
        w.active = live(w, entry.mask)
        w.pc = entry.pc
        if entry.kind == Kind.JOINAT and w.active != 0:
            if choices.join == "before":
                return  # the join instruction itself takes the entry off
            size = size_at(w, entry.pc)
            w.pc = entry.pc + size  # lanes that wait here have executed it already
        w.depth -= 1


@routine
def remain(w: WarpState, following: u32, choices: Choices) -> None:
    """Continue after the instruction with the remaining lanes; unwind if there are none."""
    if w.active != 0:
        jump(w, following)
    else:
        unwind(w, choices)


# --- branches -------------------------------------------------------------------------------------------------------
@routine
def branch(w: WarpState, taken: u32, target: u32, following: u32, choices: Choices) -> None:
    """Execute a `bra` taken by the lanes `taken` of the active ones."""
    if taken == 0:
        jump(w, following)
    elif taken == w.active:
        jump(w, target)
    else:
        diverge(w, taken, target, following, choices)


@routine
def diverge(w: WarpState, taken: u32, target: u32, following: u32, choices: Choices) -> None:
    """Diverge: some lanes branch and some do not, and one side waits on the stack."""
    rest = w.active & ~taken
    if choices.first == "taken":
        push(w, Kind.BRANCH, following, rest, choices)
        w.active = taken
        jump(w, target)
    else:
        push(w, Kind.BRANCH, target, taken, choices)
        w.active = rest
        jump(w, following)


@routine
def branch_indirect(w: WarpState, targets: Lanes, choices: Choices) -> None:
    """Branch to the targets of the lanes, the lowest lane's group first; the others wait on the stack."""
    lanes = w.active
    rest = lanes
    firsts = 0
    groups = 0
    while rest != 0:
        lane = lowest(rest)
        firsts |= 1 << lane
        rest &= ~lanes_equal(targets, targets[lane])
        groups += 1
    if groups > 1:
        not_between_quads(w)
        if choices.stack_overflow == "fault" and w.depth + groups - 1 > choices.stack_entries:
            raise StackFault("STACK_OVERFLOW", f"{w.depth} entries and {groups} ways to go")
    while groups > 1:
        last = highest(firsts)
        group = lanes & lanes_equal(targets, targets[last])
        push(w, Kind.BRANCH, targets[last], group, choices)
        w.active &= ~group
        firsts &= ~(1 << last)
        groups -= 1
    jump(w, targets[lowest(lanes)])


# --- calls, breaks, joins: what is pushed -----------------------------------------------------------------------------
@routine
def joinat(w: WarpState, target: u32, choices: Choices) -> None:
    """Execute `joinat X`: push (joinat, X, active). The active lanes reconverge at the join instruction at X."""
    push(w, Kind.JOINAT, target, w.active, choices)


@routine
def prebrk(w: WarpState, target: u32, choices: Choices) -> None:
    """Execute `breakaddr X`: push (break, X, active). Active lanes that break continue at X."""
    push(w, Kind.BREAK, target, w.active, choices)


@routine
def preret(w: WarpState, target: u32, choices: Choices) -> None:
    """Execute `preret X`: push (call, X, active). Active lanes that return continue at X."""
    push(w, Kind.CALL, target, w.active, choices)


@routine
def call(w: WarpState, target: u32, following: u32, limited: Static[bool], choices: Choices) -> None:
    """Execute `call X`: push (call or limited call, next, active), jump. Beyond the limit it falls through."""
    if limited and choices.call_limit_log != 15:
        calls = entries_of(w.stack, w.depth, Kind.LIMITED_CALL)
        if calls >= choices.call_limit:
            jump(w, following)
            return
    push(w, Kind.LIMITED_CALL if limited else Kind.CALL, following, w.active, choices)
    jump(w, target)


# --- returns, breaks, ends: lanes leave -------------------------------------------------------------------------------
@routine
def ret(w: WarpState, lanes: u32, following: u32, choices: Choices) -> None:
    """Return from `lanes` of the active ones; without a call entry on the stack they end."""
    if lanes != 0:
        not_between_quads(w)
        if choices.wrong_entry == "fault":
            nearest = nearest_of(w.stack, w.depth)
            if nearest == Kind.BREAK:
                raise StackFault("STACK_MISMATCH", f"the nearest entry is a {name_of(nearest)} entry")
    w.returned |= lanes
    w.active &= ~lanes
    remain(w, following, choices)


@routine
def brk(w: WarpState, lanes: u32, following: u32, choices: Choices) -> None:
    """Break with `lanes` of the active ones out of the innermost `breakaddr` region."""
    if lanes != 0:
        found = entries_of(w.stack, w.depth, Kind.BREAK)
        if found == 0:
            raise StackFault(choices.brk_without_entry, "brk without prebrk")
        not_between_quads(w)
        if choices.wrong_entry == "fault":
            nearest = nearest_of(w.stack, w.depth)
            if nearest in CALLS:
                raise StackFault("STACK_MISMATCH", f"the nearest entry is a {name_of(nearest)} entry")
    w.broke |= lanes
    w.active &= ~lanes
    remain(w, following, choices)


@routine
def exit_warp(w: WarpState, choices: Choices) -> None:
    """Execute the `exit` tail: all active lanes end."""
    not_between_quads(w)
    w.exited |= w.active
    w.active = 0
    unwind(w, choices)


@routine
def discard(w: WarpState, lanes: u32, following: u32, choices: Choices) -> None:
    """End `lanes` of the active ones; the others continue."""
    w.exited |= lanes
    w.active &= ~lanes
    remain(w, following, choices)


# --- joins and quads --------------------------------------------------------------------------------------------------
@routine
def join(w: WarpState, here: u32, choices: Choices) -> bool:
    """Execute the `join` tail of the instruction at `here`: pop until all lanes have arrived, or another path is found.

    Returns true if the join is complete, and the active lanes are all its remaining ones; false if other lanes
    continue, at `pc`.
    """
    while w.depth != 0:
        entry = w.stack[w.depth - 1]
        lanes = live(w, entry.mask)
        if entry.kind == Kind.JOINAT:
            w.active = lanes
            if choices.early_join == "wait" and lanes != 0 and entry.pc > here:
                w.pc = entry.pc  # the join that was named takes the entry off
                return False
            w.depth -= 1
            return True
        if entry.kind == Kind.QUADON:
            raise StackFault("QUADON_ACTIVE", "join meets a quadon entry")
        if entry.kind != Kind.BRANCH:
            raise StackFault("STACK_MISMATCH", f"join meets a {name_of(entry.kind)} entry")
        w.depth -= 1
        if lanes != 0:
            w.active = lanes
            w.pc = entry.pc
            return False
    raise StackFault("STACK_UNDERFLOW", "join with an empty stack")


@routine
def quadon(w: WarpState, here: u32, choices: Choices) -> None:
    """Push (quadon, -, active); activate all lanes of every quad that has an active one."""
    push(w, Kind.QUADON, here, w.active, choices)
    quads = w.active | w.active >> 1
    whole = (quads | quads >> 2) & 0x1111_1111
    w.active = whole * 15


@routine
def quadpop(w: WarpState) -> None:
    """End of `quadon`: back to the lanes that were active before."""
    if w.depth == 0:
        raise StackFault("STACK_UNDERFLOW", "quadpop without quadon")
    entry = w.stack[w.depth - 1]
    if entry.kind != Kind.QUADON:
        raise StackFault("STACK_MISMATCH", f"quadpop meets a {name_of(entry.kind)} entry")
    w.depth -= 1
    w.active = entry.mask
