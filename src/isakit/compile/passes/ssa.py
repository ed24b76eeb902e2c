"""After this pass every value is defined once, and no block is unreachable."""

from __future__ import annotations

from isakit.compile.ir import NOWHERE, Block, Const, Function, Ins, IrValue
from isakit.compile.ops import PACK, PHI
from isakit.compile.vector_ops import ELEMENTS, JOIN, count, element
from isakit.flow.bits import BitNumbers
from isakit.flow.dataflow import live_sets
from isakit.flow.dominators import Dominators
from isakit.flow.graph import reachable
from isakit.flow.ssa import Renaming, merges


def drop_unreachable(f: Function) -> None:
    """Keep only blocks that can be reached; a branch with equal targets becomes a jump."""
    for b in f.blocks:
        if b.term[0] == "branch":
            _, p, inverted, yes, no = b.term
            if yes is no:
                b.term = ("jump", yes)
            elif isinstance(p, Const):
                b.term = ("jump", yes if bool(p.value & 1) != inverted else no)
    seen = reachable(f.blocks[:1], lambda b: b.succs)
    f.blocks = [b for b in f.blocks if b in seen]


def construct_ssa(f: Function) -> None:
    """Replace variables by values and phis."""
    drop_unreachable(f)
    f.connect()
    if f.blocks[0].preds:  # the entry must not be a loop: variables begin there
        first = f.make()
        first.term = ("jump", f.blocks[0])
        f.blocks.insert(0, first)
        f.connect()
    dom = Dominators(f.blocks[0], lambda b: b.succs)
    written = {b: {v: x for v, x in b.env.items() if x is not b.live_in.get(v)} for b in f.blocks}
    phis = _phis(f, dom, written)
    undefined: dict[str, IrValue] = {}

    def nothing(kind: str) -> IrValue:
        got = undefined.get(kind)
        if got is None:
            if kind in ("r", "p", *ELEMENTS):
                got = Const(0, kind)
            else:
                of = "r" if kind == "d" else element(kind)
                zeros: list[IrValue] = [Const(0, of)] * (2 if kind == "d" else count(kind))
                i = Ins(PACK if kind == "d" else JOIN, zeros, (kind,), NOWHERE)
                f.blocks[0].ins.insert(0, i)
                got = i.out
            undefined[kind] = got
        return got

    merged = {b: {v: phi.out for v, phi in some.items()} for b, some in phis.items()}
    names = Renaming(dom, merged, written, lambda v: nothing(f.kinds[v]))
    for b, some in phis.items():
        for v, phi in some.items():
            phi.args = [names.leaving(p, v) for p in b.preds]
    replaced = {place: names.entering(b, v) for b in f.blocks for v, place in b.live_in.items()}
    replace(f, replaced)
    for b in f.blocks:
        b.live_in, b.env = {}, {}
        for mark in b.marks:
            if any(v is u for v in mark.values for u in undefined.values()):
                mark.values = []


def replace(f: Function, replaced: dict[IrValue, IrValue]) -> None:
    """Replace uses of values; replacements may be replaced themselves."""
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
            if not replaced.keys().isdisjoint(i.args):
                i.args = [final(a) for a in i.args]
        for mark in b.marks:
            mark.values = [final(v) for v in mark.values]
        if b.term[0] == "branch":
            b.term = (b.term[0], final(b.term[1]), *b.term[2:])


def _phis(f: Function, dom: Dominators[Block], written: dict[Block, dict[int, IrValue]]) -> dict[Block, dict[int, Ins]]:
    """Insert phis without arguments where several values of a variable that is read later merge."""
    read = {v for b in f.blocks for v in b.live_in}
    bits = BitNumbers(v for b in f.blocks for v in written[b] if v in read)
    uses = [bits.mask(b.live_in) for b in dom.order]
    writes = [bits.mask(v for v in written[b] if v in read) for b in dom.order]
    live = live_sets(dom.graph, uses, writes).entering
    out: dict[Block, dict[int, Ins]] = {}
    for b, mask in zip(dom.order, merges(dom, writes, live), strict=True):
        out[b] = {v: Ins(PHI, [], (f.kinds[v],), b.loc) for v in bits.of(mask)}
        b.phis += out[b].values()
        for phi in b.phis:
            phi.block = b
    return out
