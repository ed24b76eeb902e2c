"""Gangs: warps at the same instruction, which execute it together in one call.

A kernel without races cannot observe how its warps are grouped; grouping makes NumPy fast.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array


class Gang:
    """Warps with a common pc.

    Attributes: `numbers` (positions of the warps on the machine's warp axis, ascending), `masks` (uint32, active lanes
    of each), `pc`, `pending` (instructions executed since the warps' own counts were brought up to date).
    """

    __slots__ = ("_lanes", "_threads", "masks", "numbers", "pc", "pending")

    def __init__(self, numbers: Array, masks: Array, pc: int) -> None:
        self.numbers, self.masks, self.pc = numbers, masks, pc
        self.pending = 0
        self._lanes: Lanes | None = None
        self._threads = 0

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def lanes(self) -> Lanes:
        """The lanes of all warps, with the active ones marked."""
        if self._lanes is None:
            n = len(self.numbers)
            first = int(self.numbers[0])
            bits = np.unpackbits(self.masks.view(np.uint8), bitorder="little").view(bool)
            self._threads = int(np.count_nonzero(bits))
            active = None if self._threads == 32 * n else bits
            if int(self.numbers[-1]) - first == n - 1:
                self._lanes = Lanes.span(32 * first, 32 * n, active)
            else:
                self._lanes = Lanes((self.numbers[:, None] * 32 + np.arange(32)).ravel(), 32 * n, active)
        return self._lanes

    @property
    def threads(self) -> int:
        """Number of active lanes of all warps."""
        if self._lanes is None:
            _ = self.lanes
        return self._threads

    def part(self, chosen: Array | slice, pc: int) -> Gang:
        """Return the warps marked in a bool array, or a slice of them, at `pc`."""
        return Gang(self.numbers[chosen], self.masks[chosen], pc)

    def masks_of(self, lanes: Array) -> Array:
        """Return a bool array over the gang's lanes as masks, one uint32 per warp."""
        return np.packbits(lanes.reshape(-1, 32), axis=1, bitorder="little").view(np.uint32).ravel()


def merged(gangs: Sequence[Gang]) -> Gang:
    """Return gangs at the same pc as one."""
    if len(gangs) == 1:
        return gangs[0]
    numbers = np.concatenate([g.numbers for g in gangs])
    order = np.argsort(numbers)
    return Gang(numbers[order], np.concatenate([g.masks for g in gangs])[order], gangs[0].pc)


PATIENCE = 2000
"""Instructions a gang may wait before it is scheduled regardless of its pc."""


class Ready:
    """The gangs that can execute, by pc.

    The lowest pc runs first, so that warps that are behind catch up and join the others. A gang that has waited for
    `PATIENCE` instructions goes first once, so that a spinning warp cannot keep the one it waits for from running.

    Attributes: `clock` (instructions executed so far), `added` (None, or the list that collects what is queued).
    """

    def __init__(self) -> None:
        self._groups: dict[int, dict[int, Gang]] = {}  # pc -> gangs by their first warp
        self._since: dict[int, int] = {}
        self._by_warp: _ByWarp | None = None  # made when single warps are asked for, until whole gangs run again
        self.clock = 0
        self.added: list[Gang] | None = None

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __contains__(self, pc: int) -> bool:
        return pc in self._groups

    @property
    def gangs(self) -> list[Gang]:
        """All gangs that can execute."""
        return [g for group in self._groups.values() for g in group.values()]

    def add(self, gang: Gang) -> None:
        """Queue a gang."""
        first = int(gang.numbers[0])
        if gang.pc in self._groups:
            self._groups[gang.pc][first] = gang
        else:
            self._groups[gang.pc] = {first: gang}
            self._since[gang.pc] = self.clock
        if self._by_warp is not None:
            self._by_warp.add(gang)
        if self.added is not None:
            self.added.append(gang)

    @property
    def since(self) -> dict[int, int]:
        """Per pc, the value of `clock` when its first gang was queued."""
        return dict(self._since)

    def set_clock(self, clock: int, since: dict[int, int]) -> None:
        """Set the clock, and since when the gangs have waited."""
        self.clock, self._since = clock, dict(since)

    def overdue(self) -> bool:
        """Return true if any gang has waited too long."""
        return bool(self._since) and self.clock - min(self._since.values()) > PATIENCE

    def goes_on(self, gang: Gang) -> bool:
        """Return true if a running gang should keep running: no other gang is behind it or at the same pc."""
        return not self._groups or (gang.pc < min(self._groups) and not self.overdue())

    def pop(self) -> Gang:
        """Remove and return the next gang."""
        self._by_warp = None
        pc = min(self._since, key=self._since.__getitem__) if self.overdue() else min(self._groups)
        del self._since[pc]
        return merged(list(self._groups.pop(pc).values()))

    # --- one warp at a time -------------------------------------------------------------------------------------------
    def warp_after(self, number: int) -> int:
        """Return the next warp after `number` that can execute, in ascending order and round to the first one."""
        return self._warps().after(number)

    def take_warp(self, number: int) -> Gang | None:
        """Remove and return one warp alone, if it is ready; the rest of its gang stays, as views of its arrays."""
        warps = self._warps()
        gang = warps.holding(number)
        if gang is None:
            return None
        warps.remove(gang)
        group = self._groups[gang.pc]
        del group[int(gang.numbers[0])]
        if len(gang) == 1:
            if not group:
                del self._groups[gang.pc], self._since[gang.pc]
            return gang
        k = int(np.searchsorted(gang.numbers, number))
        for rest in (slice(0, k), slice(k + 1, None)):
            part = gang.part(rest, gang.pc)
            if len(part):
                group[int(part.numbers[0])] = part
                warps.add(part)
        return gang.part(slice(k, k + 1), gang.pc)

    def _warps(self) -> _ByWarp:
        if self._by_warp is None:
            self._by_warp = _ByWarp()
            for gang in self.gangs:
                self._by_warp.add(gang)
        return self._by_warp


class _ByWarp:
    """Ready gangs by their warps: the time to find and remove one does not depend on the number of separate warps."""

    def __init__(self) -> None:
        self._alone: dict[int, Gang] = {}
        self._numbers: list[int] = []  # keys of `_alone`, ascending
        self._several: list[Gang] = []

    def add(self, gang: Gang) -> None:
        if len(gang) > 1:
            self._several.append(gang)
        else:
            number = int(gang.numbers[0])
            self._alone[number] = gang
            insort(self._numbers, number)

    def remove(self, gang: Gang) -> None:
        if len(gang) > 1:
            self._several.remove(gang)
        else:
            number = int(gang.numbers[0])
            del self._alone[number]
            del self._numbers[bisect_left(self._numbers, number)]

    def holding(self, number: int) -> Gang | None:
        gang = self._alone.get(number)
        if gang is not None:
            return gang
        for several in self._several:
            k = int(np.searchsorted(several.numbers, number))
            if k < len(several) and several.numbers[k] == number:
                return several
        return None

    def after(self, number: int) -> int:
        lists: list[Sequence[int] | Array] = [g.numbers for g in self._several]
        if self._numbers:
            lists.append(self._numbers)
        places = [(numbers, bisect_right(numbers, number)) for numbers in lists]
        behind = [int(numbers[k]) for numbers, k in places if k < len(numbers)]
        return min(behind) if behind else min(int(numbers[0]) for numbers in lists)
