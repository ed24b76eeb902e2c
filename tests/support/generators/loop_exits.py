"""Random kernels that lanes leave loops and blocks of, one or more at a time, around barriers: as PTX, as C, and run.

A kernel is a tree of lists, plain data. Conditions read the thread's number, loop counters, a parameter and a word of
memory that is the same for all, and nothing that is computed, so that it is soon known whether all threads come to the
same barriers in the same order; only such kernels are made, for CUDA gives no others a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

THREADS = 64
WARP = 32
PERIOD = 8
"""Threads whose numbers agree modulo this go the same ways."""
M32 = 0xFFFF_FFFF
STEPS = 2_000
"""Statements of one thread, within which a kernel ends."""
Tree = list[Any]
Way = tuple[str, int] | None
"""What follows a statement: nothing in particular, or ("leave" | "next", how many loops or blocks), ("return", 0)."""


# --- what a kernel means ---------------------------------------------------------------------------------------------
class Thread:
    """One thread of a kernel.

    `steps` gives (exchange, value) at each exchange and is sent the other's value, or (vote, truth, kind) where all
    threads are together, and is sent the outcome. `votes`: those it has come to alone, as (vote, counters of the loops
    around it), with what it found itself.
    """

    def __init__(self, t: int, n: int, word: int) -> None:
        self.t, self.n, self.word = t, n, word
        self.acc, self.left = t, STEPS
        self.counters: list[int] = []
        self.votes: list[tuple[tuple[int, ...], bool]] = []

    def holds(self, c: Tree) -> bool:
        match c:
            case ["t", mask, value]:
                return self.t & mask == value
            case ["turn", level, mask]:
                return (self.t + self.counters[level]) & mask == 0
            case ["n", value]:
                return self.n == value
            case ["word", value]:
                return self.word == value
            case ["count", level, value]:
                return self.counters[level] >= value
            case ["last", level]:
                return self.counters[level] >= self.n
            case ["and", a, b]:
                return self.holds(a) and self.holds(b)
            case _:
                raise AssertionError(c)

    def steps(self, body: list[Tree]) -> Iterator[tuple[Any, ...]]:
        yield from self._run(body)  # type: ignore[misc]

    def _run(self, body: list[Tree]) -> Any:
        for s in body:
            self.left -= 1
            assert self.left > 0, "the kernel does not end"
            way: Way = None
            match s:
                case ["add", k]:
                    self.acc = self.acc * 3 + k & M32
                case ["xor", k]:
                    self.acc ^= self.t * k & M32
                case ["add-count", level]:
                    self.acc = self.acc + self.counters[level] & M32
                case ["exchange", number, k]:
                    got = yield number, self.acc ^ k
                    self.acc = self.acc + got & M32
                case ["vote-together", number, kind, mask]:
                    got = yield number, self.acc & mask != 0, kind
                    self.acc = self.acc * 3 + got & M32
                case ["vote", number, _, mask]:
                    self.votes.append(((number, *self.counters), self.acc & mask != 0))
                case ["if", c, then, other]:
                    way = yield from self._run(then if self.holds(c) else other)
                case ["loop", bound, inner]:
                    self.counters.append(0)
                    while self.counters[-1] < bound and way is None:
                        way = yield from self._run(inner)
                        if way == ("next", 1):
                            way = None
                        self.counters[-1] += 1
                    self.counters.pop()
                case ["block", inner]:
                    way = yield from self._run(inner)
                case [kind]:
                    return kind, 0
                case [kind, k]:
                    return kind, k
                case _:
                    raise AssertionError(s)
            if s[0] in ("loop", "block") and way is not None and way[0] != "return":
                way = None if way[1] == 1 and way[0] == "leave" else (way[0], way[1] - 1)
            if way is not None:
                return way
        return None


def barriers(tree: list[Tree], t: int, n: int, word: int) -> list[tuple[int, ...]]:
    """The exchanges that a thread comes to, each with the counters of the loops around it."""
    thread = Thread(t, n, word)
    steps: Any = thread.steps(tree)
    found: list[tuple[int, ...]] = []
    try:
        number, *_ = next(steps)
        while True:
            found.append((number, *thread.counters))
            number, *_ = steps.send(0)
    except StopIteration:
        return found


def meant(tree: list[Tree], n: int, word: int) -> list[int]:
    """What all threads of a block have computed at the end."""
    return [t.acc for t in ended(tree, n, word)]


def ended(tree: list[Tree], n: int, word: int) -> list[Thread]:
    """All threads of a block, at the end."""
    threads = [Thread(t, n, word) for t in range(THREADS)]
    steps: list[Any] = [t.steps(tree) for t in threads]
    sent: list[int | None] = [None] * THREADS
    while True:
        values: list[tuple[Any, ...]] = []
        for s, v in zip(steps, sent, strict=True):
            with suppress(StopIteration):
                values.append(s.send(v))
        if not values:
            return threads
        assert len(values) == THREADS
        if len(values[0]) == 2:
            sent = [values[(t + 33) % THREADS][1] for t in range(THREADS)]
        else:
            found = [_FOUND[values[0][2]](v[1] for v in values[w : w + WARP]) for w in range(0, THREADS, WARP)]
            sent = [int(found[t // WARP]) for t in range(THREADS)]


_FOUND: dict[str, Callable[[Iterable[bool]], bool]] = {"any": any, "all": all}


def outcomes(threads: list[Thread], kinds: dict[int, str]) -> list[list[tuple[bool, bool]]]:
    """The least and the most that each vote of each thread may give; `kinds` of votes by their numbers.

    Which threads vote together in diverged code is said by nobody: they may meet again where the language's blocks end,
    where all ways meet, or not at all. But those that go the same ways all the time are always together, and those that
    do not come to a vote with these counters are never. Truths between these bounds are all that every machine gives.
    """
    there: dict[tuple[Any, ...], dict[int, bool]] = {}
    for thread in threads:
        for key, truth in thread.votes:
            there.setdefault((thread.t // WARP, *key), {})[thread.t] = truth
    out: list[list[tuple[bool, bool]]] = []
    for thread in threads:
        mine: list[tuple[bool, bool]] = []
        for key, _ in thread.votes:
            every = there[(thread.t // WARP, *key)]
            alike = [v for t, v in every.items() if (t - thread.t) % PERIOD == 0]
            found = _FOUND[kinds[key[0]]]
            mine.append((min(found(alike), found(every.values())), max(found(alike), found(every.values()))))
        out.append(mine)
    return out


def uniform(tree: list[Tree], values: list[tuple[int, int]]) -> bool:
    """Return whether all threads come to the same exchanges, and to some, whatever the parameter and the word are."""
    some = False
    for n, word in values:
        try:
            first = barriers(tree, 0, n, word)
        except AssertionError:
            return False
        if any(barriers(tree, t, n, word) != first for t in range(1, PERIOD)):
            return False
        some |= len(first) > 1
    return some


VALUES = [(0, 0), (1, 1), (2, 0), (3, 1)]
"""Parameters and words a kernel is run with."""


# --- random trees ----------------------------------------------------------------------------------------------------
class _Maker:
    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.exchanges = 0
        self.around: list[str] = []
        self.agreed: list[Tree] = []

    def condition(self) -> Tree:
        """A condition that all threads find alike."""
        r, loops = self.r, self.around.count("loop")
        fitting = [c for c in self.agreed if _levels(c) < loops]
        if fitting and r.random() < 0.75:
            return r.choice(fitting)
        kinds = ["n", "word", *(["count", "last", "last"] if loops else [])]
        kind = r.choice(kinds)
        c: Tree = [kind]
        if kind in ("count", "last"):
            c.append(r.randrange(loops))
        if kind != "last":
            c.append(r.randrange(2))
        if loops and r.random() < 0.3:
            c = ["and", c, ["count", r.randrange(loops), r.randrange(2)]]
        self.agreed.append(c)
        return c

    def parting(self) -> Tree:
        """A condition that threads of a warp find differently."""
        r, loops = self.r, self.around.count("loop")
        if loops and r.random() < 0.25:
            return ["turn", r.randrange(loops), r.choice((1, 3))]
        mask = r.choice((1, 2, 4, 3, 6))
        return ["t", mask, r.choice((0, mask))]

    def body(self, n: int, parted: bool) -> list[Tree]:
        return [s for _ in range(self.r.randrange(1, n + 1)) for s in self.statement(n, parted)]

    def statement(self, n: int, parted: bool) -> list[Tree]:
        r = self.r
        kind = r.random()
        if n > 1 and kind < 0.22:
            c = self.parting()
            arms = [self.body(n - 1, True), self.body(n - 1, True) if r.random() < 0.7 else []]
            if self.around and r.random() < 0.6:  # some, or all, leave under a condition on which they agree
                agreed = self.condition()
                for arm in arms[: 1 + (r.random() < 0.7)]:
                    arm.insert(r.randrange(len(arm) + 1), ["if", agreed, [*self.work(), self.way()], []])
            return [["if", c, *arms], *([["exchange", self.number(), r.randrange(64)]] if not parted else [])]
        if n > 1 and kind < 0.42 and len(self.around) < 4 and self.around.count("loop") < 3:
            what = "loop" if r.random() < 0.7 else "block"
            self.around.append(what)
            inner = self.body(n, parted)
            self.around.pop()
            return [["loop", r.randrange(1, 4), inner] if what == "loop" else ["block", inner]]
        if self.around and kind < 0.6:
            return [["if", self.condition(), [*self.work(), self.way()], []]]
        if kind < 0.75 and not parted:
            return [["exchange", self.number(), r.randrange(64)]]
        return self.work()

    def way(self) -> Tree:
        r = self.r
        if r.random() < 0.05:
            return ["return"]
        k = r.randrange(1, len(self.around) + 1)
        if self.around[-k] == "loop" and r.random() < 0.3:
            return ["next", k]
        return ["leave", k]

    def work(self) -> list[Tree]:
        r, loops = self.r, self.around.count("loop")
        if loops and r.random() < 0.3:
            return [["add-count", r.randrange(loops)]]
        return [[r.choice(("add", "xor")), r.randrange(1, 100)]]

    def number(self) -> int:
        self.exchanges += 1
        return self.exchanges


def _levels(c: Tree) -> int:
    """The innermost loop whose counter a condition reads, -1 for none."""
    match c:
        case ["and", a, b]:
            return max(_levels(a), _levels(b))
        case ["turn" | "count" | "last", level, *_]:
            return level
        case _:
            return -1


def parted(tree: list[Tree], inside: bool = False) -> bool:
    """Return whether lanes leave a loop or block from within a condition that they find differently."""
    for s in tree:
        match s:
            case ["if", c, then, other]:
                within = inside or c[0] in ("t", "turn")
                if parted(then, within) or parted(other, within):
                    return True
            case ["loop", _, body] | ["block", body]:
                if parted(body, inside):
                    return True
            case ["leave" | "next" | "return", *_]:
                if inside:
                    return True
            case _:
                pass
    return False


def tree_of(seed: int) -> list[Tree]:
    """A kernel in which lanes leave loops or blocks from within branches, and in which CUDA knows every barrier."""
    for k in range(10_000):
        made = _Maker(seed * 10_000 + k).body(4, False)
        if parted(made) and uniform(made, VALUES):
            return made
    raise AssertionError("no such kernel was made")


def voting(tree: list[Tree], seed: int) -> tuple[list[Tree], dict[int, str]]:
    """A kernel with votes in it, and their kinds by number.

    Right behind a barrier, where all threads of a warp are together, their outcome goes on in what is computed; others
    are anywhere, and written down.
    """
    r, kinds = Random(seed), dict[int, str]()

    def vote(what: str) -> Tree:
        kind = r.choice(("any", "all"))
        kinds[1000 + len(kinds)] = kind
        return [what, 999 + len(kinds), kind, r.choice((1, 2, 3, 4, 7, 16))]

    def body(statements: list[Tree]) -> list[Tree]:
        out: list[Tree] = []
        for s in statements:
            if r.random() < 0.4:
                out.append(vote("vote"))
            match s:
                case ["if", c, then, other]:
                    out.append(["if", c, body(then), body(other) if other or r.random() < 0.2 else []])
                case ["loop", bound, inner]:
                    out.append(["loop", bound, body(inner)])
                case ["block", inner]:
                    out.append(["block", body(inner)])
                case _:
                    out.append(s)
            if s[0] == "exchange" and r.random() < 0.6:
                out.append(vote("vote-together"))
        return [*out, vote("vote")] if r.random() < 0.2 else out

    return body(tree), kinds


# --- as text ---------------------------------------------------------------------------------------------------------
class _Writer:
    """Writes statements; `marks` are the labels (left, next) of the loops and blocks around."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0
        self.marks: list[tuple[str, str]] = []

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def body(self, body: list[Tree]) -> None:
        for s in body:
            match s:
                case ["if", c, then, other]:
                    self.branch(c, then, other)
                case ["loop", bound, inner]:
                    marks = self.label(), self.label()
                    self.marks.append(marks)
                    self.loop(bound, inner, *marks)
                    self.marks.pop()
                case ["block", inner]:
                    marks = self.label(), ""
                    self.marks.append(marks)
                    self.body(inner)
                    self.at(marks[0])
                    self.marks.pop()
                case ["leave", k]:
                    self.go(self.marks[-k][0])
                case ["next", k]:
                    self.go(self.marks[-k][1])
                case ["return"]:
                    self.go("END")
                case _:
                    self.plain(s)

    def branch(self, c: Tree, then: list[Tree], other: list[Tree]) -> None:
        raise NotImplementedError

    def loop(self, bound: int, inner: list[Tree], left: str, following: str) -> None:
        raise NotImplementedError

    def at(self, label: str) -> None:
        raise NotImplementedError

    def go(self, label: str) -> None:
        raise NotImplementedError

    def plain(self, s: Tree) -> None:
        raise NotImplementedError


PTX_HEAD = """.version 1.4
.target sm_13
.entry k (.param .u32 out, .param .u32 n, .param .u32 words)
{
  .reg .u32 %t, %n, %word, %o, %acc, %own, %other, %v, %seen, %i<4>; .reg .pred %q<64>; .shared .u32 held[64];
  ld.param.u32 %o, [words]; ld.global.u32 %word, [%o]; ld.param.u32 %o, [out]; ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x; mov.u32 %acc, %t; mov.u32 %v, held; shl.b32 %own, %t, 2; add.u32 %own, %own, %v;
  add.u32 %other, %t, 33; and.b32 %other, %other, 63; shl.b32 %other, %other, 2; add.u32 %other, %other, %v;
"""


class _Ptx(_Writer):
    def put(self, text: str) -> None:
        self.lines.append(f"  {text};")

    def test(self, c: Tree, at: int = 0) -> str:
        q = f"%q{at}"
        match c:
            case ["t", mask, value]:
                self.put(f"and.b32 %v, %t, {mask}")
                self.put(f"setp.eq.u32 {q}, %v, {value}")
            case ["turn", level, mask]:
                self.put(f"add.u32 %v, %t, %i{level}")
                self.put(f"and.b32 %v, %v, {mask}")
                self.put(f"setp.eq.u32 {q}, %v, 0")
            case ["n" | "word" as what, value]:
                self.put(f"setp.eq.u32 {q}, %{what}, {value}")
            case ["count", level, value]:
                self.put(f"setp.ge.u32 {q}, %i{level}, {value}")
            case ["last", level]:
                self.put(f"setp.ge.u32 {q}, %i{level}, %n")
            case ["and", a, b]:
                self.put(f"and.pred {q}, {self.test(a, at + 1)}, {self.test(b, at + 2)}")
            case _:
                raise AssertionError(c)
        return q

    def branch(self, c: Tree, then: list[Tree], other: list[Tree]) -> None:
        otherwise = self.label()
        self.put(f"@!{self.test(c)} bra {otherwise}")
        self.body(then)
        if other:
            end = self.label()
            self.go(end)
            self.at(otherwise)
            self.body(other)
            self.at(end)
        else:
            self.at(otherwise)

    def loop(self, bound: int, inner: list[Tree], left: str, following: str) -> None:
        i, head = f"%i{self.loops}", self.label()
        self.put(f"mov.u32 {i}, 0")
        self.at(head)
        self.put(f"setp.ge.u32 %q0, {i}, {bound}")
        self.put(f"@%q0 bra {left}")
        self.loops += 1
        self.body(inner)
        self.loops -= 1
        self.at(following)
        self.put(f"add.u32 {i}, {i}, 1")
        self.go(head)
        self.at(left)

    def at(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def go(self, label: str) -> None:
        self.put(f"bra {label}")

    def plain(self, s: Tree) -> None:
        match s:
            case ["add", k]:
                self.put(f"mad.lo.u32 %acc, %acc, 3, {k}")
            case ["xor", k]:
                self.put(f"mul.lo.u32 %v, %t, {k}")
                self.put("xor.b32 %acc, %acc, %v")
            case ["add-count", level]:
                self.put(f"add.u32 %acc, %acc, %i{level}")
            case ["exchange", _, k]:
                self.put(f"xor.b32 %v, %acc, {k}")
                for text in ("st.shared.u32 [%own], %v", "bar.sync 0", "ld.shared.u32 %v, [%other]",
                             "add.u32 %acc, %acc, %v", "bar.sync 0"):  # fmt: skip
                    self.put(text)
            case ["vote-together" | "vote" as what, _, kind, mask]:
                if what == "vote-together":
                    self.put("bar.sync 0")
                self.put(f"and.b32 %v, %acc, {mask}")
                self.put("setp.ne.u32 %q0, %v, 0")
                self.put(f"vote.{kind}.pred %q0, %q0")
                self.put("selp.u32 %v, 1, 0, %q0")
                if what == "vote-together":
                    self.put("mad.lo.u32 %acc, %acc, 3, %v")
                else:
                    self.put(f"add.u32 %seen, %seen, {4 * THREADS}")
                    self.put("st.global.u32 [%seen], %v")
            case _:
                raise AssertionError(s)


def ptx(tree: list[Tree]) -> str:
    """The kernel as PTX: `k(out, n, words)`, with all of its jumps as they are in the tree.

    Votes of threads that may not be together go behind the results in `out`, a row of all threads for each.
    """
    w = _Ptx()
    w.put("shl.b32 %seen, %t, 2")
    w.put("add.u32 %seen, %seen, %o")
    w.body(tree)
    tail = "END:\n  shl.b32 %v, %t, 2; add.u32 %v, %v, %o; st.global.u32 [%v], %acc; exit;\n}\n"
    return PTX_HEAD + "\n".join(w.lines) + "\n" + tail


class _C(_Writer):
    def put(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def test(self, c: Tree) -> str:
        match c:
            case ["t", mask, value]:
                return f"(t & {mask}) == {value}"
            case ["turn", level, mask]:
                return f"((t + i{level}) & {mask}) == 0"
            case ["n" | "word" as what, value]:
                return f"{what} == {value}"
            case ["count", level, value]:
                return f"i{level} >= {value}"
            case ["last", level]:
                return f"i{level} >= n"
            case ["and", a, b]:
                return f"{self.test(a)} && {self.test(b)}"
            case _:
                raise AssertionError(c)

    def branch(self, c: Tree, then: list[Tree], other: list[Tree]) -> None:
        self.put(f"if ({self.test(c)}) {{")
        self.body(then)
        if other:
            self.put("} else {")
            self.body(other)
        self.put("}")

    def loop(self, bound: int, inner: list[Tree], left: str, following: str) -> None:
        i = f"i{self.loops}"
        self.put(f"for ({i} = 0; {i} < {bound}; {i}++) {{")
        self.loops += 1
        self.body(inner)
        self.loops -= 1
        self.at(following)
        self.put("}")
        self.at(left)

    def at(self, label: str) -> None:
        self.put(f"{label}:;")

    def go(self, label: str) -> None:
        self.put(f"goto {label};")

    def plain(self, s: Tree) -> None:
        match s:
            case ["add", k]:
                self.put(f"acc = acc * 3 + {k};")
            case ["xor", k]:
                self.put(f"acc ^= t * {k};")
            case ["add-count", level]:
                self.put(f"acc += i{level};")
            case ["exchange", _, k]:
                self.put(f"held[t] = acc ^ {k}; __syncthreads(); acc += held[(t + 33) & 63]; __syncthreads();")
            case ["vote-together", _, kind, mask]:
                self.put(f"__syncthreads(); acc = acc * 3 + (__{kind}(acc & {mask}) != 0);")
            case ["vote", _, kind, mask]:
                self.put(f"seen += {THREADS}; *seen = __{kind}(acc & {mask}) != 0;")
            case _:
                raise AssertionError(s)


def c_source(trees: dict[str, list[Tree]]) -> str:
    """Kernels of a .cu file, by name, each `(out, n, words)`."""
    out: list[str] = []
    for name, tree in trees.items():
        w = _C()
        w.body(tree)
        out.append(f'extern "C" __global__ void {name}(unsigned *out, unsigned n, unsigned *words)\n{{')
        out.append("    __shared__ unsigned held[64];")
        out.append("    unsigned t = threadIdx.x, acc = t, word = *words, *seen = out + t, i0, i1, i2;")
        out += w.lines
        out += ["END:;", "    out[t] = acc;", "}"]
    return "\n".join(out) + "\n"
