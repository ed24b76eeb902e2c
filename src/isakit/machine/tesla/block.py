"""Blocks and warps as the outside sees them, and the barriers of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isakit.engine.protocol import Array
from isakit.machine.tesla.stack import Entry, Stack

if TYPE_CHECKING:
    from isakit.machine.tesla.gang_state import State
    from isakit.machine.tesla.launch import Launch

READY, WAITING, FINISHED = "ready", "waiting", "finished"


class Warp:
    """One warp. Arrays are views of the machine's state: writing them changes it.

    Attributes: `number` (on the machine's lane axis), `index` (in its block), `control` (lanes, pc and stack),
    `status` ("ready", "waiting" at a barrier, "finished"), `barrier` (the one it waits at, or None).
    """

    __slots__ = ("_state", "barrier", "block", "control", "index", "number", "status")

    def __init__(self, state: State, block: Block, index: int, number: int, control: Stack) -> None:
        self._state, self.block, self.index, self.number, self.control = state, block, index, number, control
        self.status = READY
        self.barrier: int | None = None

    @property
    def lanes(self) -> slice:
        """Its part of the lane axis."""
        return slice(32 * self.number, 32 * self.number + 32)

    @property
    def pc(self) -> int:
        """Byte address of the next instruction."""
        return self.control.pc

    @property
    def active(self) -> int:
        """Mask of the active lanes, bit n for lane n."""
        return self.control.active

    @property
    def stack(self) -> Sequence[Entry]:
        """The divergence stack, bottom first."""
        return tuple(self.control.entries)

    @property
    def registers(self) -> Array:
        """$r registers, uint32 of shape [registers, 32]."""
        return self._state.files["r"][:, self.lanes]

    @property
    def conditions(self) -> Array:
        """$c registers, shape [4, 32]; bits Z S C O from bit 0."""
        return self._state.files["c"][:, self.lanes]

    @property
    def addresses(self) -> Array:
        """$a registers, shape [8, 32]."""
        return self._state.files["a"][:, self.lanes]

    @property
    def issued(self) -> int:
        """Instructions the warp has executed."""
        return int(self._state.issued[self.number])

    def __repr__(self) -> str:
        return (
            f"<warp {self.index} of block {self.block.index}: {self.status}, pc {self.pc:#x}, lanes {self.active:08x}>"
        )


class Block:
    """One block: its warps, shared memory (`shared`, a uint8 view) and barrier counters.

    Barriers count warps. Source: [tesla] 9.3 (what diverged and finished warps do is inferred, see `Choices`).
    """

    def __init__(self, launch: Launch, number: int, shared: Array) -> None:
        self.launch, self.number, self.shared = launch, number, shared
        self.index = (number % launch.grid[0], number // launch.grid[0])
        self.warps: list[Warp] = []
        self.counters = [0] * launch.chip.barriers
        self.targets = [0] * launch.chip.barriers
        self.unfinished = 0

    @property
    def everyone(self) -> int:
        """The warps `all` stands for."""
        return self.unfinished if self.launch.choices.barrier_all == "unfinished" else len(self.warps)

    def bar(self, warp: Warp, number: int, count: int, inc: bool, wait: bool) -> list[Warp]:
        """One `bar` of one warp; returns the warps that waited and can go on now."""
        whole = count == 0xFFF
        if inc:
            self.targets[number] = 0 if whole else count
            self.counters[number] = (self.counters[number] + 1) & ((1 << self.launch.chip.barrier_bits) - 1)
            released = self.settle(number)
        else:
            released = []
        if wait and self.counters[number]:
            warp.status, warp.barrier = WAITING, number
        return released

    def settle(self, number: int) -> list[Warp]:
        """Reset a counter that has reached its target; returns the warps that waited for it."""
        target = self.targets[number] or self.everyone
        if not self.counters[number] or self.counters[number] < target:
            return []
        self.counters[number] = 0
        released = [w for w in self.warps if w.status == WAITING and w.barrier == number]
        for w in released:
            w.status, w.barrier = READY, None
        return released

    def end(self, warp: Warp) -> None:
        """A warp has finished; barriers are not looked at."""
        warp.status = FINISHED
        self.unfinished -= 1

    def retire(self, warp: Warp) -> list[Warp]:
        """A warp has finished; returns the warps that its end releases."""
        self.end(warp)
        if self.launch.choices.barrier_all == "block":
            return []
        return [w for n, c in enumerate(self.counters) if c and not self.targets[n] for w in self.settle(n)]

    def __repr__(self) -> str:
        return f"<block {self.index}: {self.unfinished} of {len(self.warps)} warps unfinished>"
