"""Loads, stores and atomics of compiled code: every access is checked before it is made, see `access_placement`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isakit.arch.tesla.atomics import ATOMIC_OPERATIONS
from isakit.engine.graph import Plan
from isakit.engine.llvm import Ref, ValueLowering
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.analysis.control_flow import NotCompiled, Step
from isakit.machine.tesla.compiled.emit.access_placement import Placed, all_equal, multiples
from isakit.machine.tesla.compiled.emit.memory_atomics import (
    NEUTRAL,
    Update,
    at_one_word,
    at_row,
    in_a_row,
    in_one_word,
)
from isakit.machine.tesla.compiled.emit.memory_windows import load_from_windows
from isakit.machine.tesla.compiled.emit.own_access import OwnAccess
from isakit.machine.tesla.compiled.state_layout import TRUE, V1, V32
from isakit.sem.trace import Effect


def _strided(first: int, step: int) -> str:
    """Indices of every `step`-th element from `first` on, one per lane."""
    return "<32 x i32> <" + ", ".join(f"i32 {first + step * j}" for j in range(32)) + ">"


@dataclass(frozen=True)
class _Rows:
    """Accesses that may be to neighbours.

    The addresses, the lanes that access, the pointer if so; label if not, label after both, site, and the buffer that
    it remembers (start, length).
    """

    addresses: Ref
    lanes: str
    pointer: str
    far: str
    done: str
    site: str
    buffer: tuple[str, str]


class KernelAccesses(OwnAccess):
    """Memory instructions of one kernel."""

    # --- loads ----------------------------------------------------------------------------------------------
    def load(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: str, some: bool) -> None:
        """A load effect; defines its result node."""
        assert e.result is not None
        size, node = int(e.get("size")), plan.effects.get(id(e.result))
        where = plan.canonical(e.args[0])
        word = size == 4 and not some and self.code.bound(e.name)
        own = size == 4 and e.name[0] in "sc" and self.code.bound(e.name)
        relative = self.code.relative(step, where) if own else None
        if relative is not None and word and self.code.full:
            got = [self._by_tag(step, e.name, relative, where, low)]
        elif relative is not None and not self._by_rule:
            got = [self._load_own(step, e.name, relative, lanes)]
        elif not some and e.name[0] == "g" and self.code.bound(e.name) and self.code.full:
            address = low.resize(low.value(where), 32)
            if address.uniform and self.code.choices.out_of_range == "fault":
                got = self._alike(step, e.name, address, size, low)
            else:
                got = self._row(step, e.name, low.splat(address), size, low)
        else:
            got = self._load_placed(step, e.name, low.resize(low.value(where), 32), size, low, lanes)
        if node is None:
            return  # the result is dead
        if size == 16:
            pairs = [self._pair(low, got[0], got[1]), self._pair(low, got[2], got[3])]
            self.code.halves[id(node)] = pairs[0], pairs[1]
            low.define(node, low.constant(0, 128))
        elif size == 8:
            low.define(node, self._pair(low, got[0], got[1]))
        else:
            low.define(node, low.resize(got[0], 8 * size))

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

    @staticmethod
    def _pair(low: ValueLowering, first: Ref, second: Ref) -> Ref:
        high = low.op("shl", low.resize(second, 64), low.constant(32, 64))
        return low.op("or", high, low.resize(first, 64))

    def _alike(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> list[Ref]:
        """The words of g[] at one address for all lanes, all of them active; where nothing is there the warp stops."""
        return self._loaded(space, self._placed_alike(step, space, address, size, low), size, low)

    def _placed_alike(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> Placed:
        """Where an access of all lanes to g[] at one address is; where nothing is there the warp stops."""
        c, b = self.code, self.code.body
        address = self._even(step, address, size, TRUE, low)
        at, lanes = self._windowed(step, space, address, low, TRUE)
        site = c.site()
        good = self._inside(at.text, self._last_buffer(site), size, 1)
        far, done = b.fresh("far"), b.fresh("done")
        b.do(f"br i1 {good}, label %{done}, label %{far}, !prof !2")
        b.label(far)
        self._in_buffers(step, site, low.fork().splat(at), size, lanes, low)
        b.do(f"br label %{done}")
        b.label(done)
        return Placed(at, lanes)

    def _row(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> list[Ref]:
        """The words of g[] for an access of `size` bytes per lane, all lanes active."""
        b, words = self.code.body, max(size // 4, 1)
        rows = self._rows(step, space, address, size, low)
        element = f"i{8 * min(size, 4)}"
        whole = b(f"load <{32 * words} x {element}>, ptr {rows.pointer}, align {min(size, 4)}")
        v1 = [whole if size >= 4 else b(f"zext <32 x {element}> {whole} to {V32}")]
        if words > 1:
            row = f"<{32 * words} x i32>"
            v1 = [b(f"shufflevector {row} {whole}, {row} poison, {_strided(k, words)}") for k in range(words)]
        b.do(f"br label %{rows.done}")
        near = b.current
        ways = [(v1, near)]
        b.label(rows.far)
        if size == 4 and rows.lanes == TRUE and self.code.host.embedded:
            inline = self.code.in_loop(step)
            if inline:
                ways.append(self._load_falling(space, rows, low.fork()))
            ways.append(self._load_windows(space, rows) if inline else self._load_near(space, rows))
        v2 = [r.text for r in self._load_missed(step, space, rows, size, low.fork())]
        b.do(f"br label %{rows.done}")
        ways.append((v2, b.current))
        b.label(rows.done)
        chosen = [", ".join(f"[ {each[k]}, %{label} ]" for each, label in ways) for k in range(words)]
        return [Ref(b(f"phi {V32} {text}"), 32) for text in chosen]

    def _load_falling(self, space: str, rows: _Rows, low: ValueLowering) -> tuple[list[str], str]:
        """Words of neighbours at falling addresses; the block for others is open after it."""
        b, (pointer, beyond) = self.code.body, self._falling(space, rows.addresses, rows.buffer, low)
        found = self._descending(b, b(f"load {V32}, ptr {pointer}, align 4"))
        near = b.current
        b.do(f"br label %{rows.done}")
        b.label(beyond)
        return [found], near

    def _load_windows(self, space: str, rows: _Rows) -> tuple[list[str], str]:
        """Words that are near each other, see `memory_windows`; the block for others is open after it."""
        b, beyond = self.code.body, self.code.body.fresh("beyond")
        found = load_from_windows(b, self._base(space), rows.addresses.text, rows.buffer, beyond)
        b.do(f"br label %{rows.done}")
        near = b.current
        b.label(beyond)
        return [found], near

    def _load_near(self, space: str, rows: _Rows) -> tuple[list[str], str]:
        """Words of a few neighbouring lines of memory, in any order; the block for others is open after it."""
        c, b = self.code, self.code.body
        both = b(f"{c.shared('load_near')}(ptr {self._base(space)}, ptr {rows.site}, "
                 f"{V32} {rows.addresses.text})")  # fmt: skip
        found = b(f"extractvalue {{{V32}, i1}} {both}, 0")
        near, beyond = b.fresh("lines"), b.fresh("beyond")
        b.do(f"br i1 {b(f'extractvalue {{{V32}, i1}} {both}, 1')}, label %{near}, label %{beyond}")
        b.label(near)
        b.do(f"br label %{rows.done}")
        b.label(beyond)
        return [found], near

    def _load_missed(self, step: Step, space: str, rows: _Rows, size: int, low: ValueLowering) -> list[Ref]:
        """The words where the lanes do not access neighbours in the buffer that was accessed last."""
        placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, low)
        got = self._loaded(space, placed, size, low)
        if placed.lanes == TRUE:
            return got
        return [low.select(Ref(placed.lanes, 1), g, low.constant(0, g.width)) for g in got]

    def _rows(self, step: Step, space: str, address: Ref, size: int, low: ValueLowering) -> _Rows:
        """Branch on whether the lanes access neighbours of `size` bytes in the buffer the instruction accessed last.

        The block if so is open.
        """
        c, b = self.code, self.code.body
        address = self._even(step, address, size, TRUE, low)
        address, lanes = self._windowed(step, space, address, low, TRUE)
        site = c.site()
        first = b(f"extractelement {V32} {address.text}, i64 0")
        row = low.op("add", low.splat(Ref(first, 32, True)), Ref(multiples(size), 32))
        neighbours = all_equal(b, address.text, row.text)
        buffer = self._last_buffer(site)
        good = b(f"and i1 {neighbours}, {self._inside(first, buffer, size, 32)}")
        if lanes != TRUE:
            good = b(f"and i1 {good}, {b(f'icmp eq i32 {c.as_bits(lanes)}, -1')}")
        near, far, done = b.fresh("near"), b.fresh("far"), b.fresh("done")
        b.do(f"br i1 {good}, label %{near}, label %{far}, !prof !2")
        b.label(near)
        return _Rows(address, lanes, self._scalar_pointer(space, first), far, done, site, buffer)

    def _last_buffer(self, site: str) -> tuple[str, str]:
        """Start and length of the buffer that the instruction accessed last."""
        b = self.code.body
        start = b(f"load i32, ptr {site}, align 8")
        return start, b(f"load i32, ptr {b(f'getelementptr i8, ptr {site}, i64 4')}, align 4")

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

    @staticmethod
    def _bit(offsets: Ref, low: ValueLowering) -> Ref:
        """Where the byte or halfword at an offset begins in its word, in bits."""
        return low.op("shl", low.op("and", offsets, low.constant(3, 32)), low.constant(3, 32))

    def _part(self, word: Ref, offsets: Ref, size: int, low: ValueLowering) -> Ref:
        """The byte or halfword of a word."""
        return low.op("and", low.op("lshr", word, self._bit(offsets, low)), low.constant((1 << 8 * size) - 1, 32))

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

    # --- stores ---------------------------------------------------------------------------------------------
    def output(self, word: Ref, value: Ref, low: ValueLowering, lanes: str, some: bool) -> None:
        """Write word `word` of o[]; nothing happens past its end."""
        c, b = self.code, self.code.body
        word = low.resize(word, 32)
        row = low.op("lshr", Ref(c.slot("o_size", "i32"), 32, True), low.constant(2, 32))
        inside = low.op("icmp ult", word, row, 1).text
        number = b(f"zext i32 {b(f'load i32, ptr {c.state_pointer(state_layout.NUMBER)}')} to i64")
        stride = b(f"zext i32 {c.slot('row_bytes', 'i32')} to i64")
        start = b(f"mul i64 {low.resize(word, 64).text}, {stride}")
        offset = b(f"add i64 {start}, {b(f'mul i64 {number}, 128')}")
        there = b(f"getelementptr i8, ptr {c.slot('o', 'ptr')}, i64 {offset}")
        p = b(f"select i1 {inside}, ptr {there}, ptr {c.state_pointer(state_layout.SINK)}")
        v = value.text
        if some:
            v = b(f"select {V1} {lanes}, {V32} {v}, {V32} {b(f'load {V32}, ptr {p}, align 4')}")
        b.do(f"store {V32} {v}, ptr {p}, align 4")

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
        whole = size == 4 and not some and self.code.bound(e.name)
        relative = self.code.relative(step, where) if whole and self.code.full and e.name == "s" else None
        if relative is not None:
            self._store_relative(step, relative, where, words[0], low)
            return
        address = low.resize(low.value(where), 32)
        if e.name != "l":  # there it is one number where all lanes have the same
            address = low.splat(address)
        if not some and e.name[0] == "g" and self.code.bound(e.name) and self.code.full:
            self._store_row(step, e.name, address, words, size, low)
            return
        placed = self._place(step, e.name, address, size, low, lanes)
        if placed.row:
            self._store_local_row(e.name, placed, words, size, low, some or placed.lanes != lanes)
        elif size < 4:
            self._store_small(e.name, low.splat(placed.offsets), words[0], size, placed.lanes)
        else:
            self._store_each(e.name, placed, words, low)

    def _store_each(self, space: str, placed: Placed, words: Sequence[Ref], low: ValueLowering) -> None:
        """Words of each lane, wherever they are."""
        offsets = low.splat(placed.offsets)
        for k, word in enumerate(words):
            at = low.op("add", offsets, low.constant(k * placed.step, 32)) if k else offsets
            self._store_words(space, at, word, low, placed.lanes)

    def _store_row(
        self, step: Step, space: str, address: Ref, words: Sequence[Ref], size: int, low: ValueLowering
    ) -> None:
        """`size` bytes of g[] per lane, all lanes active."""
        b = self.code.body
        rows = self._rows(step, space, address, size, low)
        whole, count = [w.text for w in words], 32
        while len(whole) > 1:
            # Words k and k + n/2 first, so that the last round puts the words of a lane side by side.
            half, ty = len(whole) // 2, f"<{count} x i32>"
            index = ", ".join(f"i32 {j}, i32 {j + count}" for j in range(count))
            whole = [
                b(f"shufflevector {ty} {x}, {ty} {y}, <{2 * count} x i32> <{index}>")
                for x, y in zip(whole[:half], whole[half:], strict=True)
            ]
            count *= 2
        element = f"i{8 * min(size, 4)}"
        if size < 4:
            whole = [b(f"trunc {V32} {whole[0]} to <32 x {element}>")]
        b.do(f"store <{count} x {element}> {whole[0]}, ptr {rows.pointer}, align {min(size, 4)}")
        b.do(f"br label %{rows.done}")
        b.label(rows.far)
        if size == 4 and rows.lanes == TRUE and self.code.in_loop(step):
            self._store_falling(space, rows.addresses, words[0], rows.buffer, rows.done, low.fork())
        inner = low.fork()
        placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, inner)
        if size < 4:
            self._store_small(space, placed.offsets, words[0], size, placed.lanes)
        else:
            self._store_each(space, placed, words, inner)
        b.do(f"br label %{rows.done}")
        b.label(rows.done)

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
        """Read-modify-write, as lane after lane; defines the node of the old values."""
        b, size = self.code.body, int(e.get("size"))
        if e.name[0] != "g":
            raise NotCompiled(f"an atomic on {e.name}[]")
        bits, op = 8 * size, ATOMIC_OPERATIONS[e.get("op")]
        address = low.resize(low.value(plan.canonical(e.args[0])), 32)
        operands = [low.splat(low.value(plan.canonical(a))) for a in e.args[1:]]
        vector, node = self.code.module.vector(bits), plan.effects.get(id(e.result))
        olds = b.fresh("%olds")
        self.code.scratch(olds, vector)
        b.do(f"store {vector} zeroinitializer, ptr {olds}, align 64")
        whole = bits == 32 and lanes == TRUE and self.code.full and self.code.bound(e.name)
        update = Update(op, operands, "-1", node is not None)
        if whole and address.uniform and op.name in NEUTRAL and self.code.choices.out_of_range == "fault":
            placed = self._placed_alike(step, e.name, address, size, low)
            at_one_word(low, update, self._scalar_pointer(e.name, placed.offsets.text), olds)
        elif whole:
            rows = self._rows(step, e.name, low.splat(address), size, low)
            at_row(low.fork(), update, rows.pointer, olds)
            b.do(f"br label %{rows.done}")
            b.label(rows.far)
            inner = low.fork()
            placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, inner)
            self._update(e.name, placed, update, olds, inner)
            b.do(f"br label %{rows.done}")
            b.label(rows.done)
        else:
            placed = self._place(step, e.name, low.splat(address), size, low, lanes)
            self._update(e.name, placed, update, olds, low)
        if node is not None:
            low.define(node, Ref(b(f"load {vector}, ptr {olds}, align 64"), bits))

    def _update(self, space: str, placed: Placed, update: Update, olds: str, low: ValueLowering) -> None:
        """Read-modify-write of words that may be anywhere."""
        b, bits, done = self.code.body, update.operands[0].width, self.code.body.fresh("updated")
        offsets, size, vector = low.splat(placed.offsets), update.operands[0].width // 8, self.code.module.vector(bits)
        f = low.one_lane(update.operation, (), (bits,) * (1 + len(update.operands)))

        def one(lane: str) -> None:
            p = self._scalar_pointer(space, b(f"extractelement {V32} {offsets.text}, i32 {lane}"))
            old = b(f"load i{bits}, ptr {p}, align {size}")
            each = (b(f"extractelement {vector} {o.text}, i32 {lane}") for o in update.operands)
            listed = "".join(f", i{bits} {x}" for x in each)
            b.do(f"store i{bits} {b(f'call i{bits} {f}(i{bits} {old}{listed})')}, ptr {p}, align {size}")
            q = b(f"getelementptr i{bits}, ptr {olds}, i32 {lane}")
            b.do(f"store i{bits} {old}, ptr {q}")

        if bits == 32:
            here = replace(update, lanes=self.code.as_bits(placed.lanes))
            for way in (in_one_word, in_a_row) if update.operation.name in NEUTRAL else (in_a_row,):
                way(low.fork(), here, offsets, lambda at: self._scalar_pointer(space, at), olds, done)
        self._each_lane(placed.lanes, one)
        b.do(f"br label %{done}")
        b.label(done)
