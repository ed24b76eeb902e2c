"""If-conversion: instructions of short blocks are predicated, and the branch around them is removed."""

from __future__ import annotations

from dataclasses import replace

from isakit.compile.lower.form import UNSURE, MBlock, MFunction, MIns, VReg
from isakit.flow.graph import reachable


class IfConversion:
    """Replaces branches around short blocks by guards, as long as it finds one. A target says what it can guard."""

    def __init__(self, m: MFunction) -> None:
        self.m = m

    # --- what a target says -----------------------------------------------------------------------------------------
    def most(self, divergent: bool) -> int:
        """Return how many instructions may be guarded, on both sides of a branch together."""
        raise NotImplementedError

    def can_guard(self, i: MIns, condition: VReg) -> bool:
        """Return whether an instruction can be predicated with `condition`, and does not write it."""
        return i.op.guarded and i.guard is None and all(r.v is not condition for r in i.defs())

    def guarded(self, i: MIns) -> None:
        """Adjust an instruction that has become predicated."""

    def is_whole(self, x: MBlock) -> bool:
        """Return whether a block must be predicated regardless of its length."""
        return False

    def before(self, x: MBlock, y: MBlock, condition: VReg) -> bool:
        """Return whether one side of a branch can be executed unpredicated before the other side."""
        return False

    # --- what is the same for all -----------------------------------------------------------------------------------
    def run(self) -> None:
        """Convert branches until none is left that can be."""
        m = self.m
        changed = True
        while changed:
            changed = False
            for b in m.blocks:
                if b.cond is not None and len(b.succs) == 2 and self._convert(b, *b.cond):
                    changed = True
            if changed:
                alive = reachable(m.blocks[:1], lambda b: b.succs)
                m.blocks = [b for b in m.blocks if b in alive]
                m.connect()

    def _fits(self, x: MBlock, condition: VReg, most: int) -> bool:
        return (len(x.ins) <= most or self.is_whole(x)) and all(self.can_guard(i, condition) for i in x.ins)

    def _convert(self, a: MBlock, condition: VReg, test: str, divergent: bool) -> bool:
        yes, no = a.succs
        most, opposite = self.most(divergent), condition.opposite(test)

        def side(x: MBlock) -> bool:
            return x.preds == [a] and len(x.succs) == 1 and x.cond is None and x is not a

        for x, other, t in ((yes, no, test), (no, yes, opposite)):
            if side(x) and x.succs[0] is other and self._fits(x, condition, most):
                self._take(a, x, condition, t)
                a.succs, a.cond = [other], None
                other.preds = [p for p in other.preds if p is not x and p is not a] + [a]
                x.succs, x.preds = [], []
                return True
        if not (side(yes) and side(no) and yes.succs == no.succs and yes.succs[0] not in (yes, no)):
            return False
        end = yes.succs[0]
        for x, y, t in ((yes, no, test), (no, yes, opposite)):
            if self._fits(x, condition, most) and self.before(y, x, condition):
                _append(a, y)
                self._take(a, x, condition, t)
                break
        else:
            both = len(yes.ins) + len(no.ins) <= most
            if not (both and self._fits(yes, condition, most) and self._fits(no, condition, most)):
                return False
            self._take(a, yes, condition, test)
            self._take(a, no, condition, opposite)
        a.succs, a.cond = [end], None
        end.preds = [p for p in end.preds if p not in (yes, no)] + [a]
        for x in (yes, no):
            x.succs, x.preds = [], []
        return True

    def _take(self, a: MBlock, x: MBlock, condition: VReg, test: str) -> None:
        for i in x.ins:
            i.guard = condition, test
            i.literal = False
            self.guarded(i)
        _append(a, x)


def _append(a: MBlock, x: MBlock) -> None:
    """Append a block to another one whose lanes may not all execute it: its notes become unsure."""
    a.note([replace(n, guard=UNSURE) for n in x.notes])
    for i in x.ins:
        i.before, i.after = ([replace(n, guard=UNSURE) for n in notes] for notes in (i.before, i.after))
    a.ins += x.ins
    x.ins, x.notes = [], []
