"""Accesses of s[] and c[] at an address register plus an offset, checked once per block, in any order of the lanes."""

from __future__ import annotations

from collections.abc import Sequence

from isakit.engine.llvm import Builder, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, MOSTLY, pointer, vector
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled.emit.lane_vectors import WORDS, all_equal
from isakit.machine.tesla.compiled.emit.memory_ir import nothing
from isakit.machine.tesla.compiled.emit.memory_windows import HALF, half_of, halves_joined, load_from_windows
from isakit.machine.tesla.compiled.emit.placed_access import PlacedAccess
from isakit.machine.tesla.compiled.state_layout import TRUE, V32
from isakit.machine.tesla.rules import accesses
from isakit.sem.value import Value


class OwnAccess(PlacedAccess):
    """Accesses relative to address registers, by the known properties of these (`LaneCode.tag`)."""

    def ahead(self, steps: Sequence[Step]) -> set[int]:
        """Check all accesses of a block relative to $a registers it does not write before, at once; return these.

        If an access may be outside of its space, the version of the block for some lanes runs.
        """
        c, b = self.code, self.code.body
        reach: dict[tuple[str, int], int] = {}
        written = set[int]()
        for s in steps:
            assert s.trace is not None
            for e in s.trace.of_kind("load", "store"):
                plain = e.get("size") == 4 and not s.conditional and e.when is None and c.bound(e.name)
                relative = c.relative(s, e.args[0]) if plain and e.name[0] in "sc" else None
                if relative is None or relative[0] in written:
                    continue
                n, distance = relative
                reach[e.name, n] = max(distance, reach.get((e.name, n), 0))
            written |= {n for file, n in s.writes if file == "a"}
        tests = [self._reaches(space, n, distance) for (space, n), distance in sorted(reach.items())]
        if tests:
            good, on = tests[0], b.fresh("certain")
            for t in tests[1:]:
                good = b.and_(good, t)
            join = "J" if steps[0].op.join and c.choices.join == "before" else ""
            masked = b.fresh("masked")
            b.branch(good, on, masked, MOSTLY)
            b.label(masked)
            c.settle()
            b.jump(f"M{join}{steps[0].pc}")
            b.label(on)
        return {n for _, n in reach}

    def _pointers(self, space: str, relative: tuple[int, int]) -> list[Ref]:
        """Return pointers to the words of lanes 0 and 16."""
        c, (n, distance) = self.code, relative
        firsts = [c.body.add(c.load32(f"a{n}{name}"), distance) for name in ("low", "high")]
        return [self._scalar_pointer(space, f) for f in firsts]

    def _reaches(self, space: str, n: int, distance: int) -> Ref:
        """Return whether the words of all lanes at $aN plus an offset are inside of a space, as i1.

        Spaces have no holes.
        """
        low, last = ValueLowering(self.code.body, nothing, {}), self.code.load32(f"a{n}last")
        address = low.op("add", last, low.constant(distance, 32))
        given = {"address": address, "size": low.constant(4, 32), "limit": self._own(space)[1]}
        return low.op("xor", expression(low, accesses.outside, given), low.constant(1, 1))

    def _if_tagged(self, space: str, relative: tuple[int, int]) -> tuple[str, str]:
        """Branch on the tag of $aN: return (label if the accesses are not known to be good, label after both)."""
        b = self.code.body
        n, distance = relative
        near, far, done = b.fresh("near"), b.fresh("far"), b.fresh("done")
        b.branch(self._reaches(space, n, distance), near, far, MOSTLY)
        b.label(near)
        return far, done

    def _load_own(self, step: Step, space: str, relative: tuple[int, int], lanes: Ref) -> Ref:
        """Load a word per lane at $aN plus an offset, whichever lanes are active."""
        c, b = self.code, self.code.body
        base, limit = self._own(space)
        a = b.load(V32, c.variable(("a", relative[0])))
        both = b.call(c.shared("load_own"), base, limit, a, relative[1], c.as_bits(lanes))
        c.stop(step, b.part(both, 1))
        return b.part(both, 0)

    def _by_tag(self, step: Step, space: str, relative: tuple[int, int], where: Value, low: ValueLowering) -> Ref:
        """Load a word per lane at $aN plus an offset, all lanes active."""
        b = self.code.body
        if relative[0] in self.code.certain:
            return self._words_by_tag(step, space, relative, low)
        far, done = self._if_tagged(space, relative)
        v1 = self._words_by_tag(step, space, relative, low)
        b.jump(done)
        near = b.current
        b.label(far)
        if self._by_rule:
            inner = low.fork()
            address = inner.splat(inner.resize(inner.value(where), 32))
            v2 = self._load_placed(step, space, address, 4, inner, TRUE)[0]
        else:
            v2 = self._load_own(step, space, relative, TRUE)
        far = b.current
        b.label(done)
        return b.phi([(v1, near), (v2, far)])

    def _words_by_tag(self, step: Step, space: str, relative: tuple[int, int], low: ValueLowering) -> Ref:
        """Load words at $aN plus an offset that are all in the space: rows and equal addresses, or any order."""
        c, b = self.code, self.code.body
        rows, others, done = b.fresh("rows"), b.fresh("others"), b.fresh("done")
        b.branch(b.load(I1, pointer(f"%a{relative[0]}plain")), rows, others, MOSTLY)
        b.label(rows)
        ways = [(self._words_in_rows(space, relative), b.current)]
        b.jump(done)
        b.label(others)
        at = self._relative_places(relative, low.fork())
        base, limit = self._own(space)
        if c.host.embedded and c.in_loop(step):
            beyond = b.fresh("beyond")
            found = load_from_windows(b, base, at, (I32(0), limit), beyond)
            ways.append((found, b.current))
            b.jump(done)
            b.label(beyond)
        if c.host.embedded:
            far = b.gather(V32, b.offset(base, at), TRUE, V32.zero, 4)
        else:
            far = self._load_words(space, at, low, TRUE)
        ways.append((far, b.current))
        b.label(done)
        return b.phi(ways)

    def _relative_places(self, relative: tuple[int, int], low: ValueLowering) -> Ref:
        """Return the offsets of the lanes at $aN plus an offset."""
        a = self.code.body.load(V32, self.code.variable(("a", relative[0])))
        return low.op("add", a, low.constant(relative[1], 32))

    def _words_in_rows(self, space: str, relative: tuple[int, int]) -> Ref:
        b = self.code.body
        rows = b.load(vector(16, I1), pointer(f"%a{relative[0]}rows"))
        parts: list[Ref] = []
        for p in self._pointers(space, relative):  # what lies past the space is not used, but it can be read
            row = b.load(HALF, p, 4)
            parts.append(b.select(rows, row, b.splat(b.load(I32, p, 4), HALF)))
        return halves_joined(b, parts)

    def _store_relative(
        self, step: Step, relative: tuple[int, int], where: Value, word: Ref, low: ValueLowering
    ) -> None:
        """Store a word per lane at $aN plus an offset of s[]."""
        b = self.code.body
        if relative[0] in self.code.certain:
            self._store_by_tag(step, relative, word, low)
            return
        far, done = self._if_tagged("s", relative)
        self._store_by_tag(step, relative, word, low)
        b.jump(done)
        b.label(far)
        inner = low.fork()
        placed = self._place(step, "s", inner.splat(inner.resize(inner.value(where), 32)), 4, inner, TRUE)
        self._store_words("s", inner.splat(placed.offsets), word, inner, placed.lanes)
        b.label(done)

    def _store_by_tag(self, step: Step, relative: tuple[int, int], word: Ref, low: ValueLowering) -> None:
        """Store at $aN plus an offset, where all words are known to be in s[]."""
        b, c = self.code.body, self.code
        rows, others, done = b.fresh("rows"), b.fresh("others"), b.fresh("done")
        b.branch(b.load(I1, pointer(f"%a{relative[0]}row")), rows, others, MOSTLY)
        b.label(rows)
        self._store_rows(relative, word)
        b.jump(done)
        b.label(others)
        inner = low.fork()
        at = self._relative_places(relative, inner)
        if c.in_loop(step):
            self._store_falling("s", at, word, None, done, inner)
        self._store_words("s", at, word, inner, TRUE)
        b.label(done)

    def _store_rows(self, relative: tuple[int, int], word: Ref) -> None:
        b = self.code.body
        for k, p in zip((0, 16), self._pointers("s", relative), strict=True):
            b.store(half_of(b, word, k), p, 4)

    @staticmethod
    def _descending(b: Builder, words: Ref) -> Ref:
        """Return the words of the lanes in reverse order."""
        return b.shuffle(words, range(31, -1, -1))

    def _falling(self, space: str, at: Ref, buffer: tuple[Ref, Ref] | None, low: ValueLowering) -> tuple[Ref, str]:
        """Return (pointer to the last lane's word if addresses fall from lane to lane, label of the other cases).

        Emission continues in the first case. `buffer`: (start, length) that must contain the words; None if they are
        known to be good.
        """
        b, beyond, near = self.code.body, self.code.body.fresh("beyond"), self.code.body.fresh("falling")
        last = b.extract(at, 31)
        good = all_equal(b, at, low.op("sub", low.splat(b.add(last, 124)), WORDS))
        if buffer is not None:
            good = b.and_(good, self._inside(last, buffer, 4, 32))
        b.branch(good, near, beyond)
        b.label(near)
        return self._scalar_pointer(space, last), beyond

    def _store_falling(
        self, space: str, at: Ref, word: Ref, buffer: tuple[Ref, Ref] | None, done: str, low: ValueLowering
    ) -> None:
        """Store a word per lane in the case of `_falling`; emission continues in the block of the other cases."""
        b, (lowest, beyond) = self.code.body, self._falling(space, at, buffer, low)
        b.store(self._descending(b, word), lowest, 4)
        b.jump(done)
        b.label(beyond)
