"""Blocks as later passes need them: straight-line and empty ones are merged, and edges have room for copies."""

from __future__ import annotations

from isakit.compile.ir import Block, Function


def split_critical_edges(f: Function) -> None:
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


def jump_past_empty_blocks(f: Function) -> None:
    """Redirect forward jumps past blocks that hold only a jump, before values become phis."""
    at = {b: k for k, b in enumerate(f.blocks)}
    for b in reversed(f.blocks):
        while b.term[0] == "jump":
            s: Block = b.term[1]
            if s.ins or s.env or s.term[0] != "jump" or not at[b] < at[s] < at[s.term[1]]:
                break
            b.marks += s.marks
            b.term = s.term


def merge_straight_blocks(f: Function) -> None:
    """Merge each block with its only successor, if that has no other predecessor."""
    gone: set[Block] = set()
    for b in f.blocks:
        while b not in gone and b.term[0] == "jump":
            s: Block = b.term[1]
            if s is b or s.preds != [b] or s.phis or s is f.blocks[0]:
                break
            for i in s.ins:
                i.block = b
            b.ins += s.ins
            b.marks += s.marks
            b.term, b.loc = s.term, s.loc
            for t in b.succs:
                t.preds = [b if p is s else p for p in t.preds]
            gone.add(s)
    f.blocks = [b for b in f.blocks if b not in gone]
