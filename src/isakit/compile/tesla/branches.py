"""Divergence and reconvergence: predicated short blocks, and join points for divergent branches.

A warp keeps lanes that took another path on a stack. `joinat X` before a divergent branch and `join` at X bring them
together again; X is the branch's post-dominator. Source: [tesla] 9.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from isakit.compile.ir import Loc
from isakit.compile.lower.form import MBlock, MemoryReference, MFunction, MIns, OperandReg, PooledLiteral, VReg
from isakit.compile.lower.guards import IfConversion
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.registers import CONDITION, GENERAL
from isakit.flow.dominators import EXIT, Dominators, Exit, natural_loops, post_dominators
from isakit.flow.graph import FlowGraph, reachable

SHORT_DIVERGENT = 5
SHORT_UNIFORM = 3


# --- short blocks ----------------------------------------------------------------------------------------------------
class _TeslaGuards(IfConversion):
    def __init__(self, m: MFunction, debugged: bool) -> None:
        super().__init__(m)
        self.debugged = debugged

    def most(self, divergent: bool) -> int:
        if self.debugged:
            return 0
        return SHORT_DIVERGENT if divergent else SHORT_UNIFORM

    def can_guard(self, i: MIns, condition: VReg) -> bool:
        return not i.tail and "carry" not in i.ops and super().can_guard(i, condition)

    def guarded(self, i: MIns) -> None:
        if i.op is hw.MOV_IMMEDIATE:
            _literal_move(i)

    def is_whole(self, x: MBlock) -> bool:
        return x.succs[0] in x.preds[0].succs and any(i.op is hw.ST_UNLOCK for i in x.ins)

    def before(self, x: MBlock, y: MBlock, condition: VReg) -> bool:
        """Return whether the copies of `x` have to be made before `y` overwrites their sources under the condition."""
        return _only_copies(x) and _overwritten(x, y)


def convert_ifs_to_guards(m: MFunction, debugged: bool = False) -> None:
    """Predicate blocks of a few instructions with the condition of the branch around them.

    Not if the function is `debugged`, so that only the lanes that execute a line reach it.
    """
    _TeslaGuards(m, debugged).run()


def _only_copies(b: MBlock) -> bool:
    return all(i.op in (hw.MOV, hw.MOV_IMMEDIATE) and i.guard is None for i in b.ins)


def _overwritten(y: MBlock, x: MBlock) -> bool:
    """Return whether x overwrites all that the copies of y write, and reads none of it."""
    targets = {(i.ops["dst"].v, i.ops["dst"].unit) for i in y.ins}
    written: set[tuple[VReg, int]] = set()
    for i in x.ins:
        for r in i.uses():
            if any((r.v, r.unit + k) in targets for k in range(r.count)):
                return False
        for r in i.defs():
            written.update((r.v, r.unit + k) for k in range(r.count))
    return targets <= written


def _literal_move(i: MIns) -> None:
    """Load the constant from the pool, since a move of an immediate cannot be predicated."""
    value = i.ops.pop("src1")
    assert isinstance(value, PooledLiteral)
    i.op = hw.LD_C
    i.ops = {"dst": i.ops["dst"], "ty": "b32", "src": MemoryReference("c1", None, value.value, "literal")}


# --- join points -----------------------------------------------------------------------------------------------------
Regions = dict[tuple[MBlock, MBlock], set[MBlock]]
"""(Head, point of reconvergence) to the blocks between."""


def insert_join_points(m: MFunction) -> list[Loc]:
    """Put `joinat` and `join`, or `breakaddr` and `break`, around branches that may diverge.

    A region is a block that dominates all blocks up to the point where all paths from it reconverge. Loops are left
    through one region each, so that the stack does not grow. If the paths reconverge at the end of the kernel only,
    because some lanes may exit before, the point is the one where the paths that continue, or that come to a barrier,
    reconverge: lanes that exit leave all masks of the stack. The same holds where lanes leave a loop, or code with a
    barrier, from within a branch both of whose paths continue in it: they break, and the others reconverge inside.
    Where paths still come to one barrier before they reconverge, as when some lanes leave two loops at once, a point of
    reconvergence is inserted before it (`_Chooser`).

    Returns the locations of branches from which lanes still come to one barrier by paths that do not reconverge before.
    """
    m.connect()
    _preheaders(m)
    search = _RegionSearch(m)
    chooser = _Chooser(m)
    while any(chooser.choose(*x) for x in search.unmet()):
        m.connect()
        _preheaders(m)
        search = _RegionSearch(m)
    m.breaks = bool(search.left)
    unmet = [(b.ins[-1].loc if b.ins else b.loc) for b, *_ in search.unmet()]
    _insert(m, search.found, search.left)
    return unmet


class _RegionSearch:
    """Finds the regions of a kernel.

    Attributes: `found`; `left`: those that lanes leave by `break`; `meets`: the point where the paths from a branch
    reconverge, if they do, and the blocks in which lanes are gone.
    """

    def __init__(self, m: MFunction) -> None:
        self.blocks = m.blocks
        self.dom = Dominators(m.blocks[0], lambda b: b.succs)
        self.loops = natural_loops(self.dom)
        self.ends = {b for b in m.blocks if not b.succs and not b.ins}
        self.turns = {p: len(body) for head, body in self.loops.items() for p in head.preds if p in body}
        self.found: Regions = {}
        self.left: set[tuple[MBlock, MBlock]] = set()
        self.meets: dict[MBlock, tuple[MBlock | None, set[MBlock]]] = {}
        self._collect()

    def _collect(self) -> None:
        """Find the regions of all branches."""
        post = post_dominators(self.blocks, lambda b: b.succs, endless=True)
        orders = [(post, self.ends)]
        bars = [b for b in self.blocks if _waits(b)]
        gone = set(self.blocks) - reachable(bars, lambda b: b.preds) if bars else self.ends
        orders += [(self._lasting(_without(self.blocks, ends), ends), ends) for ends in (self.ends, gone) if ends]
        branches = [b for b in self.blocks if b.cond is not None and b.cond[2]]
        self.meets = {b: (None, self.ends) for b in branches}
        self._take(*self._around(branches, *orders), self.ends)

    def _around(
        self, branches: list[MBlock], *orders: tuple[Dominators[MBlock | Exit], set[MBlock]]
    ) -> tuple[Regions, dict[MBlock, MBlock]]:
        """Return the regions of branches, and where the paths from each reconverge: by the first order that tells.

        With post-dominators come the blocks in which lanes just end. A branch of which all ways but one lead there has
        no region.
        """
        found: Regions = {}
        meets: dict[MBlock, MBlock] = {}
        for b in branches:
            regions = (_region(b, self.dom, *order) for order in orders if len(_without(b.succs, order[1])) > 1)
            got = next(filter(None, regions), None)
            if got is not None:
                found[got[:2]] = got[2]
                meets[b] = got[1]
        return found, meets

    def _take(self, found: Regions, meets: dict[MBlock, MBlock], ends: set[MBlock]) -> None:
        """Record regions. `meets`: where the paths from branches reconverge; `ends`: see `_gone`.

        A break can only leave the innermost region that is left by breaks.
        """
        self.meets.update({b: (stop, ends) for b, stop in meets.items()})
        _remove_inner(found)
        outside = ends - self.ends
        self.found.update(found)
        for (head, stop), region in found.items():
            branches = [b for b in (head, *region) if meets.get(b) is stop]
            if not any(map(_waits, region)) and not any(self._stays(b, stop) for b in branches):
                continue
            if any(s in outside for b in (head, *region) for s in b.succs):
                continue
            gone = _gone(region, ends | {stop})
            blocks = region.union(branches) - gone
            post = self._lasting([b for b in self.blocks if b in blocks], gone)
            inside, meets_inside = self._around([b for b in branches if b in blocks], (post, gone))
            if inside:
                self.left.add((head, stop))
                self._take(inside, meets_inside, gone)

    def unmet(self) -> Iterator[tuple[MBlock, set[MBlock], set[MBlock], set[MBlock]]]:
        """Yield branches whose paths reach one barrier before they reconverge.

        With each come the blocks on its paths up to their first barriers, those of them that are on all paths, and
        those in which lanes are gone. In a valid program all lanes come to the same first barrier.
        """
        if not any(map(_waits, self.blocks)):
            return
        for b, (stop, ends) in self.meets.items():
            outside = {*ends} if _waits(b) else {b, *ends}
            if stop is not None:
                outside.add(stop)
            yes, no = (reachable([s], _up_to_barriers, without=outside) for s in b.succs)
            if any(map(_waits, yes & no)):
                yield b, yes | no, yes & no, ends

    def _lasting(self, blocks: list[MBlock], ends: set[MBlock]) -> Dominators[MBlock | Exit]:
        """Return the post-dominators of paths that continue.

        In an endless loop, they reconverge at the next iteration.
        """
        return post_dominators(
            sorted(blocks, key=lambda b: self.turns.get(b, 0)), lambda b: _without(b.succs, ends), endless=True
        )

    def _stays(self, b: MBlock, stop: MBlock) -> bool:
        """Return whether both paths from a branch continue in a loop after which they reconverge."""
        return any(b in body and stop not in body and all(s in body for s in b.succs) for body in self.loops.values())


class _Chooser:
    """Makes diverged paths reconverge before a barrier: in one block, from which each lane continues to its own target.

    A register selects the target: it is 0 or has one bit set, and is moved to a condition register and tested there.
    """

    def __init__(self, m: MFunction) -> None:
        self.m = m
        self.tried: dict[MBlock, int] = {}
        self.left = _MOST_POINTS

    def choose(self, b: MBlock, ways: set[MBlock], common: set[MBlock], gone: set[MBlock]) -> bool:
        """Make the paths from a branch that `unmet` lists reconverge; return whether anything was changed.

        They reconverge at their first common block. Where lanes continue from there by several paths to one barrier,
        they reconverge again immediately before it; in a valid program it is then one barrier for all of them.
        """
        tried, inner = self.tried.get(b, 0), set[MBlock]()
        while not inner and tried < 2 and self.left:
            behind = {x for x in ways if _waits(x) or (tried == 0 and x in common)}
            inner = ways - reachable(behind, lambda x: x.succs, without=[b])  # no way leads back from behind to these
            tried += 1
        self.tried[b] = tried
        if not inner:
            return False
        leave = gone if _waits(b) else {b, *gone}
        edges = [
            (p, s)
            for p in self.m.blocks
            if p is b or p in inner
            for s in dict.fromkeys(p.succs)
            if s not in inner and s not in leave
        ]
        self._meet(b, edges, tried)
        self.left -= 1
        return True

    def _meet(self, b: MBlock, edges: list[tuple[MBlock, MBlock]], tried: int) -> None:
        """Redirect edges from a branch through one point; `tried`: attempts made, which count for the point as well.

        The targets of the point follow each other, and lanes that continue from one to another pass the point in
        between: nothing else leads in there.
        """
        m = self.m
        order = {x: k for k, x in enumerate(FlowGraph(m.blocks[:1], lambda x: x.succs).nodes)}
        targets = sorted({s for _, s in edges}, key=lambda x: order[x])
        registers = [m.vreg(GENERAL) for _ in range(0, len(targets) - 1, len(_BITS))]
        points = [m.made() for _ in targets[1:]] or [m.made()]
        entered = [(p, s, points[0]) for p, s in edges]
        for k, target in enumerate(targets[: len(points) - 1]):
            after = targets[k + 1 :]
            part = reachable([target], lambda x: x.succs, without=[b, *after])
            for p in (p for p in m.blocks if p in part):
                entered += [(p, s, points[k + 1]) for s in dict.fromkeys(p.succs) if s in after]
        for k, (point, following) in enumerate(zip(points, (*points[1:], targets[-1]), strict=True)):
            point.loc, point.succs = b.loc, [following]
            self.tried[point] = tried
            if len(targets) > 1:
                c = m.vreg(CONDITION)
                c.true, c.false = _BITS[k % len(_BITS)]
                flags = OperandReg(registers[k // len(_BITS)])
                point.ins = [MIns(hw.MOV_C, {"cdst": OperandReg(c), "src1": flags}, b.loc)]
                point.succs, point.cond = [targets[k], following], (c, c.true, True)
        before: dict[MBlock, list[MBlock]] = {}
        for p, s, point in entered:
            if s not in p.succs:
                continue
            way = m.made()
            way.loc, way.succs = b.loc, [point]
            at = targets.index(s)
            for k, register in enumerate(registers):
                bit = 1 << at % len(_BITS) if s is not targets[-1] and at // len(_BITS) == k else 0
                ops = {"ty": "b32", "dst": OperandReg(register), "src1": PooledLiteral(bit)}
                way.ins.append(MIns(hw.MOV_IMMEDIATE, ops, b.loc))
            p.lead(s, way)
            before.setdefault(targets[-1], []).append(way)
        before[targets[-1]] += points
        m.place(before)


_MOST_POINTS = 100
"""Points of reconvergence inserted into one kernel at most: after each, all regions are recomputed."""
_BITS = (("e", "lg"), ("s", "ns"), ("c", "nc"), ("o", "no"))
"""A test of each single bit of a condition register, and its negation. Source: [tesla] 3, 5."""


def _without(blocks: list[MBlock], ends: set[MBlock]) -> list[MBlock]:
    return [b for b in blocks if b not in ends]


def _waits(b: MBlock) -> bool:
    """Return whether a block has a barrier."""
    return any(i.op is hw.BAR for i in b.ins)


def _up_to_barriers(b: MBlock) -> list[MBlock]:
    return [] if _waits(b) else b.succs


def _gone(region: set[MBlock], ends: set[MBlock]) -> set[MBlock]:
    """Return `ends` and the blocks whose lanes are bound to reach them.

    They reach no barrier of the region any more or, if it has none, all their paths lead to one of `ends`.
    """
    inside = region - ends
    bars = [b for b in inside if _waits(b)]
    if bars:
        return ends | (inside - reachable(bars, lambda b: [p for p in b.preds if p in inside]))
    out = set(ends)
    waiting = list(ends)
    while waiting:
        for p in waiting.pop().preds:
            if p not in out and all(s in out for s in p.succs):
                out.add(p)
                waiting.append(p)
    return out


def _remove_inner(found: Regions) -> None:
    """Remove regions inside another one that ends at the same point: they need no join point of their own."""
    ending: dict[MBlock, Regions] = {}
    for (head, stop), region in found.items():
        ending.setdefault(stop, {})[head, stop] = region
    for head, stop in list(found):
        if any(h is not head and head in r for (h, _), r in ending[stop].items()):
            del found[head, stop], ending[stop][head, stop]


def _region(
    b: MBlock, dom: Dominators[MBlock], post: Dominators[MBlock | Exit], ends: set[MBlock]
) -> tuple[MBlock, MBlock, set[MBlock]] | None:
    """Return (head, join point, blocks between), None if paths only reconverge at the end of the kernel.

    `ends` are blocks in which lanes only exit; they belong to no region.
    """
    head = b
    stop = post.idom[b]
    for _ in range(len(dom.order) + 1):
        if not isinstance(stop, MBlock):
            return None
        if stop in ends:
            return None
        region = reachable(head.succs, lambda b: b.succs, without=[stop, *ends])
        new = head
        for x in region:
            new = dom.meet(new, x)
        if new is head and head in region:
            new = dom.idom[head]  # the head of a loop is entered again and again: go before the loop
            if new is head:
                return None
        if new is head and all(p is head or p in region for x in region for p in x.preds):
            return head, stop, region
        if new is head:  # the point where ways meet leads back into the region: the next one it is
            stop = post.idom[stop]
            continue
        head = new
        while stop is not EXIT and (not post.dominates(stop, head) or stop is head):
            stop = post.idom[stop]
    return None


def _preheaders(m: MFunction) -> None:
    """Give every loop a preheader: a block whose only successor is the loop's header."""
    before: dict[MBlock, list[MBlock]] = {}
    for head, body in natural_loops(Dominators(m.blocks[0], lambda b: b.succs)).items():
        outside = [p for p in head.preds if p not in body]
        if len(outside) == 1 and len(outside[0].succs) == 1:
            continue
        new = m.made()
        new.loc = head.loc
        for p in outside:
            p.succs = [new if s is head else s for s in p.succs]
        new.succs = [head]
        before[head] = [new]
    m.place(before)
    m.connect()


def _insert(m: MFunction, wanted: Regions, left: set[tuple[MBlock, MBlock]]) -> None:
    """Insert joins, or breaks where a region is `left` by them; those of inner regions come first."""
    before: dict[MBlock, list[MBlock]] = {}
    around: dict[MBlock, list[tuple[MBlock, MBlock]]] = {}
    for key, region in wanted.items():
        for b in region:
            around.setdefault(b, []).append(key)
    for (head, stop), region in sorted(wanted.items(), key=lambda e: len(e[1])):
        sources = [p for p in stop.preds if p in region or p is head]
        others = [p for p in stop.preds if p not in sources]
        loc = stop.ins[0].loc if stop.ins else stop.loc
        made: list[MBlock] = []
        if (head, stop) in left:  # lanes that break go on at the second block
            made = [m.made(), m.made()]
            made[0].ins = [MIns(hw.BRK, {}, loc)]
        elif others or any(i.op is hw.JOIN for i in stop.ins[:1]) or stop in stop.preds:
            made = [m.made()]
            made[0].ins = [MIns(hw.JOIN, {}, loc)]
        else:
            stop.ins.insert(0, MIns(hw.JOIN, {}, loc))
        if made:
            _put_between(sources, made, stop, others)
            before.setdefault(stop, []).extend(made)
            for key in around.get(head, ()):
                if key != (head, stop) and (stop in wanted[key] or key[1] is stop):
                    wanted[key].update(made)
                    for new in made:
                        around.setdefault(new, []).append(key)
        at = MIns(hw.BREAKADDR if (head, stop) in left else hw.JOINAT, {}, head.loc)
        at.target = made[-1] if made else stop
        # after a joinat of an inner region that is already there would be wrong: outer ones are pushed first
        k = len(head.ins)
        while k and head.ins[k - 1].op in (hw.JOINAT, hw.BREAKADDR):
            k -= 1
        head.ins.insert(k, at)
    m.place(before)
    m.connect()


def _put_between(sources: list[MBlock], made: list[MBlock], stop: MBlock, others: list[MBlock]) -> None:
    """Insert a chain of new blocks between `sources` and their common successor."""
    for p in sources:
        p.succs = [made[0] if s is stop else s for s in p.succs]
    preds = sources
    for new, following in zip(made, (*made[1:], stop), strict=True):
        new.loc, new.succs, new.preds = stop.loc, [following], preds
        preds = [new]
    stop.preds = [*others, *preds]
