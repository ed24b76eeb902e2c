"""Behind these passes no block is empty without need, and the last instruction of the kernel ends it."""

from __future__ import annotations

from isakit.compile.lower.form import MBlock, MFunction

PLAIN_ENDS = frozenset({"st_g", "st_s", "st_l", "red"})


def blocks_do_something(m: MFunction) -> None:
    """Take out blocks that only lead on, and join blocks that always follow each other."""
    m.connect()
    targets = {i.target for b in m.blocks for i in b.ins if i.target is not None}
    for b in list(m.blocks):
        if b.ins or b.cond is not None or len(b.succs) != 1 or b in targets or b.succs[0] is b:
            continue
        if b is m.blocks[0]:
            continue
        s = b.succs[0]
        for p in b.preds:
            p.succs = [s if x is b else x for x in p.succs]
            if p not in s.preds:
                s.preds.append(p)
            if len(p.succs) == 2 and p.succs[0] is p.succs[1]:
                p.succs, p.cond = p.succs[:1], None
        s.preds = [p for p in s.preds if p is not b]
        m.blocks.remove(b)
    for b in m.blocks:  # where a block only leads to the end, it ends itself
        if b.cond is None and b.ins and len(b.succs) == 1 and not b.succs[0].ins and not b.succs[0].succs:
            b.succs = []
    m.connect()
    _append(m, targets)
    alive = {s for b in m.blocks for s in b.succs} | targets | {m.blocks[0]}
    m.blocks = [b for b in m.blocks if b in alive]


def _append(m: MFunction, targets: set[MBlock]) -> None:
    """A block whose only successor has no other predecessor is continued by it, wherever that one stands."""
    gone: set[MBlock] = set()
    for b in m.blocks:
        if b in gone:
            continue
        while len(b.succs) == 1 and b.cond is None:
            s = b.succs[0]
            if s is b or s.preds != [b] or s in targets or s is m.blocks[0] or (not s.succs and not s.ins):
                break
            b.ins += s.ins
            b.succs, b.cond = s.succs, s.cond
            for t in s.succs:
                t.preds = [b if p is s else p for p in t.preds]
            gone.add(s)
            s.succs, s.preds, s.ins = [], [], []
    m.blocks = [b for b in m.blocks if b not in gone]
    m.connect()


def exits_ride_on_stores(m: MFunction) -> None:
    """A store may end the kernel itself."""
    for b in m.blocks:
        if not b.succs and b.ins and b.ins[-1].op in PLAIN_ENDS and b.ins[-1].guard is None:
            b.ins[-1].tail = "exit"
