"""The form of loops in a shader: an unconditional jump leads back to an instruction, all others to the end of the loop.

Vita3K's recompiler looks for that form: it rejects a loop without an unconditional jump to its beginning, and misses
one that begins with a jump or at the beginning of an `else`. It takes a jump directly before the target of a condition
for the end of a `then` that an `else` follows: an instruction between the two, never executed, prevents that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from isakit.compile.ir import Loc
from isakit.compile.lower.form import MBlock, MFunction, MIns
from isakit.compile.usse import instructions as hw
from isakit.flow.dominators import Dominators, natural_loops
from isakit.flow.graph import reachable


def shape_loops(m: MFunction) -> None:
    """Bring the loops of a program whose blocks are in statement order into this form."""
    _begin_with_heads(m)
    _end_loops(m)
    _end_turns(m)
    _leave_behind(m)
    _jump_back_always(m)
    _begin_with_instructions(m)
    _part_jumps(m)
    m.connect()


def _places(m: MFunction) -> dict[MBlock, int]:
    return {b: k for k, b in enumerate(m.blocks)}


def _between(m: MFunction, b: MBlock, s: MBlock) -> MBlock:
    """Insert a block on an edge, without a position in the order."""
    new = m.made()
    new.loc, new.succs = b.loc, [s]
    b.lead(s, new)
    return new


def _begin_with_heads(m: MFunction) -> None:
    """Move blocks of a loop that stand before its entry block to after its last block."""
    for head, inside in natural_loops(Dominators(m.blocks[0], lambda b: b.succs)).items():
        order = [b for b in m.blocks if b in inside]
        k = order.index(head)
        if k:
            at = _places(m)
            first, last = at[order[0]], at[order[-1]]
            others = [b for b in m.blocks[first : last + 1] if b not in inside]
            m.blocks[first : last + 1] = [*order[k:], *order[:k], *others]


def _end_loops(m: MFunction) -> None:
    """Move code that stands within a loop, but follows all its exits, to after it."""
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


def _end_turns(m: MFunction) -> None:
    """Redirect exits of a loop that start the next iteration of an outer loop to the end of that loop's iteration."""
    m.connect()
    loops = natural_loops(Dominators(m.blocks[0], lambda b: b.succs))
    for head, inside in loops.items():
        ends = [b for b in head.preds if b in inside]
        if any(b in other and head not in other for b in ends for other in loops.values()):
            last = _span(m, inside)[-1]
            end = m.made()
            end.loc, end.succs = last.loc, [head]
            for b in ends:
                b.lead(head, end)
            m.blocks.insert(_places(m)[last] + 1, end)


def _leave_behind(m: MFunction) -> None:
    """Redirect all jumps out of a loop to its end, from where one continues."""
    loops = natural_loops(Dominators(m.blocks[0], lambda b: b.succs))

    def put(place: int, new: MBlock) -> None:
        m.blocks.insert(place, new)
        for inside in loops.values():
            if new.succs[0] in inside:
                inside.add(new)

    for inside in sorted(loops.values(), key=len):
        m.connect()
        _take_in(m, _span(m, inside), put)
        within = _span(m, inside)
        after = _places(m)[within[-1]] + 1
        outside = {s for b in within for s in b.succs}.difference(within)
        if len(outside) == 1 and m.blocks[after : after + 1] != [to := outside.pop()]:
            behind = _nothing(m, to.loc, to)
            for b in within:
                b.lead(to, behind)
            put(after, behind)


def _span(m: MFunction, inside: set[MBlock]) -> list[MBlock]:
    """Return all blocks from the first to the last of the given ones."""
    places = [k for k, b in enumerate(m.blocks) if b in inside]
    return m.blocks[places[0] : places[-1] + 1]


def _take_in(m: MFunction, within: list[MBlock], put: Callable[[int, MBlock], None]) -> None:
    """Move code on one exit of a loop, before the exits merge, to where that exit leaves the loop."""
    at, end = _places(m), within[-1]
    meeting = max(at[s] for b in within for s in b.succs)
    between = m.blocks[at[end] + 1 : meeting]
    inside = set(within)
    ways: dict[MBlock, MBlock] = {}

    def way(b: MBlock) -> MBlock | None:
        return b if b in inside else ways.get(b)

    for b in between:
        found = {way(p) for p in b.preds if at[p] < at[b]}
        one = found.pop() if len(found) == 1 else None
        if one is not None:
            ways[b] = one
        elif found:
            return
    if not ways or any(way(p) is not to for b, to in ways.items() for p in b.preds):
        return
    if end.cond is not None:
        put(at[end] + 1, _between(m, end, next(s for s in end.succs if s in within)))
    for b in reversed(ways):
        m.blocks.remove(b)
        m.blocks.insert(m.blocks.index(ways[b]) + 1, b)


def _jump_back_always(m: MFunction) -> None:
    """Route a conditional jump back through a block after it, so that the jump back is unconditional."""
    at = _places(m)
    order: list[MBlock] = []
    for b in m.blocks:
        order.append(b)
        if b.cond is not None:
            order += [_between(m, b, s) for s in b.succs if at[s] <= at[b]]
    m.blocks = order


def _begin_with_instructions(m: MFunction) -> None:
    """Make a loop begin with an instruction, and be entered by a jump before it."""
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
                p.lead(b, entry)
            before[b] = [entry]
    m.place(before)


def _part_jumps(m: MFunction) -> None:
    """Separate a jump that leads back, out of a loop, or is conditional, from the block that is jumped to over it."""
    at, loops = _places(m), list(dict(m.back_edges()).items())  # first and last blocks
    before: dict[MBlock, list[MBlock]] = {}
    for k, (b, after) in enumerate(pairwise(m.blocks)):
        to = max((at[s] for s in b.succs if s is not after), default=k + 1)
        if to == k + 1:
            continue
        around = [start for start, end in loops if start <= k <= end and (to <= k or end < to)]
        ended = max((start for start, end in loops if end == k), default=None)
        over = [p for p, x in enumerate(m.blocks[:k]) if x.cond is not None and after in x.succs]
        over = [p for p in over if ended is None or p < ended]
        if not over or (b.cond is None and not around):
            continue
        new = _nothing(m, b.loc, after)
        before[after] = [new]
        if b.cond is not None:
            b.lead(after, new)
            continue
        end = min(end for start, end in loops if start <= k <= end)
        past = [s for x in m.blocks[over[0] + 1 : k] for s in x.succs if k + 1 < at[s] <= end]
        if past:  # a jump out of its `then` leads past what follows: that is an `else`, and the `then` has this end
            new.succs, new.ins = [max(past, key=at.__getitem__)], []
    m.place(before)


def _nothing(m: MFunction, loc: Loc, to: MBlock) -> MBlock:
    """Return a new block that does nothing and jumps to another one."""
    new = m.made()
    new.loc, new.succs, new.ins = loc, [to], [MIns(hw.NOTHING, {}, loc)]
    return new
