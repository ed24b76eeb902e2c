"""Which results may stay NaNs of the host, and where they are made canonical.

The hardware knows one NaN, 0x7fffffff; the host keeps the payload and the sign of an operand. As long as only
instructions read a register that treat all NaNs alike, no result depends on it. `LazyNans` decides, per definition,
whether the host's result may stay as it is (it is *raw*), and lists the registers that may be raw where the state of a
warp leaves compiled code; they are made canonical there. A register can hold a float on one path and bits that look
like another NaN on the other: at such a place nothing may be raw.
"""

from __future__ import annotations

from functools import lru_cache

from isakit.machine.tesla.compiled.analysis.control_flow import Flow, Place, Step
from isakit.sem.trace import Effect, Trace
from isakit.sem.value import Value, postorder, uniform_number

RAW_RESULTS = {"f32_add", "f32_mul"}
"""Operations whose host instruction can leave the result as it is."""
CANONICAL_RESULTS = {
    "f32_add", "f32_mul", "f32_mad", "f32_saturate", "f32_max", "f32_min", "f32_mov2", "f32_flush",
}  # fmt: skip
"""Operations whose only NaN is the canonical one."""
BLIND = CANONICAL_RESULTS | {"f32_compare"}
"""Operations that give the same for every NaN in an operand, whatever its payload and sign."""
SIGN = 0x80000000
INFINITY = 0x7F800000


class LazyNans:
    """The decisions for one kernel.

    `raw` holds (pc, place) of the definitions that need not be canonical. `dirty[pc]` are the places that may be raw
    before the instruction at pc, in active lanes or in waiting ones.
    """

    def __init__(self, flow: Flow, registers: int) -> None:
        self.flow, self.registers = flow, registers
        self.raw: set[tuple[int, Place]] = set()
        self.dirty: dict[int, set[Place]] = {pc: set() for pc in flow.order}
        possible = [s for s in flow.steps.values() if s.trace is not None and _raw_result(s.trace) is not None]
        if not possible or flow.has_quads or flow.has_quadon:
            return
        self._edges = {pc: [n for n in flow.after(flow.steps[pc]) if n in flow.steps] for pc in flow.order}
        self._bits = self._places_of_bits()
        never: set[Place] = set()
        while True:
            self._decide(possible, self._looked_at(), never)
            self._spread()
            conflicts = self._conflicts() - never
            if not conflicts:
                return
            never |= conflicts

    # --- what registers hold ------------------------------------------------------------------------------------
    def _places_of_bits(self) -> dict[int, set[Place]]:
        """Places that may hold any bits before each instruction; the others hold results of float operations."""
        flow = self.flow
        bits: dict[int, set[Place]] = {pc: set() for pc in flow.order}
        bits[flow.entry] = {("r", 0)} & flow.live[flow.entry]
        todo = list(reversed(flow.order))
        while todo:
            pc = todo.pop()
            out = self._bits_after(flow.steps[pc], bits[pc])
            for n in self._edges[pc]:
                new = (out & flow.live[n]) - bits[n]
                if new:
                    bits[n] |= new
                    todo.append(n)
        return bits

    @staticmethod
    def _bits_after(s: Step, before: set[Place]) -> set[Place]:
        out = set(before)
        if s.trace is None:
            return out
        for e in s.trace.of_kind("write"):
            place = e.name, uniform_number(e.args[0], s.word)
            if not _canonical_result(e, s.word):
                out.add(place)
            elif not s.conditional and e.when is None:
                out.discard(place)
        return out

    # --- who looks ----------------------------------------------------------------------------------------------
    def _looked_at(self) -> dict[int, set[Place]]:
        """Places that, as they are after each instruction, something will look at as bits."""
        flow, before = self.flow, dict[int, set[Place]]()
        behind: dict[int, set[Place]] = {}
        for pc in flow.order:
            s, out = flow.steps[pc], self._bits_after(flow.steps[pc], self._bits[pc])
            before[pc] = _bit_reads(s)
            # From here on the place counts as bits: what comes from here must be canonical.
            behind[pc] = {p for n in self._edges[pc] for p in (self._bits[n] & flow.live[n]) - out}
            behind[pc] |= {p for p in s.writes if p in out}
        changed = True
        while changed:
            changed = False
            for pc in reversed(flow.order):
                s = flow.steps[pc]
                for n in self._edges[pc]:
                    behind[pc] |= before[n]
                new = behind[pc] - (set() if s.conditional else _overwritten(s))
                if not new <= before[pc]:
                    before[pc] |= new
                    changed = True
        return behind

    def _decide(self, possible: list[Step], looked_at: dict[int, set[Place]], never: set[Place]) -> None:
        self.raw = set()
        for s in possible:
            assert s.trace is not None
            effect = _raw_result(s.trace)
            assert effect is not None
            place = effect.name, uniform_number(effect.args[0], s.word)
            if place[1] < self.registers and place not in never and place not in looked_at[s.pc]:
                self.raw.add((s.pc, place))

    # --- where raw values get to --------------------------------------------------------------------------------
    def _spread(self) -> None:
        flow = self.flow
        own: dict[int, set[Place]] = {pc: set() for pc in flow.order}
        todo = [pc for pc, _ in self.raw]
        while todo:
            pc = todo.pop()
            s = flow.steps[pc]
            out = own[pc] - (set() if s.conditional else _overwritten(s))
            out |= {p for p in s.writes if (pc, p) in self.raw}
            for n in self._edges[pc]:
                new = (out & flow.live[n]) - own[n]
                if new:
                    own[n] |= new
                    todo.append(n)
        self.dirty = {pc: own[pc].union(*(own[r] for r in flow.waiting[pc])) for pc in flow.order}

    def _conflicts(self) -> set[Place]:
        """Places that may be raw in some lanes while others hold bits: they could not be saved."""
        flow, out = self.flow, set[Place]()
        for pc in flow.order:
            out |= self.dirty[pc] & self._bits[pc].union(*(self._bits[r] for r in flow.waiting[pc]))
        # The block that goes where the stack says saves the same places for every target.
        targets = [pc for pc in flow.resumable if pc in flow.steps]
        all_dirty, all_bits = set[Place](), set[Place]()
        for pc in targets:
            all_dirty |= self.dirty[pc]
            all_bits |= self._bits[pc]
        return out | (all_dirty & all_bits)

    @property
    def dirty_anywhere(self) -> set[Place]:
        """Places that may be raw where waiting lanes go on."""
        return set[Place]().union(*(self.dirty[pc] for pc in self.flow.resumable if pc in self.flow.steps))


def _overwritten(s: Step) -> set[Place]:
    """Places written in all executing lanes."""
    if s.trace is None:
        return set()
    return {(e.name, uniform_number(e.args[0], s.word)) for e in s.trace.of_kind("write") if e.when is None}


@lru_cache(maxsize=4096)
def _raw_result(trace: Trace) -> Effect | None:
    """The one write of an instruction that computes nothing but a sum or product."""
    writes = [e for e in trace.effects if e.kind != "load"]
    if len(writes) != 1 or writes[0].kind != "write" or writes[0].name != "r" or writes[0].when is not None:
        return None
    value = writes[0].args[1]
    if value.op != "call" or value.attr[0].name not in RAW_RESULTS:
        return None
    calls = [n for n in postorder(value, set()) if n.op == "call"]
    return writes[0] if len(calls) == 1 else None


def _canonical_result(e: Effect, word: int) -> bool:
    """Whether the value written is never a NaN other than the canonical one."""
    value = e.args[1]
    if value.op == "call":
        return value.attr[0].name in CANONICAL_RESULTS
    if value.op in ("const", "param"):
        number = uniform_number(value, word) & 0x7FFFFFFF
        return value.width == 32 and (number <= INFINITY or uniform_number(value, word) == 0x7FFFFFFF)
    return False


def _bit_reads(s: Step) -> set[Place]:
    """Registers whose bits the instruction looks at."""
    if s.trace is None:
        return set(s.reads)
    reads = _looking(s.trace) if s.guard is None else _looking(s.trace) | _reads_below([s.guard])
    return {(n.attr, uniform_number(n.args[0], s.word)) for n in reads}


@lru_cache(maxsize=4096)
def _looking(trace: Trace) -> frozenset[Value]:
    """Reads of an instruction that get somewhere where NaNs can be told apart."""
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
    """Whether the value is its first argument with another sign: a NaN stays one."""
    if len(v.args) != 2 or v.args[1].op != "const":
        return False
    return (v.op, v.args[1].attr) in {("xor", SIGN), ("or", SIGN), ("and", SIGN - 1)}


def _is_size_test(v: Value) -> bool:
    """|x| < a number: the same for every NaN."""
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
