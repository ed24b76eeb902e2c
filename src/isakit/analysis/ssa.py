"""The values of the registers of a program, each with where it comes from: static single assignment form.

A value is what an instruction wrote, what a register held when the program began, or where ways meet one of several
others. A write that leaves a part of a register as it was, or that some lanes do not execute, makes a value that is one
of two: its own and the old one. Values are numbers; building them takes time in proportion to the code and the values.

Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, "Efficiently Computing Static Single Assignment Form and the Control
Dependence Graph", 1991; what no instruction reads gets no values where ways meet.
"""

from __future__ import annotations

from collections.abc import Mapping

from isakit.analysis.control_flow import ControlFlow
from isakit.analysis.dominators import immediate_dominators
from isakit.analysis.liveness import Liveness, Numbers
from isakit.codec.instruction import Place

START = -1
"""In place of an address: the value the register had when the program began, or what an unknown caller left there."""
MERGE = -2
"""In place of an address: a value where ways meet."""

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

    def __init__(self, flow: ControlFlow, live: Liveness | None, only: Place | None = None) -> None:
        """`live` tells which values are wanted where ways meet; with `only` there is one register, known everywhere."""
        self.flow, self._only = flow, only
        self.places: list[Place] = []
        self.addresses: list[int] = []
        self.inputs: list[list[int]] = []
        self.used: dict[int, tuple[int, ...]] = {}
        self.written: dict[int, tuple[int, ...]] = {}
        self._starts: dict[Place, int] = {}
        self._numbers = Numbers() if live is None else live.numbers
        self._build(live)

    def before(self, address: int, place: Place) -> int | None:
        """The value of a register that the instruction at an address reads, None where it does not read it."""
        if self._only is not None:
            return self.used[address][0] if place == self._only else None
        block = self.flow.block_at(address)
        uses = block.at(address).facts.uses
        return self.used[address][uses.index(place)] if place in uses else None

    def made(self, address: int) -> tuple[int, ...]:
        """The values that come from an instruction, or from `START`."""
        return tuple(self._starts.values()) if address == START else self.written.get(address, ())

    # --- building -------------------------------------------------------------------------------------------------
    def _new(self, place: Place, address: int, inputs: list[int]) -> int:
        self.places.append(place)
        self.addresses.append(address)
        self.inputs.append(inputs)
        return len(self.places) - 1

    def _start(self, place: Place) -> int:
        found = self._starts.get(place)
        if found is None:
            found = self._starts[place] = self._new(place, START, [])
        return found

    def _graph(self) -> tuple[dict[int, list[int]], set[int]]:
        """The blocks after each block and after the root; blocks that control comes to from nowhere, not even START.

        The latter stand for cycles that nothing leads to.
        """
        flow = self.flow
        graph = {b.number: list(dict.fromkeys(e.target for e in flow.successors[b.number])) for b in flow.blocks}
        first = {flow.functions[0].entry} if flow.functions else set[int]()
        graph[_ROOT] = [b.number for b in flow.blocks if not flow.predecessors[b.number] or b.address in first]
        cycles: set[int] = set()
        seen = set[int]()
        waiting = list(graph[_ROOT])
        for n in range(-1, len(flow.blocks)):
            if n >= 0 and n not in seen:
                cycles.add(n)
                graph[_ROOT].append(n)
                waiting.append(n)
            while waiting:
                m = waiting.pop()
                if m not in seen:
                    seen.add(m)
                    waiting += graph[m]
        return graph, cycles

    def _build(self, live: Liveness | None) -> None:
        graph, cycles = self._graph()
        above = immediate_dominators(graph, _ROOT)
        below: dict[int, list[int]] = {n: [] for n in graph}
        for n, m in above.items():
            if n != _ROOT:
                below[m].append(n)
        merges = self._merges(graph, above, live)
        for n in graph[_ROOT]:
            if n not in cycles:
                for place, v in merges.get(n, ()):
                    self.inputs[v].append(self._start(place))
        stack: list[tuple[int, dict[Place, int]]] = [(n, {}) for n in below[_ROOT]]
        while stack:
            n, state = stack.pop()
            state.update(merges.get(n, ()))
            self._rename(n, state)
            for m in graph[n]:
                for place, v in merges.get(m, ()):
                    self.inputs[v].append(self._held(place, state))
            children = below[n]
            stack += [(m, state.copy()) for m in children[1:]]
            if children:
                stack.append((children[0], state))

    def _merges(
        self, graph: Mapping[int, list[int]], above: Mapping[int, int], live: Liveness | None
    ) -> dict[int, list[tuple[Place, int]]]:
        """For each block the registers for which ways meet there, with new values for them."""
        before: dict[int, list[int]] = {}
        for n, targets in graph.items():
            for m in targets:
                before.setdefault(m, []).append(n)
        frontier: dict[int, set[int]] = {}
        for m, sources in before.items():
            if len(sources) > 1:
                for n in sources:
                    while n != above[m]:
                        there = frontier.setdefault(n, set())
                        if m in there:
                            break  # those above have it too
                        there.add(m)
                        n = above[n]
        wanted: dict[int, int] = {}
        news = {b.number: self._written_in(b.number) for b in self.flow.blocks}
        waiting = [n for n, mask in news.items() if mask]
        while waiting:
            n = waiting.pop()
            mask = news[n]
            for m in frontier.get(n, ()):
                new = mask & ~wanted.get(m, 0) & (-1 if live is None else live.at_start(m))
                if new:
                    wanted[m] = wanted.get(m, 0) | new
                    if new & ~news[m]:
                        news[m] |= new
                        waiting.append(m)
        return {
            m: [(place, self._new(place, MERGE, [])) for place in self._numbers.names(mask)]
            for m, mask in wanted.items()
        }

    def _written_in(self, block: int) -> int:
        found = (p for i in self.flow.blocks[block].instructions for p in i.facts.defs)
        return self._numbers.mask(p for p in found if self._only is None or p == self._only)

    def _rename(self, block: int, state: dict[Place, int]) -> None:
        """Give the registers in a block their values; `state` is what they are before it, then after it."""
        only = self._only
        for i in self.flow.blocks[block].instructions:
            facts = i.facts
            uses, defs = facts.uses, facts.defs
            if only is not None:
                uses, defs = (only,), tuple(p for p in defs if p == only)
            if uses:
                self.used[i.address] = tuple([self._held(place, state) for place in uses])
            if defs:
                kills = facts.kills
                whole = len(kills) == len(facts.defs)
                made = [
                    self._new(place, i.address, [] if whole or place in kills else [self._held(place, state)])
                    for place in defs
                ]
                state.update(zip(defs, made, strict=True))
                self.written[i.address] = tuple(made)

    def _held(self, place: Place, state: Mapping[Place, int]) -> int:
        found = state.get(place)
        return self._start(place) if found is None else found
