"""Which values are the same in all lanes that execute together, and which branches send lanes different ways.

A value is uniform where that is certain: it is computed from constants, launch parameters and memory all lanes share,
and no lane can have it from another time or another way than its neighbours. All else is divergent, which means that
lanes may differ, not that they do.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from isakit.analysis.chains import START, Chains
from isakit.analysis.control_flow import ControlFlow
from isakit.analysis.dominators import post_dominators
from isakit.codec import Instruction
from isakit.codec.instruction import Place
from isakit.errors import IsakitError
from isakit.sem.semantics import trace_of
from isakit.sem.trace import Effect, Trace
from isakit.sem.value import Value
from isakit.spec import InstructionSet, Kind


class Uniformity:
    """What is uniform in a program.

    Attributes:
        flow: its graph.
        divergent: (address of the instruction, register) of writes whose value may differ between lanes.
        branches: addresses of instructions that may send lanes different ways.
    """

    def __init__(self, flow: ControlFlow, chains: Chains | None = None) -> None:
        self.flow = flow
        self.chains = chains or Chains(flow)
        self.divergent: set[tuple[int, Place]] = set()
        self.branches: set[int] = set()
        self._isa = flow.program.decoder.isa
        self._block = {i.address: b.number for b in flow.blocks for i in b.instructions}
        # A bit per divergent branch whose lanes meet again; bit 0 is for all others together.
        self._regions = [0] * len(flow.blocks)
        self._next_bit = 1
        self._above: dict[int, dict[int, int | None]] = {}
        if self._isa.uniform_inputs is not None:
            self._find()

    def uniform(self, address: int, place: Place) -> bool:
        """Whether a register is the same in all lanes that execute the instruction at an address, before it."""
        inputs = self._isa.uniform_inputs
        if inputs is None:
            return True
        definitions = self.chains.definitions(address, place)
        here = self._regions[self._block[address]]
        for d in definitions:
            if d == START:
                if place[0] not in inputs:
                    return False
                continue
            there = self._regions[self._block[d]]
            if (d, place) in self.divergent or there & ~here or (there and len(definitions) > 1):
                return False
        return True

    def writes_uniform(self, i: Instruction) -> bool:
        """Whether all that an instruction writes to registers is the same in all lanes that execute it."""
        return not any((i.address, place) in self.divergent for place in i.defs)

    @cached_property
    def _lane_inputs(self) -> dict[int, bool]:
        """Address -> whether the instruction asks for something that is a lane's own, apart from registers."""
        return {i.address: _asks_lanes(i, self._isa) for b in self.flow.blocks for i in b.instructions}

    def _find(self) -> None:
        """Mark what may differ until nothing changes; every mark only adds marks."""
        waiting = [i for b in self.flow.blocks for i in b.instructions]
        while True:
            before = len(self.divergent), len(self.branches)
            rest: list[Instruction] = []
            for i in waiting:
                if self._lane_inputs[i.address] or not all(self.uniform(i.address, place) for place in i.uses):
                    self.divergent.update((i.address, place) for place in i.defs)
                    self._branch(i)
                else:
                    rest.append(i)
            waiting = rest
            if before == (len(self.divergent), len(self.branches)):
                return

    def _branch(self, i: Instruction) -> None:
        """Note that an instruction with divergent inputs sends lanes different ways, if it can."""
        n = self._block[i.address]
        out = {e.target for e in self.flow.successors[n]}
        last = self.flow.blocks[n].instructions[-1]
        slots = self._isa.delay_slots
        controls = i.group in (Kind.BRANCH, Kind.RETURN, Kind.CALL) or bool(i.targets) or (
            i.record is not None and "breaks" in i.record.facts
        )  # fmt: skip
        if not controls or (i is not last and not slots) or (len(out) < 2 and i.group is not Kind.RETURN):
            return
        self.branches.add(i.address)
        meeting = self._meeting(n)
        bit = 1
        if meeting is not None:
            bit = 1 << self._next_bit
            self._next_bit += 1
        todo = [t for t in out if t != meeting]
        while todo:
            t = todo.pop()
            if self._regions[t] & bit:
                continue
            self._regions[t] |= bit
            todo += [e.target for e in self.flow.successors[t] if e.target != meeting]

    def _meeting(self, n: int) -> int | None:
        """The block where lanes that part behind a block surely are together again, None where there is none."""
        function = self.flow.blocks[n].function
        if function is None:
            return None
        above = self._above.get(function)
        if above is None:
            above = self._above[function] = post_dominators(self.flow, self.flow.functions[function])
        at = above.get(n)
        while at is not None and not self.flow.blocks[at].joins:
            at = above.get(at)
        return at


def _asks_lanes(i: Instruction, isa: InstructionSet) -> bool:
    """Whether the meaning of an instruction has parts that are a lane's own, or is not known."""
    if i.form is None or i.error is not None:
        return True
    if not i.defs and i.group is not Kind.BRANCH:
        return False
    try:
        trace = trace_of(i.form, i.word)
    except IsakitError:
        return True
    known = _asks.get(trace)
    if known is None:
        known = _asks[trace] = _trace_asks(trace.effects, isa)
    return known


_asks: WeakKeyDictionary[Trace, bool] = WeakKeyDictionary()


def _trace_asks(effects: Sequence[Effect], isa: InstructionSet) -> bool:
    todo = [v for e in effects for v in (*e.args, *((e.when,) if e.when is not None else ()))]
    seen: set[int] = set()
    while todo:
        v = todo.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        if _is_lanes(v, isa):
            return True
        todo += v.args
    return False


def _is_lanes(v: Value, isa: InstructionSet) -> bool:
    if v.op == "load":
        return str(v.attr[0]) not in isa.common_spaces
    if v.op == "machine":
        return _per(isa.name).get(str(v.attr[0]), "lane") not in ("warp", "machine")
    return v.op in ("atomic", "loop")


@lru_cache(maxsize=8)
def _per(name: str) -> dict[str, str]:
    """What each question to the machine belongs to: a lane, a quad, a warp, the machine."""
    try:
        requests = importlib.import_module(f"isakit.arch.{name}.requests").REQUESTS
    except ModuleNotFoundError:
        return {}
    return {name: str(value.per) for name, value in requests.values.items()}


def dead_code(flow: ControlFlow, chains: Chains | None = None) -> list[int]:
    """Addresses of instructions that do nothing for the result, in order.

    They are not reached, or they only write registers which nothing reads but other dead instructions.
    """
    from isakit.analysis.liveness import liveness, only_computes

    chains = chains or Chains(flow)
    dead = {i.address for b in flow.blocks if b.function is None for i in b.instructions}
    handed = set(liveness(flow).at_end)
    by_address = {i.address: i for b in flow.blocks for i in b.instructions}
    waiting = [a for a, i in by_address.items() if a not in dead and only_computes(i) and i.defs]
    unresolved = bool(flow.unresolved)
    changed = not unresolved
    while changed:
        changed = False
        rest: list[int] = []
        for a in waiting:
            i = by_address[a]
            used = any(u not in dead for place in i.defs for u in chains.uses(a, place))
            if used or any(place in handed for place in i.defs):
                rest.append(a)
            else:
                dead.add(a)
                changed = True
        waiting = rest
    return sorted(dead)
