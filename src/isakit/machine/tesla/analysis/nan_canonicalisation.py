"""Lazy NaNs: results that may stay NaNs of the host, and the places where they are made canonical.

The hardware knows one NaN, 0x7fffffff; the host keeps the payload and the sign of an operand. As long as only
instructions read a register that treat all NaNs alike, no result depends on it. `NanTracking` decides, per definition,
whether the host's result may stay as it is (it is *raw*), and lists the registers that may be raw where the state of a
warp leaves compiled code; they are made canonical there. A register can hold a float on one path and bits that look
like another NaN on the other: at such a place nothing may be raw.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from isakit.flow.bits import BitNumbers
from isakit.flow.dataflow import Transfer, gen_kill, live_sets, solve
from isakit.flow.graph import FlowGraph
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Step
from isakit.sem.trace import Effect, Trace
from isakit.sem.value import Value, postorder, uniform_number

RAW_RESULTS = {"f32_add", "f32_mul"}
"""Operations whose host instruction may keep its NaN."""
CANONICAL_RESULTS = {
    "f32_add", "f32_mul", "f32_mad", "f32_saturate", "f32_max", "f32_min", "f32_mov2", "f32_flush",
}  # fmt: skip
"""Operations whose only NaN is the canonical one."""
BLIND = CANONICAL_RESULTS | {"f32_compare"}
"""Operations whose result is the same for every NaN operand, whatever its payload and sign."""
SIGN = 0x80000000
INFINITY = 0x7F800000


class NanTracking:
    """The decisions for one kernel.

    `raw` holds (pc, register) of the definitions that need not be canonical. `dirty[pc]` are the registers that may be
    raw before the instruction at pc, in active lanes or in waiting ones.
    """

    def __init__(self, flow: Flow, registers: int) -> None:
        self.flow, self.registers = flow, registers
        self.raw: set[tuple[int, RegisterKey]] = set()
        self.dirty: dict[int, set[RegisterKey]] = {pc: set() for pc in flow.order}
        possible = [s for s in flow.steps.values() if s.trace is not None and _raw_result(s.trace) is not None]
        if not possible or flow.has_quads or "quadon" in flow.controls:
            return
        self._graph = FlowGraph(
            [flow.entry, *flow.order], lambda pc: [n for n in flow.after(flow.steps[pc]) if n in flow.steps]
        )
        self._steps = [flow.steps[pc] for pc in self._graph.nodes]
        self._places = BitNumbers[RegisterKey]()
        self._live = [self._places.mask(flow.live[s.pc]) for s in self._steps]
        self._overwritten = [0 if s.conditional else self._places.mask(_overwritten(s)) for s in self._steps]
        self._bits, self._bits_behind = self._places_of_bits()
        self._bits_anywhere = self._also_waiting(self._bits)
        never: set[RegisterKey] = set()
        while True:
            self._decide(possible, self._looked_at(), never)
            self._spread()
            conflicts = self._conflicts() - never
            if not conflicts:
                return
            never |= conflicts

    # --- what registers hold ------------------------------------------------------------------------------------
    def _places_of_bits(self) -> tuple[list[int], list[int]]:
        """Return the registers that may hold arbitrary bits before and after each instruction.

        The others hold results of float operations.
        """
        transfer = gen_kill(*zip(*(self._bits_made(s) for s in self._steps), strict=True))
        start = [self._places.mask([("r", 0)]) if s.pc == self.flow.entry else 0 for s in self._steps]
        before = self._solve(transfer, start)
        return before, [transfer(n, bits) for n, bits in enumerate(before)]

    def _solve(self, transfer: Transfer[int], start: Sequence[int]) -> list[int]:
        """Return the solution before each instruction, restricted to the registers that are live there."""
        live = self._live
        found = solve(self._graph, lambda n, x: transfer(n, x & live[n]), start)
        return [x & alive for x, alive in zip(found, live, strict=True)]

    def _bits_made(self, s: Step) -> tuple[int, int]:
        """Return the registers that an instruction writes with arbitrary bits, and those with float results."""
        made = lost = 0
        for e in s.trace.of_kind("write") if s.trace is not None else ():
            place = self._places.mask([(e.name, uniform_number(e.args[0], s.word))])
            if not _canonical_result(e, s.word):
                made, lost = made | place, lost & ~place
            elif not s.conditional and e.when is None:
                made, lost = made & ~place, lost | place
        return made, lost

    # --- who looks ----------------------------------------------------------------------------------------------
    def _looked_at(self) -> list[int]:
        """Return the registers whose bits, as they are after each instruction, some later instruction observes."""
        reads = [self._places.mask(_bit_reads(s)) for s in self._steps]
        ends: list[int] = []
        for n, s in enumerate(self._steps):
            # From here on the place counts as bits: what comes from here must be canonical.
            looked = self._places.mask(s.writes) & self._bits_behind[n]
            for after in self._graph.succs[n]:
                looked |= self._bits[after] & ~self._bits_behind[n]
            ends.append(looked)
        return live_sets(self._graph, reads, self._overwritten, ends).leaving

    def _decide(self, possible: list[Step], looked_at: list[int], never: set[RegisterKey]) -> None:
        self.raw = set()
        for s in possible:
            assert s.trace is not None
            effect = _raw_result(s.trace)
            assert effect is not None
            place = effect.name, uniform_number(effect.args[0], s.word)
            looked = looked_at[self._graph.number[s.pc]] & self._places.mask([place])
            if place[1] < self.registers and place not in never and not looked:
                self.raw.add((s.pc, place))

    # --- where raw values get to --------------------------------------------------------------------------------
    def _spread(self) -> None:
        made = [self._places.mask(p for p in s.writes if (s.pc, p) in self.raw) for s in self._steps]
        own = self._solve(gen_kill(made, self._overwritten), [0] * len(made))
        self._dirty = self._also_waiting(own)
        self.dirty = {s.pc: set(self._places.of(x)) for s, x in zip(self._steps, self._dirty, strict=True)}

    def _also_waiting(self, places: list[int]) -> list[int]:
        """Return sets of registers before each instruction, extended by those of the lanes that wait meanwhile."""
        waiting = [self.flow.waiting[s.pc] for s in self._steps]
        resumed = dict.fromkeys(waiting, 0)
        for addresses in resumed:
            for pc in addresses:
                resumed[addresses] |= places[self._graph.number[pc]]
        return [x | resumed[addresses] for x, addresses in zip(places, waiting, strict=True)]

    def _conflicts(self) -> set[RegisterKey]:
        """Return the registers that may be raw in some lanes while others hold bits: they could not be saved."""
        out = all_dirty = all_bits = 0
        for n, s in enumerate(self._steps):
            out |= self._dirty[n] & self._bits_anywhere[n]
            # The block that goes where the stack says saves the same places for every target.
            if s.pc in self.flow.resumable:
                all_dirty |= self._dirty[n]
                all_bits |= self._bits[n]
        return set(self._places.of(out | all_dirty & all_bits))

    @property
    def dirty_anywhere(self) -> set[RegisterKey]:
        """Registers that may be raw where waiting lanes resume."""
        return set[RegisterKey]().union(*(self.dirty[pc] for pc in self.flow.resumable if pc in self.flow.steps))


def _overwritten(s: Step) -> set[RegisterKey]:
    """Return the registers written in all executing lanes."""
    if s.trace is None:
        return set()
    return {(e.name, uniform_number(e.args[0], s.word)) for e in s.trace.of_kind("write") if e.when is None}


@lru_cache(maxsize=4096)
def _raw_result(trace: Trace) -> Effect | None:
    """Return the one write of an instruction that only computes a sum or product, else None."""
    writes = [e for e in trace.effects if e.kind != "load"]
    if len(writes) != 1 or writes[0].kind != "write" or writes[0].name != "r" or writes[0].when is not None:
        return None
    value = writes[0].args[1]
    if value.op != "call" or value.attr[0].name not in RAW_RESULTS:
        return None
    calls = [n for n in postorder(value, set()) if n.op == "call"]
    return writes[0] if len(calls) == 1 else None


def _canonical_result(e: Effect, word: int) -> bool:
    """Return true if the value written is never a NaN other than the canonical one."""
    value = e.args[1]
    if value.op == "call":
        return value.attr[0].name in CANONICAL_RESULTS
    if value.op in ("const", "param"):
        number = uniform_number(value, word) & 0x7FFFFFFF
        return value.width == 32 and (number <= INFINITY or uniform_number(value, word) == 0x7FFFFFFF)
    return False


def _bit_reads(s: Step) -> set[RegisterKey]:
    """Return the registers whose bits the instruction observes."""
    if s.trace is None:
        return set(s.reads)
    reads = _looking(s.trace) if s.guard is None else _looking(s.trace) | _reads_below([s.guard])
    return {(n.attr, uniform_number(n.args[0], s.word)) for n in reads}


@lru_cache(maxsize=4096)
def _looking(trace: Trace) -> frozenset[Value]:
    """Return the register reads of an instruction whose values reach an operation that can tell NaNs apart."""
    seen: set[tuple[int, bool]] = set()
    found: set[Value] = set()
    todo = [(v, True) for e in trace.effects for v in e.inputs]
    while todo:
        v, looks = todo.pop()
        if (id(v), looks) in seen:
            continue
        seen.add((id(v), looks))
        if v.op == "read":
            if looks or v.width != 32:
                found.add(v)
        elif v.op == "call":
            todo += [(a, v.attr[0].name not in BLIND) for a in v.args]
        elif v.op == "ult" and _is_size_test(v):
            todo.append((v.args[0].args[0], False))
        elif looks or v.width != 32:
            todo += [(a, True) for a in v.args]
        elif v.op == "select":
            todo += [(v.args[0], True), (v.args[1], False), (v.args[2], False)]
        elif _sign_only(v):
            todo.append((v.args[0], False))
        else:
            todo += [(a, True) for a in v.args]
    return frozenset(found)


def _sign_only(v: Value) -> bool:
    """Return true if the value is its first argument with another sign: a NaN remains one."""
    if len(v.args) != 2 or v.args[1].op != "const":
        return False
    return (v.op, v.args[1].attr) in {("xor", SIGN), ("or", SIGN), ("and", SIGN - 1)}


def _is_size_test(v: Value) -> bool:
    """Return true for |x| < a constant, which is the same for every NaN."""
    x, limit = v.args
    return (
        x.op == "and"
        and x.width == 32
        and x.args[1].op == "const"
        and x.args[1].attr == SIGN - 1
        and limit.op == "const"
        and limit.attr <= INFINITY + 1
    )


def _reads_below(roots: list[Value]) -> frozenset[Value]:
    seen: set[int] = set()
    return frozenset(n for r in roots for n in postorder(r, seen) if n.op == "read")
