"""Removes blocks that do nothing, and orders the others."""

from __future__ import annotations

from isakit.compile.lower.form import MBlock, MFunction


def remove_empty_blocks(m: MFunction) -> None:
    """Remove blocks that only jump on, and join blocks that always follow each other."""
    m.connect()
    targets = {i.target for b in m.blocks for i in b.ins if i.target is not None}
    gone: set[MBlock] = set()
    for b in m.blocks:
        if b.ins or b.cond is not None or len(b.succs) != 1 or b in targets or b.succs[0] is b:
            continue
        if b is m.blocks[0]:
            continue
        s = b.succs[0]
        for p in b.preds:
            notes = [*p.edges.pop(b, ()), *b.notes, *b.edges.get(s, ())]
            if notes and s not in p.succs:
                p.edges[s] = notes
            p.succs = [s if x is b else x for x in p.succs]
            if p not in s.preds:
                s.preds.append(p)
            if len(p.succs) == 2 and p.succs[0] is p.succs[1]:
                p.succs, p.cond = p.succs[:1], None
        s.preds = [p for p in s.preds if p is not b]
        gone.add(b)
    m.blocks = [b for b in m.blocks if b not in gone]
    for b in m.blocks:  # where a block only leads to the end, it ends itself
        if b.cond is None and b.ins and len(b.succs) == 1 and not b.succs[0].ins and not b.succs[0].succs:
            b.succs = []
    m.connect()
    _append(m, targets)
    alive = {s for b in m.blocks for s in b.succs} | targets | {m.blocks[0]}
    m.blocks = [b for b in m.blocks if b in alive]


def _append(m: MFunction, targets: set[MBlock]) -> None:
    """Merge each block into its only predecessor, if it is that block's only successor."""
    gone: set[MBlock] = set()
    for b in m.blocks:
        if b in gone:
            continue
        while len(b.succs) == 1 and b.cond is None:
            s = b.succs[0]
            if s is b or s.preds != [b] or s in targets or s is m.blocks[0] or (not s.succs and not s.ins):
                break
            b.note([*b.edges.pop(s, ()), *s.notes])
            if not b.ins and s.ins:
                s.ins[0].before = [*b.notes, *s.ins[0].before]
                b.notes = []
            b.ins += s.ins
            b.succs, b.cond, b.edges = s.succs, s.cond, s.edges
            for t in s.succs:
                t.preds = [b if p is s else p for p in t.preds]
            gone.add(s)
            s.succs, s.preds, s.ins = [], [], []
    m.blocks = [b for b in m.blocks if b not in gone]
    m.connect()


def lay_out_blocks(m: MFunction) -> None:
    """Move blocks without fall-through predecessor after a block that jumps to them, if that saves the jump."""
    after = dict(zip(m.blocks, [*m.blocks[1:], None], strict=True))
    before = dict(zip(m.blocks, [None, *m.blocks[:-1]], strict=True))
    for y in m.blocks:
        if y.cond is not None or len(y.succs) != 1:
            continue
        x, z = y.succs[0], after[y]
        w, v = before[x], after[x]
        if w is None or x is y or x is z or x in w.succs:
            continue
        if not x.succs or (x.cond is not None and z in x.succs and not z.is_end):
            after[w], after[y], after[x] = v, x, z
            before[x] = y
            if v is not None:
                before[v] = w
            if z is not None:
                before[z] = x
    order = m.blocks[:1]
    while (following := after[order[-1]]) is not None:
        order.append(following)
    m.blocks = order
