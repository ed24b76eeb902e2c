"""Gangs: warps that stand at the same instruction and execute it together in one call.

A kernel without races cannot tell how its warps are grouped; grouping is what makes NumPy fast.
"""

from __future__ import annotations

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
        """Active lanes of all warps."""
        if self._lanes is None:
            _ = self.lanes
        return self._threads

    def part(self, chosen: Array, pc: int) -> Gang:
        """The warps marked in a bool array, at `pc`."""
        return Gang(self.numbers[chosen], self.masks[chosen], pc)

    def masks_of(self, lanes: Array) -> Array:
        """A bool array over the gang's lanes as one uint32 per warp."""
        return np.packbits(lanes.reshape(-1, 32), axis=1, bitorder="little").view(np.uint32).ravel()


def merged(gangs: Sequence[Gang]) -> Gang:
    """Gangs at the same pc as one."""
    if len(gangs) == 1:
        return gangs[0]
    numbers = np.concatenate([g.numbers for g in gangs])
    order = np.argsort(numbers)
    return Gang(numbers[order], np.concatenate([g.masks for g in gangs])[order], gangs[0].pc)


PATIENCE = 2000
"""Instructions a group may have to wait before it gets a turn whatever its pc is."""


class Ready:
    """The groups of warps that can execute, by pc.

    The lowest pc goes first: warps that are behind catch up with the others and meet them. A group that has waited for
    `PATIENCE` instructions goes first once, so that a spinning warp cannot keep the one it waits for from running.
    """

    def __init__(self) -> None:
        self._groups: dict[int, list[Gang]] = {}
        self._since: dict[int, int] = {}
        self.clock = 0

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __contains__(self, pc: int) -> bool:
        return pc in self._groups

    @property
    def gangs(self) -> list[Gang]:
        """Everything that waits for its turn."""
        return [g for group in self._groups.values() for g in group]

    def add(self, gang: Gang) -> None:
        """Queue a gang."""
        if gang.pc in self._groups:
            self._groups[gang.pc].append(gang)
        else:
            self._groups[gang.pc] = [gang]
            self._since[gang.pc] = self.clock

    def overdue(self) -> bool:
        """Whether some group has waited too long."""
        return bool(self._since) and self.clock - min(self._since.values()) > PATIENCE

    def goes_on(self, gang: Gang) -> bool:
        """Whether a running gang is still the one to run: nobody is behind it or beside it."""
        return not self._groups or (gang.pc < min(self._groups) and not self.overdue())

    def take(self) -> Gang:
        """The next gang."""
        pc = min(self._since, key=self._since.__getitem__) if self.overdue() else min(self._groups)
        del self._since[pc]
        return merged(self._groups.pop(pc))

    def take_warp(self, number: int) -> Gang | None:
        """One warp alone, if it is ready."""
        for pc, group in self._groups.items():
            for k, gang in enumerate(group):
                here = gang.numbers == number
                if here.any():
                    group[k : k + 1] = [gang.part(~here, pc)] if len(gang) > 1 else []
                    if not group:
                        del self._groups[pc], self._since[pc]
                    return gang.part(here, pc)
        return None
