"""Control actions: the effects of branches, calls, barriers and exits on the warps of a gang.

Every handler gets the machine, the gang, the instruction, the lanes that execute it (bool array over the gang's lanes)
and the request's operands, and returns the gangs that continue; warps that wait or have finished are not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

import numpy as np

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.requests import REQUESTS
from isakit.engine import Control, Lanes
from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.machine.tesla.block import WAITING, Warp
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.machine_state import Handler, MachineState
from isakit.machine.tesla.stack import Stack, StackFault, rules_of
from isakit.sem.requests import ControlRequest, covered


def perform(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    """Carry out one control request; return the gangs that continue."""
    handler = machine.handlers.get(asked.name)
    if handler is None:
        raise NotModelled(f"`{op.instruction.text if op.instruction else asked.name}`", "not in compute programs")
    return handler(machine, gang, op, lanes, asked)


def regroup(machine: MachineState, warps: Iterable[Warp]) -> list[Gang]:
    """Group warps that were changed one by one by their new pc; retire those that have finished."""
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


def each(machine: MachineState, gang: Gang, action: Callable[[Warp, int], None], masks: Iterable[int]) -> list[Gang]:
    """Apply a function to every warp and its executing lanes, then regroup the warps.

    Return the gangs that continue.
    """
    warps = machine.members(gang)
    for k, (w, mask) in enumerate(zip(warps, masks, strict=True)):
        w.control.pc = gang.pc
        try:
            action(w, mask)
        except StackFault as e:
            machine.split_at_fault(gang, regroup(machine, warps[:k]), k)
            raise machine.fault(e.kind, gang.pc, warp=w, detail=e.detail) from None
    return regroup(machine, warps)


def _executing(gang: Gang, lanes: Lanes) -> list[int]:
    return gang.masks.tolist() if lanes is gang.lanes else gang.masks_of(lanes.mask).tolist()


def _moved(gang: Gang, pc: int) -> list[Gang]:
    gang.pc = pc
    return [gang]


def _bra(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    target, following = int(asked.args[0]), op.following
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


def _bra_indirect(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    """Branch to addresses that the lanes load, one group after the other, the lowest lane's group first."""
    target = asked.args[0]
    machine.state.events[0, gang.numbers] += 1
    if not isinstance(target, np.ndarray):
        return _moved(gang, int(target))
    rows = cast(Array, target).reshape(-1, 32)

    def jump(w: Warp, mask: int) -> None:
        w.control.branch_indirect(rows[np.searchsorted(gang.numbers, w.number)])

    return each(machine, gang, jump, _executing(gang, lanes))


def _push(push: Callable[[Stack, int], None]) -> Handler:
    """Return the action of an instruction that pushes an entry and leaves pc and lanes alone."""

    def handler(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
        target = int(asked.args[0])
        for k, warp in enumerate(machine.members(gang)):
            try:
                push(warp.control, target)
            except StackFault as e:
                done = gang.part(np.arange(len(gang)) < k, op.following)
                machine.split_at_fault(gang, [done] if k else [], k)
                raise machine.fault(e.kind, gang.pc, warp=warp, detail=e.detail) from None
        return _moved(gang, op.following)

    return handler


def _call(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    target, limited = int(asked.args[0]), bool(asked.attrs.get("lim"))
    return each(machine, gang, lambda w, m: w.control.call(target, op.following, limited), _executing(gang, lanes))


def _leave(leave: Callable[[Stack, int, int], None]) -> Handler:
    """Return the action of an instruction by which lanes leave a region; the others continue after it."""

    def handler(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
        return each(machine, gang, lambda w, m: leave(w.control, m, op.following), _executing(gang, lanes))

    return handler


def _quad(change: Callable[[Stack], None]) -> Handler:
    def handler(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
        def action(w: Warp, mask: int) -> None:
            change(w.control)
            w.control.pc = op.following

        return each(machine, gang, action, _executing(gang, lanes))

    return handler


def _bar(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    number, count = (int(a) for a in asked.args)
    inc, wait = bool(asked.attrs["inc"]), bool(asked.attrs["wait"])
    if asked.attrs.get("all"):
        count = 0xFFF
    warps = machine.members(gang)
    block = warps[0].block
    if block.rules.missing(block, number):
        detail = f"barrier {number}, {block.allowed_barriers} allocated"
        raise machine.fault("BARRIER_OUT_OF_RANGE", gang.pc, warp=warps[0], detail=detail)
    out: list[Gang] = []
    running = np.ones(len(gang), bool)
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


def _trap(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    executing = np.flatnonzero(lanes.mask)
    if not len(executing):
        return _moved(gang, op.following)
    raise machine.fault("TRAP_INSTRUCTION", gang.pc, lane=int(lanes.numbers[executing[0]]))


def _brkpt(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    rules = rules_of(machine.launch.choices)
    if not any(rules.breakpoint_hit(mask) for mask in _executing(gang, lanes)):
        return _moved(gang, op.following)
    lane = int(lanes.numbers[np.flatnonzero(lanes.mask)[0]])
    raise machine.fault("BREAKPOINT", gang.pc, lane=lane)


def _pmevent(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    machine.state.events[2, gang.numbers] += 1
    return _moved(gang, op.following)


def _unlock(machine: MachineState, gang: Gang, op: Op, lanes: Lanes, asked: Control) -> list[Gang]:
    machine.state.unlock(lanes, asked.args[0])
    return _moved(gang, op.following)


HANDLERS: Mapping[ControlRequest, Handler] = {
    request.BRA: _bra,
    request.BRA_INDIRECT: _bra_indirect,
    request.CALL: _call,
    request.RET: _leave(Stack.ret),
    request.PREBRK: _push(Stack.prebrk),
    request.BRK: _leave(Stack.brk),
    request.JOINAT: _push(Stack.joinat),
    request.PRERET: _push(Stack.preret),
    request.QUADON: _quad(Stack.quadon),
    request.QUADPOP: _quad(Stack.quadpop),
    request.BAR: _bar,
    request.TRAP: _trap,
    request.BRKPT: _brkpt,
    request.PMEVENT: _pmevent,
    request.UNLOCK: _unlock,
}
"""Actions of programs of all types, by name."""
COMPUTE = covered(
    "a compute program", REQUESTS.controls, HANDLERS, refused=[request.DISCARD, request.EMIT, request.RESTART]
)
"""Actions of compute programs by name."""
