"""Loads and stores of words, halfwords and bytes whose places are known to be good."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isakit.engine.llvm import Ref, ValueLowering
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled.emit.access_placement import AccessPlacement, Placed
from isakit.machine.tesla.compiled.state_layout import V32


class PlacedAccess(AccessPlacement):
    """Memory at the places that `AccessPlacement` has found."""

    def _load_placed(
        self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: str
    ) -> list[Ref]:
        """The words at addresses that nothing is known of; 0 where an access does not count."""
        placed = self._place(step, space, address, size, low, lanes)
        got = self._loaded_row(space, placed, size, low) if placed.row else self._loaded(space, placed, size, low)
        if placed.lanes == lanes:
            return got
        nothing = placed.nothing or low.op("xor", Ref(placed.lanes, 1), low.constant(1, 1))
        return [low.select(nothing, low.constant(0, g.width), g) for g in got]

    def _loaded(self, space: str, placed: Placed, size: int, low: ValueLowering) -> list[Ref]:
        """The words (or the byte, the halfword) at the offsets."""
        b, offsets, lanes = self.code.body, placed.offsets, placed.lanes
        if offsets.uniform:
            out: list[Ref] = []
            for k in range(0, size, 4):
                at = low.op("add", offsets, low.constant(k, 32)) if k else offsets
                p = self._scalar_pointer(space, at.text)
                n = 8 * min(size, 4)
                one = Ref(b(f"load i{n}, ptr {p}, align {min(size, 4)}"), n, True)
                out.append(low.resize(one, 32))
            return out
        if size < 4:
            word = self._load_words(space, low.op("and", offsets, low.constant(~3, 32)), low, lanes)
            return [self._part(word, offsets, size, low)]
        places = [low.op("add", offsets, low.constant(k * placed.step, 32)) if k else offsets for k in range(size // 4)]
        return [self._load_words(space, place, low, lanes) for place in places]

    def _part(self, word: Ref, offsets: Ref, size: int, low: ValueLowering) -> Ref:
        """The byte or halfword of a word."""
        return low.op("and", low.op("lshr", word, self._bit(offsets, low)), low.constant((1 << 8 * size) - 1, 32))

    @staticmethod
    def _bit(offsets: Ref, low: ValueLowering) -> Ref:
        """Where the byte or halfword at an offset begins in its word, in bits."""
        return low.op("shl", low.op("and", offsets, low.constant(3, 32)), low.constant(3, 32))

    def _local_row(self, space: str, placed: Placed, k: int, low: ValueLowering) -> str:
        """Pointer to the row of word `k` of all lanes."""
        at = low.op("and", placed.offsets, low.constant(~3, 32))
        return self._scalar_pointer(space, low.op("add", at, low.constant(k * placed.step, 32)).text)

    def _loaded_row(self, space: str, placed: Placed, size: int, low: ValueLowering) -> list[Ref]:
        """The words (or the byte, the halfword) of rows."""
        b = self.code.body
        pointers = [self._local_row(space, placed, k, low) for k in range(max(size // 4, 1))]
        words = [Ref(b(f"load {V32}, ptr {p}, align 4"), 32) for p in pointers]
        return words if size >= 4 else [self._part(words[0], placed.offsets, size, low)]

    def _store_local_row(
        self, space: str, placed: Placed, words: Sequence[Ref], size: int, low: ValueLowering, some: bool
    ) -> None:
        """Store words (or a byte, a halfword) into rows."""
        b = self.code.body
        for k, word in enumerate(words):
            p = self._local_row(space, placed, k, low)
            if size < 4 or some:
                old = Ref(b(f"load {V32}, ptr {p}, align 4"), 32)
                if size < 4:
                    shift = self._bit(placed.offsets, low)
                    kept = low.op("shl", low.constant((1 << 8 * size) - 1, 32), shift)
                    new = low.op("and", low.op("shl", word, shift), kept)
                    word = low.op("or", new, low.op("and", old, low.op("xor", kept, low.constant(-1, 32))))
                word = low.select(Ref(placed.lanes, 1), word, old) if some else word
            b.do(f"store {V32} {word.text}, ptr {p}, align 4")

    def _store_each(self, space: str, placed: Placed, words: Sequence[Ref], low: ValueLowering) -> None:
        """Words of each lane, wherever they are."""
        offsets = low.splat(placed.offsets)
        for k, word in enumerate(words):
            at = low.op("add", offsets, low.constant(k * placed.step, 32)) if k else offsets
            self._store_words(space, at, word, low, placed.lanes)

    def _store_small(self, space: str, offsets: Ref, value: Ref, size: int, lanes: str) -> None:
        """Bytes and halfwords, lane by lane."""
        b = self.code.body

        def one(lane: str) -> None:
            p = self._scalar_pointer(space, b(f"extractelement {V32} {offsets.text}, i32 {lane}"))
            v = b(f"trunc i32 {b(f'extractelement {V32} {value.text}, i32 {lane}')} to i{8 * size}")
            b.do(f"store i{8 * size} {v}, ptr {p}, align {size}")

        self._each_lane(lanes, one)

    def _each_lane(self, lanes: str, action: Callable[[str], None]) -> None:
        """A loop over the lanes marked, in ascending order."""
        b, bits = self.code.body, self.code.as_bits(lanes)
        ahead, loop, inside, tail, done = (b.fresh(x) for x in ("ahead", "loop", "inside", "tail", "done"))
        i, nxt = b.fresh("%i"), b.fresh("%n")
        b.do(f"br label %{ahead}")
        b.label(ahead)
        b.do(f"br label %{loop}")
        b.label(loop)
        b.do(f"{i} = phi i32 [ 0, %{ahead} ], [ {nxt}, %{tail} ]")
        on = b(f"trunc i32 {b(f'lshr i32 {bits}, {i}')} to i1")
        b.do(f"br i1 {on}, label %{inside}, label %{tail}")
        b.label(inside)
        action(i)
        b.do(f"br label %{tail}")
        b.label(tail)
        b.do(f"{nxt} = add i32 {i}, 1")
        more = b(f"icmp ult i32 {nxt}, 32")
        b.do(f"br i1 {more}, label %{loop}, label %{done}")
        b.label(done)
