"""Loads, stores and atomics of compiled code: every access is checked before it is made.

A lane whose address is misaligned or outside its space stops the warp before the instruction; the reference machine
then raises the fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.arch.tesla.atomics import ATOMIC_OPERATIONS
from isakit.engine.graph import Plan
from isakit.engine.llvm import Ref, ValueLowering
from isakit.machine.tesla.native import layout
from isakit.machine.tesla.native.flow import NotCompiled, Step
from isakit.sem.trace import Effect
from isakit.sem.value import Value

if TYPE_CHECKING:
    from isakit.machine.tesla.native.warp import WarpCode

V32, V64, V1, VP = "<32 x i32>", "<32 x i64>", "<32 x i1>", "<32 x ptr>"
TRUE = "splat (i1 true)"
ROWS = ("a", "p", "o")
"""Spaces of a stage that lie in memory word by word, not lane by lane."""
LANES = "<" + ", ".join(f"i32 {j}" for j in range(32)) + ">"


class Access:
    """Memory instructions of one kernel."""

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
        """Stop where any accessing lane is bad."""
        c, b = self.code, self.code.body
        if bad.uniform:
            any_lane = "true" if lanes == TRUE else b(f"icmp ne i32 {c.as_bits(lanes)}, 0")
            c.stop(step, b(f"and i1 {bad.text}, {any_lane}"))
            return
        hit = bad.text if lanes == TRUE else b(f"and {V1} {bad.text}, {lanes}")
        c.stop(step, b(f"icmp ne i32 {b(f'bitcast {V1} {hit} to i32')}, 0"))

    def _place(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: str) -> Ref:
        """Check the accesses; returns the offsets from the space's base pointer (safe ones for a uniform address)."""
        if not self.code.bound(space):
            self._check(step, low.constant(1, 1), lanes)
            return low.constant(0, 32)
        odd: Ref | None = None
        if size > 1:
            odd = low.op("icmp ne", low.op("and", address, low.constant(size - 1, 32)), low.constant(0, 32), 1)
        if space[0] == "g":
            if odd is not None:
                self._check(step, odd, lanes)
            return self._global(step, space, address, size, low, lanes)
        _, limit = self._own(space)
        past = low.op("sub", Ref(limit, 32, True), low.constant(size, 32))
        short = low.op("icmp ult", Ref(limit, 32, True), low.constant(size, 32), 1)
        outside = low.op("or", low.op("icmp ugt", address, past, 1), short)
        self._check(step, outside if odd is None else low.op("or", outside, odd), lanes)
        if address.uniform:  # no lane may execute: the access is made all the same, at a place that exists
            address = low.select(outside, low.constant(0, 32), address)
        if space == "l":
            c = self.code
            number = c.body(f"load i32, ptr {c.state_pointer(layout.NUMBER)}")
            first = low.op("mul", Ref(number, 32, True), low.constant(32, 32))
            thread = low.op("add", first, Ref(LANES, 32))
            address = low.op("add", address, low.op("mul", thread, Ref(limit, 32, True)))
        if space in ROWS:
            word, byte = low.op("lshr", address, low.constant(2, 32)), low.op("and", address, low.constant(3, 32))
            address = low.op("add", self._row(word, low), byte)
        return address

    def _row(self, word: Ref, low: ValueLowering) -> Ref:
        """Offsets of a word of the lanes' items in a[], p[] or o[]: a row for each word."""
        c = self.code
        number = c.body(f"load i32, ptr {c.state_pointer(layout.NUMBER)}")
        first = low.op("mul", Ref(number, 32, True), low.constant(128, 32))
        start = low.op("add", low.op("mul", word, Ref(c.slot("row_bytes", "i32"), 32, True)), first)
        return low.op("add", start, Ref("<" + ", ".join(f"i32 {4 * j}" for j in range(32)) + ">", 32))

    def output(self, word: Ref, value: Ref, low: ValueLowering, lanes: str, some: bool) -> None:
        """Write word `word` of o[]; nothing happens past its end."""
        c, b = self.code, self.code.body
        word = low.resize(word, 32)
        row = low.op("lshr", Ref(c.slot("o_size", "i32"), 32, True), low.constant(2, 32))
        inside = low.op("icmp ult", word, row, 1).text
        number = b(f"zext i32 {b(f'load i32, ptr {c.state_pointer(layout.NUMBER)}')} to i64")
        stride = b(f"zext i32 {c.slot('row_bytes', 'i32')} to i64")
        start = b(f"mul i64 {low.resize(word, 64).text}, {stride}")
        offset = b(f"add i64 {start}, {b(f'mul i64 {number}, 128')}")
        there = b(f"getelementptr i8, ptr {c.slot('o', 'ptr')}, i64 {offset}")
        p = b(f"select i1 {inside}, ptr {there}, ptr {c.state_pointer(layout.SINK)}")
        v = value.text
        if some:
            v = b(f"select {V1} {lanes}, {V32} {v}, {V32} {b(f'load {V32}, ptr {p}, align 4')}")
        b.do(f"store {V32} {v}, ptr {p}, align 4")

    def _global(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering, lanes: str) -> Ref:
        """Device addresses of g[] accesses that hit a buffer."""
        b, c = self.code.body, self.code
        vector = low.splat(address)
        base, outside = c.window(space, vector, low)
        if outside is not None:
            self._check(step, outside, lanes)
        if base is not None:
            vector = low.op("add", vector, base)
        # The range that held the last access of this instruction usually holds this one.
        site = c.site()
        start = b(f"load i32, ptr {site}, align 8")
        length = b(f"load i32, ptr {b(f'getelementptr i8, ptr {site}, i64 4')}, align 4")
        offset = low.op("sub", vector, Ref(start, 32, True))
        room = low.op("sub", Ref(length, 32, True), low.constant(size, 32))
        inside = low.op("icmp ule", offset, room, 1)
        fits = low.op("icmp uge", Ref(length, 32, True), low.constant(size, 32), 1)
        good = low.splat(low.op("and", inside, fits)).text
        bad = b(f"xor {V1} {good}, {TRUE}")
        if lanes != TRUE:
            bad = b(f"and {V1} {bad}, {lanes}")
        miss = b(f"icmp ne i32 {b(f'bitcast {V1} {bad} to i32')}, 0")
        slow, on, check = b.fresh("range"), b.fresh("on"), b.fresh("check")
        b.do(f"br i1 {miss}, label %{slow}, label %{on}, !prof !0")
        b.label(slow)
        bits = c.as_bits(lanes)
        valid = b(f"call i1 @find_range(ptr %ctx, ptr {site}, {V32} {vector.text}, i32 {bits}, i32 {size})")
        wrong = b(f"xor i1 {valid}, true")
        b.do(f"br label %{check}")
        b.label(check)
        c.stop(step, wrong)
        b.do(f"br label %{on}")
        b.label(on)
        return vector

    def _base(self, space: str) -> str:
        return self.code.slot("memory", "ptr") if space[0] == "g" else self._own(space)[0]

    # --- pointers and vectors of them -----------------------------------------------------------------------
    def _pointers(self, space: str, offsets: Ref, low: ValueLowering) -> str:
        b = self.code.body
        if space[0] == "g":  # 32-bit gather indices are signed: count from the middle of the 4 GiB
            middle = b(f"getelementptr i8, ptr {self._base(space)}, i64 2147483648")
            index = low.op("xor", offsets, low.constant(0x80000000, 32))
            return b(f"getelementptr i8, ptr {middle}, {V32} {index.text}")
        return b(f"getelementptr i8, ptr {self._base(space)}, {V32} {offsets.text}")

    def _scalar_pointer(self, space: str, offset: str) -> str:
        b = self.code.body
        return b(f"getelementptr i8, ptr {self._base(space)}, i64 {b(f'zext i32 {offset} to i64')}")

    def _gather(self, pointers: str, lanes: str) -> Ref:
        b, m = self.code.body, self.code.module
        f = m.declare("llvm.masked.gather.v32i32.v32p0", f"{V32} @({VP}, i32, {V1}, {V32})")
        return Ref(b(f"call {V32} {f}({VP} {pointers}, i32 4, {V1} {lanes}, {V32} zeroinitializer)"), 32)

    def _scatter(self, value: Ref, pointers: str, lanes: str) -> None:
        b, m = self.code.body, self.code.module
        f = m.declare("llvm.masked.scatter.v32i32.v32p0", f"void @({V32}, {VP}, i32, {V1})")
        b.do(f"call void {f}({V32} {value.text}, {VP} {pointers}, i32 4, {V1} {lanes})")

    # --- loads ----------------------------------------------------------------------------------------------
    def load(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: str, some: bool) -> None:
        """A load effect; defines its result node."""
        assert e.result is not None
        size, node = int(e.get("size")), plan.effects.get(id(e.result))
        where = plan.canonical(e.args[0])
        relative = self.code.tagged(step, where) if size == 4 and e.name[0] in "sc" and not some else None
        if relative is not None:
            got = [self._relative(step, e.name, relative, where, low)]
        else:
            address = low.resize(low.value(where), 32)
            offsets = self._place(step, e.name, address, size, low, lanes)
            got = self._loaded(e.name, offsets, size, low, lanes, some)
        if node is None:
            return  # nobody uses the result
        if size == 16:
            pairs = [self._pair(low, got[0], got[1]), self._pair(low, got[2], got[3])]
            self.code.halves[id(node)] = pairs[0], pairs[1]
            low.define(node, low.constant(0, 128))
        elif size == 8:
            low.define(node, self._pair(low, got[0], got[1]))
        else:
            low.define(node, low.resize(got[0], 8 * size))

    @staticmethod
    def _pair(low: ValueLowering, first: Ref, second: Ref) -> Ref:
        high = low.op("shl", low.resize(second, 64), low.constant(32, 64))
        return low.op("or", high, low.resize(first, 64))

    def _branch_by_tag(
        self, space: str, relative: tuple[int, Value], low: ValueLowering
    ) -> tuple[list[str], list[str]]:
        """Branch on what is known of $aN: (blocks for rows, equal addresses, all else), addresses of lanes 0 and 16.

        In the first two blocks the accesses are known to be aligned and inside of the space.
        """
        c, b = self.code, self.code.body
        n, offset = relative
        distance = low.resize(low.value(offset), 32)
        tag = c.load32(f"a{n}tag")
        firsts = [low.op("add", Ref(c.load32(f"a{n}{name}"), 32, True), distance) for name in ("low", "high")]
        firsts = [low.op("and", f, low.constant(0xFFFF, 32)) for f in firsts]
        limit = Ref(self._own(space)[1], 32, True)
        odd = low.op("and", low.op("or", firsts[0], firsts[1]), low.constant(3, 32))
        aligned = low.op("icmp eq", odd, low.constant(0, 32), 1)
        labels = [b.fresh(x) for x in ("rows", "ones", "many")]
        other = b.fresh("other")
        for k, (number, size) in enumerate(((1, 64), (2, 4))):
            fits = low.op("icmp eq", Ref(tag, 32, True), low.constant(number, 32), 1)
            for f in firsts:
                end = low.op("add", f, low.constant(size, 32))
                fits = low.op("and", fits, low.op("icmp ule", end, limit, 1))
            fits = low.op("and", fits, aligned)
            b.do(f"br i1 {fits.text}, label %{labels[k]}, label %{labels[2] if k else other}")
            if not k:
                b.label(other)
        return labels, [f.text for f in firsts]

    def _relative(self, step: Step, space: str, relative: tuple[int, Value], where: Value, low: ValueLowering) -> Ref:
        """A word per lane at $aN plus an offset."""
        b = self.code.body
        (rows, ones, many), firsts = self._branch_by_tag(space, relative, low)
        done = b.fresh("done")
        b.label(rows)
        v1 = self._two_rows([self._scalar_pointer(space, f) for f in firsts])
        b.do(f"br label %{done}")
        b.label(ones)
        v2 = self._two_words([self._scalar_pointer(space, f) for f in firsts])
        b.do(f"br label %{done}")
        b.label(many)
        inner = low.fork()
        offsets = self._place(step, space, inner.resize(inner.value(where), 32), 4, inner, TRUE)
        v3 = self._gather(self._pointers(space, offsets, inner), TRUE).text
        end = b.fresh("end")
        b.do(f"br label %{end}")
        b.label(end)
        b.do(f"br label %{done}")
        b.label(done)
        return Ref(b(f"phi {V32} [ {v1}, %{rows} ], [ {v2}, %{ones} ], [ {v3}, %{end} ]"), 32)

    def _two_rows(self, pointers: list[str]) -> str:
        b = self.code.body
        parts = [b(f"load <16 x i32>, ptr {p}, align 4") for p in pointers]
        return b(f"shufflevector <16 x i32> {parts[0]}, <16 x i32> {parts[1]}, {V32} {LANES}")

    def _two_words(self, pointers: list[str]) -> str:
        b = self.code.body
        words = [b(f"load i32, ptr {p}, align 4") for p in pointers]
        pair = b(f"insertelement <2 x i32> poison, i32 {words[0]}, i64 0")
        pair = b(f"insertelement <2 x i32> {pair}, i32 {words[1]}, i64 1")
        spread = "<" + ", ".join(f"i32 {j // 16}" for j in range(32)) + ">"
        return b(f"shufflevector <2 x i32> {pair}, <2 x i32> poison, {V32} {spread}")

    def _loaded(self, space: str, offsets: Ref, size: int, low: ValueLowering, lanes: str, some: bool) -> list[Ref]:
        """The words (or the byte, the halfword) at the offsets."""
        b = self.code.body
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
            word = self._words(space, low.op("and", offsets, low.constant(~3, 32)), low, lanes, some)
            shift = low.op("shl", low.op("and", offsets, low.constant(3, 32)), low.constant(3, 32))
            part = low.op("lshr", word, shift)
            return [low.op("and", part, low.constant((1 << 8 * size) - 1, 32))]
        return [
            self._words(space, low.op("add", offsets, low.constant(k, 32)) if k else offsets, low, lanes, some)
            for k in range(0, size, 4)
        ]

    def _words(self, space: str, offsets: Ref, low: ValueLowering, lanes: str, some: bool) -> Ref:
        """One 32-bit word per lane: a vector load where the lanes are neighbours, else a gather."""
        if some or space == "l":
            return self._gather(self._pointers(space, offsets, low), lanes)
        if space[0] == "g" or space in ROWS:
            return self._neighbours(space, offsets, low)
        return self._by_halves(space, offsets, low)

    def _neighbours(self, space: str, offsets: Ref, low: ValueLowering) -> Ref:
        b = self.code.body
        near, far, done, first = self._contiguous(offsets, low)
        b.label(near)
        one = b(f"load {V32}, ptr {self._scalar_pointer(space, first)}, align 4")
        b.do(f"br label %{done}")
        b.label(far)
        many = self._gather(self._pointers(space, offsets, low), TRUE)
        b.do(f"br label %{done}")
        b.label(done)
        return Ref(b(f"phi {V32} [ {one}, %{near} ], [ {many.text}, %{far} ]"), 32)

    def _contiguous(self, offsets: Ref, low: ValueLowering) -> tuple[str, str, str, str]:
        """Branch on whether lane n accesses the n-th word; (label if so, if not, after both, lane 0's offset)."""
        b = self.code.body
        first = b(f"extractelement {V32} {offsets.text}, i64 0")
        steps = "<" + ", ".join(f"i32 {4 * j}" for j in range(32)) + ">"
        row = low.op("add", low.splat(Ref(first, 32, True)), Ref(steps, 32))
        same = low.op("icmp eq", offsets, row, 1)
        whole = b(f"icmp eq i32 {b(f'bitcast {V1} {same.text} to i32')}, -1")
        near, far, done = b.fresh("near"), b.fresh("far"), b.fresh("done")
        b.do(f"br i1 {whole}, label %{near}, label %{far}")
        return near, far, done, first

    def _by_halves(self, space: str, offsets: Ref, low: ValueLowering) -> Ref:
        """s[] and c[]: half-warps mostly read neighbouring words, or all the same one."""
        b = self.code.body
        half = "<" + ", ".join(f"i32 {0 if j < 16 else 16}" for j in range(32)) + ">"
        firsts = Ref(b(f"shufflevector {V32} {offsets.text}, {V32} poison, {V32} {half}"), 32)
        steps = "<" + ", ".join(f"i32 {4 * (j % 16)}" for j in range(32)) + ">"
        row = low.op("icmp eq", offsets, low.op("add", firsts, Ref(steps, 32)), 1)
        same = low.op("icmp eq", offsets, firsts, 1)
        is_row = b(f"icmp eq i32 {b(f'bitcast {V1} {row.text} to i32')}, -1")
        is_same = b(f"icmp eq i32 {b(f'bitcast {V1} {same.text} to i32')}, -1")
        rows, other, ones, many, done = (b.fresh(x) for x in ("rows", "other", "ones", "many", "done"))
        b.do(f"br i1 {is_row}, label %{rows}, label %{other}")
        b.label(rows)
        v1 = self._two_rows([self._lane_pointer(space, offsets, k) for k in (0, 16)])
        b.do(f"br label %{done}")
        b.label(other)
        b.do(f"br i1 {is_same}, label %{ones}, label %{many}")
        b.label(ones)
        v2 = self._two_words([self._lane_pointer(space, offsets, k) for k in (0, 16)])
        b.do(f"br label %{done}")
        b.label(many)
        v3 = self._gather(self._pointers(space, offsets, low), TRUE).text
        b.do(f"br label %{done}")
        b.label(done)
        return Ref(b(f"phi {V32} [ {v1}, %{rows} ], [ {v2}, %{ones} ], [ {v3}, %{many} ]"), 32)

    def _lane_pointer(self, space: str, offsets: Ref, lane: int) -> str:
        return self._scalar_pointer(space, self.code.body(f"extractelement {V32} {offsets.text}, i64 {lane}"))

    # --- stores ---------------------------------------------------------------------------------------------
    def store(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: str, some: bool) -> None:
        """A store effect; where lanes hit the same place the highest lane wins."""
        size = int(e.get("size"))
        if e.name[0] in "cap":
            raise NotCompiled("a store to a space that cannot be written")
        where = plan.canonical(e.args[0])
        words: list[Ref] = []
        value = e.args[1]
        for k in range(0, value.width, 64):
            piece = low.splat(low.value(plan.canonical(value.bits(k, 64) if value.width > 64 else value)))
            words.append(low.resize(piece, 32))
            if piece.width == 64:
                words.append(low.resize(low.op("lshr", piece, low.constant(32, 64)), 32))
        relative = self.code.tagged(step, where) if size == 4 and e.name == "s" and not some else None
        if relative is not None:
            self._store_relative(step, relative, where, words[0], low)
            return
        address = low.splat(low.resize(low.value(where), 32))
        offsets = low.splat(self._place(step, e.name, address, size, low, lanes))
        if size < 4:
            self._store_small(e.name, offsets, words[0], size, lanes)
            return
        for k, word in enumerate(words):
            at = low.op("add", offsets, low.constant(4 * k, 32)) if k else offsets
            if some or len(words) > 1 or e.name == "l":
                self._scatter(word, self._pointers(e.name, at, low), lanes)
            else:
                self._store_neighbours(e.name, at, word, low)

    def _store_relative(
        self, step: Step, relative: tuple[int, Value], where: Value, word: Ref, low: ValueLowering
    ) -> None:
        """A word per lane at $aN plus an offset of s[]."""
        b = self.code.body
        (rows, ones, many), firsts = self._branch_by_tag("s", relative, low)
        done = b.fresh("done")
        b.label(rows)
        for k, first in zip((0, 16), firsts, strict=True):
            index = "<16 x i32> <" + ", ".join(f"i32 {k + j}" for j in range(16)) + ">"
            half = b(f"shufflevector {V32} {word.text}, {V32} poison, {index}")
            b.do(f"store <16 x i32> {half}, ptr {self._scalar_pointer('s', first)}, align 4")
        b.do(f"br label %{done}")
        b.label(ones)
        for k, first in zip((0, 16), firsts, strict=True):  # the highest lane wins
            last = b(f"extractelement {V32} {word.text}, i64 {k + 15}")
            b.do(f"store i32 {last}, ptr {self._scalar_pointer('s', first)}, align 4")
        b.do(f"br label %{done}")
        b.label(many)
        inner = low.fork()
        offsets = self._place(step, "s", inner.splat(inner.resize(inner.value(where), 32)), 4, inner, TRUE)
        self._scatter(word, self._pointers("s", inner.splat(offsets), inner), TRUE)
        b.do(f"br label %{done}")
        b.label(done)

    def _store_neighbours(self, space: str, offsets: Ref, word: Ref, low: ValueLowering) -> None:
        b = self.code.body
        near, far, done, first = self._contiguous(offsets, low)
        b.label(near)
        b.do(f"store {V32} {word.text}, ptr {self._scalar_pointer(space, first)}, align 4")
        b.do(f"br label %{done}")
        b.label(far)
        self._scatter(word, self._pointers(space, offsets, low), TRUE)
        b.do(f"br label %{done}")
        b.label(done)

    def _store_small(self, space: str, offsets: Ref, value: Ref, size: int, lanes: str) -> None:
        """Bytes and halfwords, lane by lane."""
        b = self.code.body

        def one(lane: str) -> None:
            p = self._scalar_pointer(space, b(f"extractelement {V32} {offsets.text}, i32 {lane}"))
            v = b(f"trunc i32 {b(f'extractelement {V32} {value.text}, i32 {lane}')} to i{8 * size}")
            b.do(f"store i{8 * size} {v}, ptr {p}, align {size}")

        self._each_lane(lanes, one)

    def _each_lane(self, lanes: str, action: object) -> None:
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
        action(i)  # type: ignore[operator]
        b.do(f"br label %{tail}")
        b.label(tail)
        b.do(f"{nxt} = add i32 {i}, 1")
        more = b(f"icmp ult i32 {nxt}, 32")
        b.do(f"br i1 {more}, label %{loop}, label %{done}")
        b.label(done)

    # --- atomics --------------------------------------------------------------------------------------------
    def atomic(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: str) -> None:
        """Read-modify-write, lane after lane; defines the node of the old values."""
        b, size = self.code.body, int(e.get("size"))
        if e.name[0] != "g":
            raise NotCompiled(f"an atomic on {e.name}[]")
        bits = 8 * size
        address = low.splat(low.resize(low.value(plan.canonical(e.args[0])), 32))
        operands = [low.splat(low.value(plan.canonical(a))) for a in e.args[1:]]
        offsets = low.splat(self._place(step, e.name, address, size, low, lanes))
        op = ATOMIC_OPERATIONS[e.get("op")]
        f = low.one_lane(op, (), (bits,) * (1 + len(operands)))
        vector = self.code.module.vector(bits)
        olds = b.fresh("%olds")
        self.code.scratch(olds, vector)
        b.do(f"store {vector} zeroinitializer, ptr {olds}, align 64")

        def one(lane: str) -> None:
            p = self._scalar_pointer(e.name, b(f"extractelement {V32} {offsets.text}, i32 {lane}"))
            old = b(f"load i{bits}, ptr {p}, align {size}")
            listed = "".join(f", i{bits} " + b(f"extractelement {vector} {o.text}, i32 {lane}") for o in operands)
            b.do(f"store i{bits} {b(f'call i{bits} {f}(i{bits} {old}{listed})')}, ptr {p}, align {size}")
            q = b(f"getelementptr i{bits}, ptr {olds}, i32 {lane}")
            b.do(f"store i{bits} {old}, ptr {q}")

        self._each_lane(lanes, one)
        node = plan.effects.get(id(e.result))
        if node is not None:
            low.define(node, Ref(b(f"load {vector}, ptr {olds}, align 64"), bits))
