"""Which writes of a register reach a use, and which uses a write reaches; found when asked for, walking backwards."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property

from isakit.analysis.control_flow import ControlFlow
from isakit.codec.instruction import Place

START = -1
"""In place of an address: the value the register had when the program began, or what an unknown caller left there."""


class Chains:
    """Definitions and uses of the registers of a program.

    A write under a condition, or of a part of a register, leaves the old value alive, so both reach what follows.
    """

    def __init__(self, flow: ControlFlow) -> None:
        self.flow = flow
        # block -> place -> [(number within the block, address, whether it replaces the old value)]
        self._writes: list[dict[Place, list[tuple[int, int, bool]]]] = []
        for block in flow.blocks:
            found: dict[Place, list[tuple[int, int, bool]]] = {}
            for k, i in enumerate(block.instructions):
                kills = i.kills
                for place in i.defs:
                    found.setdefault(place, []).append((k, i.address, place in kills))
            self._writes.append(found)
        self._places = {i.address: (b.number, k) for b in flow.blocks for k, i in enumerate(b.instructions)}
        self._heads = {f.entry for f in flow.functions[:1]}
        self._known: dict[tuple[int, Place], frozenset[int]] = {}

    def definitions(self, address: int, place: Place) -> frozenset[int]:
        """Addresses of the instructions whose value of a register may be read at an address, and `START`.

        Raises KeyError for an address that no block holds.
        """
        block, at = self._places[address]
        found: set[int] = set()
        if not self._within(block, place, at, found):
            found |= self._entering(block, place)
        return frozenset(found)

    def _within(self, block: int, place: Place, before: int, found: set[int]) -> bool:
        """Collect the writes of a block in front of an instruction; whether one of them hides all earlier ones."""
        writes = self._writes[block].get(place, ())
        for n in range(bisect_left(writes, (before,)) - 1, -1, -1):
            _, address, replaces = writes[n]
            found.add(address)
            if replaces:
                return True
        return False

    def _entering(self, block: int, place: Place) -> frozenset[int]:
        """What reaches the beginning of a block."""
        known = self._known.get((block, place))
        if known is not None:
            return known
        found: set[int] = set()
        seen = {block}
        waiting = [block]
        while waiting:
            n = waiting.pop()
            before = self.flow.predecessors[n]
            if not before or self.flow.blocks[n].address in self._heads:
                found.add(START)
            for m in {edge.source for edge in before}:
                hidden = self._within(m, place, len(self.flow.blocks[m].instructions), found)
                if not hidden and m not in seen:
                    seen.add(m)
                    waiting.append(m)
        result = self._known[block, place] = frozenset(found)
        return result

    @cached_property
    def all_uses(self) -> Mapping[tuple[int, Place], tuple[int, ...]]:
        """(address of a write or `START`, register) to the addresses of the instructions that may read its value."""
        out: dict[tuple[int, Place], list[int]] = {}
        for block in self.flow.blocks:
            for i in block.instructions:
                for place in i.uses:
                    for d in self.definitions(i.address, place):
                        out.setdefault((d, place), []).append(i.address)
        return {key: tuple(found) for key, found in out.items()}

    def uses(self, address: int, place: Place) -> tuple[int, ...]:
        """Addresses of the instructions that may read what the one at `address` writes to a register."""
        return self.all_uses.get((address, place), ())
