"""Passes on values: none is computed twice or without need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import chain

from isakit.compile.ir import Block, Effect, Function, Ins, IrValue, Operation, identity
from isakit.compile.ops import (
    ADD,
    ADDX,
    DFMA,
    DMUL,
    FADD,
    FMAD,
    FMUL,
    LD,
    PNOT,
    SUB,
    SUBX,
    DoubleProduct,
    DoubleSum,
    FloatProduct,
    FloatSum,
)
from isakit.compile.passes.ssa import drop_unreachable, replace
from isakit.compile.simplify_vectors import simplify
from isakit.flow.dominators import Dominators
from isakit.flow.graph import reachable


def eliminate_common_subexpressions(f: Function) -> None:
    """Simplify operations, share equal ones, and follow branches whose condition is constant."""
    _forget_decided(f)
    for _ in range(4):
        if not _once(f):
            break
        _forget_decided(f)


def _once(f: Function) -> bool:
    dom = Dominators(f.blocks[0], lambda b: b.succs)
    table: dict[tuple[Hashable, ...], list[tuple[Block, Ins]]] = {}
    replaced: dict[IrValue, IrValue] = {}
    changed = False

    def final(v: IrValue) -> IrValue:
        while v in replaced:
            v = replaced[v]
        return v

    for b in dom.order:
        kept: list[Ins] = []
        for i in b.phis:
            i.args = [final(a) for a in i.args]
            others = {identity(a): a for a in i.args if a is not i.out}
            if len(others) == 1:
                (replaced[i.out],) = others.values()
                changed = True
            else:
                kept.append(i)
        b.phis = _distinct(kept, replaced)
        new: list[Ins] = []
        for i in b.ins:
            if not replaced.keys().isdisjoint(i.args):
                i.args = [final(a) for a in i.args]
            if i.op.effect is not Effect.NONE:
                new.append(i)
                continue
            if _simplified(i, replaced):
                changed = True
                if i.outs[0] in replaced:
                    continue
            key = (i.op, i.attrs, *map(identity, i.args))
            known = table.get(key)
            if known is None:
                table[key] = [(b, i)]
            else:
                found = next((o for at, o in known if dom.dominates(at, b)), None)
                if found is not None:
                    replaced |= dict(zip(i.outs, found.outs, strict=True))
                    changed = True
                    continue
                known.append((b, i))
            new.append(i)
        b.ins = new
        if b.term[0] == "branch":
            b.term = (b.term[0], final(b.term[1]), *b.term[2:])
            _straight_condition(b)
    replace(f, replaced)
    return changed


def _distinct(phis: list[Ins], replaced: dict[IrValue, IrValue]) -> list[Ins]:
    """Merge phis with equal arguments."""
    out: list[Ins] = []
    seen: dict[tuple[Hashable, ...], Ins] = {}
    for i in phis:
        key = tuple(map(identity, i.args))
        old = seen.get(key)
        if old is not None and old.out.kind == i.out.kind:
            replaced[i.out] = old.out
        else:
            seen[key] = i
            out.append(i)
    return out


def _simplified(i: Ins, replaced: dict[IrValue, IrValue]) -> bool:
    changed = False
    for _ in range(8):
        better = simplify(i.op, i.args, i.attrs)
        if better is None:
            break
        changed = True
        if isinstance(better, IrValue):
            replaced[i.out] = better
            break
        i.become(better[0], list(better[1]))
    return changed


def _straight_condition(b: Block) -> None:
    """Turn a branch on a negation into the opposite branch."""
    while b.term[1].ins is not None and b.term[1].ins.op is PNOT:
        _, p, inverted, yes, no = b.term
        b.term = ("branch", p.ins.args[0], not inverted, yes, no)


def _forget_decided(f: Function) -> None:
    """Remove unreachable blocks, and the phi arguments that came from them."""
    before = {b: list(b.preds) for b in f.blocks}
    drop_unreachable(f)
    f.connect()
    for b in f.blocks:
        if b.preds != before[b]:
            for i in b.phis:
                by_pred = dict(zip(before[b], i.args, strict=True))
                i.args = [by_pred[p] for p in b.preds]


def eliminate_dead_code(f: Function) -> None:
    """Remove operations without uses and effects; a sum or difference whose carry is unused becomes a plain one."""
    roots = [i for b in f.blocks for i in b.ins if i.op.stays or (i.op is LD and LD.of(i).volatile)]
    tests = [b.term[1] for b in f.blocks if b.term[0] == "branch"]
    if f.debugged:
        tests += [v for b in f.blocks for mark in b.marks for v in mark.values]
    read = (v.ins for v in tests)
    needed = reachable(
        (i for i in (*roots, *read) if i is not None), lambda i: [a.ins for a in i.args if a.ins is not None]
    )
    carries: list[Ins] = []
    for b in f.blocks:
        b.phis = [i for i in b.phis if i in needed]
        b.ins = [i for i in b.ins if i in needed]
        carries += [i for i in b.ins if i.op is ADDX or i.op is SUBX]
    if carries:
        used = {a for i in needed for a in i.args}.union(tests)
        for i in carries:
            if i.outs[1] not in used:
                i.become(ADD if i.op is ADDX else SUB, i.args)
                i.outs = i.outs[:1]


def contract_products(f: Function) -> None:
    """Fuse a product without stated rounding into the sum without stated rounding that is its only reader.

    NVIDIA's compiler does so in PTX 1.x; the chip's f32 `mad` truncates the product, so results differ without it.
    """
    uses = count_uses(f)
    for b in f.blocks:
        for i in b.ins:
            if not isinstance(i.attrs, FloatSum | DoubleSum) or not i.attrs.loose:
                continue
            for k in (0, 1):
                p = i.args[k].ins
                if (
                    p is None
                    or p.op is not (FMUL if i.op is FADD else DMUL)
                    or uses[i.args[k]] != 1
                    or p.block is not b
                ):
                    continue
                if isinstance(p.attrs, FloatProduct | DoubleProduct) and p.attrs.loose:
                    i.become(_contracted(i.attrs, p.attrs, k), [*p.args, i.args[1 - k]])
                    break


def _contracted(total: FloatSum | DoubleSum, product: FloatProduct | DoubleProduct, k: int) -> Operation:
    """Return the fused operation of a sum whose argument `k` is a product."""
    own, other = (total.neg1, total.neg2) if k == 0 else (total.neg2, total.neg1)
    if isinstance(total, FloatSum):
        return FMAD(neg=product.neg != own, negc=other, sat=total.sat)
    return DFMA(total.rnd, negp=product.neg != own, negc=other)


def count_uses(f: Function) -> dict[IrValue, int]:
    """Count the reads of each value."""
    code = [i for b in f.blocks for i in (*b.phis, *b.ins)]
    uses = Counter({o: 0 for i in code for o in i.outs})
    uses.update(chain.from_iterable([i.args for i in code]))
    uses.update(b.term[1] for b in f.blocks if b.term[0] == "branch")
    return uses
