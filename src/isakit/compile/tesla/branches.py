"""Divergence and reconvergence: short blocks under a condition, join points for branches lanes take differently.

A warp keeps lanes that went another way on a stack. `joinat X` before a divergent branch and `join` at X bring
them together again; X is the branch's post-dominator. Source: [tesla] 9.2.
"""

from __future__ import annotations

from isakit.compile.lower.form import MBlock, MemoryReference, MFunction, MIns, PooledLiteral, VReg
from isakit.compile.tesla import instructions as hw
from isakit.flow.dominators import EXIT, Dominators, Exit, post_dominators
from isakit.flow.graph import reachable
from isakit.flow.loops import natural_loops

SHORT_DIVERGENT = 5
SHORT_UNIFORM = 3


# --- short blocks ----------------------------------------------------------------------------------------------------
def _can_guard(b: MBlock, c: VReg, most: int) -> bool:
    if len(b.ins) > most:
        return False
    for i in b.ins:
        if not i.op.guarded or i.guard is not None or i.tail or "carry" in i.ops:
            return False
        if any(r.v is c for r in i.defs()):
            return False
    return True


def convert_ifs_to_guards(m: MFunction) -> None:
    """Execute blocks of a few instructions under the condition of the branch around them."""
    changed = True
    while changed:
        changed = False
        for b in m.blocks:
            if b.cond is not None and len(b.succs) == 2 and _guard(m, b):
                changed = True
        if changed:
            alive = reachable(m.blocks[:1], lambda b: b.succs)
            m.blocks = [b for b in m.blocks if b in alive]
            m.connect()


def _only_copies(b: MBlock) -> bool:
    return all(i.op in (hw.MOV, hw.MOV_IMMEDIATE) and i.guard is None for i in b.ins)


def _guard(m: MFunction, a: MBlock) -> bool:
    assert a.cond is not None
    c, test, divergent = a.cond
    yes, no = a.succs
    most = SHORT_DIVERGENT if divergent else SHORT_UNIFORM
    opposite = c.false if test == c.true else c.true

    def side(x: MBlock) -> bool:
        return x.preds == [a] and len(x.succs) == 1 and x.cond is None and x is not a

    def locked(x: MBlock) -> bool:
        return any(i.op is hw.ST_UNLOCK for i in x.ins)

    for x, other, t in ((yes, no, test), (no, yes, opposite)):
        if not side(x):
            continue
        if x.succs[0] is other and _can_guard(x, c, 99 if locked(x) else most):
            _take(a, x, c, t)
            a.succs, a.cond = [other], None
            _replace_pred(other, x, a)
            return True
    if side(yes) and side(no) and yes.succs == no.succs and yes.succs[0] not in (yes, no):
        end = yes.succs[0]
        for x, y, t, u in ((yes, no, test, opposite), (no, yes, opposite, test)):
            # copies on one side can be made before the other side overwrites them under the condition
            if _only_copies(y) and _can_guard(x, c, most) and _overwritten(y, x, c):
                a.ins += y.ins
                _take(a, x, c, t)
                break
            del u
        else:
            if len(yes.ins) + len(no.ins) > most or not (_can_guard(yes, c, most) and _can_guard(no, c, most)):
                return False
            _take(a, yes, c, test)
            _take(a, no, c, opposite)
        a.succs, a.cond = [end], None
        end.preds = [p for p in end.preds if p not in (yes, no)] + [a]
        yes.succs, no.succs = [], []
        yes.preds, no.preds = [], []
        return True
    return False


def _overwritten(y: MBlock, x: MBlock, c: VReg) -> bool:
    """Return whether every copy of y writes what x writes too, and x reads none of it before."""
    targets = {(i.ops["dst"].v, i.ops["dst"].unit) for i in y.ins}
    written: set[tuple[VReg, int]] = set()
    for i in x.ins:
        for r in i.uses():
            if any((r.v, r.unit + k) in targets for k in range(r.count)):
                return False
        for r in i.defs():
            written.update((r.v, r.unit + k) for k in range(r.count))
    return targets <= written


def _take(a: MBlock, x: MBlock, c: VReg, test: str) -> None:
    for i in x.ins:
        i.guard = c, test
        i.literal = False
        if i.op is hw.MOV_IMMEDIATE:
            _literal_move(i)
    a.ins += x.ins
    a.note(x.notes)
    x.ins, x.notes = [], []


def _literal_move(i: MIns) -> None:
    """Load the constant from the pool, since an immediate move has no condition."""
    value = i.ops.pop("src1")
    assert isinstance(value, PooledLiteral)
    i.op = hw.LD_C
    i.ops = {"dst": i.ops["dst"], "ty": "b32", "src": MemoryReference("c1", None, value.value, "literal")}


def _replace_pred(b: MBlock, old: MBlock, new: MBlock) -> None:
    b.preds = [p for p in b.preds if p is not old and p is not new] + [new]
    old.succs, old.preds = [], []


# --- join points -----------------------------------------------------------------------------------------------------
Regions = dict[tuple[MBlock, MBlock], set[MBlock]]
"""(Head, where the ways from it meet) to the blocks between."""


def insert_join_points(m: MFunction) -> None:
    """Put `joinat` and `join`, or `breakaddr` and `break`, around branches lanes may take differently.

    A region is a block that dominates all blocks up to the point where all ways from it meet. Loops are left through
    one region each, so that nothing piles up on the stack. Where the ways meet at the end of the kernel only, because
    some lanes may end before, it is the point where those meet that go on: lanes that end leave all masks of the stack.
    The same holds where lanes leave a loop, or code with a barrier, from within a branch both ways of which go on in
    it: they break, and the others meet in there.
    """
    m.connect()
    _preheaders(m)
    search = _RegionSearch(m)
    search.collect()
    m.breaks = bool(search.left)
    _insert(m, search.found, search.left)


class _RegionSearch:
    """Looks for the regions of a kernel.

    Attributes: `found`; `left`: those of them that lanes leave by `break`.
    """

    def __init__(self, m: MFunction) -> None:
        self.blocks = m.blocks
        self.dom = Dominators(m.blocks[0], lambda b: b.succs)
        self.loops = natural_loops(self.dom)
        self.ends = {b for b in m.blocks if not b.succs and not b.ins}
        self.turns = {p: len(body) for head, body in self.loops.items() for p in head.preds if p in body}
        self.found: Regions = {}
        self.left: set[tuple[MBlock, MBlock]] = set()

    def collect(self) -> None:
        """Find the regions of all branches."""
        post = post_dominators(self.blocks, lambda b: b.succs, endless=True)
        lasting = self._lasting([b for b in self.blocks if b not in self.ends], self.ends) if self.ends else post
        branches = [b for b in self.blocks if b.cond is not None and b.cond[2]]
        self._take(*self._around(branches, self.ends, post, lasting), self.ends)

    def _around(
        self, branches: list[MBlock], ends: set[MBlock], *posts: Dominators[MBlock | Exit]
    ) -> tuple[Regions, dict[MBlock, MBlock]]:
        """Return the regions of branches, and where the ways from each meet, by the first post-dominators that say it.

        A branch of which all ways but one lead to `ends` has none.
        """
        found: Regions = {}
        meets: dict[MBlock, MBlock] = {}
        for b in branches:
            if len(_without(b.succs, ends)) > 1:
                got = next(filter(None, (_region(b, self.dom, post, ends) for post in posts)), None)
                if got is not None:
                    found[got[:2]] = got[2]
                    meets[b] = got[1]
        return found, meets

    def _take(self, found: Regions, meets: dict[MBlock, MBlock], ends: set[MBlock]) -> None:
        """Note regions. `meets`: where the ways from branches meet; to `ends` lanes are gone, as `_gone` has it.

        A break leads out of the innermost region only: lanes that leave two at once meet behind the outer one.
        """
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
            inside, meets_inside = self._around([b for b in branches if b in blocks], gone, post)
            if inside:
                self.left.add((head, stop))
                self._take(inside, meets_inside, gone)

    def _lasting(self, blocks: list[MBlock], ends: set[MBlock]) -> Dominators[MBlock | Exit]:
        """Return the post-dominators of what goes on: in an endless loop ways meet where its next turn begins."""
        return post_dominators(
            sorted(blocks, key=lambda b: self.turns.get(b, 0)), lambda b: _without(b.succs, ends), endless=True
        )

    def _stays(self, b: MBlock, stop: MBlock) -> bool:
        """Return whether both ways from a branch go on in a loop behind which they meet."""
        return any(b in body and stop not in body and all(s in body for s in b.succs) for body in self.loops.values())


def _without(blocks: list[MBlock], ends: set[MBlock]) -> list[MBlock]:
    return [b for b in blocks if b not in ends]


def _waits(b: MBlock) -> bool:
    """Return whether a block has a barrier."""
    return any(i.op is hw.BAR for i in b.ins)


def _gone(region: set[MBlock], ends: set[MBlock]) -> set[MBlock]:
    """Return the ends of a region and the blocks in which lanes are on their way there.

    They come to no barrier of the region any more, or, where there is none, all ways lead to an end.
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
    """Take out regions inside another one that ends at the same point: they need no join point of their own."""
    ending: dict[MBlock, Regions] = {}
    for (head, stop), region in found.items():
        ending.setdefault(stop, {})[head, stop] = region
    for head, stop in list(found):
        if any(h is not head and head in r for (h, _), r in ending[stop].items()):
            del found[head, stop], ending[stop][head, stop]


def _region(
    b: MBlock, dom: Dominators[MBlock], post: Dominators[MBlock | Exit], ends: set[MBlock]
) -> tuple[MBlock, MBlock, set[MBlock]] | None:
    """Return (head, where its ways meet, the blocks between), None if they meet at the end of the kernel only.

    `ends` are blocks in which lanes just end; they belong to no region.
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
    """Give every loop one block before it that leads nowhere else."""
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
        elif others or any(i.op is hw.JOIN for i in stop.ins[:1]) or _loops_back(stop):
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
    """Lead `sources` through new blocks, one after the other, to where they led."""
    for p in sources:
        p.succs = [made[0] if s is stop else s for s in p.succs]
    preds = sources
    for new, following in zip(made, (*made[1:], stop), strict=True):
        new.loc, new.succs, new.preds = stop.loc, [following], preds
        preds = [new]
    stop.preds = [*others, *preds]


def _loops_back(stop: MBlock) -> bool:
    """Return whether a block is its own predecessor."""
    return any(p is stop for p in stop.preds)
