"""Which branches all lanes of a warp take alike."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.graph import Dominators, loops
from isakit.compile.ir import Block, Const, Function, Ins, IrValue
from isakit.compile.ops import OPS, Uniformity


class Exit:
    """Where all ways end."""


def postdominators(blocks: list[Block]) -> tuple[Dominators[Block | Exit], Exit]:
    """Post-dominators, with a node after all exits; blocks that never get there lead to it as well."""
    end = Exit()
    preds: dict[Block | Exit, list[Block | Exit]] = {b: list(b.preds) for b in blocks}
    preds[end] = [b for b in blocks if not b.succs]
    reached: set[Block | Exit] = set()
    work: list[Block | Exit] = [end]

    def reach() -> None:
        while work:
            n = work.pop()
            if n not in reached:
                reached.add(n)
                work.extend(preds[n])

    reach()
    for b in reversed(blocks):
        if b not in reached:  # a loop without end
            preds[end].append(b)
            work.append(b)
            reach()
    return Dominators(end, lambda n: preds[n]), end


def divergent_values(f: Function) -> tuple[set[IrValue], set[Block]]:
    """(values that may differ between the lanes of a warp, blocks that end in a branch lanes may take differently).

    A value is also divergent if lanes leave the loop it is defined in at different times, and a phi if lanes come to
    it on different ways.
    """
    dom: Dominators[Block] = Dominators(f.blocks[0], lambda b: b.succs)
    post, end = postdominators(f.blocks)
    bodies = loops(dom, lambda b: b.succs, lambda b: b.preds)
    rank = {b: k for k, b in enumerate(dom.order)}
    users: dict[IrValue, list[Ins]] = {}
    branches: dict[IrValue, list[Block]] = {}
    for b in f.blocks:
        for i in (*b.phis, *b.ins):
            for a in i.args:
                users.setdefault(a, []).append(i)
        if b.term[0] == "branch":
            branches.setdefault(b.term[1], []).append(b)
    out: set[IrValue] = set()
    split: set[Block] = set()
    work: list[IrValue] = []

    def diverge(v: IrValue) -> None:
        if v not in out and not isinstance(v, Const):
            out.add(v)
            work.append(v)

    def branch(b: Block) -> None:
        if b in split or b.uniform:
            return
        split.add(b)
        stop = post.idom.get(b, end)
        region: set[Block] = set()
        todo = list(b.succs)
        while todo:
            x = todo.pop()
            if x is stop or x in region:
                continue
            region.add(x)
            todo.extend(x.succs)
        for x in region:
            for i in x.ins:
                if OPS[i.op].uniformity is Uniformity.MEMORY:  # lanes may come here at different times
                    diverge(i.outs[0])
        for x in _meetings(b, stop, rank):
            for i in x.phis:
                diverge(i.out)
        for body in bodies.values():
            if b in body and not all(s in body for s in b.succs):
                _leave(body, users, diverge, branches)

    # where a loop has two entries lanes meet again later than at the post-dominator
    odd = any(rank[t] <= rank[b] and not dom.dominates(t, b) for b in dom.order for t in b.succs)
    for i in f.instructions():
        if _differs(i, odd):
            for o in i.outs:
                diverge(o)
    while work:
        v = work.pop()
        for i in users.get(v, ()):
            if OPS[i.op].uniformity is Uniformity.ALWAYS:
                continue
            for o in i.outs:
                diverge(o)
        for b in branches.get(v, ()):
            branch(b)
    return out, split


def _differs(i: Ins, apart: bool) -> bool:
    """Return whether results may differ between lanes with the same operands; `apart`: they may execute it apart."""
    uniformity = OPS[i.op].uniformity
    if i.op == "ld" and (i.attrs["space"] not in ("global", "shared") or i.attrs["volatile"]):
        return True
    return uniformity is Uniformity.NEVER or (apart and uniformity is Uniformity.MEMORY)


def _meetings(b: Block, stop: Block | Exit, rank: dict[Block, int]) -> set[Block]:
    """Blocks to which lanes that part at a branch may come on ways that have no block in common.

    Every block is labelled with the last block that all ways to it from the branch pass; where two labels meet, ways
    from both sides do. Source: LLVM's analysis of divergence, which goes by the same rule.
    """
    label: dict[Block, Block] = {s: s for s in b.succs}
    out: set[Block] = set()
    work = {rank[s] for s in b.succs}
    by_rank = {rank[s]: s for s in b.succs}
    while work:
        k = min(work)
        work.discard(k)
        x = by_rank[k]
        if x is stop:
            continue
        for s in x.succs:
            old = label.get(s)
            new = label[x]
            if old is new or (old is s and s in out):
                continue
            if old is not None:
                out.add(s)
                if old is s:
                    continue
                new = s
            label[s] = new
            by_rank[rank[s]] = s
            work.add(rank[s])
    return out


def _leave(
    body: set[Block],
    users: dict[IrValue, list[Ins]],
    diverge: Callable[[IrValue], None],
    branches: dict[IrValue, list[Block]],
) -> None:
    """Lanes leave a loop at different times: what it computes differs outside."""
    for x in body:
        for i in (*x.phis, *x.ins):
            for o in i.outs:
                outside = any(u.block is not None and u.block not in body for u in users.get(o, ()))
                if outside or any(b not in body for b in branches.get(o, ())):
                    diverge(o)
