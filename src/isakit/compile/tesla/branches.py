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
def insert_join_points(m: MFunction) -> None:
    """Put `joinat` and `join` around branches lanes may take differently.

    A region is a block that dominates all blocks up to the point where all ways from it meet. Loops are left through
    one region each, so that nothing piles up on the stack. Where the ways meet at the end of the kernel only, because
    some lanes may end before, it is the point where those meet that go on: lanes that end leave all masks of the stack.
    """
    m.connect()
    _preheaders(m)
    dom = Dominators(m.blocks[0], lambda b: b.succs)
    post = post_dominators(m.blocks, lambda b: b.succs, endless=True)
    ends = {b for b in m.blocks if not b.succs and not b.ins}

    def going_on(b: MBlock) -> list[MBlock]:
        return [s for s in b.succs if s not in ends]

    # what goes on in a loop that is only left by ending meets where its next turn begins
    turns = {p: len(body) for head, body in natural_loops(dom).items() for p in head.preds if p in body}
    lasting = sorted((b for b in m.blocks if b not in ends), key=lambda b: turns.get(b, 0))
    post_of_lasting = post_dominators(lasting, going_on, endless=True) if ends else post
    wanted: dict[tuple[MBlock, MBlock], set[MBlock]] = {}
    for b in m.blocks:
        if b.cond is None or not b.cond[2]:
            continue
        got = _region(b, dom, post, ends)
        if got is None and len(going_on(b)) > 1:
            got = _region(b, dom, post_of_lasting, ends)
        if got is not None:
            head, stop, region = got
            wanted[head, stop] = region
    # a region inside another one that ends at the same point needs no join point of its own
    ending: dict[MBlock, dict[MBlock, set[MBlock]]] = {}
    for (head, stop), region in wanted.items():
        ending.setdefault(stop, {})[head] = region
    for head, stop in list(wanted):
        if any(h is not head and head in r for h, r in ending[stop].items()):
            del wanted[head, stop], ending[stop][head]
    _insert(m, wanted)


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


def _insert(m: MFunction, wanted: dict[tuple[MBlock, MBlock], set[MBlock]]) -> None:
    """Insert joins; those of inner regions come first where several end at one point."""
    before: dict[MBlock, list[MBlock]] = {}
    around: dict[MBlock, list[tuple[MBlock, MBlock]]] = {}
    for key, region in wanted.items():
        for b in region:
            around.setdefault(b, []).append(key)
    for (head, stop), region in sorted(wanted.items(), key=lambda e: len(e[1])):
        sources = [p for p in stop.preds if p in region or p is head]
        others = [p for p in stop.preds if p not in sources]
        join = MIns(hw.JOIN, {}, stop.ins[0].loc if stop.ins else stop.loc)
        if others or any(i.op is hw.JOIN for i in stop.ins[:1]) or _loops_back(stop):
            new = m.made()
            new.loc = stop.loc
            for p in sources:
                p.succs = [new if s is stop else s for s in p.succs]
            new.succs, new.preds = [stop], sources
            stop.preds = [*others, new]
            new.ins = [join]
            before.setdefault(stop, []).append(new)
            for key in around.get(head, ()):
                if key != (head, stop) and (stop in wanted[key] or key[1] is stop):
                    wanted[key].add(new)
                    around.setdefault(new, []).append(key)
            place = new
        else:
            stop.ins.insert(0, join)
            place = stop
        at = MIns(hw.JOINAT, {}, head.loc)
        at.target = place
        # after a joinat of an inner region that is already there would be wrong: outer ones are pushed first
        k = len(head.ins)
        while k and head.ins[k - 1].op is hw.JOINAT:
            k -= 1
        head.ins.insert(k, at)
    m.place(before)
    m.connect()


def _loops_back(stop: MBlock) -> bool:
    """Return whether a block is its own predecessor."""
    return any(p is stop for p in stop.preds)
