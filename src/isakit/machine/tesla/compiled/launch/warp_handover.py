"""The state of warps, from the reference machine to compiled code and back.

Compiled code keeps one record per warp (`layout`), the reference machine one row per register. Whole columns of records
are copied at once; only divergence stacks go warp by warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from isakit.engine.protocol import Array
from isakit.machine.tesla.address_spaces import OwnSpace
from isakit.machine.tesla.analysis.control_flow import RegisterKey
from isakit.machine.tesla.block import FINISHED, READY, WAITING, Warp
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.launch.worker_context import aligned
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.rules.state import BlockState
from isakit.machine.tesla.stack import Kind, Stack

CONTROL = ("active", "pc", "broke", "returned", "exited", "lock", "pending")
"""Fields of a warp's record that its stack has under the same names."""


def lanes_of(masks: Array) -> Array:
    """Return lane masks [n] as bools [n, 32]."""
    return np.unpackbits(np.ascontiguousarray(masks).view(np.uint8), bitorder="little").view(bool).reshape(-1, 32)


def masks_of(lanes: Array) -> Array:
    """Return bools [32 * n] as lane masks u32 [n]."""
    return np.packbits(lanes.reshape(-1, 32), axis=1, bitorder="little").view(np.uint32).ravel()


class WarpStates:
    """Records of warps, one after the other. `raw`: uint8; `words`: u32 [warps, words of a record], the same memory.

    `raw` may be given, with any content: then call `clear` first. `local`: uint8, the content of the warps' l[], laid
    out as in `state_layout`; None if it is elsewhere.
    """

    def __init__(self, warps: int, state_bytes: int, raw: Array | None = None, local: Array | None = None) -> None:
        self.local = local
        self.raw = aligned(warps * state_bytes) if raw is None else raw
        self.words = self.raw.view(np.uint32).reshape(warps, -1)
        self._longs = self.raw.view(np.int64).reshape(warps, -1)

    def clear(self) -> None:
        """Zero everything but the divergence stacks, which are empty then."""
        self.words[:, : state_layout.STACK // 4] = 0
        self.words[:, state_layout.REGISTERS // 4 :] = 0

    def begin(self, headers: Array, registers: int) -> None:
        """Set the first words of all records, u32 [warps or more, words], and zero `registers` registers."""
        self.words[:, : headers.shape[1]] = headers[: len(self.words)]
        first = state_layout.REGISTERS // 4
        self.words[:, first : first + 32 * registers] = 0

    def column(self, offset: int) -> Array:
        """Return a 32-bit number of every warp, by its offset in the record."""
        return self.words[:, offset // 4]

    def count(self, offset: int) -> Array:
        """Return a 64-bit number of every warp."""
        return self._longs[:, offset // 8]

    def entries(self, k: int) -> Array:
        """Return the divergence stack of warp `k`: u32 [entries, 3], the fields of `StackEntry`."""
        base, size = state_layout.STACK // 4, state_layout.ENTRY.size // 4
        return self.words[k, base : base + state_layout.STACK_ENTRIES * size].reshape(-1, size)

    # --- registers ------------------------------------------------------------------------------------------
    def to_files(self, files: Mapping[str, Array], places: Iterable[RegisterKey], warps: Array | slice) -> None:
        """Copy registers of some warps into register files whose lane axis begins with the first warp here."""
        for name, n in places:
            if n >= len(files[name]):
                continue
            rows = files[name][n].reshape(-1, 32)
            if name == "c":
                value = np.zeros((len(self.words[warps]), 32), np.uint32)
                for bit in range(4):
                    value |= lanes_of(self.words[warps, state_layout.flag(n, bit) // 4]).astype(np.uint32) << bit
                rows[warps] = value
            else:
                start = state_layout.register(n, name) // 4
                rows[warps] = self.words[warps, start : start + 32]

    def from_files(self, files: Mapping[str, Array], places: Iterable[RegisterKey], warps: Array | slice) -> None:
        """Copy registers of register files into the records of some warps."""
        for name, n in places:
            if n >= len(files[name]):
                continue
            rows = files[name][n].reshape(-1, 32)[warps]
            if name == "c":
                for bit in range(4):
                    self.words[warps, state_layout.flag(n, bit) // 4] = masks_of((rows >> bit & 1).astype(bool))
            else:
                start = state_layout.register(n, name) // 4
                self.words[warps, start : start + 32] = rows

    # --- control --------------------------------------------------------------------------------------------
    def to_stack(self, k: int, stack: Stack) -> None:
        """Copy lanes, address and divergence stack of warp `k` into `stack`."""
        for name in CONTROL:
            setattr(stack, name, int(self.column(state_layout.WARP.at(name))[k]))
        depth = int(self.column(state_layout.DEPTH)[k])
        stack.entries = [(kind, pc, mask) for pc, mask, kind in self.entries(k)[:depth].tolist()]

    def from_stack(self, k: int, stack: Stack) -> None:
        """Copy lanes, address and divergence stack into the record of warp `k`."""
        for name in (*CONTROL, "depth"):
            self.column(state_layout.WARP.at(name))[k] = getattr(stack, name)
        entries = self.entries(k)
        for n, e in enumerate(stack.entries):
            entries[n] = e.pc, e.mask, e.kind


class BlockOfRecords(BlockState):
    """A block whose warps are records, as an object for routines: status and barrier of its warps, and its barriers."""

    def __init__(self, states: WarpStates, arrivals: Array, first: int, warps: int) -> None:
        super().__init__()
        self._rows, self._arrivals = slice(first, first + warps), arrivals
        self._columns = [states.column(o) for o in (state_layout.STATUS, state_layout.BARRIER)]
        self.block_warps, self.allowed_barriers = warps, len(arrivals)
        status, barrier = (c[self._rows].tolist() for c in self._columns)
        for k, (s, b) in enumerate(zip(status, barrier, strict=True)):
            self.state[k].status, self.state[k].barrier = s, b
        for n, (count, target) in enumerate(arrivals.tolist()):
            self.barriers[n].count, self.barriers[n].target = count, target

    def put_back(self) -> None:
        """Store the changes to the records."""
        self._columns[0][self._rows] = [self.state[k].status for k in range(self.block_warps)]
        self._arrivals[:] = [(self.barriers[n].count, self.barriers[n].target) for n in range(len(self._arrivals))]


def every_place(registers: int) -> list[RegisterKey]:
    """Return all registers of a thread."""
    return [*(("r", n) for n in range(registers)), *(("a", n) for n in range(8)), *(("c", n) for n in range(4))]


def from_machine(machine: Machine, states: WarpStates, barriers: Array, turns: Array) -> None:
    """Fill the records of all warps and blocks from a machine.

    `barriers`: u32 [blocks, 16, 2]; `turns`: i64 [blocks, 2], `turn` and `spun` of `BlockState`.

    The machine must not be inside of `run` or `step`; its warps may be anywhere.
    """
    states.clear()
    for w in machine.warps:
        states.from_stack(w.number, w.control)
        states.column(state_layout.STATUS)[w.number] = w.control.status
        states.column(state_layout.BARRIER)[w.number] = w.control.barrier
        states.column(state_layout.NUMBER)[w.number] = w.index
    states.count(state_layout.ISSUED)[:] = machine.state.issued
    for offset, counts in zip(state_layout.EVENTS, machine.state.events, strict=True):
        states.column(offset)[:] = counts
    states.from_files(machine.state.files, every_place(machine.launch.code.registers), slice(None))
    for mine, theirs in _local_words(states, machine):
        mine[:] = theirs
    for block, rows, turn in zip(machine.blocks, barriers, turns, strict=True):
        rows[:] = block.arrivals
        turn[:] = block.turn, block.spun


def _local_words(states: WarpStates, machine: Machine) -> Iterable[tuple[Array, Array]]:
    """Return words of l[] here and in the machine, which keeps a thread's bytes together: u32 [warps, words, lanes]."""
    space = machine.state.spaces.get("l")
    if states.local is None or not isinstance(space, OwnSpace):
        return
    theirs = space.memory.bytes[: space.memory.size].view(np.uint32)
    mine = states.local[: space.memory.size].view(np.uint32)
    words = space.limit // 4
    yield mine.reshape(-1, words, 32), theirs.reshape(-1, 32, words).transpose(0, 2, 1)


def to_machine(states: WarpStates, barriers: Array, turns: Array, machine: Machine) -> None:
    """Copy the records into a machine, which then continues from there. Counts are added to its `stats`."""
    executed = states.count(state_layout.ISSUED)
    begun = np.flatnonzero(executed)  # registers of the others are as the machine made them
    states.to_files(machine.state.files, every_place(machine.launch.code.registers), begun)
    threads, warps = states.count(state_layout.THREADS).sum(), (executed - machine.state.issued).sum()
    machine.stats.count(int(threads), int(warps))
    machine.state.issued[:] = executed
    for offset, counts in zip(state_layout.EVENTS, machine.state.events, strict=True):
        counts[:] = states.column(offset)
    for mine, theirs in _local_words(states, machine):
        theirs[:] = mine
    for w in machine.warps:
        _control_to_machine(states, w)
    for block, rows, turn in zip(machine.blocks, barriers.tolist(), turns.tolist(), strict=True):
        block.arrivals = rows
        block.turn, block.spun = turn
    machine.requeue()


def _control_to_machine(states: WarpStates, w: Warp) -> None:
    status, control = int(states.column(state_layout.STATUS)[w.number]), w.control
    states.to_stack(w.number, control)
    performed = status in (state_layout.SERVED, state_layout.JOINED) and control.choices.join == "before"
    if performed and w.block.launch.code.at(control.pc).join:
        # The token is off already: put it back for the machine, which takes it off again.
        control.add_entry(Kind.JOINAT, control.pc, control.active)
    if status == state_layout.FINISHED:
        control.active = 0
        if w.status != FINISHED:
            w.block.end(w)  # compiled code has opened the barriers that it kept closed
    elif status == state_layout.WAITING:
        w.set_status(WAITING, int(states.column(state_layout.BARRIER)[w.number]))
    else:
        w.set_status(READY)
