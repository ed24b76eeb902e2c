"""Uniform values, which are the same in all lanes that execute together, and divergent branches.

A value is called uniform only if that is certain: it is computed from constants, launch parameters and memory all lanes
share, and no lane can have it from another iteration or another path than its neighbours. All others are divergent:
lanes may differ, but need not.
"""

from __future__ import annotations

import importlib
from collections.abc import Container, Iterator
from functools import lru_cache
from weakref import WeakKeyDictionary

from isakit.analysis.chains import START, Chains
from isakit.analysis.control_flow import ControlFlow, FlowFunction
from isakit.analysis.dominators import post_dominators
from isakit.analysis.liveness import only_computes
from isakit.analysis.ssa import MERGE
from isakit.codec import Instruction
from isakit.codec.instruction import RegisterId
from isakit.errors import IsakitError
from isakit.flow.graph import reachable
from isakit.sem.semantics import trace_of
from isakit.sem.trace import Trace
from isakit.sem.value import Value
from isakit.spec import InstructionKind, InstructionSet


class Uniformity:
    """The uniform and divergent values of a program.

    Attributes:
        flow: its control-flow graph.
        divergent: (address of the instruction, register) of each write whose value may differ between lanes.
        branches: addresses of instructions at which lanes may diverge.
    """

    def __init__(self, flow: ControlFlow, chains: Chains | None = None) -> None:
        self.flow = flow
        self.chains = chains or Chains(flow)
        self.divergent: set[tuple[int, RegisterId]] = set()
        self.branches: set[int] = set()
        self._isa = flow.program.decoder.isa
        self._block = {i.address: b.number for b in flow.blocks for i in b.instructions}
        # A bit per divergent branch whose lanes meet again; bit 0 is for all others together.
        self._regions = [0] * len(flow.blocks)
        self._next_bit = 1
        self._meetings: dict[int, dict[int, int | None]] = {}
        if self._isa.uniform_inputs is not None:
            self._find(self._isa.uniform_inputs)

    def uniform(self, address: int, place: RegisterId) -> bool:
        """Return true if a register that the instruction at an address reads is the same in all lanes that execute it.

        Raises KeyError if the instruction does not read it.
        """
        if self._isa.uniform_inputs is None:
            return True
        value = self.chains.ssa.before(address, place)
        if value is None:
            raise KeyError(f"the instruction at {address:#x} does not read {place}")
        return self._agree(value, self._regions[self._block[address]])

    def writes_uniform(self, i: Instruction) -> bool:
        """Return true if all that an instruction writes to registers is the same in all lanes that execute it."""
        return not any((i.address, place) in self.divergent for place in i.defs)

    def _find(self, inputs: Container[str]) -> None:
        """Mark the values that may differ between lanes, starting from each lane's own. Marks are only added.

        `_varies` and `_apart` hold for each value whether it may differ, and whether a write it may come from is in a
        region of diverged lanes. `_sole` is the only write it may come from, None if there are several: lanes may have
        skipped one of them, so none may be in such a region.
        """
        ssa = self.chains.ssa
        self._sole = self._sole_writes()
        self._varies = [a == START and ssa.places[v][0] not in inputs for v, a in enumerate(ssa.addresses)]
        self._apart = [False] * len(ssa.addresses)
        self._changed = [v for v, varies in enumerate(self._varies) if varies]
        self._marked: set[int] = set()
        self._instructions = {i.address: i for b in self.flow.blocks for i in b.instructions}
        for i in self._instructions.values():
            if _asks_lanes(i, self._isa):
                self._mark(i)
        while self._changed:
            v = self._changed.pop()
            varies, apart = self._varies[v], self._apart[v]
            for w in self.chains.derived[v]:
                if (varies and not self._varies[w]) or (apart and not self._apart[w]):
                    self._varies[w] |= varies
                    self._note(w, apart)
            for address in self.chains.readers[v]:
                if address not in self._marked and not self._agree(v, self._regions[self._block[address]]):
                    self._mark(self._instructions[address])

    def _sole_writes(self) -> list[int | None]:
        """Return for each value its only possible write: address, `START`, `MERGE` for none, None for several."""
        ssa = self.chains.ssa
        out: list[int | None] = list(ssa.addresses)
        waiting = [v for v, a in enumerate(ssa.addresses) if a != MERGE]
        while waiting:
            v = waiting.pop()
            for w in self.chains.derived[v]:
                known, new = out[w], out[v]
                if known is not None and known != new:
                    out[w] = new if known == MERGE else None
                    waiting.append(w)
        return out

    def _note(self, value: int, apart: bool) -> None:
        self._apart[value] |= apart
        self._varies[value] |= self._apart[value] and self._sole[value] is None
        self._changed.append(value)

    def _agree(self, value: int, here: int) -> bool:
        """Return true if all lanes that execute in a block of these regions have the same in a value."""
        if self._varies[value]:
            return False
        sole = self._sole[value]
        there = self._regions[self._block[sole]] if sole is not None and sole >= 0 else 0
        return not there & ~here

    def _mark(self, i: Instruction) -> None:
        """Record that an instruction has divergent inputs."""
        if i.address in self._marked:
            return
        self._marked.add(i.address)
        self.divergent.update((i.address, place) for place in i.defs)
        for v in self.chains.ssa.made(i.address):
            self._varies[v] = True
            self._changed.append(v)
        self._branch(i)

    def _branch(self, i: Instruction) -> None:
        """Record that lanes may diverge at an instruction with divergent inputs, if it is one that can branch."""
        n = self._block[i.address]
        out = {e.target for e in self.flow.successors[n]}
        last = self.flow.blocks[n].instructions[-1]
        slots = self._isa.delay_slots
        jumps = i.group in (InstructionKind.BRANCH, InstructionKind.RETURN, InstructionKind.CALL)
        controls = jumps or bool(i.targets) or (i.record is not None and "breaks" in i.record.facts)
        if not controls or (i is not last and not slots) or (len(out) < 2 and i.group is not InstructionKind.RETURN):
            return
        self.branches.add(i.address)

        def after(t: int) -> list[int]:
            return [e.target for e in self.flow.successors[t]]

        meeting = self._meeting(n)
        bit = 1
        if meeting is not None:
            bit = 1 << self._next_bit
            self._next_bit += 1
        for t in reachable(out, after, without=[meeting]):
            self._regions[t] |= bit
            for inside in self.flow.blocks[t].instructions:
                for v in self.chains.ssa.made(inside.address):
                    self._note(v, apart=True)

    def _meeting(self, n: int) -> int | None:
        """Return the block where lanes that diverge after a block certainly reconverge, or None."""
        function = self.flow.blocks[n].function
        if function is None:
            return None
        known = self._meetings.get(function)
        if known is None:
            known = self._meetings[function] = self._all_meetings(self.flow.functions[function])
        return known.get(n)

    def _all_meetings(self, function: FlowFunction) -> dict[int, int | None]:
        above = post_dominators(self.flow, function)
        out: dict[int, int | None] = {}
        for n in above:
            way: list[int] = []
            at: int | None = n
            while at is not None and at not in out:
                way.append(at)
                at = above.get(at)
            for m in reversed(way):
                at = above.get(m)
                out[m] = at if at is None or self.flow.blocks[at].joins else out[at]
        return out


def _asks_lanes(i: Instruction, isa: InstructionSet) -> bool:
    """Return true if the meaning of an instruction has parts that are a lane's own, or is not known."""
    if i.form is None or i.error is not None:
        return True
    if not i.defs and i.group is not InstructionKind.BRANCH:
        return False
    try:
        trace = trace_of(i.form, i.word)
    except IsakitError:
        return True
    known = _asks.get(trace)
    if known is None:
        known = _asks[trace] = any(_is_lanes(v, isa) for v in trace.values())
    return known


_asks: WeakKeyDictionary[Trace, bool] = WeakKeyDictionary()


def _is_lanes(v: Value, isa: InstructionSet) -> bool:
    if v.op == "load":
        return str(v.attr[0]) not in isa.common_spaces
    if v.op == "machine":
        return _per(isa.name).get(str(v.attr[0]), "lane") not in ("warp", "machine")
    return v.op in ("atomic", "loop")


@lru_cache(maxsize=8)
def _per(name: str) -> dict[str, str]:
    """Return the owner of each question to the machine: a lane, a quad, a warp, the machine."""
    try:
        requests = importlib.import_module(f"isakit.arch.{name}.requests").REQUESTS
    except ModuleNotFoundError:
        return {}
    return {name: str(value.per) for name, value in requests.values.items()}


def dead_code(flow: ControlFlow, chains: Chains | None = None) -> list[int]:
    """Return the addresses of instructions that do not contribute to the result, in order.

    They are unreachable, or write only registers that no instruction but other dead ones reads.
    """
    chains = chains or Chains(flow)
    reached = {i.address: i for b in flow.blocks if b.function is not None for i in b.instructions}
    dead = {i.address for b in flow.blocks if b.function is None for i in b.instructions}
    if flow.unresolved:
        return sorted(dead)
    handed, ssa = set(chains.live.at_end), chains.ssa
    roots = [
        a for a, i in reached.items() if not i.defs or not only_computes(i) or any(place in handed for place in i.defs)
    ]

    def needs(of: tuple[bool, int]) -> Iterator[tuple[bool, int]]:
        """Yield the values an instruction reads; of a value its inputs, and the instruction that writes it."""
        is_value, at = of
        if not is_value:
            yield from ((True, v) for v in ssa.used.get(at, ()))
            return
        yield from ((True, v) for v in ssa.inputs[at])
        if ssa.addresses[at] in reached:
            yield False, ssa.addresses[at]

    needed = {at for is_value, at in reachable(((False, a) for a in roots), needs) if not is_value}
    return sorted(dead | (reached.keys() - needed))
