"""Accesses by which a program can observe the order in which the warps of its blocks run; see `rules.turns`.

Two accesses race if different warps may make them between the same two barriers, to the same bytes, and one of them
writes. The analysis covers s[], atomic operations on g[], and plain accesses to g[] at an address that is the same for
all lanes. Other accesses to g[] count only in pairs with an atomic operation or with such a store.

A pair is left out only by proof:
- a block has one warp;
- only one warp executes them (`thread_values`: guards by the number of the thread);
- different warps reach different bytes: ranges of addresses, with their steps, thread by thread;
- a barrier that all warps wait at is between them;
- they are the same store, of the same value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from isakit.arch.tesla.tesla import COMPUTE
from isakit.engine.protocol import Array
from isakit.flow.dataflow import solve
from isakit.flow.graph import FlowGraph, reachable
from isakit.lean import cached_property
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import NotCompiled, Step
from isakit.machine.tesla.analysis.spin_loops import spin_loops
from isakit.machine.tesla.analysis.thread_values import (
    HEADER,
    Node,
    ThreadAccess,
    ThreadValues,
    Unstructured,
)
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.rules.barriers import ALL
from isakit.sem.value import uniform_number

CLASSES = 16
"""Bits of `WarpState.pending`."""
SHARED_BYTES = 0x4000
"""The most bytes of s[] a block can have."""
LITERALS = 1
"""The bank of c[] that holds a program's own constants ([tesla] 10)."""
MOST_WARPS = 64
"""Number of warps of a block whose addresses are distinguished."""


@dataclass(frozen=True)
class WarpOrder:
    """The influence of the order of warps on a program.

    Attributes: `ordered` (whether it is observable), `races` (address of an access, and its `InstructionEntry.races`).
    """

    ordered: bool = False
    races: tuple[tuple[int, int], ...] = ()


NOT_SEEN = WarpOrder()


def warp_order(launch: Launch) -> WarpOrder:
    """Return how the program of a launch can observe the order of warps."""
    if launch.warps == 1 or launch.code.decoder.view.program != COMPUTE:
        return NOT_SEEN
    return order_of(launch.code, launch.entry, launch.choices, launch.block, literals_of(launch))


def literals_of(launch: Launch) -> bytes:
    """Return the constants that belong to the program: c1[]."""
    return launch.constants.get(LITERALS, b"")


@lru_cache(maxsize=256)
def order_of(code: Code, entry: int, choices: Choices, block: tuple[int, int, int], literals: bytes = b"") -> WarpOrder:
    """Return how a program with blocks of a shape can observe the order of warps.

    Unordered if it cannot be analysed.
    """
    try:
        flow = Flow(code, entry, choices=choices)
    except NotCompiled:
        return NOT_SEEN
    if not _may_race(flow):
        return NOT_SEEN
    return RacingAccesses(flow, block, literals).order


def _may_race(flow: Flow) -> bool:
    """Return true if a program may share data between warps, at first sight."""
    effects = [e for s in flow.steps.values() if s.trace for e in s.trace.of_kind("store", "atomic")]
    return any(e.name[0] in "sg" for e in effects)


class RacingAccesses:
    """The races of one kernel and one shape of blocks.

    Attributes: `accesses`, by number; `conflicts` (for each the numbers of those it races with), `order`.
    """

    def __init__(self, flow: Flow, block: tuple[int, int, int], literals: bytes = b"") -> None:
        self.flow = flow
        self.warps = -(-block[0] * block[1] * block[2] // 32)
        self.values = _values(flow, block, literals) if self.warps <= MOST_WARPS else None
        if self.values is None:
            self.accesses = [a for s in flow.steps.values() for a in _anywhere(s, self.warps)]
        else:
            self.accesses = [a for a in self.values.accesses if a.runs.any()]
        self._by_pc: dict[int, list[int]] = {}
        for n, a in enumerate(self.accesses):
            self._by_pc.setdefault(a.pc, []).append(n)
        self._reach = [self._reached(a) for a in self.accesses]
        self.conflicts = self._conflicts()

    # --- which accesses race ------------------------------------------------------------------------------------------
    def _conflicts(self) -> list[set[int]]:
        out: list[set[int]] = [set() for _ in self.accesses]
        for k, a in enumerate(self.accesses):
            for n in range(k, len(self.accesses)):
                if self._race(a, self.accesses[n], k, n):
                    out[k].add(n)
                    out[n].add(k)
        return out

    def _race(self, a: ThreadAccess, b: ThreadAccess, k: int, n: int) -> bool:
        if a.kind == b.kind == "load" or a.space != b.space or not _counts(a, b):
            return False
        if k == n and _stores_one_number(a):
            return False
        return self._same_interval(a.node, b.node) and meet(self._reach[k], self._reach[n])

    def _reached(self, a: ThreadAccess) -> Array:
        """Return the warps that may reach each byte of s[], as bits; for g[] at unknown addresses, one element."""
        warps = [w for w in range(self.warps) if a.runs[32 * w : 32 * w + 32].any()]
        if a.space != "s" or a.address is None:
            return np.full(1, sum(1 << w for w in warps if w < MOST_WARPS), np.uint64)
        out = np.zeros(SHARED_BYTES, np.uint64)
        low = np.broadcast_to(a.address.low & -a.size, a.runs.shape)
        high = np.broadcast_to(a.address.high, a.runs.shape)
        for w in warps:
            some = np.flatnonzero(a.runs[32 * w : 32 * w + 32]) + 32 * w
            begins: Array = low[some]
            ends: Array = high[some] + a.size
            step = a.address.step
            if step > a.size and step % a.size == 0:  # with gaps, which others may have
                last = np.minimum(high[some], SHARED_BYTES)
                rows: list[Array] = [np.arange(x, y + 1, step) for x, y in zip(begins, last, strict=True)]
                begins = np.concatenate(rows)
                ends = begins + a.size
            edges = np.zeros(SHARED_BYTES + 1, np.int64)
            for of, by in ((begins, 1), (ends, -1)):
                np.add.at(edges, np.minimum(of, SHARED_BYTES), by)
            out |= (np.cumsum(edges[:-1]) > 0).astype(np.uint64) << np.uint64(w)
        return out

    # --- intervals between barriers -----------------------------------------------------------------------------------
    def _same_interval(self, a: Node, b: Node) -> bool:
        """Return true if one warp may execute `a` and another one `b` between the same two barriers."""
        if self.values is None:
            return True
        return any((x, y) in self._together for x in self._begins[a] for y in self._begins[b])

    @cached_property
    def _separating(self) -> frozenset[int]:
        """The barriers that all warps of a block wait at, if there are no others and no lanes wait meanwhile."""
        bars = [s for s in self.flow.steps.values() if s.control == "bar"]
        inside = () if self.values is None else self.values.diverged.values()
        diverged = {pc for nodes in inside for pc, _ in nodes}
        if not all(_waits_for_all(s) for s in bars) or any(s.pc in diverged for s in bars):
            return frozenset()
        return frozenset(s.pc for s in bars)

    @cached_property
    def _begins(self) -> dict[Node, set[Node]]:
        """For each node the barriers (or the entry) at which an interval begins that may reach it."""
        assert self.values is not None
        successors, separating = self.values.successors, self._separating
        out: dict[Node, set[Node]] = {node: set() for node in self.values.reached}
        entry = self.values.entry
        for node, begin in reachable(
            [(entry, entry)],
            lambda way: [(n, way[0] if way[0][0] in separating else way[1]) for n in successors.get(way[0], ())],
        ):
            out[node].add(begin)
        return out

    @cached_property
    def _together(self) -> set[tuple[Node, Node]]:
        """Pairs of intervals, by their starts, that different warps may be in at once."""
        assert self.values is not None
        behind: dict[Node, set[Node]] = {}
        for node, begins in self._begins.items():
            if node[0] in self._separating:
                for begin in begins:
                    behind.setdefault(begin, set()).add(node)
        entry = self.values.entry
        return reachable(
            [(entry, entry)], lambda pair: [(x, y) for x in behind.get(pair[0], ()) for y in behind.get(pair[1], ())]
        )

    # --- what a turn ends before --------------------------------------------------------------------------------------
    @cached_property
    def order(self) -> WarpOrder:
        """The influence of the order of warps, as far as the program can observe it."""
        ordered = any(self.conflicts)
        if not ordered or self.flow.choices.warp_order != "turns":
            return WarpOrder(ordered)
        return WarpOrder(ordered, packed(self.meetings()))

    def meetings(self) -> dict[int, set[int]]:
        """Return for each access, by address, the accesses that end a turn before it if they were made in that turn."""
        out: dict[int, set[int]] = {}
        waits = self._waiting_loads()
        made = self._made_before() if "bar" in self.flow.controls else {}
        for k, races in enumerate(self.conflicts):
            a = self.accesses[k]
            before = {self.accesses[n].pc for n in races if n != k or a.kind != "store"}
            found = before & made.get(a.pc, set[int]())
            if races and a.pc in waits:
                found.add(a.pc)
            if found:
                out.setdefault(a.pc, set()).update(found)
        return out

    def _waiting_loads(self) -> set[int]:
        """Return the loads in loops that spin until another warp has written something."""
        loads = {a.pc for a in self.accesses if a.kind == "load"}
        return {pc for first, last in spin_loops(self.flow, "gs") for pc in loads if first <= pc <= last}

    def _made_before(self) -> dict[int, set[int]]:
        """Return for each instruction the accesses that its warp may have made since its last barrier."""
        racing = {self.accesses[k].pc for k, races in enumerate(self.conflicts) if races}
        if self.values is None:
            return {pc: racing for pc in self.flow.steps}
        number = {pc: 1 << k for k, pc in enumerate(sorted(racing))}
        values, steps = self.values, self.flow.steps
        graph = FlowGraph([values.entry], lambda node: values.successors.get(node, ()))
        also = [0] * len(graph)  # lanes that went another way come after those that went one
        for branch, inside in values.diverged.items():
            bits = sum(number.get(pc, 0) for pc in {pc for pc, _ in inside})
            for n in values.successors[branch]:
                also[graph.number[n]] |= bits
        own = [number.get(pc, 0) for pc, _ in graph.nodes]
        bars = [steps[pc].control == "bar" for pc, _ in graph.nodes]
        made = solve(graph, lambda n, before: 0 if bars[n] else before | also[n] | own[n], [0] * len(graph))
        found: dict[int, set[int]] = {}
        for (pc, _), bits, others in zip(graph.nodes, made, also, strict=True):
            found.setdefault(pc, set()).update(p for p, bit in number.items() if bit & (bits | others))
        return found


def packed(meetings: Mapping[int, Iterable[int]]) -> tuple[tuple[int, int], ...]:
    """Return `InstructionEntry.races` by address: accesses that end turns before the same ones share a bit."""
    before: dict[int, set[int]] = {}
    for pc, others in meetings.items():
        for other in others:
            before.setdefault(other, set()).add(pc)
    classes: dict[frozenset[int], int] = {}
    out: dict[int, int] = {}
    for pc in sorted(before):
        number = classes.setdefault(frozenset(before[pc]), min(len(classes), CLASSES - 1))
        out[pc] = out.get(pc, 0) | 1 << number
        for other in before[pc]:
            out[other] = out.get(other, 0) | 1 << CLASSES + number
    return tuple(sorted(out.items()))


def meet(a: Array, b: Array) -> bool:
    """Return true if two different warps may reach one byte; `a` and `b`: bits of warps by byte, or for all bytes."""
    both = (a != 0) & (b != 0)
    alone = (a == b) & (a & (a - np.uint64(1)) == 0)
    return bool((both & ~alone).any())


def _values(flow: Flow, block: tuple[int, int, int], literals: bytes) -> ThreadValues | None:
    """Return the values of threads' registers, None if nothing is known."""
    try:
        values = ThreadValues(flow, block, literals)
        if any(a.space == "s" and a.kind != "load" and _may_change_header(a) for a in values.accesses):
            values = ThreadValues(flow, block, literals, header=False)
        return values
    except Unstructured:
        return None


def _may_change_header(a: ThreadAccess) -> bool:
    return a.address is None or bool((np.broadcast_to(a.address.low, a.runs.shape)[a.runs] < HEADER).any())


def _anywhere(step: Step, warps: int) -> list[ThreadAccess]:
    """Return the accesses of an instruction as made by all threads, at any address."""
    effects = step.trace.of_kind("load", "store", "atomic") if step.trace is not None else []
    every = np.ones(32 * warps, bool)
    return [
        ThreadAccess((step.pc, ()), e.kind, e.name[0], e.get("size"), every, None) for e in effects if e.name[0] in "sg"
    ]


def _counts(a: ThreadAccess, b: ThreadAccess) -> bool:
    """Return true if a pair may be a race: see the module docstring."""
    if a.space == "s":
        return True
    if not (_one_address(a) or _one_address(b)):
        return False
    return all(
        _one_address(x) or y.kind == "atomic" or (_one_address(y) and y.kind == "store") for x, y in ((a, b), (b, a))
    )


def _one_address(a: ThreadAccess) -> bool:
    """Return true if an access to g[] is atomic, or goes to one address in all lanes."""
    return a.kind == "atomic" or (a.address is not None and a.address.alike)


def _stores_one_number(a: ThreadAccess) -> bool:
    """Return true if all threads store the same value, so that the order does not matter."""
    if a.kind != "store" or a.value is None or not a.value.exact:
        return False
    return len(np.unique(np.broadcast_to(a.value.low, a.runs.shape)[a.runs])) == 1


def _waits_for_all(step: Step) -> bool:
    """Return true if an instruction is a barrier for all warps of the block."""
    assert step.trace is not None
    e = step.trace.of_kind("control")[0]
    count = e.args[1]
    everybody = e.get("all") or (count.uniform and uniform_number(count, step.word) == ALL)
    return bool(e.get("inc") and e.get("wait") and everybody and not step.conditional)
