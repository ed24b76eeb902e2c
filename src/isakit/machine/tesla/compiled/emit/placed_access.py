"""Loads and stores of words, halfwords and bytes whose offsets are known to be good."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, integer
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled.emit.access_placement import LaneOffsets, OffsetAnalysis
from isakit.machine.tesla.compiled.state_layout import V32


class OffsetAccess(OffsetAnalysis):
    """Accesses at the offsets that `OffsetAnalysis` has computed."""

    def _load_placed(
        self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: Ref
    ) -> list[Ref]:
        """Load the words at arbitrary addresses; 0 if an access does not count."""
        placed = self._place(step, space, address, size, low, lanes)
        got = self._loaded_row(space, placed, size, low) if placed.row else self._loaded(space, placed, size, low)
        if placed.lanes == lanes:
            return got
        nothing = placed.nothing or low.op("xor", placed.lanes, low.constant(1, 1))
        return [low.select(nothing, low.constant(0, g.width), g) for g in got]

    def _loaded(self, space: str, placed: LaneOffsets, size: int, low: ValueLowering) -> list[Ref]:
        """Load the words (or the byte, the halfword) at the offsets."""
        b, offsets, lanes = self.code.body, placed.offsets, placed.lanes
        if offsets.uniform:
            out: list[Ref] = []
            for k in range(0, size, 4):
                at = low.op("add", offsets, low.constant(k, 32)) if k else offsets
                nbytes = min(size, 4)
                one = b.load(integer(8 * nbytes), self._scalar_pointer(space, at), nbytes)
                out.append(low.resize(one, 32))
            return out
        if size < 4:
            word = self._load_words(space, low.op("and", offsets, low.constant(~3, 32)), low, lanes)
            return [self._part(word, offsets, size, low)]
        places = [low.op("add", offsets, low.constant(k * placed.step, 32)) if k else offsets for k in range(size // 4)]
        return [self._load_words(space, place, low, lanes) for place in places]

    def _part(self, word: Ref, offsets: Ref, size: int, low: ValueLowering) -> Ref:
        """Return the byte or halfword of a word."""
        return low.op("and", low.op("lshr", word, self._bit(offsets, low)), low.constant((1 << 8 * size) - 1, 32))

    @staticmethod
    def _bit(offsets: Ref, low: ValueLowering) -> Ref:
        """Return the bit of its word at which the byte or halfword at an offset begins."""
        return low.op("shl", low.op("and", offsets, low.constant(3, 32)), low.constant(3, 32))

    def _local_row(self, space: str, placed: LaneOffsets, k: int, low: ValueLowering) -> Ref:
        """Return the pointer to the row of word `k` of all lanes."""
        at = low.op("and", placed.offsets, low.constant(~3, 32))
        return self._scalar_pointer(space, low.op("add", at, low.constant(k * placed.step, 32)))

    def _loaded_row(self, space: str, placed: LaneOffsets, size: int, low: ValueLowering) -> list[Ref]:
        """Load the words (or the byte, the halfword) of rows."""
        b = self.code.body
        pointers = [self._local_row(space, placed, k, low) for k in range(max(size // 4, 1))]
        words = [b.load(V32, p, 4) for p in pointers]
        return words if size >= 4 else [self._part(words[0], placed.offsets, size, low)]

    def _store_local_row(
        self, space: str, placed: LaneOffsets, words: Sequence[Ref], size: int, low: ValueLowering, some: bool
    ) -> None:
        """Store words (or a byte, a halfword) into rows."""
        b = self.code.body
        for k, word in enumerate(words):
            p = self._local_row(space, placed, k, low)
            if size < 4 or some:
                old = b.load(V32, p, 4)
                if size < 4:
                    shift = self._bit(placed.offsets, low)
                    kept = low.op("shl", low.constant((1 << 8 * size) - 1, 32), shift)
                    new = low.op("and", low.op("shl", word, shift), kept)
                    word = low.op("or", new, low.op("and", old, low.op("xor", kept, low.constant(-1, 32))))
                word = low.select(placed.lanes, word, old) if some else word
            b.store(word, p, 4)

    def _store_each(self, space: str, placed: LaneOffsets, words: Sequence[Ref], low: ValueLowering) -> None:
        """Store words of each lane at any offsets."""
        offsets = low.splat(placed.offsets)
        for k, word in enumerate(words):
            at = low.op("add", offsets, low.constant(k * placed.step, 32)) if k else offsets
            self._store_words(space, at, word, low, placed.lanes)

    def _store_small(self, space: str, offsets: Ref, value: Ref, size: int, lanes: Ref) -> None:
        """Store bytes and halfwords, lane by lane."""
        b = self.code.body

        def one(lane: Ref) -> None:
            p = self._scalar_pointer(space, b.extract(offsets, lane))
            b.store(b.trunc(b.extract(value, lane), integer(8 * size)), p, size)

        self._each_lane(lanes, one)

    def _each_lane(self, lanes: Ref, action: Callable[[Ref], None]) -> None:
        """Write a loop over the lanes marked, in ascending order."""
        b, bits = self.code.body, self.code.as_bits(lanes)
        ahead, loop, inside, tail, done = (b.fresh(x) for x in ("ahead", "loop", "inside", "tail", "done"))
        lane, following = b.fresh("%i"), Ref(b.fresh("%n"), I32)
        b.label(ahead)
        b.label(loop)
        i = b.phi([(I32(0), ahead), (following, tail)], lane)
        b.branch(b.trunc(b.lshr(bits, i), I1), inside, tail)
        b.label(inside)
        action(i)
        b.label(tail)
        b.named(following.text, b.add(i, 1))
        b.branch(b.ult(following, 32), loop, done)
        b.label(done)
