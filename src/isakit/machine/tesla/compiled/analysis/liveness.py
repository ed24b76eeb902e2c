"""Which lanes may wait, and which registers may still be read, at each instruction of a kernel.

Both are solved on basic blocks with sets as the bits of Python ints: big kernels have thousands of instructions and
hundreds of addresses at which lanes may wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.analysis.control_flow import Flow, Place, Step


@dataclass(eq=False)
class BasicBlock:
    """Instructions that are executed one after the other; only the last one may transfer control.

    Attributes: `number` (in reverse postorder from the entries), `steps`, `successors` (numbers of blocks), `waiting`
    (bits of the addresses at which lanes may wait inside of it), `parks` (bits of those its end adds), `live` (bits of
    the registers that may be read from its first instruction on).
    """

    number: int
    steps: list[Step]
    successors: list[int] = field(default_factory=list[int])
    waiting: int = 0
    parks: int = 0
    live: int = 0

    @property
    def last(self) -> Step:
        """The instruction that decides how to go on."""
        return self.steps[-1]


def basic_blocks(flow: Flow) -> list[BasicBlock]:
    """The blocks of a kernel in reverse postorder."""
    entered: dict[int, int] = {}
    for s in flow.steps.values():
        for n in s.successors:
            entered[n] = entered.get(n, 0) + 1
    starts = {pc for pc in flow.order if pc in flow.leaders or entered.get(pc, 0) != 1}
    bodies: dict[int, list[Step]] = {}
    for start in sorted(starts):
        body = bodies[start] = [flow.steps[start]]
        while len(body[-1].successors) == 1 and not body[-1].transfers:
            following = body[-1].successors[0]
            if following in starts or following not in flow.steps:
                break
            body.append(flow.steps[following])
    order = _reverse_postorder(bodies, [flow.entry, *sorted(starts)])
    blocks = [BasicBlock(k, bodies[start]) for k, start in enumerate(order)]
    number = {start: k for k, start in enumerate(order)}
    for b in blocks:
        b.successors = [number[n] for n in b.last.successors if n in number]
    return blocks


def _reverse_postorder(bodies: dict[int, list[Step]], entries: Iterable[int]) -> list[int]:
    done: set[int] = set()
    out: list[int] = []
    for entry in entries:
        stack = [(entry, False)]
        while stack:
            start, left = stack.pop()
            if left:
                out.append(start)
            elif start in bodies and start not in done:
                done.add(start)
                stack.append((start, True))
                stack += [(n, False) for n in bodies[start][-1].successors]
    # Entries beyond the first are blocks nothing falls into; their own order does not matter.
    return out[::-1]


class KernelLiveness:
    """The solution for one kernel.

    Attributes: `waiting[pc]` (resumable addresses at which lanes may wait while the instruction at pc is executed),
    `live[pc]` (registers that may still be read before it, for any lane).
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.blocks = basic_blocks(flow)
        self._addresses = sorted(flow.resumable)
        self._address_bit = {pc: 1 << k for k, pc in enumerate(self._addresses)}
        self._block_of = {b.steps[0].pc: b for b in self.blocks}
        self._places = sorted(flow.places | flow.results)
        self._place_bit = {place: 1 << k for k, place in enumerate(self._places)}
        self._solve_waiting()
        self.waiting = self._waiting()
        self._solve_liveness()
        self.live = self._live()

    # --- lanes that wait ------------------------------------------------------------------------------------
    def _solve_waiting(self) -> None:
        for b in self.blocks:
            for pc in b.last.parks:
                b.parks |= self._address_bit.get(pc, 0)
        while True:
            self._spread_waiting()
            if not self._resume_waiting():
                return

    def _spread_waiting(self) -> None:
        """Lanes wait on along the jumps."""
        changed = True
        while changed:
            changed = False
            for b in self.blocks:
                out = b.waiting | b.parks
                for n in b.successors:
                    after = self.blocks[n]
                    if out & ~after.waiting:
                        after.waiting |= out
                        changed = changed or n <= b.number

    def _resume_waiting(self) -> bool:
        """Where the stack says who goes on, all waiting lanes but one group wait on at that group's address."""
        found = {b.waiting | b.parks for b in self.blocks if b.last.transfers}
        largest: list[int] = []
        changed = False
        for out in sorted(found, key=int.bit_count, reverse=True):
            if any(not out & ~known for known in largest):
                continue  # each of its addresses has seen that larger set
            largest.append(out)
            for pc in self._addresses_of(out):
                after = self._block_of[pc]
                if out & ~after.waiting:
                    after.waiting |= out
                    changed = True
        return changed

    def _addresses_of(self, bits: int) -> list[int]:
        return [self._addresses[k] for k in _ones(bits)]

    def _waiting(self) -> dict[int, frozenset[int]]:
        @cache
        def decode(bits: int) -> frozenset[int]:
            return frozenset(self._addresses_of(bits))

        return {s.pc: decode(b.waiting) for b in self.blocks for s in b.steps}

    # --- registers ------------------------------------------------------------------------------------------
    def _bits(self, places: Iterable[Place]) -> int:
        return sum(self._place_bit[p] for p in set(places))

    def _solve_liveness(self) -> None:
        flow = self.flow
        results, keeps = self._bits(flow.results), flow.has_quads
        everything = self._bits(flow.places)
        reads = {s.pc: everything if s.trace is None else self._bits(s.reads) | results for s in flow.steps.values()}
        kept = {s.pc: 0 if s.trace is None else -1 if keeps else ~self._bits(s.writes) for s in flow.steps.values()}
        self._transfer = reads, kept
        summaries: list[tuple[int, int]] = []
        for b in self.blocks:
            read, keep = 0, -1
            for s in reversed(b.steps):
                read, keep = reads[s.pc] | read & kept[s.pc], keep & kept[s.pc]
            summaries.append((read, keep))
        changed = True
        while changed:
            changed = False
            behind: dict[int, int] = {}
            for b in reversed(self.blocks):
                read, keep = summaries[b.number]
                live = read | self._behind(b, behind) & keep
                if live != b.live:
                    b.live = live
                    changed = True

    def _behind(self, b: BasicBlock, known: dict[int, int]) -> int:
        """Registers that may be read past a block; `known`: the same for sets of waiting lanes, in this round."""
        out = 0
        for n in b.successors:
            out |= self.blocks[n].live
        if b.last.transfers:
            waiting = b.waiting | b.parks
            if waiting not in known:
                known[waiting] = self._resumed(waiting)
            out |= known[waiting]
        return out

    def _resumed(self, waiting: int) -> int:
        """Registers that some of the waiting lanes may read."""
        out = 0
        for pc in self._addresses_of(waiting):
            out |= self._block_of[pc].live
        return out

    def _live(self) -> dict[int, frozenset[Place]]:
        places = self._places

        @cache
        def decode(bits: int) -> frozenset[Place]:
            return frozenset(places[k] for k in _ones(bits))

        reads, kept = self._transfer
        out: dict[int, frozenset[Place]] = {}
        behind: dict[int, int] = {}
        for b in self.blocks:
            live = self._behind(b, behind)
            for s in reversed(b.steps):
                live = reads[s.pc] | live & kept[s.pc]
                out[s.pc] = decode(live)
        return out


def _ones(bits: int) -> list[int]:
    """The positions of the bits that are set."""
    out: list[int] = []
    while bits:
        low = bits & -bits
        out.append(low.bit_length() - 1)
        bits ^= low
    return out
