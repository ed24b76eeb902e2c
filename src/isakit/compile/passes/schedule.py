"""Order of operations inside blocks, for programs that need many registers.

From the end of a block towards its beginning, the next operation is the one that leaves the fewest registers live.
Source: list scheduling in reverse, as in Goodman and Hsu, "Code scheduling and register allocation in large basic
blocks".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable
from heapq import heappop, heappush
from itertools import pairwise

from isakit.compile.ir import AnyOp, Block, Const, Effect, Function, Ins, IrValue


class RegisterNeeds:
    """The registers that values take.

    Attributes:
        size: registers of a value that an operation computes.
        views: operations whose result shares the registers of their argument.
        given: the registers of a value without an operation of its own and their number, or None: an input is live
            from the start to its last reader.
    """

    def __init__(
        self, size: Callable[[IrValue], int], views: Collection[AnyOp],
        given: Callable[[IrValue], tuple[Hashable, int] | None],
    ) -> None:  # fmt: skip
        self.size, self.views, self.given = size, views, given

    def roots(self, v: IrValue) -> dict[Hashable, int]:
        """Return the registers that a read of a value keeps live, each under a key that identifies it."""
        while v.ins is not None and v.ins.op in self.views and v.ins.args:
            v = v.ins.args[0]
        if isinstance(v, Const):
            return {}
        given = self.given(v)
        if given is not None:
            return {given[0]: given[1]}
        return {v: n} if (n := self.size(v)) else {}


def schedule_for_registers(f: Function, needs: RegisterNeeds) -> None:
    """Order the operations of every block so that few registers are live; those with effects stay where they are.

    Operations that read memory move between those but keep their order.
    """
    across = _read_elsewhere(f)
    for b in f.blocks:
        done: list[Ins] = []
        live = {r: n for v in across[b] for r, n in needs.roots(v).items()}
        region: list[Ins] = []
        for i in reversed(b.ins):
            if i.op.effect in (Effect.NONE, Effect.READS):
                region.append(i)
                continue
            done += _region(region, live, needs)
            region = []
            done.append(i)
            for v in i.outs:
                live.pop(v, None)
            for a in i.args:
                live |= needs.roots(a)
        done += _region(region, live, needs)
        b.ins = done[::-1]


def _read_elsewhere(f: Function) -> dict[Block, list[IrValue]]:
    """Return, for every block, its values that other blocks, its branch or the phis of its successors read."""
    out: dict[Block, list[IrValue]] = {b: [] for b in f.blocks}
    for b in f.blocks:
        for i in b.ins:
            for a in i.args:
                if a.ins is not None and a.ins.block is not b and a.ins.block in out:
                    out[a.ins.block].append(a)
        for phi in b.phis:
            for p, a in zip(b.preds, phi.args, strict=True):
                out[p].append(a)
                if a.ins is not None and a.ins.block is not p and a.ins.block in out:
                    out[a.ins.block].append(a)
        if b.term[0] == "branch":
            out[b].append(b.term[1])
    return out


def _region(backwards: list[Ins], live: dict[Hashable, int], needs: RegisterNeeds) -> list[Ins]:
    """Reorder operations without side effects to need fewer registers; takes and returns them last one first.

    Operations that read memory keep their order. `live` is what is live after them, and becomes what is live before
    them.
    """
    place = {i: k for k, i in enumerate(backwards)}
    before: dict[Ins, list[Ins]] = {i: [j for j in {a.ins: None for a in i.args} if j in place] for i in backwards}
    reads = [i for i in backwards if i.op.effect is Effect.READS]
    for later, earlier in pairwise(reads):
        if earlier not in before[later]:
            before[later].append(earlier)
    waits = Counter(j for js in before.values() for j in js)
    since: dict[Hashable, int] = {}
    """The step at which a value became live: chains are followed before others are begun."""
    readers: dict[Hashable, list[Ins]] = {}
    """Operations in the queue by what they read and is not live: they cost less once it is."""
    queue: list[tuple[int, int, int]] = []
    taken: set[Ins] = set()
    out: list[Ins] = []

    def price(i: Ins) -> tuple[int, int, int]:
        if i.op in needs.views:
            return -1 << 20, 0, place[i]  # nothing to compute: who computes the argument may come then
        more = sum(n for r, n in _read(i, needs).items() if r not in live)
        freed = sum(live.get(v, 0) for v in i.outs)
        return more - freed, -max((since.get(v, 0) for v in i.outs), default=0), place[i]

    def offer(i: Ins) -> None:
        heappush(queue, price(i))
        for r in _read(i, needs):
            if r not in live:
                readers.setdefault(r, []).append(i)

    for i in backwards:
        if not waits[i]:
            offer(i)
    while queue:
        i = backwards[heappop(queue)[2]]
        if i in taken:
            continue  # it was cheaper since, and came before
        taken.add(i)
        out.append(i)
        if i.op not in needs.views:
            for v in i.outs:
                live.pop(v, None)
            for r, n in _read(i, needs).items():
                if r not in live:
                    live[r] = n
                    since[r] = len(out)
                    for j in readers.pop(r, ()):
                        if j not in taken:
                            heappush(queue, price(j))
        for j in before[i]:
            waits[j] -= 1
            if not waits[j]:
                offer(j)
    return out


def _read(i: Ins, needs: RegisterNeeds) -> dict[Hashable, int]:
    return {r: n for a in i.args for r, n in needs.roots(a).items()}


def recompute(f: Function, ops: Collection[AnyOp], views: Collection[AnyOp], apart: int) -> None:
    """Rematerialize results of some operations for readers that come long after the others of a block.

    Args:
        f: the function.
        ops: the operations; they have no effects.
        views: operations whose result shares the registers of their argument: their readers count.
        apart: distance to the next reader, in operations, beyond which a result is computed again.
    """
    for b in f.blocks:
        _Copies(b, ops, views, apart).run()


class _Copies:
    """Copies of the operations of one block, by the index of the operation they are inserted before."""

    def __init__(self, b: Block, ops: Collection[AnyOp], views: Collection[AnyOp], apart: int) -> None:
        self.b, self.ops, self.views, self.apart = b, ops, views, apart
        self.place = {i: k for k, i in enumerate(b.ins)}
        """Number of an operation of the block, or of the one that a copy comes before."""
        self.before: dict[int, list[Ins]] = {}
        self.readers: dict[Ins, list[Ins]] = {}

    def run(self) -> None:
        for i in self.b.ins:
            if i.op not in self.views:
                self._reads(i)
        for i in reversed(self.b.ins):
            if i.op in self.ops:
                self._divide(i)
        self.b.ins = [j for k, i in enumerate(self.b.ins) for j in (*self.before.get(k, ()), i)]

    def _reads(self, reader: Ins) -> None:
        for i in dict.fromkeys(self._root(a) for a in reader.args):
            if i is not None and i.block is self.b:
                self.readers.setdefault(i, []).append(reader)

    def _root(self, v: IrValue) -> Ins | None:
        while v.ins is not None and v.ins.op in self.views and v.ins.args:
            v = v.ins.args[0]
        return v.ins

    def _index(self, reader: Ins) -> tuple[int, int]:
        """Return the index of the operation to insert before, and the order among those inserted there: itself last."""
        at = self.place[reader]
        there = self.before.get(at, [])
        return at, there.index(reader) if reader in there else len(there)

    def _divide(self, i: Ins) -> None:
        """Give late readers a copy of an operation, one for each group of readers close to each other."""
        copy, last = i, self.place[i]
        for n, reader in enumerate(sorted(self.readers.get(i, ()), key=self._index)):
            if n and self.place[reader] - last > self.apart:
                copy = self._copied(i, list(i.args), reader)
                self._reads(copy)
            last = self.place[reader]
            if copy is not i:
                reader.args = [self._through(a, i, copy, reader) for a in reader.args]

    def _copied(self, i: Ins, args: list[IrValue], reader: Ins) -> Ins:
        """Insert a copy of an operation before a reader."""
        new = i.copied(args, self.b)
        at, index = self._index(reader)
        self.before.setdefault(at, []).insert(index, new)
        self.place[new] = at
        return new

    def _through(self, v: IrValue, old: Ins, copy: Ins, reader: Ins) -> IrValue:
        """Return the counterpart of `v` that reads the copy in place of the original."""
        if v.ins is old:
            return copy.outs[v.index]
        if v.ins is None or v.ins.op not in self.views or self._root(v) is not old:
            return v
        return self._copied(v.ins, [self._through(a, old, copy, reader) for a in v.ins.args], reader).out
