"""Use-definition chains: the writes of a register that reach a use, and the uses that a write reaches."""

from __future__ import annotations

from collections.abc import Sequence

from isakit.analysis.control_flow import ControlFlow
from isakit.analysis.liveness import Liveness, liveness
from isakit.analysis.ssa import MERGE, START, Ssa
from isakit.codec.instruction import RegisterId
from isakit.flow.graph import reachable
from isakit.lean import cached_property

__all__ = ["START", "Chains"]


class Chains:
    """Definitions and uses of the registers of a program.

    A write under a condition, or of a part of a register, leaves the old value alive, so both reach what follows.
    """

    def __init__(self, flow: ControlFlow) -> None:
        self.flow = flow
        self._known: dict[tuple[Ssa, int], frozenset[int]] = {}
        self._single: dict[RegisterId, Ssa] = {}

    @cached_property
    def live(self) -> Liveness:
        """The live registers of the program."""
        return liveness(self.flow)

    @cached_property
    def ssa(self) -> Ssa:
        """The values of the registers."""
        return Ssa(self.flow, self.live)

    def definitions(self, address: int, place: RegisterId) -> frozenset[int]:
        """Return addresses of the instructions whose value of a register may be read at an address, and `START`.

        Raises KeyError for an address that no block holds.
        """
        ssa = self.ssa
        value = ssa.before(address, place)
        if value is None:  # the instruction does not read it
            ssa = self._single.get(place) or self._single.setdefault(place, Ssa(self.flow, None, place))
            value = ssa.before(address, place)
            assert value is not None
        known = self._known.get((ssa, value))
        if known is None:
            known = self._known[ssa, value] = self._written(ssa, value)
        return known

    def _written(self, ssa: Ssa, value: int) -> frozenset[int]:
        values = reachable([value], lambda v: () if (ssa, v) in self._known else ssa.inputs[v])
        own = (ssa.addresses[v] for v in values if (ssa, v) not in self._known)
        known = (self._known[ssa, v] for v in values if (ssa, v) in self._known)
        return frozenset(a for a in own if a != MERGE).union(*known)

    @cached_property
    def derived(self) -> Sequence[Sequence[int]]:
        """For each value, those it may flow into at a join: the inverse of `Ssa.inputs`."""
        out: list[list[int]] = [[] for _ in self.ssa.inputs]
        for v, inputs in enumerate(self.ssa.inputs):
            for w in inputs:
                out[w].append(v)
        return out

    @cached_property
    def readers(self) -> Sequence[Sequence[int]]:
        """For each value the addresses of the instructions that read it."""
        out: list[list[int]] = [[] for _ in self.ssa.inputs]
        for address, values in self.ssa.used.items():
            for v in values:
                out[v].append(address)
        return out

    def uses(self, address: int, place: RegisterId) -> tuple[int, ...]:
        """Return the addresses of the instructions that may read what the one at `address`, or `START`, writes."""
        ssa = self.ssa
        made = [v for v in ssa.made(address) if ssa.places[v] == place]
        found = {reader for v in reachable(made, self.derived.__getitem__) for reader in self.readers[v]}
        return tuple(sorted(found))
