"""Control actions: what branches, calls, barriers and ends do to the warps of a gang.

Every handler gets the machine, the gang, the instruction, the lanes that execute it (bool array over the gang's lanes)
and the request's operands, and returns the gangs that go on; warps that wait or have finished are not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from isakit.engine import Control, Lanes
from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.machine.tesla.block import WAITING, Warp
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.stack import StackFault

if TYPE_CHECKING:
    from isakit.machine.tesla.machine import Machine

Handler = Callable[["Machine", Gang, Op, Lanes, Control], list[Gang]]


def perform(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    """Carry out one control request."""
    handler = _HANDLERS.get(request.name) or machine.handlers.get(request.name)
    if handler is None:
        raise NotModelled(f"`{op.instruction.text if op.instruction else request.name}`", "not in compute programs")
    return handler(machine, gang, op, lanes, request)


def regroup(machine: Machine, gang: Gang, warps: Iterable[Warp]) -> list[Gang]:
    """Gangs of warps that were changed one by one, by their new pc; retires those that finished."""
    by_pc: dict[int, list[Warp]] = {}
    out: list[Gang] = []
    for w in warps:
        if w.control.active:
            by_pc.setdefault(w.control.pc, []).append(w)
        else:
            out += machine.released(w.block.retire(w))
    for pc, group in by_pc.items():
        numbers = np.array([w.number for w in group], np.int64)
        out.append(Gang(numbers, np.array([w.control.active for w in group], np.uint32), pc))
    return out


def each(machine: Machine, gang: Gang, action: Callable[[Warp, int], None], masks: Iterable[int]) -> list[Gang]:
    """Do something with every warp and the lanes that execute; regroup."""
    warps = machine.members(gang)
    for k, (w, mask) in enumerate(zip(warps, masks, strict=True)):
        w.control.pc = gang.pc
        try:
            action(w, mask)
        except StackFault as e:
            machine.split_at_fault(gang, regroup(machine, gang, warps[:k]), k)
            raise machine.fault(e.kind, gang.pc, warp=w, detail=e.detail) from None
    return regroup(machine, gang, warps)


def _executing(gang: Gang, lanes: Lanes) -> list[int]:
    return gang.masks.tolist() if lanes is gang.lanes else gang.masks_of(lanes.mask).tolist()


def _moved(gang: Gang, pc: int) -> list[Gang]:
    gang.pc = pc
    return [gang]


def _bra(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    target, following = int(request.args[0]), op.following
    machine.state.events[0, gang.numbers] += 1
    if lanes is gang.lanes:
        return _moved(gang, target)
    taken = gang.masks_of(lanes.mask)
    none, full = taken == 0, taken == gang.masks
    if none.all():
        return _moved(gang, following)
    if full.all():
        return _moved(gang, target)
    mixed = ~(none | full)
    out = [gang.part(some, pc) for some, pc in ((none, following), (full, target)) if some.any()]
    if mixed.any():
        part = gang.part(mixed, gang.pc)
        machine.state.events[1, part.numbers] += 1
        out += each(machine, part, lambda w, m: w.control.branch(m, target, following), taken[mixed].tolist())
    return out


def _bra_indirect(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    """Lanes of a warp that load different addresses go one group after the other, the lowest lane's group first."""
    target = request.args[0]
    machine.state.events[0, gang.numbers] += 1
    if not isinstance(target, np.ndarray):
        return _moved(gang, int(target))
    rows = cast(Array, target).reshape(-1, 32)

    def jump(w: Warp, mask: int) -> None:
        row = rows[np.searchsorted(gang.numbers, w.number)]
        groups: dict[int, int] = {}
        for lane in range(32):
            if mask >> lane & 1:
                groups[int(row[lane])] = groups.get(int(row[lane]), 0) | 1 << lane
        for pc, part in reversed(list(groups.items())[1:]):
            w.control.defer(part, pc)
        w.control.pc = next(iter(groups))

    return each(machine, gang, jump, _executing(gang, lanes))


def _push(method: str) -> Handler:
    """Pushes that leave pc and lanes alone."""

    def handler(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
        target = int(request.args[0])
        for k, warp in enumerate(machine.members(gang)):
            try:
                getattr(warp.control, method)(target)
            except StackFault as e:
                done = gang.part(np.arange(len(gang)) < k, op.following)
                machine.split_at_fault(gang, [done] if k else [], k)
                raise machine.fault(e.kind, gang.pc, warp=warp, detail=e.detail) from None
        return _moved(gang, op.following)

    return handler


def _call(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    target, limited = int(request.args[0]), bool(request.attrs.get("lim"))
    return each(machine, gang, lambda w, m: w.control.call(target, op.following, limited), _executing(gang, lanes))


def _ret(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    return each(machine, gang, lambda w, m: w.control.ret(m, op.following), _executing(gang, lanes))


def _brk(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    return each(machine, gang, lambda w, m: w.control.brk(m, op.following), _executing(gang, lanes))


def _quad(method: str) -> Handler:
    def handler(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
        def action(w: Warp, mask: int) -> None:
            getattr(w.control, method)()
            w.control.pc = op.following

        return each(machine, gang, action, _executing(gang, lanes))

    return handler


def _bar(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    number, count = (int(a) for a in request.args)
    inc, wait = bool(request.attrs["inc"]), bool(request.attrs["wait"])
    if request.attrs.get("all"):
        count = 0xFFF
    allowed = machine.launch.barriers
    if number >= allowed:
        raise machine.fault(
            "BARRIER_OUT_OF_RANGE",
            gang.pc,
            warp=machine.members(gang)[0],
            detail=f"barrier {number}, {allowed} allocated",
        )
    out: list[Gang] = []
    running = np.ones(len(gang), bool)
    warps = machine.members(gang)
    position = {w.number: k for k, w in enumerate(warps)}
    for k, warp in enumerate(warps):
        warp.control.pc = op.following
        released = warp.block.bar(warp, number, count, inc, wait)
        running[k] = warp.status != WAITING
        others: list[Warp] = []
        for w in released:
            if w.number in position:
                running[position[w.number]] = True
            else:
                others.append(w)
        out += machine.released(others)
    if running.all():
        return [*out, *_moved(gang, op.following)]
    if running.any():
        out.append(gang.part(running, op.following))
    return out


def _trap(kind: str) -> Handler:
    def handler(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
        executing = np.flatnonzero(lanes.mask)
        if not len(executing) or (kind == "BREAKPOINT" and machine.launch.choices.brkpt == "ignore"):
            return _moved(gang, op.following)
        lane = int(lanes.numbers[executing[0]])
        raise machine.fault(kind, gang.pc, lane=lane)

    return handler


def _pmevent(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    machine.state.events[2, gang.numbers] += 1
    return _moved(gang, op.following)


def _unlock(machine: Machine, gang: Gang, op: Op, lanes: Lanes, request: Control) -> list[Gang]:
    machine.state.unlock(lanes, request.args[0])
    return _moved(gang, op.following)


_HANDLERS: Mapping[str, Handler] = {
    "bra": _bra,
    "bra_indirect": _bra_indirect,
    "call": _call,
    "ret": _ret,
    "prebrk": _push("prebrk"),
    "brk": _brk,
    "joinat": _push("joinat"),
    "preret": _push("preret"),
    "quadon": _quad("quadon"),
    "quadpop": _quad("quadpop"),
    "bar": _bar,
    "trap": _trap("TRAP_INSTRUCTION"),
    "brkpt": _trap("BREAKPOINT"),
    "pmevent": _pmevent,
    "unlock": _unlock,
}
