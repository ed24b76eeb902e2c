"""Blocks and warps as the outside sees them, and the barriers of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from isakit.engine.protocol import Array
from isakit.machine.tesla.rules.state import BARRIERS, Barrier, BlockState, WarpStatus
from isakit.machine.tesla.rules.turns import NOBODY
from isakit.machine.tesla.stack import Entry, Stack, rules_of
from isakit.sem.records import Elements

if TYPE_CHECKING:
    from isakit.machine.tesla.gang_state import State
    from isakit.machine.tesla.launch import Launch

STATUS = READY, WAITING, FINISHED = "ready", "waiting", "finished"
"""Names of the values of `rules.state.Status` that the reference machine uses."""


class Warp:
    """One warp. Its arrays are views of the machine's state: writing to them changes the machine.

    Attributes: `number` (on the machine's lane axis), `index` (in its block), `control` (lanes, pc and stack).
    """

    __slots__ = ("_state", "block", "control", "index", "number")

    def __init__(self, state: State, block: ThreadBlock, index: int, number: int, control: Stack) -> None:
        self._state, self.block, self.index, self.number, self.control = state, block, index, number, control

    @property
    def status(self) -> str:
        """One of `STATUS`: ready, waiting at a barrier, finished."""
        return STATUS[self.control.status]

    @property
    def barrier(self) -> int | None:
        """The number of the barrier that the warp waits at, None if it does not wait."""
        return self.control.barrier if self.control.status == WarpStatus.WAITING else None

    def set_status(self, status: str, barrier: int | None = None) -> None:
        """Make it ready, waiting at a barrier, or finished; nothing else changes."""
        self.control.status, self.control.barrier = STATUS.index(status), barrier or 0

    @property
    def lanes(self) -> slice:
        """The warp's part of the lane axis."""
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

    def _repr_html_(self) -> str:
        """Return its lanes, and the registers that are not 0 anywhere in it, lane by lane."""
        from html import escape

        lanes = "".join(f"<th>{n}</th>" for n in range(32))
        out = f"<tr><th>lane</th>{lanes}</tr>"
        marks = ("#" if self.active >> n & 1 else "-" if self.control.exited >> n & 1 else "." for n in range(32))
        out += f"<tr><td></td>{''.join(f'<td>{m}</td>' for m in marks)}</tr>"
        for file, rows in self._state.files.items():
            mine = rows[:, self.lanes]
            for n, row in enumerate(mine):
                if row.any():
                    out += f"<tr><td>${file}{n}</td>{''.join(f'<td>{v:x}</td>' for v in row.tolist())}</tr>"
        return f"<p>{escape(repr(self)[1:-1])}</p><table>{out}</table>"


class ThreadBlock(BlockState):
    """One block: its warps, shared memory (`shared`, a uint8 view), barriers and turns; see `rules`.

    `over`: the warp that executed the last instruction ended its turn with it.
    """

    def __init__(self, launch: Launch, number: int, shared: Array) -> None:
        self.launch, self.number = launch, number
        self.shared: Any = shared
        self.index = (number % launch.grid[0], number // launch.grid[0])
        self.warps: list[Warp] = []
        self.barriers: Any = Elements(Barrier)
        self.state: Any = []
        self.block_warps = self.ended = self.turn = 0
        self.over = False
        self._spun = 0
        self._since = 0
        self._spinning: Warp | None = None
        self.allowed_barriers = launch.barriers
        self.barrier_mask = (1 << launch.chip.barrier_bits) - 1
        self.rules = rules_of(launch.choices)

    def add(self, warp: Warp) -> None:
        """Add a warp."""
        self.warps.append(warp)
        self.state.append(warp.control)
        self.block_warps += 1

    @property
    def unfinished(self) -> int:
        """Warps that have not finished."""
        return self.block_warps - self.ended

    @property
    def arrivals(self) -> list[tuple[int, int]]:
        """(count, target) of every barrier."""
        return [(self.barriers[n].count, self.barriers[n].target) for n in range(BARRIERS)]

    @arrivals.setter
    def arrivals(self, arrivals: Iterable[tuple[int, int]]) -> None:
        for n, (count, target) in enumerate(arrivals):
            self.barriers[n].count, self.barriers[n].target = count, target

    def bar(self, warp: Warp, number: int, count: int, inc: bool, wait: bool) -> list[Warp]:
        """Execute one `bar` of one warp; return the warps that waited and can continue now."""

        def arrive() -> None:
            self.over = bool(self.rules.arrive(self, warp.control, number, count, inc, wait))

        return self._released(arrive)

    def end(self, warp: Warp) -> None:
        """Finish a warp, without checking whether barriers open."""
        warp.set_status(FINISHED)
        self.ended += 1

    def retire(self, warp: Warp) -> list[Warp]:
        """Finish a warp; returns the warps that its end releases."""
        warp.set_status(FINISHED)
        return self._released(lambda: self.rules.warp_ended(self))

    # --- turns --------------------------------------------------------------------------------------------------------
    @property
    def spun(self) -> int:
        """See `BlockState`."""
        return self._spun + (0 if self._spinning is None else self._spinning.issued - self._since)

    @spun.setter
    def spun(self, instructions: int) -> None:
        self._spun, self._spinning = instructions, None

    def next_warp(self) -> Warp | None:
        """Return the warp whose turn it is, or else the next one that can run, which gets the turn.

        None if there is none.
        """
        k = int(self.rules.next_in_turn(self, NOBODY))
        if k == self.block_warps:
            return None
        self.turn = k
        warp: Warp = self.warps[k]
        self.spun = self.spun
        self._spinning, self._since = warp, warp.issued
        return warp

    def end_turn(self, warp: Warp, spins: bool = False) -> None:
        """End the turn of a warp; `spins`: it may be waiting for another one."""
        self.over = False
        self.spun = self.spun if spins else 0  # pyright: ignore[reportIncompatibleVariableOverride]
        self.rules.end_turn(self, warp.control, warp.index)

    def _released(self, action: Callable[[], object]) -> list[Warp]:
        """Run an action; return the warps that waited before and no longer do."""
        # Without this a block of many warps would look at all of them whenever one ends.
        if not any(barrier.count for barrier in self.barriers.values()):
            action()
            return []
        waiting = [w for w in self.warps if w.control.status == WarpStatus.WAITING]
        action()
        return [w for w in waiting if w.control.status == WarpStatus.READY]

    def __repr__(self) -> str:
        return f"<block {self.index}: {self.unfinished} of {len(self.warps)} warps unfinished>"
