"""Where accesses of compiled code are: addresses checked against their space, and the lanes whose access counts.

A lane whose address is misaligned or outside its space stops the warp before the instruction; the reference machine
then raises the fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isakit.engine.llvm import Body, Ref, ValueLowering
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import TRUE, V1, V32
from isakit.machine.tesla.rules import accesses

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.emit.warp_code import WarpCode

ROWS = ("a", "p", "o")
"""Spaces of a stage that lie in memory word by word, not lane by lane."""


def multiples(step: int) -> str:
    """The vector 0, step, 2 * step ..., one element per lane."""
    return "<" + ", ".join(f"i32 {step * j}" for j in range(32)) + ">"


LANES, WORDS = multiples(1), multiples(4)


def all_equal(b: Body, x: str, y: str) -> str:
    """Whether two numbers are the same in every lane, as i1.

    The halves' differences are put together first: comparisons that give flags take three times as long as that.
    """
    other = b(f"xor {V32} {x}, {y}")
    indices = (", ".join(f"i32 {first + j}" for j in range(16)) for first in (0, 16))
    low, high = (b(f"shufflevector {V32} {other}, {V32} poison, <16 x i32> <{index}>") for index in indices)
    flags = b(f"icmp ne <16 x i32> {b(f'or <16 x i32> {low}, {high}')}, zeroinitializer")
    return b(f"icmp eq i16 {b(f'bitcast <16 x i1> {flags} to i16')}, 0")


@dataclass(frozen=True)
class Placed:
    """Where accesses are: offsets from the pointer of the space, and the lanes (bools) whose access counts.

    `nothing`: an i1 for all lanes that says that none counts. `row`: a uniform offset is that of a row with a word for
    every lane. `step`: bytes from one word of a lane to the next.
    """

    offsets: Ref
    lanes: str
    nothing: Ref | None = None
    row: bool = False
    step: int = 4


class AccessPlacement:
    """The places of accesses of one kernel."""

    def __init__(self, code: WarpCode) -> None:
        self.code = code

    # --- where a space is -----------------------------------------------------------------------------------
    def _own(self, space: str) -> tuple[str, str]:
        """(base pointer, limit i32) of s[], l[] or c[]."""
        c = self.code
        if space == "s":
            return c.slot("shared", "ptr"), c.slot("shared_limit", "i32")
        if space == "l":
            return c.slot("local", "ptr"), c.slot("local_limit", "i32")
        return c.slot(space, "ptr"), c.slot(f"{space}_size", "i32")

    def _check(self, step: Step, bad: Ref, lanes: str) -> None:
        """Stop where any accessing lane is bad (for all lanes or for none)."""
        c, b = self.code, self.code.body
        if lanes == c.mask:  # some lane is active
            c.stop(step, bad.text)
            return
        c.stop(step, b(f"and i1 {bad.text}, {b(f'icmp ne i32 {c.as_bits(lanes)}, 0')}"))

    @property
    def _by_rule(self) -> bool:
        """Whether the functions that all kernels share, which fault, are not what the choices want."""
        return self.code.choices.out_of_range != "fault" or self.code.choices.misaligned != "fault"

    def _aligned(self, address: Ref, size: int, low: ValueLowering) -> Ref:
        given = {"address": address, "size": low.constant(size, 32)}
        return expression(low, accesses.aligned, given, choices=self.code.choices)

    def _any(self, flags: Ref, lanes: str, low: ValueLowering) -> str:
        """Whether a flag is set in some of the lanes, as i1."""
        wrong = low.splat(flags).text
        hit = wrong if lanes == TRUE else self.code.body(f"and {V1} {wrong}, {lanes}")
        return self.code.body(f"icmp ne i32 {self.code.body(f'bitcast {V1} {hit} to i32')}, 0")

    def _without(self, lanes: str, flags: Ref, low: ValueLowering) -> str:
        """The lanes whose flag is not set."""
        kept = low.op("xor", low.splat(flags), low.constant(1, 1))
        return self.code.both(lanes, kept.text)

    def _place(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: str) -> Placed:
        """Check the accesses; returns where they are (at a safe place for a uniform address that is not good)."""
        c = self.code
        if not c.bound(space):
            self._check(step, low.constant(1, 1), lanes)
            return Placed(low.constant(0, 32), lanes)
        if space[0] == "g":
            return self._global(step, space, low.splat(address), size, low, lanes)
        address = self._aligned(address, size, low)
        limit = Ref(self._own(space)[1], 32, True)
        nothing: Ref | None = None
        if address.uniform:
            address, nothing = self._uniform(step, address, size, limit, low, lanes)
            if nothing is not None:
                lanes = self._without(lanes, nothing, low)
        elif self._by_rule:
            address, lanes = self._one_by_one(step, address, size, limit, low, lanes)
        else:
            f, bits = c.shared("check_own"), c.as_bits(lanes)
            given = f"i32 {limit.text}, {V32} {address.text}, i32 {size}, i32 {bits}"
            c.stop(step, c.body(f"{f}({given})"))
        if space == "l":
            place = self._local_place(address, limit, low)
            return Placed(place, lanes, nothing, place.uniform, state_layout.LOCAL_ROW)
        if space in ROWS:
            word, byte = low.op("lshr", address, low.constant(2, 32)), low.op("and", address, low.constant(3, 32))
            address = low.op("add", self._item_row(word, low), byte)
        return Placed(address, lanes, nothing)

    def _local_place(self, address: Ref, limit: Ref, low: ValueLowering) -> Ref:
        """Where an address of l[] is, see `state_layout`; for an address of all lanes where it is for lane 0."""
        number = self.code.body(f"load i32, ptr {self.code.state_pointer(state_layout.NUMBER)}")
        first = low.op("mul", low.op("mul", Ref(number, 32, True), low.constant(32, 32)), limit)
        word, byte = low.op("lshr", address, low.constant(2, 32)), low.op("and", address, low.constant(3, 32))
        place = low.op("add", low.op("mul", word, low.constant(state_layout.LOCAL_ROW, 32)), low.op("add", first, byte))
        return place if address.uniform else low.op("add", place, Ref(WORDS, 32))

    def _one_by_one(
        self, step: Step, address: Ref, size: int, limit: Ref, low: ValueLowering, lanes: str
    ) -> tuple[Ref, str]:
        """Check the addresses as the choices want it; returns safe ones, and the lanes whose access counts."""
        given = {"address": address, "size": low.constant(size, 32), "limit": limit}
        if self.code.choices.misaligned == "fault" and size > 1:
            self.code.stop(step, self._any(expression(low, accesses.misaligned, given), lanes, low))
        outside = expression(low, accesses.outside, given)
        if self.code.choices.out_of_range == "fault":
            self.code.stop(step, self._any(outside, lanes, low))
            return address, lanes
        return low.select(outside, low.constant(0, 32), address), self._without(lanes, outside, low)

    def _item_row(self, word: Ref, low: ValueLowering) -> Ref:
        """Offsets of a word of the lanes' items in a[], p[] or o[]: a row for each word."""
        c = self.code
        number = c.body(f"load i32, ptr {c.state_pointer(state_layout.NUMBER)}")
        first = low.op("mul", Ref(number, 32, True), low.constant(128, 32))
        start = low.op("add", low.op("mul", word, Ref(c.slot("row_bytes", "i32"), 32, True)), first)
        return low.op("add", start, Ref(WORDS, 32))

    def _uniform(
        self, step: Step, address: Ref, size: int, limit: Ref, low: ValueLowering, lanes: str
    ) -> tuple[Ref, Ref | None]:
        """One address for all lanes, and whether the access does not count (where that does not fault).

        If no lane executes the access is made all the same, at a place that exists.
        """
        ignored = self.code.choices.out_of_range != "fault"
        given = {"address": address, "size": low.constant(size, 32), "limit": limit}
        if address.text.isdigit():
            end = int(address.text) + size
            outside = low.op("icmp ult", limit, low.constant(end, 32), 1)
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

    def _global(self, step: Step, space: str, vector: Ref, size: int, low: ValueLowering, lanes: str) -> Placed:
        """Device addresses of g[] accesses that hit a buffer."""
        vector = self._even(step, vector, size, lanes, low)
        vector, lanes = self._windowed(step, space, vector, low, lanes)
        return self._in_buffers(step, self.code.site(), vector, size, lanes, low)

    def _even(self, step: Step, vector: Ref, size: int, lanes: str, low: ValueLowering) -> Ref:
        """Addresses that are multiples of the size; where accesses outside fault, that is found out with them."""
        choices = self.code.choices
        if choices.misaligned == "fault" and choices.out_of_range != "fault" and size > 1:
            given = {"address": vector, "size": low.constant(size, 32)}
            self.code.stop(step, self._any(expression(low, accesses.misaligned, given), lanes, low))
        return self._aligned(vector, size, low)

    def _windowed(self, step: Step, space: str, vector: Ref, low: ValueLowering, lanes: str) -> tuple[Ref, str]:
        """Device addresses of g[] accesses that are inside of the window, and their lanes."""
        c = self.code
        at, outside = c.window(space, vector, low)
        if outside is not None and c.choices.out_of_range == "fault":
            c.stop(step, self._any(outside, lanes, low))
        elif outside is not None:
            lanes = self._without(lanes, outside, low)
        return at, lanes

    def _in_buffers(self, step: Step, site: str, vector: Ref, size: int, lanes: str, low: ValueLowering) -> Placed:
        """Accesses that hit a buffer: `in_buffers` of the rules, which `check_global` is where all hit the last one."""
        c, b = self.code, self.code.body
        f, bits = c.shared("check_global"), c.as_bits(lanes)
        bad = b(f"{f}(ptr %ctx, ptr {site}, {V32} {vector.text}, i32 {size}, i32 {bits})")
        if c.choices.out_of_range == "fault":
            c.stop(step, bad)
            return Placed(vector, lanes)
        some, on = b.fresh("missed"), b.fresh("looked")
        kept = b.fresh("%kept")
        c.scratch(kept, "i32")
        b.do(f"store i32 {bits}, ptr {kept}")
        b.do(f"br i1 {bad}, label %{some}, label %{on}, !prof !0")
        b.label(some)
        given = {"site": site, "addresses": vector.text, "lanes": Ref(bits, 32, True), "size": low.constant(size, 32)}
        hits = c.transfer.rule(step, accesses.in_buffers, given)
        assert hits is not None
        b.do(f"store i32 {hits.text}, ptr {kept}")
        b.do(f"br label %{on}")
        b.label(on)
        left = b(f"bitcast i32 {b(f'load i32, ptr {kept}')} to {V1}")
        return Placed(low.select(Ref(left, 1), vector, low.constant(0, 32)), left)

    def _base(self, space: str) -> str:
        return self.code.slot("memory", "ptr") if space[0] == "g" else self._own(space)[0]

    # --- words ----------------------------------------------------------------------------------------------
    def _scalar_pointer(self, space: str, offset: str) -> str:
        b = self.code.body
        return b(f"getelementptr i8, ptr {self._base(space)}, i64 {b(f'zext i32 {offset} to i64')}")

    def _inside(self, first: str, buffer: tuple[str, str], size: int, count: int) -> str:
        """Whether `count` elements of `size` bytes from an address on are in a buffer (start, length), aligned; i1."""
        b, (start, length) = self.code.body, buffer
        offset = b(f"zext i32 {b(f'sub i32 {first}, {start}')} to i64")
        inside = b(f"icmp ule i64 {b(f'add i64 {offset}, {count * size}')}, {b(f'zext i32 {length} to i64')}")
        aligned = b(f"icmp eq i32 {b(f'and i32 {first}, {size - 1}')}, 0")
        return b(f"and i1 {inside}, {aligned}")

    def _signed(self, space: str, offsets: Ref, low: ValueLowering) -> tuple[str, Ref]:
        """Base pointer and signed offsets: those of g[] count from the middle of the 4 GiB."""
        if space[0] != "g":
            return self._base(space), offsets
        middle = self.code.body(f"getelementptr i8, ptr {self._base(space)}, i64 2147483648")
        return middle, low.op("xor", offsets, low.constant(0x80000000, 32))

    def _load_words(self, space: str, offsets: Ref, low: ValueLowering, lanes: str) -> Ref:
        """A word per lane, wherever it is."""
        c = self.code
        base, at = self._signed(space, offsets, low)
        f, bits = c.shared("load_words"), c.as_bits(lanes)
        return Ref(c.body(f"{f}(ptr {base}, {V32} {low.splat(at).text}, i32 {bits})"), 32)

    def _store_words(self, space: str, offsets: Ref, word: Ref, low: ValueLowering, lanes: str) -> None:
        c = self.code
        base, at = self._signed(space, offsets, low)
        f, bits = c.shared("store_words"), c.as_bits(lanes)
        c.body.do(f"{f}(ptr {base}, {V32} {low.splat(at).text}, {V32} {word.text}, i32 {bits})")
