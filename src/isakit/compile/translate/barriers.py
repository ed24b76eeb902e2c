"""Barriers, and the reductions that later chips perform at them. Source: PTX ISA manual, "Parallel Synchronization"."""

from __future__ import annotations

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ADD, AND, BAR, CMP, MUL16, PNOT, SEL, SHR
from isakit.compile.ptx.syntax import Name, Number, PtxStatement, PtxVariable
from isakit.compile.translate.base import Args, Mods
from isakit.compile.translate.memory import MemoryAddress, MemoryInstructions

MOST_THREADS = 512
VOTES = PtxVariable("shared", "%votes", "u8", MOST_THREADS + 4, 4, unique="%votes")
"""The votes of the threads of a block: a byte each, and zeros up to the end of the last word."""


def reduces(s: PtxStatement) -> bool:
    """Return whether an instruction is a barrier that counts or combines predicates, and needs `VOTES`."""
    return s.opcode.startswith(("bar.", "barrier.")) and ".red" in s.opcode


class Barriers(MemoryInstructions):
    """Barriers."""

    def do_bar(self, m: Mods, a: Args) -> None:
        self._wait(self._barrier_number(a))

    def do_arrive(self, m: Mods, a: Args) -> None:
        raise self.refuse("`bar.arrive` came with sm_20: barriers of these chips only wait")

    def do_bar_popc(self, m: Mods, a: Args) -> None:
        """Count the threads of the block for which a predicate holds: each writes a byte, and all add them up."""
        *barrier, p = a[1:]
        number, op, at = self._barrier_number(tuple(barrier)), self.b.op, self._votes()
        vote = op(SEL, self.predicate(p), Const(1), Const(0))
        x, y, z = (self.special(Name(f"%tid.{axis}", p.pos)) for axis in "xyz")
        width, height, depth = (self.special(Name(f"%ntid.{axis}", p.pos)) for axis in "xyz")
        thread = op(ADD, x, self._small_product(width, op(ADD, y, self._small_product(height, z))))
        threads = self._small_product(width, self._small_product(height, depth))
        self._wait(number)  # the votes before these have been counted
        self.store(MemoryAddress(thread, at, "shared"), "b8", vote)
        self.store(MemoryAddress(op(ADD, threads, op(AND, thread, Const(3))), at, "shared"), "b8", Const(0))
        self._wait(number)
        s = self._votes_counted(at, threads)
        bytes_of = [op(AND, op(SHR, s, Const(8 * k)), Const(0xFF)) for k in range(4)]
        self.write(a[0], op(ADD, op(ADD, *bytes_of[:2]), op(ADD, *bytes_of[2:])), "u32")

    def do_bar_pred(self, m: Mods, a: Args) -> None:
        """Combine a predicate over the threads of a block, by any or all.

        Threads that decide the result write a word.
        """
        *barrier, given = a[1:]
        number, op, at = self._barrier_number(tuple(barrier)), self.b.op, self._votes()
        p = self.predicate(given)
        every = m["barop"] == "and"
        where = op(SEL, op(PNOT, p) if every else p, Const(at), Const(at + 4))
        self._wait(number)  # the word has been read
        self.store(MemoryAddress(Const(at), 0, "shared"), "b32", Const(0))
        self._wait(number)
        self.store(MemoryAddress(where, 0, "shared"), "b32", Const(1))
        self._wait(number)
        word = self._load(MemoryAddress(Const(at), 0, "shared"), "b32", "r", {"order": "volatile"})
        self.write_predicate(a[0], op(CMP(cond="e" if every else "lg", ty="u32"), word, Const(0)))

    def _barrier_number(self, a: Args) -> int:
        """Return the barrier an instruction names."""
        number = a[0]
        if not isinstance(number, Number):
            raise self.refuse("the number of a barrier must be a constant before sm_20", number)
        if len(a) > 1:
            raise self.refuse("barriers for a part of the block came with sm_20", a[1])
        k = int(number.value)
        if not 0 <= k < 16:
            raise self.refuse("barriers are 0 to 15", number)
        return k

    def _wait(self, number: int) -> None:
        self.b.emit(BAR(id=number), [], "")
        self.b.shared = {}
        self.function.barriers = max(self.function.barriers, number + 1)

    def _votes(self) -> int:
        at = self.layout.address(VOTES)
        assert isinstance(at, int)
        return at

    def _small_product(self, x: IrValue, y: IrValue) -> IrValue:
        """Return a product of sizes of a block, which has at most 512 threads."""
        return self.b.op(MUL16(s1=False, s2=False), x, y)

    def _votes_counted(self, at: int, count: IrValue) -> IrValue:
        """Return the sum of the words that hold `count` bytes; four sums in one, of at most 128 each."""
        total, k, end = self.fresh(), self.fresh(), self.fresh()
        b, loop, after = self.b, self.new_block(), self.new_block()
        self.put(total, Const(0))
        self.put(k, Const(0))
        self.put(end, count)
        self.jump(loop)
        word = self._load(MemoryAddress(self.get(k), at, "shared"), "b32", "r", {"order": "volatile"})
        self.put(total, b.op(ADD, self.get(total), word))
        self.put(k, b.op(ADD, self.get(k), Const(4)))
        more = b.op(CMP(cond="l", ty="u32"), self.get(k), self.get(end))
        self.branch(more, loop, after, after)
        return self.get(total)
