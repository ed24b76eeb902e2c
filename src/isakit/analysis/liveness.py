"""Live registers, which hold a value that may still be read: live ranges and register pressure.

A register is dead if every path from there writes all of it, in every lane that may arrive, before reading it. Guarded
and partial writes do not end a live range. Calls are followed into the functions and back, without distinguishing the
callers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isakit.analysis.control_flow import ControlFlow
from isakit.codec import Instruction
from isakit.codec.facts import InstructionFacts, RegisterId
from isakit.flow.bits import BitNumbers
from isakit.flow.dataflow import LiveSets, live_sets, uses_and_kills
from isakit.lean import cached_property
from isakit.spec import InstructionKind


@dataclass
class Liveness:
    """The registers that are live at every instruction of a program; `at_end` those that are read after its end."""

    flow: ControlFlow
    numbers: BitNumbers[RegisterId]
    _sets: LiveSets
    _facts: dict[int, tuple[int, int]]
    at_end: tuple[RegisterId, ...] = ()

    @cached_property
    def _before(self) -> dict[int, int]:
        """Byte address -> registers live before the instruction, as bits."""
        found: dict[int, int] = {}
        for block in self.flow.blocks:
            live = self._sets.leaving[self.flow.graph.number[block.number]]
            for i in reversed(block.instructions):
                uses, kills = self._facts[i.address]
                live = live & ~kills | uses
                found[i.address] = live
        return found

    def before(self, address: int) -> frozenset[RegisterId]:
        """Return the registers live before the instruction at a byte address, as (file, index)."""
        return frozenset(self.numbers.of(self._before[address]))

    def after(self, address: int) -> frozenset[RegisterId]:
        """Return the registers live after the instruction at a byte address."""
        block = self.flow.block_at(address)
        i = block.at(address)
        behind = address + i.size
        live = self._before[behind] if behind < block.end else self._sets.leaving[self.flow.graph.number[block.number]]
        return frozenset(self.numbers.of(live))

    def at_start(self, block: int) -> int:
        """Return the registers live at the start of a block, as bits of `numbers`."""
        return self._sets.entering[self.flow.graph.number[block]]

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The register files the program uses, in the order of first use."""
        return tuple(dict.fromkeys(file for file, _ in self.numbers.items))

    def pressure(self, file: str) -> dict[int, int]:
        """Return byte address -> how many registers of a file are live before the instruction."""
        mask = self._mask_of(file)
        return {address: (live & mask).bit_count() for address, live in self._before.items()}

    def highest_pressure(self, file: str) -> tuple[int, int]:
        """Return (most registers of a file live at once, byte address of the first instruction with that many)."""
        found = self.pressure(file)
        if not found:
            return 0, self.flow.program.address
        address = max(found, key=lambda a: (found[a], -a))
        return found[address], address

    def ranges(self) -> dict[RegisterId, list[tuple[int, int]]]:
        """Return the live ranges of each register as (byte address of the first instruction, address past the last)."""
        out: dict[RegisterId, list[tuple[int, int]]] = {}
        open_since: dict[RegisterId, int] = {}
        previous, end = 0, self.flow.program.address
        for block in self.flow.blocks:
            for i in block.instructions:
                live = self._before[i.address]
                if i.address != end:
                    self._close(out, open_since, self.numbers.of(previous), end)
                    previous = 0
                self._close(out, open_since, self.numbers.of(previous & ~live), i.address)
                for p in self.numbers.of(live & ~previous):
                    open_since[p] = i.address
                previous, end = live, i.address + i.size
        self._close(out, open_since, self.numbers.of(previous), end)
        return out

    @staticmethod
    def _close(
        out: dict[RegisterId, list[tuple[int, int]]],
        since: dict[RegisterId, int],
        places: Iterable[RegisterId],
        at: int,
    ) -> None:
        for p in places:
            out.setdefault(p, []).append((since.pop(p), at))

    def _mask_of(self, file: str) -> int:
        """Return the registers of a file up to the highest that is written, as bits; others are not the program's."""
        written = (n for b in self.flow.blocks for i in b.instructions for f, n in i.defs if f == file)
        end = max(written, default=-1)
        return sum(1 << k for k, (f, n) in enumerate(self.numbers.items) if f == file and n <= end)


def liveness(flow: ControlFlow) -> Liveness:
    """Find the live registers of a program.

    At its end those registers are live that the program names in the files that a program of its type hands on
    (`InstructionSet.results`).
    """
    numbers = BitNumbers[RegisterId]()
    masks: dict[InstructionFacts, tuple[int, int]] = {}
    facts: dict[int, tuple[int, int]] = {}
    for b in flow.blocks:
        for i in b.instructions:
            of = i.facts
            known = masks.get(of)
            if known is None:
                known = masks[of] = numbers.mask(of.uses), numbers.mask(of.kills)
                numbers.mask(of.defs)
            facts[i.address] = known
    handed = flow.program.decoder.isa.results.get(flow.program.program_type, frozenset())
    live_at_end = [p for p in numbers.items if p[0] in handed]
    at_end = numbers.mask(live_at_end)
    lost = {flow.block_at(a).number for a in flow.unresolved}
    summaries = [
        uses_and_kills(facts[i.address] for i in reversed(flow.blocks[n].instructions)) for n in flow.graph.nodes
    ]
    ends = [(numbers.all if n in lost else 0) | (at_end if _may_end(flow, n) else 0) for n in flow.graph.nodes]
    live = live_sets(flow.graph, [uses for uses, _ in summaries], [kills for _, kills in summaries], ends)
    return Liveness(flow, numbers, live, facts, tuple(numbers.of(at_end)))


def only_computes(i: Instruction) -> bool:
    """Return true if the only effect of an instruction is to write registers that only the program itself reads."""
    isa = i.decoder.isa
    handed = isa.results.get(i.decoder.view.program, frozenset[str]())
    return (
        i.group in (InstructionKind.ARITHMETIC, InstructionKind.MOVE)
        and not any(file in handed for file, _ in i.defs)
        and not i.facts.stores
    )


def _may_end(flow: ControlFlow, n: int) -> bool:
    """Return true if a lane may finish the program in a block, by an exit, or a return without a call in the graph."""
    last = flow.blocks[n].instructions[-1]
    return not flow.successors[n] or not last.falls_through or last.guarded
