"""Waiting lanes and live registers at each instruction of a kernel.

Both are solved on basic blocks with sets as bits of Python ints: large kernels have thousands of instructions, and
hundreds of addresses at which lanes may wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from isakit.flow.bits import BitNumbers
from isakit.flow.blocks import basic_blocks
from isakit.flow.dataflow import live_sets, solve, uses_and_kills
from isakit.flow.graph import FlowGraph
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Step


class StepBlocks:
    """The basic blocks of a kernel.

    Attributes: `graph` (blocks by the addresses of their first instructions); `steps` (the instructions of each block,
    by number); `last` (its last instruction, which determines the successors).
    """

    def __init__(self, entry: int, order: Sequence[int], steps: Mapping[int, Step], leaders: set[int]) -> None:
        bodies = basic_blocks(order, lambda pc: steps[pc].successors, leaders)
        found = {body[0]: [steps[pc] for pc in body] for body in bodies}
        self.graph = FlowGraph([entry, *found], lambda pc: [n for n in found[pc][-1].successors if n in steps])
        self.steps: list[list[Step]] = [found[pc] for pc in self.graph.nodes]
        self.last: list[Step] = [body[-1] for body in self.steps]


class KernelLiveness:
    """The solution for one kernel.

    `resumable`: addresses at which a warp may resume; `places`: the registers the kernel names; `results`: those read
    when it has ended; `inactive_lanes_are_seen`: a write kills no register, since other lanes keep the value.

    Attributes: `waiting[pc]` (resumable addresses at which lanes may wait while the instruction at pc is executed),
    `live[pc]` (registers that may still be read before it, for any lane).
    """

    def __init__(
        self,
        blocks: StepBlocks,
        resumable: set[int],
        places: set[RegisterKey],
        results: frozenset[RegisterKey],
        *,
        inactive_lanes_are_seen: bool,
    ) -> None:
        self.blocks, self._places, self._results = blocks, places, results
        self._keeps = inactive_lanes_are_seen
        self._addresses = BitNumbers(sorted(resumable))
        self._parks = [self._addresses.mask(s.parks & resumable) for s in self.blocks.last]
        waiting = self._solve_waiting()

        @cache
        def addresses(bits: int) -> frozenset[int]:
            return frozenset(self._addresses.of(bits))

        self.waiting = {
            s.pc: addresses(bits) for bits, body in zip(waiting, self.blocks.steps, strict=True) for s in body
        }
        self.live = self._live([bits | parks for bits, parks in zip(waiting, self._parks, strict=True)])

    def _solve_waiting(self) -> list[int]:
        """Return the addresses at which lanes may wait in each block.

        Lanes keep waiting along jumps. Where the stack decides which group continues, the others still wait while that
        group runs.
        """
        graph, parks = self.blocks.graph, self._parks
        waiting = [0] * len(graph)
        while True:
            waiting = solve(graph, lambda n, x: x | parks[n], waiting)
            before = list(waiting)
            found = {waiting[n] | parks[n] for n, s in enumerate(self.blocks.last) if s.transfers}
            largest: list[int] = []
            for out in sorted(found, key=int.bit_count, reverse=True):
                if all(out & ~known for known in largest):  # else each of its addresses has seen that larger set
                    largest.append(out)
                    for pc in self._addresses.of(out):
                        waiting[graph.number[pc]] |= out
            if waiting == before:
                return waiting

    def _live(self, behind: list[int]) -> dict[int, frozenset[RegisterKey]]:
        """Return the live registers; `behind` are the addresses at which lanes may wait when a block has ended.

        The lanes that the stack may resume are nodes of their own, one for each set of addresses: blocks that end in
        the same way share its edges.
        """
        blocks = self.blocks
        places = BitNumbers(self._places | self._results)
        results, everything = places.mask(self._results), places.mask(self._places)

        def facts(s: Step) -> tuple[int, int]:
            if s.trace is None:
                return everything, -1
            return places.mask(s.reads) | results, 0 if self._keeps else places.mask(s.writes)

        of = {s.pc: facts(s) for body in blocks.steps for s in body}
        transfers = dict.fromkeys(bits for bits, s in zip(behind, blocks.last, strict=True) if s.transfers)
        resumed = {bits: -1 - k for k, bits in enumerate(transfers)}
        targets = {node: list(self._addresses.of(bits)) for bits, node in resumed.items()}

        def after(node: int) -> list[int]:
            if node < 0:
                return targets[node]
            n = blocks.graph.number[node]
            own = [blocks.graph.nodes[s] for s in blocks.graph.succs[n]]
            return [*own, resumed[behind[n]]] if blocks.last[n].transfers else own

        graph = FlowGraph(blocks.graph.nodes, after)
        bodies = [() if pc < 0 else blocks.steps[blocks.graph.number[pc]] for pc in graph.nodes]
        summaries = [uses_and_kills(of[s.pc] for s in reversed(body)) for body in bodies]
        leaving = live_sets(graph, [uses for uses, _ in summaries], [kills for _, kills in summaries]).leaving

        @cache
        def decode(bits: int) -> frozenset[RegisterKey]:
            return frozenset(places.of(bits))

        out: dict[int, frozenset[RegisterKey]] = {}
        for live, body in zip(leaving, bodies, strict=True):
            for s in reversed(body):
                uses, kills = of[s.pc]
                live = live & ~kills | uses
                out[s.pc] = decode(live)
        return out
