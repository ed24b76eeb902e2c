"""Uniformity: branches that all lanes of a warp take the same way."""

from __future__ import annotations

from collections.abc import Iterable

from isakit.compile.ir import Block, Function, Ins, IrValue, OpUniformity
from isakit.compile.ops import LD
from isakit.flow.graph import reachable
from isakit.flow.uniformity import Divergence


def divergent_values(f: Function) -> tuple[set[IrValue], set[Block]]:
    """Return (values that may differ between lanes of a warp, blocks that end in a branch lanes may take differently).

    A value is also divergent if lanes leave the loop it is defined in at different times, and a phi if lanes reach it
    by different paths.
    """
    divergence = Divergence(f.blocks, lambda b: b.succs)
    users = f.users()
    branches: dict[IrValue, list[Block]] = {}
    for b in f.blocks:
        if b.term[0] == "branch":
            branches.setdefault(b.term[1], []).append(b)

    def influenced(by: IrValue | Block) -> Iterable[IrValue | Block]:
        if isinstance(by, IrValue):
            yield from (b for b in branches.get(by, ()) if not b.uniform)
            for i in users.get(by, ()):
                if i.op.uniformity is not OpUniformity.ALWAYS:
                    yield from i.outs
            return
        for b in divergence.apart(by):
            for i in b.ins:
                if i.op.uniformity is OpUniformity.MEMORY:  # lanes may come here at different times
                    yield i.out
        for b in divergence.meetings(by):
            for i in b.phis:
                yield i.out
        for body in divergence.loops_left(by):
            for v in (o for b in body for i in (*b.phis, *b.ins) for o in i.outs):
                if any(u.block is not None and u.block not in body for u in users.get(v, ())) or any(
                    b not in body for b in branches.get(v, ())
                ):
                    yield v

    sources = [o for i in f.instructions() if _differs(i, divergence.odd) for o in i.outs]
    found = reachable(sources, influenced)
    return {v for v in found if isinstance(v, IrValue)}, {b for b in found if isinstance(b, Block)}


def _differs(i: Ins, apart: bool) -> bool:
    """Return whether results may differ between lanes with the same operands; `apart`: they may execute it apart."""
    uniformity = i.op.uniformity
    if i.op is LD and (LD.of(i).space not in ("global", "shared") or LD.of(i).volatile):
        return True
    return uniformity is OpUniformity.NEVER or (apart and uniformity is OpUniformity.MEMORY)
