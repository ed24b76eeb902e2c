"""Builds operations at the end of a block, simplifying and sharing them on the way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from isakit.compile.ir import NOWHERE, Block, Const, Effect, Ins, IrValue, Loc, Operation, PlainOp, identity, operation
from isakit.compile.ops import ADC, ADD, ADDX, CMP, NOT, OR, PAND, POR, SUBX, XOR
from isakit.compile.simplify_vectors import simplify
from isakit.compile.vector_ops import result_kinds


class IrBuilder:
    """Appends operations to `block`."""

    def __init__(self, block: Block, loc: Loc = NOWHERE) -> None:
        self.block, self.loc = block, loc
        self.shared: dict[tuple[Hashable, ...], Ins] = {}

    def enter(self, block: Block) -> None:
        """Append to `block` from now on."""
        self.block = block
        self.shared = {}

    def emit(self, what: PlainOp | Operation, args: list[IrValue], kinds: Sequence[str], /) -> Ins:
        """Append an operation without simplifying it, and return its instruction."""
        i = Ins(what, args, kinds, self.loc, self.block)
        self.block.ins.append(i)
        return i

    def op(self, what: PlainOp | Operation, /, *given: IrValue, kinds: Sequence[str] = "") -> IrValue:
        """Return the (first) result of an operation without effects, simplified as far as possible."""
        args = list(given)
        op, attrs = operation(what)
        for _ in range(8):
            better = simplify(op, args, attrs)
            if better is None:
                break
            if isinstance(better, IrValue):
                return better
            (op, attrs), args = operation(better[0]), better[1]
        key = (op, attrs, *map(identity, args))
        old = self.shared.get(key)
        if old is None:
            kinds = kinds or (result_kinds(op, tuple(a.kind for a in args), attrs) if "*" in op.outs else op.outs)
            old = self.emit(Operation(op, attrs), args, kinds)
            if op.effect is Effect.NONE:
                self.shared[key] = old
        return old.outs[0]

    def both(self, op: PlainOp, *args: IrValue) -> tuple[IrValue, IrValue]:
        """Return both results of an operation that has two."""
        i = self.emit(op, list(args), op.outs)
        return i.outs[0], i.outs[1]

    # --- 64-bit integers as pairs of words ---------------------------------------------------------------------------
    def add64(self, a: tuple[IrValue, IrValue], b: tuple[IrValue, IrValue]) -> tuple[IrValue, IrValue]:
        """Return the sum of two 64-bit integers that are pairs of words, low one first."""
        if all(isinstance(v, Const) for v in (*a, *b)):
            return words64(value64(a) + value64(b))
        if isinstance(b[0], Const) and b[0].value == 0:
            return a[0], self.op(ADD, a[1], b[1])
        if isinstance(a[0], Const) and a[0].value == 0:
            return b[0], self.op(ADD, a[1], b[1])
        low, carry = self.both(ADDX, a[0], b[0])
        return low, self.both(ADC, a[1], b[1], carry)[0]

    def sub64(self, a: tuple[IrValue, IrValue], b: tuple[IrValue, IrValue]) -> tuple[IrValue, IrValue]:
        """Return the difference of two 64-bit integers that are pairs of words, low one first."""
        if isinstance(b[0], Const) and isinstance(b[1], Const):
            return self.add64(a, words64(-value64(b)))
        low, carry = self.both(SUBX, a[0], b[0])
        return low, self.both(ADC, a[1], self.op(NOT, b[1]), carry)[0]

    def less64(self, a: tuple[IrValue, IrValue], b: tuple[IrValue, IrValue], signed: bool, equal: bool) -> IrValue:
        """Return whether a pair is less than (or equal to) another."""
        ty = "s32" if signed else "u32"
        high = self.op(CMP(cond="l", ty=ty), a[1], b[1])
        same = self.op(CMP(cond="e", ty="u32"), a[1], b[1])
        low = self.op(CMP(cond="le" if equal else "l", ty="u32"), a[0], b[0])
        return self.op(POR, high, self.op(PAND, same, low))

    def same64(self, a: tuple[IrValue, IrValue], b: tuple[IrValue, IrValue], cond: str = "e") -> IrValue:
        """Return whether two pairs are equal (`e`) or not (`lg`)."""
        d = self.op(OR, self.op(XOR, a[0], b[0]), self.op(XOR, a[1], b[1]))
        return self.op(CMP(cond=cond, ty="u32"), d, Const(0))


def words64(value: int) -> tuple[IrValue, IrValue]:
    """Return a 64-bit constant as a pair of words, low one first."""
    return Const(value), Const(value >> 32)


def value64(pair: tuple[IrValue, IrValue]) -> int:
    """Return the 64-bit number of a pair of constants."""
    low, high = pair
    assert isinstance(low, Const)
    assert isinstance(high, Const)
    return low.value | high.value << 32
