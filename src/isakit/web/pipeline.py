"""The pipeline of a vµc core: instructions and their late writes by cycle, hazards, rings, and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

from isakit.errors import IsakitError, MachineFault
from isakit.json_text import JsonObject

if TYPE_CHECKING:
    from isakit.codec import Instruction
    from isakit.debug import Session
    from isakit.machine.vuc import CoreMachine
    from isakit.machine.vuc.watch import Cycle

BEFORE, AFTER = 10, 14
"""Cycles that are shown before and after the present one."""
_JUMPS = ("branch", "call", "return")


class Issue(TypedDict):
    """An instruction in the cycle it issued in.

    Its byte `address` and `text` (empty while the core waits), whether its guard let it act (`executed`), whether it
    stands in a delay `slot`, the hazards of that cycle in words (`notes`), and for each register it wrote the cycle in
    which the new value could be read (`writes`). `fault`: why nothing issued after it.
    """

    cycle: int
    address: int
    text: str
    executed: bool
    slot: bool
    notes: list[str]
    writes: list[JsonObject]
    fault: str


def pipeline(session: Session) -> JsonObject:
    """Return the cycles around the present one, as they go without the host, and the rings as they are now.

    The core is run from a state of the past and put back. Raises IsakitError for a machine that is not a vµc core.
    """
    if session.target.isa != "vuc":
        raise IsakitError("only a vµc core has a pipeline to look at")
    core = cast("CoreMachine", cast("Any", session.target).core)
    now = core.cycle
    about = _about(core)
    here, focus = session.timeline.moment, session.focus
    session.timeline.seek(max(0, now - BEFORE))
    saved = core.snapshot()
    try:
        issues = _watched(core, now + AFTER)
    finally:
        core.restore(saved)
        session.timeline.seek(here)
        session.focus = focus
    return {"now": now, "issues": issues, **about}


def _watched(core: CoreMachine, end: int) -> list[Issue]:
    """Run every cycle up to `end`, or to where the core halts or faults."""
    from isakit.machine.vuc.watch import Hazard, Watch

    watch, unit = Watch(core), 4
    out: list[Issue] = []
    waiting: dict[int, list[Issue]] = {}  # address of an instruction -> its issues, the oldest first
    jumped = False
    while core.cycle < end and not core.halted:
        op = None if core.waiting and not core.would_wake() else _operation(core)
        try:
            c: Cycle = watch.step()
        except MachineFault as e:
            out.append(_issue(core.cycle, core.pc * unit, "", jumped, fault=str(e)))
            break
        issue = _issue(c.number, c.pc * unit, c.text, jumped and bool(c.text))
        issue["executed"] = c.executed
        issue["notes"] = [str(n) for n in c.notes]
        out.append(issue)
        if c.text:
            waiting.setdefault(c.pc, []).append(issue)
            jumped = op is not None and c.executed and op.group is not None and op.group.value in _JUMPS
        for n in c.notes:
            if n.kind is Hazard.ABORTED and waiting.get(n.origin):
                waiting[n.origin].pop()
        for x in c.landed:
            for i in waiting.get(x.origin, ()):
                if all(w["register"] != x.register for w in i["writes"]):
                    i["writes"].append({"register": x.register, "value": f"{x.value:#x}", "cycle": c.number + 1})
                    break
    return out


def _operation(core: CoreMachine) -> Instruction | None:
    try:
        return core.op(core.pc).instruction
    except MachineFault:
        return None


def _issue(cycle: int, address: int, text: str, slot: bool, fault: str = "") -> Issue:
    return Issue(
        cycle=cycle, address=address, text=text, executed=False, slot=slot, notes=[], writes=[], fault=fault
    )  # fmt: skip


def _about(core: CoreMachine) -> JsonObject:
    """Return the state of what is around the core, as rows of (name, value) and rings."""
    from isakit.machine.vuc.vpring import RING_NAMES

    ring = core.ring
    waits = ""
    if core.wait is not None:
        mask, level, asleep = core.wait
        state = "set" if asleep or level else "clear"
        waits = f"{'asleep' if asleep else 'waits'} until $stat & {mask:#x} is {state}"
    rings = [
        {"name": "MBRING", "direction": "in", "offset": ring.offset, "size": ring.size, "position": ring.position,
         "filled": ring.available, "more": f"{len(ring.ready)} macroblocks parsed" + ("; ended" if ring.ended else "")}
    ]  # fmt: skip
    rings += [
        {"name": f"VPRING {name}", "direction": "out", "offset": r.offset, "size": r.size, "position": r.position,
         "filled": (r.position - r.halt) % r.size if r.size else r.position, "more": f"halt at {r.halt:#x}"}
        for name, r in zip(RING_NAMES, core.vpring.rings, strict=True)
    ]  # fmt: skip
    surfaces = [
        {"name": "MVSURF in", "offset": core.mvs_in.offset, "left": core.mvs_in.left_x * core.mvs_in.left_y},
        {"name": "MVSURF out", "offset": core.mvs_out.offset, "left": core.mvs_out.left_x * core.mvs_out.left_y},
    ]
    return {"rings": rings, "surfaces": surfaces, "waits": waits, "halted": core.halted,
            "diagnostics": [f"cycle {cycle}: {text}" for cycle, _, _, text in core.diagnostics[-8:]]}  # fmt: skip
