"""The shared state as IR sees it: reading and writing slots, and special registers."""

from __future__ import annotations

from isakit.arch.vuc.registers import NOT_P0, SR, TRUE, special_names
from isakit.engine.llvm import Body, Ref
from isakit.machine.vuc.compiled import shared_state as at

FIXED = 1 << NOT_P0 | 1 << TRUE
"""Predicates that cannot be written."""

SPIDX, STAT, PARM, PC, CSPOS, CSTOP, LHI, LLO, PRED, ICNT, MVXL0 = 2, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16
SCALAR_REGISTERS = tuple(SR[n] for n in ("qpy", "qpc", "mbpart", "mbxy", "mbaddr", "mbtype", "submbtype"))
_ASKS_PYTHON = frozenset(SR[n] for n in ("h2v", "mbflags"))


def readable(n: int, features: frozenset[str]) -> bool:
    """Whether compiled code reads a special register itself: no side effects, and it has a name."""
    return n not in _ASKS_PYTHON and n != CSTOP and not special_names(features)[n].startswith("$sr")


def landable(n: int, features: frozenset[str], read_only: frozenset[int]) -> bool:
    """Whether compiled code lets a write of a special register land: storage, predicates, the accumulator."""
    if n in read_only or n in (SR["v2h"], STAT, ICNT, PC, CSPOS, CSTOP, PARM):
        return False
    return readable(n, features)


class Frame:
    """Access to the state from one function body; `%s` is the state."""

    def __init__(self, body: Body) -> None:
        self.b = body

    def place(self, slot: int | str) -> str:
        """The address of a slot, which is a number or an i64 value."""
        return self.b(f"getelementptr i64, ptr %s, i64 {slot}")

    def get(self, slot: int | str) -> str:
        """A slot as i64."""
        return self.b(f"load i64, ptr {self.place(slot)}")

    def put(self, slot: int | str, value: int | str) -> None:
        """Store an i64."""
        self.b.do(f"store i64 {value}, ptr {self.place(slot)}")

    def narrow(self, value: str, width: int) -> Ref:
        """An i64 as a value of `width` bits."""
        return Ref(value if width == 64 else self.b(f"trunc i64 {value} to i{width}"), width, True)

    def widen(self, ref: Ref) -> str:
        """A value as i64."""
        return ref.text if ref.width == 64 else self.b(f"zext i{ref.width} {ref.text} to i64")

    def op(self, name: str, a: int | str, c: int | str) -> str:
        """A two-operand instruction on i64."""
        return self.b(f"{name} i64 {a}, {c}")

    # --- special registers ----------------------------------------------------------------------------
    def indexed(self, n: int) -> str:
        """The slot of a vector, reference or picture index register: $spidx chooses."""
        block = self.op("and", self.get(at.PLAIN + SPIDX), 15)
        if n < MVXL0 + 4:
            return self.op("add", block, at.VECTORS + 16 * (n - MVXL0))
        base = at.REFS if n < MVXL0 + 6 else at.RPIS
        return self.op("add", self.op("lshr", block, 2), base + 4 * (n & 1))

    def special(self, n: int, cycle: str, pc: str) -> str:
        """What an instruction reads from a `readable` special register, as i64."""
        if MVXL0 <= n < MVXL0 + 8:
            return self.get(self.indexed(n))
        if n in SCALAR_REGISTERS:
            return self.get(at.SCALARS + SCALAR_REGISTERS.index(n))
        if n == LHI:
            return self.op("lshr", self.get(at.VIEW), 16)
        if n == LLO:
            return self.op("and", self.get(at.VIEW), 0xFFFF)
        if n == PRED:
            just = self.b(f"icmp eq i64 {self.get(at.BEFORE_CYCLE)}, {self.op('sub', cycle, 1)}")
            return self.b(f"select i1 {just}, i64 {self.get(at.BEFORE)}, i64 {self.get(at.P)}")
        if n == ICNT:
            return self.op("and", self.op("add", cycle, self.get(at.COUNTED)), 0xFFFF)
        if n == PC:
            return pc
        return self.get({CSPOS: at.DEPTH, STAT: at.STAT, PARM: at.PARM}.get(n, at.PLAIN + n))

    def complement(self, predicates: str) -> str:
        """Predicates with $p1 made from $p0."""
        bit = self.op("shl", self.op("and", self.op("xor", predicates, 1), 1), NOT_P0)
        return self.op("or", self.op("and", predicates, 0xFFFF & ~(1 << NOT_P0)), bit)
