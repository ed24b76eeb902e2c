"""After this pass every value is defined once, and no block is unreachable."""

from __future__ import annotations

from isakit.compile.graph import Dominators
from isakit.compile.ir import Block, Const, Function, Ins, IrValue


def drop_unreachable(f: Function) -> None:
    """Keep only blocks that can be reached; a branch with equal targets becomes a jump."""
    for b in f.blocks:
        if b.term[0] == "branch":
            _, p, inverted, yes, no = b.term
            if yes is no:
                b.term = ("jump", yes)
            elif isinstance(p, Const):
                b.term = ("jump", yes if bool(p.value & 1) != inverted else no)
    seen = {f.blocks[0]}
    work = [f.blocks[0]]
    while work:
        for s in work.pop().succs:
            if s not in seen:
                seen.add(s)
                work.append(s)
    f.blocks = [b for b in f.blocks if b in seen]


def values_defined_once(f: Function) -> None:
    """Replace variables by values and phis."""
    drop_unreachable(f)
    f.connect()
    if f.blocks[0].preds:  # the entry must not be a loop: variables begin there
        first = f.make()
        first.term = ("jump", f.blocks[0])
        f.blocks.insert(0, first)
        f.connect()
    names: dict[int, int] = {}
    for b in f.blocks:
        for v in b.live_in:
            names.setdefault(v, len(names))
    live = _liveness(f, names)
    dom: Dominators[Block] = Dominators(f.blocks[0], lambda b: b.succs)
    phis = _place(f, dom, names, live)
    undefined: dict[str, IrValue] = {}

    def nothing(kind: str) -> IrValue:
        got = undefined.get(kind)
        if got is None:
            if kind in "rp":
                got = Const(0, kind)
            else:
                i = Ins("pack", [Const(0), Const(0)], "d", {}, (0, 0, 0))
                f.blocks[0].ins.insert(0, i)
                got = i.out
            undefined[kind] = got
        return got

    entering: dict[tuple[Block, int], IrValue] = {}

    def at_entry(block: Block, v: int) -> IrValue:
        path: list[Block] = []
        while True:
            got = entering.get((block, v))
            if got is None and (phi := phis.get((block, v))) is not None:
                got = phi.out
            if got is not None:
                break
            path.append(block)
            if block is dom.root:
                got = nothing(f.kinds[v])
                break
            block = dom.idom[block]
            value = block.env.get(v)
            if value is not None and value is not block.live_in.get(v):
                got = value
                break
        for b in path:
            entering[b, v] = got
        return got

    def at_exit(block: Block, v: int) -> IrValue:
        value = block.env.get(v)
        return at_entry(block, v) if value is None or value is block.live_in.get(v) else value

    replaced: dict[IrValue, IrValue] = {}
    for (b, v), phi in phis.items():
        phi.args = [at_exit(p, v) for p in b.preds]
    for b in f.blocks:
        for v, place in b.live_in.items():
            replaced[place] = at_entry(b, v)
    replace(f, replaced)
    for b in f.blocks:
        b.live_in, b.env = {}, {}


def replace(f: Function, replaced: dict[IrValue, IrValue]) -> None:
    """Use other values; replacements may be replaced themselves."""
    if not replaced:
        return

    def final(v: IrValue) -> IrValue:
        seen: list[IrValue] = []
        while v in replaced:
            seen.append(v)
            v = replaced[v]
        for s in seen[:-1]:
            replaced[s] = v
        return v

    for b in f.blocks:
        for i in (*b.phis, *b.ins):
            i.args = [final(a) for a in i.args]
        if b.term[0] == "branch":
            b.term = (b.term[0], final(b.term[1]), *b.term[2:])


def _liveness(f: Function, names: dict[int, int]) -> dict[Block, int]:
    use: dict[Block, int] = {}
    kill: dict[Block, int] = {}
    for b in f.blocks:
        use[b] = sum(1 << names[v] for v in b.live_in)
        kill[b] = sum(1 << names[v] for v, x in b.env.items() if v in names and x is not b.live_in.get(v))
    live = dict.fromkeys(f.blocks, 0)
    work = list(f.blocks)
    waiting = set(work)
    while work:
        b = work.pop()
        waiting.discard(b)
        out = 0
        for s in b.succs:
            out |= live[s]
        new = use[b] | (out & ~kill[b])
        if new != live[b]:
            live[b] = new
            for p in b.preds:
                if p not in waiting:
                    waiting.add(p)
                    work.append(p)
    return live


def _place(
    f: Function, dom: Dominators[Block], names: dict[int, int], live: dict[Block, int]
) -> dict[tuple[Block, int], Ins]:
    frontier: dict[Block, list[Block]] = {b: [] for b in f.blocks}
    for b in f.blocks:
        if len(b.preds) > 1:
            for p in b.preds:
                runner = p
                while runner is not dom.idom[b]:
                    if not frontier[runner] or frontier[runner][-1] is not b:
                        frontier[runner].append(b)
                    runner = dom.idom[runner]
    defined: dict[int, list[Block]] = {}
    for b in f.blocks:
        for v, x in b.env.items():
            if v in names and x is not b.live_in.get(v):
                defined.setdefault(v, []).append(b)
    out: dict[tuple[Block, int], Ins] = {}
    for v, blocks in defined.items():
        work = list(blocks)
        while work:
            for b in frontier[work.pop()]:
                if (b, v) not in out and live[b] >> names[v] & 1:
                    phi = Ins("phi", [], f.kinds[v], {}, b.loc)
                    phi.block = b
                    b.phis.append(phi)
                    out[b, v] = phi
                    work.append(b)
    return out
