"""The values of the registers of a program, each with its origin: static single assignment form.

A value is one that an instruction wrote, one that a register held at the start of the program, or, where paths merge,
one of several others. A write that leaves part of a register unchanged, or that some lanes do not execute, makes a
value that is one of two: the written one and the old one. Values are numbers; building them takes time in proportion to
the code and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from isakit.analysis.control_flow import ControlFlow
from isakit.analysis.liveness import Liveness
from isakit.codec.instruction import RegisterId
from isakit.flow.bits import BitNumbers
from isakit.flow.dominators import Dominators
from isakit.flow.graph import further_roots
from isakit.flow.ssa import Renaming, merges

START = -1
"""In place of an address: the value of the register at the start of the program, or one left by an unknown caller."""
MERGE = -2
"""In place of an address: a value that merges others where paths join."""

_ROOT = -1


class Ssa:
    """The values of a program.

    Attributes:
        places: the register of each value.
        addresses: of the instruction that wrote each value, or `START` or `MERGE`.
        inputs: for each value those it may be instead: of a merge all, of a partial write the old value; else none.
        used: address -> the values an instruction reads, in the order of its `uses`.
        written: address -> the values an instruction makes, in the order of its `defs`.
    """

    def __init__(self, flow: ControlFlow, live: Liveness | None, only: RegisterId | None = None) -> None:
        """Follow the values that are live (`live`) where paths merge.

        With `only`, follow that register alone, everywhere.
        """
        self.flow, self._only = flow, only
        self.places: list[RegisterId] = []
        self.addresses: list[int] = []
        self.inputs: list[list[int]] = []
        self.used: dict[int, tuple[int, ...]] = {}
        self.written: dict[int, tuple[int, ...]] = {}
        self._starts: dict[RegisterId, int] = {}
        self._numbers = BitNumbers[RegisterId]() if live is None else live.numbers
        self._build(live)

    def before(self, address: int, place: RegisterId) -> int | None:
        """Return the value of a register that the instruction at an address reads, None if it does not read it."""
        if self._only is not None:
            return self.used[address][0] if place == self._only else None
        block = self.flow.block_at(address)
        uses = block.at(address).facts.uses
        return self.used[address][uses.index(place)] if place in uses else None

    def made(self, address: int) -> tuple[int, ...]:
        """Return the values that come from an instruction, or from `START`."""
        return tuple(self._starts.values()) if address == START else self.written.get(address, ())

    # --- building -------------------------------------------------------------------------------------------------
    def _new(self, place: RegisterId, address: int, inputs: list[int]) -> int:
        self.places.append(place)
        self.addresses.append(address)
        self.inputs.append(inputs)
        return len(self.places) - 1

    def _start(self, place: RegisterId) -> int:
        found = self._starts.get(place)
        if found is None:
            found = self._starts[place] = self._new(place, START, [])
        return found

    def _build(self, live: Liveness | None) -> None:
        flow = self.flow
        after = {b.number: list(dict.fromkeys(e.target for e in flow.successors[b.number])) for b in flow.blocks}
        roots, cycles = self._roots(after)
        after[_ROOT] = roots + cycles
        dom = Dominators(_ROOT, after.__getitem__)
        blocks = dom.order[1:]
        wanted = [0, *(-1 if live is None else live.at_start(n) for n in blocks)]
        found = merges(dom, [0, *(self._written_in(n) for n in blocks)], wanted)
        merged = {
            n: {place: self._new(place, MERGE, []) for place in self._numbers.of(mask)}
            for n, mask in zip(dom.order, found, strict=True)
        }
        written: dict[int, dict[RegisterId, int]] = {}
        names = Renaming(dom, merged, written, self._start)
        for n in blocks:
            written[n] = self._rename(n, partial(names.entering, n))
        for n, values in merged.items():
            before = [dom.order[k] for k in dom.graph.preds[dom.graph.number[n]]]
            before = [m for m in before if m != _ROOT or n not in cycles]
            for place, v in values.items():
                self.inputs[v] += [names.leaving(m, place) for m in before]

    def _roots(self, after: Mapping[int, Sequence[int]]) -> tuple[list[int], list[int]]:
        """Return the blocks without predecessors, and one block of each cycle that cannot be reached from them."""
        flow = self.flow
        first = {flow.functions[0].entry} if flow.functions else set[int]()
        roots = [b.number for b in flow.blocks if not flow.predecessors[b.number] or b.address in first]
        return roots, further_roots((b.number for b in flow.blocks), roots, after.__getitem__)

    def _written_in(self, block: int) -> int:
        found = (p for i in self.flow.blocks[block].instructions for p in i.facts.defs)
        return self._numbers.mask(p for p in found if self._only is None or p == self._only)

    def _rename(self, block: int, entering: Callable[[RegisterId], int]) -> dict[RegisterId, int]:
        """Rename the registers in a block to SSA values and return those it defines; `entering` gives the others."""
        only = self._only
        state: dict[RegisterId, int] = {}

        def held(place: RegisterId) -> int:
            found = state.get(place)
            return entering(place) if found is None else found

        for i in self.flow.blocks[block].instructions:
            facts = i.facts
            uses, defs = facts.uses, facts.defs
            if only is not None:
                uses, defs = (only,), tuple(p for p in defs if p == only)
            if uses:
                self.used[i.address] = tuple([held(place) for place in uses])
            if defs:
                kills = facts.kills
                whole = len(kills) == len(facts.defs)
                made = [self._new(place, i.address, [] if whole or place in kills else [held(place)]) for place in defs]
                state.update(zip(defs, made, strict=True))
                self.written[i.address] = tuple(made)
        return state
