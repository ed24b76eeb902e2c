"""Accesses of words, halfwords and bytes: addresses are checked against their space, then memory is read and written.

A lane whose address is misaligned or outside its space stops the warp before the instruction; the reference machine
then raises the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, I64, PTR, RARELY, integer
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.function_code import FunctionCode
from isakit.machine.tesla.compiled.emit.lane_vectors import WORDS
from isakit.machine.tesla.compiled.state_layout import CONTEXT, TRUE, V1, V32
from isakit.machine.tesla.rules import accesses

ROWS = ("a", "p", "o")
"""Spaces of a stage that are stored word by word, not lane by lane."""


@dataclass(frozen=True)
class LaneOffsets:
    """Offsets of accesses from the pointer of the space, and the lanes (bools) whose access counts.

    `nothing`: an i1 for all lanes: none counts. `row`: a uniform offset is that of a row with a word for every lane.
    `step`: bytes from one word of a lane to the next.
    """

    offsets: Ref
    lanes: Ref
    nothing: Ref | None = None
    row: bool = False
    step: int = 4


class PlacedAccess:
    """Computes and checks the offsets of a kernel's accesses, and loads and stores there."""

    def __init__(self, code: FunctionCode) -> None:
        self.code = code

    # --- where a space is -----------------------------------------------------------------------------------
    def _own(self, space: str) -> tuple[Ref, Ref]:
        """Return (base pointer, limit i32) of s[], l[] or c[]."""
        c = self.code
        if space == "s":
            return c.slot("shared", PTR), c.slot("shared_limit", I32)
        if space == "l":
            return c.slot("local", PTR), c.slot("local_limit", I32)
        return c.slot(space, PTR), c.slot(f"{space}_size", I32)

    def _check(self, step: Step, bad: Ref, lanes: Ref) -> None:
        """Stop if any accessing lane is bad (for all lanes or for none)."""
        c, b = self.code, self.code.body
        if lanes == c.mask:  # some lane is active
            c.stop(step, bad)
            return
        c.stop(step, b.and_(bad, b.ne(c.as_bits(lanes), 0)))

    @property
    def _by_rule(self) -> bool:
        """Return whether the choices differ from the shared functions, which fault."""
        return self.code.choices.out_of_range != "fault" or self.code.choices.misaligned != "fault"

    def _aligned(self, address: Ref, size: int, low: ValueLowering) -> Ref:
        given = {"address": address, "size": low.constant(size, 32)}
        return expression(low, accesses.aligned, given, choices=self.code.choices)

    def _any(self, flags: Ref, lanes: Ref, low: ValueLowering) -> Ref:
        """Return whether a flag is set in any of the lanes, as i1."""
        b, wrong = self.code.body, low.splat(flags)
        hit = wrong if lanes == TRUE else b.and_(wrong, lanes)
        return b.ne(b.bitcast(hit, I32), 0)

    def _without(self, lanes: Ref, flags: Ref, low: ValueLowering) -> Ref:
        """Return the lanes whose flag is not set."""
        return self.code.both(lanes, low.op("xor", low.splat(flags), low.constant(1, 1)))

    def _place(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: Ref) -> LaneOffsets:
        """Check the accesses; return their offsets (a safe one for a uniform address that is bad)."""
        c = self.code
        if not c.bound(space):
            self._check(step, low.constant(1, 1), lanes)
            return LaneOffsets(low.constant(0, 32), lanes)
        if space[0] == "g":
            return self._global(step, space, low.splat(address), size, low, lanes)
        address = self._aligned(address, size, low)
        limit = self._own(space)[1]
        nothing: Ref | None = None
        if address.uniform:
            address, nothing = self._uniform(step, address, size, limit, low, lanes)
            if nothing is not None:
                lanes = self._without(lanes, nothing, low)
        elif self._by_rule:
            address, lanes = self._one_by_one(step, address, size, limit, low, lanes)
        else:
            f, bits = c.shared("check_own"), c.as_bits(lanes)
            c.stop(step, c.body.call(f, limit, address, size, bits))
        if space == "l":
            place = self._local_place(address, limit, low)
            return LaneOffsets(place, lanes, nothing, place.uniform, state_layout.LOCAL_ROW)
        if space in ROWS:
            word, byte = low.op("lshr", address, low.constant(2, 32)), low.op("and", address, low.constant(3, 32))
            address = low.op("add", self._item_row(word, low), byte)
        return LaneOffsets(address, lanes, nothing)

    def _local_place(self, address: Ref, limit: Ref, low: ValueLowering) -> Ref:
        """Return the offset of an address of l[], see `state_layout`; for one of all lanes that of lane 0."""
        b = self.code.body
        first = b.mul(b.mul(self.code.number_of_warp(), 32), limit)
        word, byte = low.op("lshr", address, low.constant(2, 32)), low.op("and", address, low.constant(3, 32))
        place = low.op("add", low.op("mul", word, low.constant(state_layout.LOCAL_ROW, 32)), low.op("add", first, byte))
        return place if address.uniform else low.op("add", place, WORDS)

    def _one_by_one(
        self, step: Step, address: Ref, size: int, limit: Ref, low: ValueLowering, lanes: Ref
    ) -> tuple[Ref, Ref]:
        """Check the addresses according to the choices; return safe ones, and the lanes whose access counts."""
        given = {"address": address, "size": low.constant(size, 32), "limit": limit}
        if self.code.choices.misaligned == "fault" and size > 1:
            self.code.stop(step, self._any(expression(low, accesses.misaligned, given), lanes, low))
        outside = expression(low, accesses.outside, given)
        if self.code.choices.out_of_range == "fault":
            self.code.stop(step, self._any(outside, lanes, low))
            return address, lanes
        return low.select(outside, low.constant(0, 32), address), self._without(lanes, outside, low)

    def _item_row(self, word: Ref, low: ValueLowering) -> Ref:
        """Return the offsets of a word of all lanes' items in a[], p[] or o[]."""
        c = self.code
        first = c.body.mul(c.number_of_warp(), 128)
        start = low.op("add", low.op("mul", word, c.slot("row_bytes", I32)), first)
        return low.op("add", start, WORDS)

    def _uniform(
        self, step: Step, address: Ref, size: int, limit: Ref, low: ValueLowering, lanes: Ref
    ) -> tuple[Ref, Ref | None]:
        """Return one address for all lanes, and whether the access does not count (if that does not fault).

        If no lane executes, the access is made nevertheless, at a valid address.
        """
        ignored = self.code.choices.out_of_range != "fault"
        given = {"address": address, "size": low.constant(size, 32), "limit": limit}
        if address.text.isdigit():
            end = int(address.text) + size
            outside = low.compare("ult", limit, low.constant(end, 32))
            odd = low.constant(1, 1) if end % size else None
        else:
            outside = expression(low, accesses.outside, given)
            faults = size > 1 and self.code.choices.misaligned == "fault"
            odd = expression(low, accesses.misaligned, given) if faults else None
        if ignored:
            if odd is not None:
                self._check(step, odd, lanes)
            return low.select(outside, low.constant(0, 32), address), outside
        bad = outside if odd is None else low.op("or", outside, odd)
        self._check(step, bad, lanes)
        return (address if lanes == self.code.mask else low.select(bad, low.constant(0, 32), address)), None

    def _global(self, step: Step, space: str, vector: Ref, size: int, low: ValueLowering, lanes: Ref) -> LaneOffsets:
        """Return the device addresses of g[] accesses that hit a buffer."""
        vector = self._even(step, vector, size, lanes, low)
        vector, lanes = self._windowed(step, space, vector, low, lanes)
        return self._in_buffers(step, self.code.site(), vector, size, lanes, low)

    def _even(self, step: Step, vector: Ref, size: int, lanes: Ref, low: ValueLowering) -> Ref:
        """Return the addresses, checked to be multiples of the size.

        If accesses outside fault, that is checked as well.
        """
        choices = self.code.choices
        if choices.misaligned == "fault" and choices.out_of_range != "fault" and size > 1:
            given = {"address": vector, "size": low.constant(size, 32)}
            self.code.stop(step, self._any(expression(low, accesses.misaligned, given), lanes, low))
        return self._aligned(vector, size, low)

    def _windowed(self, step: Step, space: str, vector: Ref, low: ValueLowering, lanes: Ref) -> tuple[Ref, Ref]:
        """Return the device addresses of g[] accesses that are inside of the window, and their lanes."""
        c = self.code
        at, outside = c.window(space, vector, low)
        if outside is not None and c.choices.out_of_range == "fault":
            c.stop(step, self._any(outside, lanes, low))
        elif outside is not None:
            lanes = self._without(lanes, outside, low)
        return at, lanes

    def _in_buffers(self, step: Step, site: Ref, vector: Ref, size: int, lanes: Ref, low: ValueLowering) -> LaneOffsets:
        """Find the buffers that accesses hit: `in_buffers` of the rules, or `check_global` if all hit the last one."""
        c, b = self.code, self.code.body
        f, bits = c.shared("check_global"), c.as_bits(lanes)
        bad = b.call(f, CONTEXT, site, vector, size, bits)
        if c.choices.out_of_range == "fault":
            c.stop(step, bad)
            return LaneOffsets(vector, lanes)
        some, on = b.fresh("missed"), b.fresh("looked")
        kept = c.scratch(b.fresh("%kept"), I32)
        b.store(bits, kept)
        b.branch(bad, some, on, RARELY)
        b.label(some)
        given = {"site": site, "addresses": vector, "lanes": bits, "size": low.constant(size, 32)}
        hits = c.rule(step, accesses.in_buffers, given)
        b.store(hits, kept)
        b.label(on)
        left = b.bitcast(b.load(I32, kept), V1)
        return LaneOffsets(low.select(left, vector, low.constant(0, 32)), left)

    def _base(self, space: str) -> Ref:
        return self.code.slot("memory", PTR) if space[0] == "g" else self._own(space)[0]

    # --- words ----------------------------------------------------------------------------------------------
    def _scalar_pointer(self, space: str, offset: Ref) -> Ref:
        b = self.code.body
        return b.offset(self._base(space), b.zext(offset, I64))

    def _inside(self, first: Ref, buffer: tuple[Ref, Ref], size: int, count: int) -> Ref:
        """Return whether `count` elements of `size` bytes from an address on are aligned and in a buffer."""
        b, (start, length) = self.code.body, buffer
        offset = b.zext(b.sub(first, start), I64)
        inside = b.ule(b.add(offset, count * size), b.zext(length, I64))
        return b.and_(inside, b.eq(b.and_(first, size - 1), 0))

    def _signed(self, space: str, offsets: Ref, low: ValueLowering) -> tuple[Ref, Ref]:
        """Return the base pointer and signed offsets: those of g[] count from the middle of the 4 GiB."""
        if space[0] != "g":
            return self._base(space), offsets
        middle = self.code.body.offset(self._base(space), 1 << 31)
        return middle, low.op("xor", offsets, low.constant(0x80000000, 32))

    def _load_words(self, space: str, offsets: Ref, low: ValueLowering, lanes: Ref) -> Ref:
        """Load a word per lane from any offsets."""
        c = self.code
        base, at = self._signed(space, offsets, low)
        f, bits = c.shared("load_words"), c.as_bits(lanes)
        return c.body.call(f, base, low.splat(at), bits)

    def _store_words(self, space: str, offsets: Ref, word: Ref, low: ValueLowering, lanes: Ref) -> None:
        c = self.code
        base, at = self._signed(space, offsets, low)
        f, bits = c.shared("store_words"), c.as_bits(lanes)
        c.body.perform(f, base, low.splat(at), word, bits)

    # --- places that are good -------------------------------------------------------------------------------
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
