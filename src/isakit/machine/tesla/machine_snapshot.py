"""The state of a Tesla machine as plain data and arrays, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from isakit.errors import LaunchError
from isakit.machine.tesla.address_spaces import OwnSpace
from isakit.machine.tesla.block import Warp
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.launch import Stats
from isakit.machine.tesla.machine_state import MachineState

_OWN = ("s", "l")
"""Spaces of the resident blocks; c[] never changes, g[] is the device's."""


def content_of(machine: MachineState) -> dict[str, object]:
    """Return registers, memories, control state and counters of a machine between two instructions."""
    state = machine.state
    return {
        "shape": _shape(machine),
        "schedule": machine.schedule(),
        "stats": asdict(machine.stats),
        "gangs": [(g.numbers, g.masks, g.pc) for g in machine.ready.gangs],
        "since": machine.ready.since,
        "clock": machine.ready.clock,
        "files": dict(state.files),
        "issued": state.issued,
        "events": state.events,
        "locks": [w.control.lock for w in machine.warps],
        "pending": [w.control.pending for w in machine.warps],
        "spaces": {n: space.memory.bytes for n, space in _own_spaces(machine).items()},
        "warps": [_warp(w) for w in machine.warps],
        "blocks": [(b.arrivals, b.ended, b.turn, b.spun) for b in machine.blocks],
        "device": machine.device.content(),
    }


def put_back(machine: MachineState, content: dict[str, Any]) -> None:
    """Restore everything that `content_of` returns. Raises LaunchError for the content of another launch's machine."""
    if content["shape"] != _shape(machine):
        raise LaunchError(f"a snapshot of {content['shape']} cannot be restored into a machine of {_shape(machine)}")
    machine.set_schedule(content["schedule"])
    machine.stats = Stats(**content["stats"])
    state = machine.state
    for name, rows in content["files"].items():
        state.files[name][:] = rows
    state.issued[:], state.events[:] = content["issued"], content["events"]
    for w, lock in zip(machine.warps, content["locks"], strict=True):
        w.control.lock = lock
    for w, pending in zip(machine.warps, content["pending"], strict=True):
        w.control.pending = pending
    for name, space in _own_spaces(machine).items():
        space.memory.bytes[:] = content["spaces"][name]
    for w, saved in zip(machine.warps, content["warps"], strict=True):
        _set_warp(w, *saved)
    for b, (arrivals, ended, turn, spun) in zip(machine.blocks, content["blocks"], strict=True):
        b.arrivals, b.ended, b.turn, b.spun = arrivals, ended, turn, spun
    machine.device.put_back(content["device"])
    machine.requeue([Gang(np.array(n), np.array(m), pc) for n, m, pc in content["gangs"]])
    machine.ready.set_clock(content["clock"], content["since"])


def _shape(machine: MachineState) -> str:
    launch = machine.launch
    return (
        f"grid {launch.grid}, block {launch.block}, {launch.code.registers} registers, {machine.wave} resident blocks"
    )


def _own_spaces(machine: MachineState) -> dict[str, OwnSpace]:
    spaces = {n: machine.state.spaces.get(n) for n in _OWN}
    return {n: space for n, space in spaces.items() if isinstance(space, OwnSpace)}


def _warp(w: Warp) -> tuple[object, ...]:
    c = w.control
    entries = [(int(e.kind), e.pc, e.mask) for e in c.entries]
    return w.status, w.barrier, c.active, c.pc, c.broke, c.returned, c.exited, entries


def _set_warp(w: Warp, status: str, barrier: int | None, active: int, pc: int, broke: int, returned: int, exited: int,
              entries: list[tuple[int, int, int]]) -> None:  # fmt: skip
    w.set_status(status, barrier)
    c = w.control
    c.active, c.pc, c.broke, c.returned, c.exited = active, pc, broke, returned, exited
    c.entries = entries
