"""Loads, stores and atomics of compiled code: every access is checked before it is made, see `placed_access`."""

from __future__ import annotations

from dataclasses import replace

from isakit.arch.tesla.atomics import ATOMIC_OPERATIONS
from isakit.engine.graph import Plan
from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I32, I64, PTR, integer
from isakit.machine.tesla.analysis.control_flow import NotCompiled, Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.global_rows import GlobalRows
from isakit.machine.tesla.compiled.emit.memory_atomics import (
    NEUTRAL,
    Update,
    at_one_word,
    at_row,
    in_a_row,
    in_one_word,
)
from isakit.machine.tesla.compiled.emit.placed_access import LaneOffsets
from isakit.machine.tesla.compiled.state_layout import ALL, TRUE, V32
from isakit.sem.trace import Effect


class KernelAccesses(GlobalRows):
    """Memory instructions of one kernel."""

    def load(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: Ref, some: bool) -> None:
        """Emit a load effect, and define its result node."""
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
                apart = self.code.step_of_lanes(step, e.name, where)
                got = self._row(step, e.name, low.splat(address), size, low, apart)
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

    @staticmethod
    def _pair(low: ValueLowering, first: Ref, second: Ref) -> Ref:
        high = low.op("shl", low.resize(second, 64), low.constant(32, 64))
        return low.op("or", high, low.resize(first, 64))

    def output(self, word: Ref, value: Ref, low: ValueLowering, lanes: Ref, some: bool) -> None:
        """Emit a write of word `word` of o[]; nothing happens past its end."""
        c, b = self.code, self.code.body
        word = low.resize(word, 32)
        row = b.lshr(c.slot("o_size", I32), 2)
        inside = low.compare("ult", word, row)
        number = b.zext(c.number_of_warp(), I64)
        stride = b.zext(c.slot("row_bytes", I32), I64)
        start = b.mul(low.resize(word, 64), stride)
        there = b.offset(c.slot("o", PTR), b.add(start, b.mul(number, 128)))
        p = b.select(inside, there, c.state_pointer(state_layout.SINK))
        b.store(b.select(lanes, value, b.load(V32, p, 4)) if some else value, p, 4)

    def store(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: Ref, some: bool) -> None:
        """Emit a store effect; if lanes hit the same word, the highest lane wins."""
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
        if not some and e.name[0] == "g" and self.code.bound(e.name) and self.code.full:
            apart = 0 if address.uniform else self.code.step_of_lanes(step, e.name, where)
            self._store_row(step, e.name, low.splat(address), words, size, low, apart)
            return
        if e.name != "l":  # there it is one number where all lanes have the same
            address = low.splat(address)
        placed = self._place(step, e.name, address, size, low, lanes)
        if placed.row:
            self._store_local_row(e.name, placed, words, size, low, some or placed.lanes != lanes)
        elif size < 4:
            self._store_small(e.name, low.splat(placed.offsets), words[0], size, placed.lanes)
        else:
            self._store_each(e.name, placed, words, low)

    def atomic(self, step: Step, e: Effect, plan: Plan, low: ValueLowering, lanes: Ref) -> None:
        """Emit a read-modify-write, in the order of the lanes; define the node of the old values."""
        b, size = self.code.body, int(e.get("size"))
        if e.name[0] != "g":
            raise NotCompiled(f"an atomic on {e.name}[]")
        bits, op = 8 * size, ATOMIC_OPERATIONS[e.get("op")]
        address = low.resize(low.value(plan.canonical(e.args[0])), 32)
        operands = [low.splat(low.value(plan.canonical(a))) for a in e.args[1:]]
        vector, node = self.code.module.vector(bits), plan.effects.get(id(e.result))
        olds = self.code.scratch(b.fresh("%olds"), vector)
        b.store(vector.zero, olds, 64)
        whole = bits == 32 and lanes == TRUE and self.code.full and self.code.bound(e.name)
        update = Update(op, operands, ALL, node is not None)
        if whole and address.uniform and op.name in NEUTRAL and self.code.choices.out_of_range == "fault":
            placed = self._placed_alike(step, e.name, address, size, low)
            at_one_word(low, update, self._scalar_pointer(e.name, placed.offsets), olds)
        elif whole:
            apart = self.code.step_of_lanes(step, e.name, plan.canonical(e.args[0]))
            rows = self._rows(step, e.name, low.splat(address), size, low, apart)
            at_row(low.fork(), update, rows.pointer, olds)
            b.jump(rows.done)
            b.label(rows.far)
            inner = low.fork()
            placed = self._in_buffers(step, rows.site, rows.addresses, size, rows.lanes, inner)
            self._update(e.name, placed, update, olds, inner)
            b.label(rows.done)
        else:
            placed = self._place(step, e.name, low.splat(address), size, low, lanes)
            self._update(e.name, placed, update, olds, low)
        if node is not None:
            low.define(node, b.load(vector, olds, 64))

    def _update(self, space: str, placed: LaneOffsets, update: Update, olds: Ref, low: ValueLowering) -> None:
        """Emit a read-modify-write of words at any offsets."""
        b, bits, done = self.code.body, update.operands[0].width, self.code.body.fresh("updated")
        offsets, size, element = low.splat(placed.offsets), bits // 8, integer(bits)
        f = low.definition(update.operation, (), (bits,) * (1 + len(update.operands)), scalar=True)

        def one(lane: Ref) -> None:
            p = self._scalar_pointer(space, b.extract(offsets, lane))
            old = b.load(element, p, size)
            b.store(b.call(f, old, *[b.extract(o, lane) for o in update.operands]), p, size)
            b.store(old, b.element(element, olds, lane))

        if bits == 32:
            here = replace(update, lanes=self.code.as_bits(placed.lanes))
            for way in (in_one_word, in_a_row) if update.operation.name in NEUTRAL else (in_a_row,):
                way(low.fork(), here, offsets, lambda at: self._scalar_pointer(space, at), olds, done)
        self._each_lane(placed.lanes, one)
        b.label(done)
