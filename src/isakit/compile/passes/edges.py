"""After this pass no edge leads from a block with two ways out to a block with phis and several ways in."""

from __future__ import annotations

from isakit.compile.ir import Block, Function


def edges_have_room(f: Function) -> None:
    """Put an empty block on every such edge, after the block it comes from."""
    out: list[Block] = []
    for b in f.blocks:
        out.append(b)
        if b.term[0] != "branch":
            continue
        for s in b.succs:
            if len(s.preds) > 1 and s.phis:
                e = f.make()
                e.loc = b.loc
                e.term = ("jump", s)
                e.preds = [b]
                b.retarget(s, e)
                s.preds = [e if p is b else p for p in s.preds]
                out.append(e)
    f.blocks = out
