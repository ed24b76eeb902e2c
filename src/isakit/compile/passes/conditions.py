"""After this pass predicates are compared or tested values: none is merged or combined as a predicate.

Condition registers can be written by comparisons and tests only, so operations of PTX on predicates are computed on
masks of 32 bits, all ones for true.
"""

from __future__ import annotations

from isakit.compile.ir import Block, Const, Function, Ins, IrValue
from isakit.compile.ops import AND, CMP, CMPD, CMPF, COPY, MASK, NOT, OR, PAND, PHI, PNOT, POR, PXOR, SEL, XOR
from isakit.compile.passes.values import count_uses
from isakit.compile.simplify import inverted, tells_zero

_ON_MASKS = {PAND: AND, POR: OR, PXOR: XOR, PNOT: NOT}
"""Operations on predicates, and their counterparts on masks."""


class _Masks:
    def __init__(self) -> None:
        self.known: dict[IrValue, IrValue] = {}

    def of(self, p: IrValue, out: list[Ins], block: Block, loc: tuple[int, int, int]) -> IrValue:
        """Return the mask of a predicate, made right after its definition, where every use finds it."""
        if isinstance(p, Const):
            return Const(0xFFFF_FFFF if p.value & 1 else 0)
        got = self.known.get(p)
        if got is None:
            i = Ins(MASK, [p], "r", loc, block)
            out.append(i)
            got = self.known[p] = i.out
        return got


def lower_predicates(f: Function) -> None:
    """Replace operations on predicates by tests and operations on masks."""
    _selections_of_constants(f)
    masked = _needing_masks(f)
    masks = _Masks()
    for b in f.blocks:
        start: list[Ins] = []
        kept: list[Ins] = []
        for i in b.phis:
            if i.out.kind != "p":
                kept.append(i)
                continue
            # the phi's result stays a predicate of the same identity: a test of the merged mask
            merged = Ins(PHI, list(i.args), "r", i.loc, b)
            kept.append(merged)
            test = _test(i.out, merged.out, b, i.loc)
            start.append(test)
            masks.known[i.out] = merged.out
        b.phis = kept
        new = start
        for i in b.ins:
            if (on_masks := _ON_MASKS.get(i.op)) is not None:
                m = Ins(on_masks, list(i.args), "r", i.loc, b)
                new.append(m)
                new.append(_test(i.out, m.out, b, i.loc))
                masks.known[i.out] = m.out
            elif i.op is MASK:
                p = i.args[0]
                if p in masks.known and masks.known[p] is not i.out:
                    i.become(COPY, [masks.known[p]])
                else:
                    masks.known[p] = i.out
                new.append(i)
            else:
                new.append(i)
                for o in i.outs:
                    if o.kind == "p" and o in masked:
                        masks.of(o, new, b, i.loc)
        b.ins = new
    entry = f.blocks[0]
    for b in f.blocks:
        for i in (*b.phis, *b.ins):
            if i.op in (PHI, AND, OR, XOR, NOT) and i.outs[0].kind == "r":
                i.args = [masks.of(a, entry.ins, entry, i.loc) if a.kind == "p" else a for a in i.args]


def _selections_of_constants(f: Function) -> None:
    """Turn a select between a constant and 0 on a comparison into the comparison's mask `and` the constant."""
    uses = count_uses(f)
    for b in f.blocks:
        for i in b.ins:
            if i.op is not SEL:
                continue
            p, yes, no = i.args
            c = p.ins
            if c is None or c.op not in (CMP, CMPF, CMPD) or c.block is not b or _tested_on_the_way(c):
                continue
            if not isinstance(yes, Const) or not isinstance(no, Const):
                continue
            if no.value and not yes.value and uses[p] == 1 and (opposite := inverted(c)):
                c.become(opposite, c.args)
                yes, no = no, yes
            if yes.value and not no.value:
                i.become(AND, [p, yes])


def _tested_on_the_way(c: Ins) -> bool:
    """Return whether a logic operation performs a comparison with 0 itself, which then gives no mask."""
    zero = c.args[1]
    if c.op is not CMP or not isinstance(zero, Const) or zero.value or CMP.of(c).cond not in ("e", "lg"):
        return False
    p = c.args[0].ins
    return p is not None and tells_zero(p)


def _test(out: IrValue, value: IrValue, block: Block, loc: tuple[int, int, int]) -> Ins:
    i = Ins(CMP("lg", "u32"), [value, Const(0)], "", loc, block)
    i.outs = [out]
    out.ins, out.index = i, 0
    return i


def _needing_masks(f: Function) -> set[IrValue]:
    out: set[IrValue] = set()
    for i in f.instructions():
        if i.op in _ON_MASKS or i.op in (MASK, AND) or (i.op is PHI and i.out.kind == "p"):
            out.update(a for a in i.args if a.kind == "p")
    return out
