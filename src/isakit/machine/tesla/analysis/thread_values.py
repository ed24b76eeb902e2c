"""Values of each thread's registers, as far as its number determines them: an interval per thread.

The values of all threads of a block are propagated at once along the paths that each of them can take, so that a guard
like `tid < 32` excludes the others. A value is an interval of unsigned numbers per thread; whether it is the same in
all lanes that execute together is tracked as well. The divergence stack, which is tracked too, determines where lanes
diverge and reconverge: a program whose paths merge with different stacks is `Unstructured`, and nothing is known of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.flow.graph import reachable
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Step
from isakit.machine.tesla.analysis.lane_steps import widens
from isakit.sem.trace import Effect
from isakit.sem.value import INTEGER_MEANING, Value, mask, uniform_number

PATIENCE = 12
"""Visits of an instruction after which a register that still changes there is treated as unknown."""
MOST = 4
"""Largest number of nodes per instruction."""
_PUSHED = {"joinat": "joinat", "prebrk": "break", "preret": "call", "call": "call"}
DEEPEST = 64
"""Depth of the stack up to which it is tracked."""
WIDEST = 62
"""Width of values up to which they are tracked."""
HEADER = 0x10
"""Bytes of the launch header in s[]."""

Token = tuple[str, int]
"""An entry of the divergence stack: the instruction that pushed it, and the address where its lanes continue."""
Tokens = tuple[Token, ...]
Node = tuple[int, Tokens]
"""An instruction with the content of the stack: a function called from several places has several nodes."""


class Unstructured(IsakitError):
    """A program cannot be analysed: paths with different stacks merge in it, or it branches indirectly."""


Bound = int | Array
"""One number for all threads, or one for each."""


class Interval(NamedTuple):
    """The numbers a value may be, per thread or for all: `low`, `low + step` and so on, up to `high`.

    `alike`: it is the same in lanes that execute together. The `step` is common to all threads, and irrelevant for
    those whose value is known.
    """

    low: Bound
    high: Bound
    alike: bool
    step: int = 1

    @property
    def exact(self) -> bool:
        """True if each thread's value is known."""
        return self.low is self.high or bool(np.all(self.low == self.high))


KnownIntervals = dict[RegisterKey, Interval]


def number(n: int) -> Interval:
    """Return the interval of a constant."""
    return Interval(n, n, True)


def anything(width: int, alike: bool) -> Interval | None:
    """Return the interval of all numbers of a width; None for a width that is not tracked."""
    return Interval(0, mask(width), alike) if width <= WIDEST else None


@dataclass
class Reached:
    """A node as threads reach it: the threads that may run it, and the values of their registers."""

    runs: Array
    known: KnownIntervals
    visits: int = 0


@dataclass
class ThreadAccess:
    """A memory access: the threads that may execute it, at which addresses (None: anywhere), and the value stored."""

    node: Node
    kind: str
    space: str
    size: int
    runs: Array
    address: Interval | None
    value: Interval | None = None

    @property
    def pc(self) -> int:
        """The byte address of the instruction."""
        return self.node[0]


class ThreadValues:
    """The solution for one kernel and one shape of blocks. Raises Unstructured.

    Attributes: `entry`, `accesses` (of s[] and g[]), `successors` (the nodes after a node), `diverged` (for each branch
    at which lanes of a warp may diverge, the nodes executed until they have reconverged).
    """

    def __init__(self, flow: Flow, block: tuple[int, int, int], literals: bytes = b"", header: bool = True) -> None:
        """Solve for `literals` in c1[]. `header`: no store changes the launch header, which the caller verifies."""
        meets = (flow.choices.join, flow.choices.early_join) == ("before", "wait")
        if not meets or flow.controls & {"bra_indirect", "quadon"}:
            raise Unstructured("a program that is not followed")
        if flow.choices.call_limit_log != 15:
            raise Unstructured("calls that may fall through")
        self.flow, self.block, self.literals, self.header = flow, block, literals, header
        x, y, z = block
        n = np.arange(x * y * z, dtype=np.int64)
        self.threads = n
        first = (n % x) | (n // x % y) << 16 | (n // (x * y)) << 26
        self.first = Interval(first, first, False)
        self.entry: Node = flow.entry, ()
        self.reached: dict[Node, Reached] = {}
        self.successors: dict[Node, set[Node]] = {}
        self.diverged: dict[Node, frozenset[Node]] = {}
        while True:
            self._solve()
            apart = self._apart()
            if apart == self.diverged:
                break
            self.diverged = apart
        self.accesses = [a for node in sorted(self.reached) for a in self._accesses(node)]

    # --- ways ---------------------------------------------------------------------------------------------------------
    def _solve(self) -> None:
        flow = self.flow
        met = self._met()
        begin: KnownIntervals = {place: number(0) for place in flow.places}
        begin["r", 0] = self.first
        self.reached = {self.entry: Reached(np.ones(len(self.threads), bool), begin)}
        self.successors = {}
        self._meeting = met
        todo = [self.entry]
        while todo:
            node = todo.pop()
            for n, runs, known in self._ways(node):
                if n[0] in flow.steps:
                    self.successors.setdefault(node, set()).add(n)
                    if self._comes_to(n, runs, known) and n not in todo:
                        todo.append(n)

    def _comes_to(self, node: Node, runs: Array, known: KnownIntervals) -> bool:
        """Propagate along one more path to a node; return whether that changed anything. Raises Unstructured."""
        known = {p: v._replace(alike=False) if p in self._meeting.get(node, ()) else v for p, v in known.items()}
        before = self.reached.get(node)
        if before is None:
            if len(self.reached) >= MOST * len(self.flow.steps):
                raise Unstructured("too many ways with different stacks")
            self.reached[node] = Reached(runs, known)
            return True
        before.visits += 1
        patient = before.visits < PATIENCE
        news = bool((runs & ~before.runs).any())
        out: KnownIntervals = {}
        for place in before.known.keys() & known.keys():
            a, b = before.known[place], known[place]
            if _equal(a, b):
                out[place] = a
                continue
            low = _where(runs, _where(before.runs, _minimum(a.low, b.low), b.low), a.low)
            high = _where(runs, _where(before.runs, _maximum(a.high, b.high), b.high), a.high)
            alike = a.alike and b.alike
            step = _common_step(a, b, runs & before.runs)
            same = bool(np.all(low == a.low) and np.all(high == a.high)) and step == _step(a)
            if same and alike == a.alike:
                out[place] = a
                continue
            news = True
            if same or patient:
                out[place] = Interval(low, high, alike, step)
            elif alike:
                out[place] = Interval(0, mask(4 if place[0] == "c" else 32), True)
        news = news or len(out) < len(before.known)
        before.known, before.runs = out, before.runs | runs
        return news

    def _ways(self, node: Node) -> Iterable[tuple[Node, Array, KnownIntervals]]:
        """Yield the nodes that threads go to after a node, with the threads and the known values."""
        (pc, tokens), here, step = node, self.reached[node], self.flow.steps[node[0]]
        if step.trace is None:
            return  # they stop
        runs, following = here.runs, step.op.following
        if step.op.join:
            if not tokens or tokens[-1][0] != "joinat":
                raise Unstructured(f"a join at {pc:#x} without its joinat")
            if tokens[-1][1] > pc:
                yield (tokens[-1][1], tokens), runs, here.known
                return
            tokens = tokens[:-1]
        known, holds = self._after(step, here)
        executing = runs & np.asarray(holds.high != 0) if holds is not None else runs
        others = runs & np.asarray(holds.low == 0) if holds is not None else np.zeros_like(runs)
        if step.op.never:
            executing, others = np.zeros_like(runs), runs
        c, target = step.control, step.target
        if c in _PUSHED:
            assert target is not None
            inner = (*tokens, (_PUSHED[c], following if c == "call" else target))
            if len(inner) > DEEPEST:
                raise Unstructured("a stack that grows")
            yield (target if c == "call" else following, inner), runs, known
            return
        if c == "trap" or step.op.exit:
            executing = np.zeros_like(runs)
            others = others if c == "trap" else executing
        elif c == "bra":
            assert target is not None
            if executing.any():
                yield (target, tokens), executing, known
        elif c in ("brk", "ret"):
            k = _nearest(tokens, c)
            if k >= 0 and executing.any():
                yield (tokens[k][1], tokens[:k]), executing, known
        else:
            others = runs
        if others.any():
            yield (following, tokens), others, known

    # --- where lanes of a warp go apart -------------------------------------------------------------------------------
    def _apart(self) -> dict[Node, frozenset[Node]]:
        """Return the branches at which lanes may diverge, and the nodes executed until they have reconverged."""
        out: dict[Node, frozenset[Node]] = {}
        for node, here in self.reached.items():
            step = self.flow.steps[node[0]]
            parts = step.control in ("bra", "brk", "ret") and len(self.successors.get(node, ())) > 1
            if parts and not self._decided(step, here):
                out[node] = self._until_met(node)
        return out

    def _decided(self, step: Step, here: Reached) -> bool:
        """Return true if all lanes of a warp that execute a branch take the same path."""
        if step.guard is None:
            return True
        holds = _Values(self, step.word, here.known).of(step.guard)
        if holds is None:
            return False
        if holds.alike:
            return True
        if not holds.exact:
            return False
        taken = np.broadcast_to(holds.low, here.runs.shape) != 0
        return all(len(set(taken[k : k + 32][here.runs[k : k + 32]].tolist())) <= 1 for k in range(0, len(taken), 32))

    def _until_met(self, branch: Node) -> frozenset[Node]:
        """Return the nodes that lanes execute after a branch while the stack entries before it remain."""
        tokens, control = branch[1], self.flow.steps[branch[0]].control
        outer = tokens if control == "bra" else tokens[: _nearest(tokens, control) + 1]

        def go_on(node: Node) -> Iterator[Node]:
            for pc, inner in self.successors.get(node, ()):
                met = self.flow.steps[pc].op.join and inner == outer and inner[-1:] == (("joinat", pc),)
                if inner[: len(outer)] == outer and not met:
                    yield pc, inner

        return frozenset(reachable(go_on(branch), go_on))

    def _met(self) -> dict[Node, set[RegisterKey]]:
        """Return for each node where lanes reconverge the registers in which they may have different values."""
        out: dict[Node, set[RegisterKey]] = {}
        for inside in self.diverged.values():
            written = {p for pc, _ in inside for p in self.flow.steps[pc].writes}
            for node in inside:
                for n in self.successors.get(node, ()):
                    if n not in inside:
                        out.setdefault(n, set()).update(written)
        return out

    # --- values -------------------------------------------------------------------------------------------------------
    def _after(self, step: Step, here: Reached) -> tuple[KnownIntervals, Interval | None]:
        """Return the values after an instruction, and that of its condition (None: it always holds)."""
        values = _Values(self, step.word, here.known)
        holds = None if step.guard is None else values.of(step.guard) or anything(1, False)
        assert step.trace is not None
        if step.op.dropped and not step.control:
            return here.known, holds
        out = dict(here.known)
        for e in step.trace.of_kind("write"):
            place = e.name, uniform_number(e.args[0], step.word)
            if place not in step.writes or (e.name == "r" and place[1] >= self.flow.code.registers):
                continue
            new = values.of(e.args[1])
            old = here.known.get(place)
            for when in (holds, None if e.when is None else values.of(e.when) or anything(1, False)):
                if when is not None:
                    new = None if new is None or old is None else _chosen(when, new, old)
            if step.op.never:
                continue
            if new is None or (place[0] == "a" and place[1] in (0, 5, 6)):
                out.pop(place, None)
            else:
                out[place] = new
        return out, holds

    def _accesses(self, node: Node) -> list[ThreadAccess]:
        step, here = self.flow.steps[node[0]], self.reached[node]
        if step.trace is None or step.op.never or (step.op.dropped and not step.control):
            return []
        values = _Values(self, step.word, here.known)
        runs = here.runs
        if step.guard is not None:
            holds = values.of(step.guard)
            runs = runs if holds is None else runs & np.asarray(holds.high != 0)
        out: list[ThreadAccess] = []
        for e in step.trace.of_kind("load", "store", "atomic"):
            if e.name == "s" or e.name[0] == "g":
                out.append(self._access(node, e, values, runs))
        return out

    @staticmethod
    def _access(node: Node, e: Effect, values: _Values, runs: Array) -> ThreadAccess:
        if e.when is not None:
            when = values.of(e.when)
            runs = runs if when is None else runs & np.asarray(when.high != 0)
        value = values.of(e.args[1]) if e.kind == "store" else None
        return ThreadAccess(node, e.kind, e.name[0], e.get("size"), runs, values.of(e.args[0]), value)


def _nearest(tokens: Tokens, control: str) -> int:
    """Return the index of the entry that lanes return to at that break or return; -1 for none."""
    kind = "break" if control == "brk" else "call"
    return next((k for k in range(len(tokens) - 1, -1, -1) if tokens[k][0] == kind), -1)


def _minimum(a: Bound, b: Bound) -> Bound:
    """Return the lesser bounds, in 64 bits even where NumPy's default integers have 32, as in a browser."""
    return np.minimum(a, b, dtype=np.int64)


def _maximum(a: Bound, b: Bound) -> Bound:
    """Return the greater bounds, in 64 bits."""
    return np.maximum(a, b, dtype=np.int64)


def _where(when: Bound | Array, a: Bound | Array, b: Bound | Array) -> Array:
    """Choose bounds, in 64 bits even where NumPy's default integers have 32, as in a browser."""
    return np.where(when, np.asarray(a, np.int64), np.asarray(b, np.int64))


def _chosen(when: Interval, a: Interval, b: Interval) -> Interval:
    """Return `a` where a condition holds, else `b`."""
    low = _where(when.low != 0, a.low, _where(when.high == 0, b.low, _minimum(a.low, b.low)))
    high = _where(when.low != 0, a.high, _where(when.high == 0, b.high, _maximum(a.high, b.high)))
    return Interval(low, high, when.alike and a.alike and b.alike)


def _wrapped(low: Bound, high: Bound, width: int, alike: bool, step: int = 1) -> Interval | None:
    """Return an interval modulo 2**width; any number if it would not stay one interval."""
    if bool(np.all(low >> width == high >> width)):
        return Interval(low & mask(width), high & mask(width), alike, step)
    return anything(width, alike)


def _step(*x: Interval) -> int:
    """Return the step of sums and differences."""
    return math.gcd(*(0 if i.exact else i.step for i in x)) or 1


def _equal(a: Interval, b: Interval) -> bool:
    """Return true if two intervals are equal for every thread."""
    if a is b:
        return True
    return a.alike == b.alike and a.step == b.step and np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)


def _common_step(a: Interval, b: Interval, both: Array) -> int:
    """Return the common step of two intervals, where some threads (`both`) may have either."""
    apart = np.broadcast_to(np.abs(np.asarray(a.low - b.low)), both.shape)[both]
    return math.gcd(*(0 if i.exact else i.step for i in (a, b)), int(np.gcd.reduce(apart)) if len(apart) else 0) or 1


class _Values:
    """Evaluates the values of one instruction."""

    def __init__(self, whole: ThreadValues, word: int, known: KnownIntervals) -> None:
        self.whole, self.word, self.known = whole, word, known
        self._found: dict[int, Interval | None] = {}

    def of(self, v: Value) -> Interval | None:
        """Return the interval of a value, None if nothing is known."""
        if id(v) not in self._found:
            self._found[id(v)] = self._of(v)
        return self._found[id(v)]

    def _of(self, v: Value) -> Interval | None:
        if v.uniform:
            n = uniform_number(v, self.word)
            return number(n) if v.width <= WIDEST else None
        if v.op in LEAVES:
            return LEAVES[v.op](self, v)
        args = [self.of(a) for a in v.args]
        alike = all(a is not None and a.alike for a in args)
        rule = RULES.get(v.op)
        if rule is None or any(a is None for a in args) or v.width > WIDEST:
            return anything(v.width, alike)
        found = rule(v, [a for a in args if a is not None], alike)
        return anything(v.width, alike) if found is None else found

    def read(self, v: Value) -> Interval | None:
        """Return the interval of a register, None if nothing is known."""
        n = uniform_number(v.args[0], self.word)
        if (v.attr == "a" and n == 0) or (v.attr == "r" and n >= self.whole.flow.code.registers):
            return number(0)
        found = self.known.get((v.attr, n))
        if found is None:
            return anything(v.width, False)
        return _wrapped(found.low, found.high, v.width, found.alike, found.step)

    def load(self, v: Value) -> Interval | None:
        """Return the value of a load from the launch header or the literals of the program.

        For other memory, only whether all lanes read the same is known.
        """
        at, (space, size, _) = self.of(v.args[0]), v.attr
        if at is not None and at.alike and at.exact:
            where = int(np.asarray(at.low).flat[0])
            if space == "s" and size == 2 and where in (2, 4, 6) and self.whole.header:
                return number(self.whole.block[where // 2 - 1])
            if space == "c1" and where + size <= len(self.whole.literals) and size <= 4:
                return number(int.from_bytes(self.whole.literals[where : where + size], "little"))
        return anything(v.width, at is not None and at.alike)

    def machine(self, v: Value) -> Interval | None:
        """Return the interval of a machine value."""
        name, facts = v.attr
        if name == "lane":
            lanes = self.whole.threads & 31
            return Interval(lanes, lanes, False)
        alike = name in ("vote", "mp_flag") or (name == "sr" and dict(facts)["n"] != 0)
        return anything(v.width, alike)

    def atomic(self, v: Value) -> Interval | None:
        """Return the interval of the previous content of memory."""
        return anything(v.width, False)


LEAVES: dict[str, Callable[[_Values, Value], Interval | None]] = {
    "read": _Values.read, "load": _Values.load, "machine": _Values.machine, "atomic": _Values.atomic,
}  # fmt: skip


# --- operations: (node, arguments, whether they are alike) -> interval, None for any number ---------------------------
Args = Sequence[Interval]


def _add(v: Value, x: Args, alike: bool) -> Interval | None:
    return _wrapped(x[0].low + x[1].low, x[0].high + x[1].high, v.width, alike, _step(*x))


def _sub(v: Value, x: Args, alike: bool) -> Interval | None:
    return _wrapped(x[0].low - x[1].high, x[0].high - x[1].low, v.width, alike, _step(*x))


def _mul(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = x
    if int(np.max(a.high)) * int(np.max(b.high)) >= 1 << WIDEST:
        return None
    return _wrapped(a.low * b.low, a.high * b.high, v.width, alike)


def _and(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = x
    if a.exact and b.exact:
        return Interval(a.low & b.low, a.low & b.low, alike)
    for value, other in ((a, b), (b, a)):
        if other.exact and np.ndim(other.low) == 0:
            m = int(other.low)
            rest = ~m & mask(v.width)
            if m & (m + 1) == 0:
                return _wrapped(value.low, value.high, m.bit_length(), alike, value.step)
            if rest & (rest + 1) == 0:
                return Interval(value.low & m, value.high & m, alike)
    return Interval(np.zeros_like(np.asarray(a.low, np.int64)), _minimum(a.high, b.high), alike)


def _or(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = x
    if a.exact and b.exact:
        return Interval(a.low | b.low, a.low | b.low, alike)
    return Interval(_maximum(a.low, b.low), _minimum(a.high + b.high, mask(v.width)), alike)


def _xor(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = x
    if a.exact and b.exact:
        return Interval(a.low ^ b.low, a.low ^ b.low, alike)
    return Interval(np.zeros_like(np.asarray(a.low, np.int64)), _minimum(a.high + b.high, mask(v.width)), alike)


def _not(v: Value, x: Args, alike: bool) -> Interval | None:
    return Interval(mask(v.width) - x[0].high, mask(v.width) - x[0].low, alike)


def _shl(v: Value, x: Args, alike: bool) -> Interval | None:
    a, n = x
    if not n.exact or int(np.max(n.high)) + int(np.max(a.high)).bit_length() > WIDEST:
        return None
    return _wrapped(a.low << n.low, a.high << n.low, v.width, alike, a.step << int(np.min(n.low)))


def _lshr(v: Value, x: Args, alike: bool) -> Interval | None:
    a, n = x
    return Interval(a.low >> _minimum(n.high, WIDEST), a.high >> _minimum(n.low, WIDEST), alike)


def _ashr(v: Value, x: Args, alike: bool) -> Interval | None:
    return _lshr(v, x, alike) if bool(np.all(x[0].high <= mask(v.width - 1))) else None


def _eq(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = x
    certain = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    possible = (a.low <= b.high) & (b.low <= a.high)
    return Interval(np.asarray(certain, np.int64), np.asarray(possible, np.int64), alike)


def _less(a: Interval, b: Interval, alike: bool) -> Interval:
    return Interval(np.asarray(a.high < b.low, np.int64), np.asarray(a.low < b.high, np.int64), alike)


def _ult(v: Value, x: Args, alike: bool) -> Interval | None:
    return _less(x[0], x[1], alike)


def _slt(v: Value, x: Args, alike: bool) -> Interval | None:
    a, b = (_signed(i, a.width) for i, a in zip(x, v.args, strict=True))
    return _less(a, b, alike)


def _signed(i: Interval, width: int) -> Interval:
    """Return an interval of signed numbers."""
    one_side = (i.low >> (width - 1)) == (i.high >> (width - 1))
    low, high = (n - (n >> (width - 1) << width) for n in (i.low, i.high))
    return Interval(_where(one_side, low, -(1 << width - 1)), _where(one_side, high, mask(width - 1)), i.alike)


def _select(v: Value, x: Args, alike: bool) -> Interval | None:
    return _chosen(x[0]._replace(alike=alike), x[1], x[2])


def _zext(v: Value, x: Args, alike: bool) -> Interval | None:
    return x[0]


def _sext(v: Value, x: Args, alike: bool) -> Interval | None:
    a, width = x[0], v.args[0].width
    half = width - 1
    if not bool(np.all(a.low >> half == a.high >> half)):
        return None
    more = mask(v.width) - mask(width)
    return Interval(a.low + (a.low >> half) * more, a.high + (a.low >> half) * more, alike)


def _extract(v: Value, x: Args, alike: bool) -> Interval | None:
    return _wrapped(x[0].low >> v.attr, x[0].high >> v.attr, v.width, alike, 1 if v.attr else x[0].step)


def _concat(v: Value, x: Args, alike: bool) -> Interval | None:
    by = v.args[1].width
    return Interval((x[0].low << by) + x[1].low, (x[0].high << by) + x[1].high, alike)


def _call(v: Value, x: Args, alike: bool) -> Interval | None:
    """Return the interval of a conversion; of an unsigned number to as many bits or more it changes nothing."""
    return x[0] if widens(v) else None


Rule = Callable[[Value, Args, bool], Interval | None]
RULES: dict[str, Rule] = {
    "add": _add, "sub": _sub, "mul": _mul, "and": _and, "or": _or, "xor": _xor, "not": _not, "shl": _shl,
    "lshr": _lshr, "ashr": _ashr, "eq": _eq, "ult": _ult, "slt": _slt, "select": _select, "zext": _zext,
    "sext": _sext, "extract": _extract, "concat": _concat, "call": _call,
}  # fmt: skip
assert RULES.keys() - {"call"} <= INTEGER_MEANING.keys()
