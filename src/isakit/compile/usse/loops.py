"""The form of loops in a shader: an unconditional jump leads back to an instruction, a condition leads forward.

Vita3K's recompiler looks for that form: it gives up on a loop to whose beginning no unconditional jump leads, and
misses one that begins with a jump or is the beginning of an `else`. A jump right before the place that a condition
leads to is the end of a `then` for it, and an `else` follows: an instruction between the two, never executed, says that
none does.
"""

from __future__ import annotations

from itertools import pairwise

from isakit.compile.ir import Loc
from isakit.compile.lower.form import MBlock, MFunction, MIns
from isakit.compile.usse import instructions as hw
from isakit.flow.graph import reachable


def shape_loops(m: MFunction) -> None:
    """Give the loops of a program whose blocks are in their last order this form."""
    _end_loops(m)
    _jump_back_always(m)
    _begin_with_instructions(m)
    _part_jumps(m)
    m.connect()


def _places(m: MFunction) -> dict[MBlock, int]:
    return {b: k for k, b in enumerate(m.blocks)}


def _between(m: MFunction, b: MBlock, s: MBlock) -> MBlock:
    """Put a block on the way from one block to another, in no place yet."""
    new = m.made()
    new.loc, new.succs = b.loc, [s]
    _lead(b, s, new)
    return new


def _lead(b: MBlock, s: MBlock, new: MBlock) -> None:
    """Lead a jump of a block to another one."""
    b.succs = [new if x is s else x for x in b.succs]
    if s in b.edges:
        b.edges[new] = b.edges.pop(s)


def _end_loops(m: MFunction) -> None:
    """Move what stands within a loop, and is what follows all its ends, behind it."""
    for head in list(m.blocks):
        at = _places(m)
        start = at[head]
        ends = [b for b in head.preds if at[b] >= start]
        if not ends:
            continue
        inside = reachable(ends, lambda b, head=head: [] if b is head else b.preds) | {head}
        last = max(at[b] for b in inside)
        others = [b for b in m.blocks[start : last + 1] if b not in inside]
        exits = {s for b in inside for s in b.succs if s not in inside}
        if others and len(exits) == 1 and exits <= set(others):
            within = [b for b in m.blocks[start : last + 1] if b in inside]
            m.blocks[start : last + 1] = within + others


def _jump_back_always(m: MFunction) -> None:
    """Lead the way back of a condition through a block behind it."""
    at = _places(m)
    order: list[MBlock] = []
    for b in m.blocks:
        order.append(b)
        if b.cond is not None:
            order += [_between(m, b, s) for s in b.succs if at[s] <= at[b]]
    m.blocks = order


def _begin_with_instructions(m: MFunction) -> None:
    """Let a loop begin with an instruction, and be entered by a jump before it."""
    m.connect()
    at = _places(m)
    before: dict[MBlock, list[MBlock]] = {}
    for b in m.blocks:
        entries = [p for p in b.preds if at[p] < at[b]]
        if len(entries) == len(b.preds):
            continue
        if not b.ins:
            b.ins.append(MIns(hw.NOTHING, {}, b.loc))
        above = m.blocks[at[b] - 1]
        if any(p is not above or p.cond is not None for p in entries):
            entry = _nothing(m, b.loc, b)
            for p in entries:
                _lead(p, b, entry)
            before[b] = [entry]
    m.place(before)


def _part_jumps(m: MFunction) -> None:
    """Part a jump back or out of a loop from the block that is jumped to over it."""
    at, loops = _places(m), list(dict(m.back_edges()).items())  # first and last blocks
    before: dict[MBlock, list[MBlock]] = {}
    for k, (b, after) in enumerate(pairwise(m.blocks)):
        if not b.succs or b.cond is not None or b.succs[0] is after:
            continue
        to = at[b.succs[0]]
        around = [start for start, end in loops if start <= k <= end and (to <= k or end < to)]
        ended = max((start for start, end in loops if end == k), default=None)
        over = [p for p, x in enumerate(m.blocks[:k]) if x.cond is not None and after in x.succs]
        if around and any(ended is None or p < ended for p in over):
            before[after] = [_nothing(m, b.loc, after)]
    m.place(before)


def _nothing(m: MFunction, loc: Loc, to: MBlock) -> MBlock:
    """Return a new block that does nothing and leads to another one."""
    new = m.made()
    new.loc, new.succs, new.ins = loc, [to], [MIns(hw.NOTHING, {}, loc)]
    return new
