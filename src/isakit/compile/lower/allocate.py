"""Registers for virtual registers: copies are coalesced where nothing interferes, the rest is coloured.

The class of a virtual register says which registers it may get and what they overlap; a value that gets none is
spilled, to memory or to a register of the class that holds values for it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, cached_property

from isakit.compile.lower.form import MBlock, MemoryReference, MFunction, MIns, Note, OperandReg, VReg
from isakit.compile.lower.liveness import BlockLiveness
from isakit.compile.lower.target import Target

ROUNDS = 60


class OutOfRegistersError(Exception):
    """No allocation was found."""


class Interference:
    """Interference graph: pairs of units of virtual registers that may not share a register.

    `file`: restrict the graph to the registers of this file.
    """

    def __init__(self, m: MFunction, file: str = "") -> None:
        self.live = BlockLiveness(m, file)
        self.only = file
        owner = self.live.owner
        self.near: list[set[int]] = [set() for _ in owner]
        self.file = [v.cls.file for v, _ in owner]
        self.files = [file] if file else sorted(set(self.file))
        self.used: set[VReg] = set()
        for b in m.blocks:
            self._block(b)
        # what is live when the kernel starts is there all at once
        for live in self._by_file(self.live.entering(m.blocks[0])).values():
            for u in live:
                self.near[u] |= live
                self.near[u].discard(u)

    def _by_file(self, units: set[int]) -> dict[str, set[int]]:
        out: dict[str, set[int]] = {file: set() for file in self.files}
        for u in units:
            if not self.only or self.file[u] == self.only:
                out[self.file[u]].add(u)
        return out

    def _block(self, b: MBlock) -> None:
        near, first, used, operands = self.near, self.live.first, self.used, self.live.operands
        live = self._by_file(self.live.leaving(b))
        kept = bool(self.live.m.kept)
        if b.cond is not None:
            used.add(b.cond[0])
        for i in reversed(b.ins):
            defs, uses = operands[i]
            copied = -1
            if i.moves and defs:
                src = i.copied()[1]
                if src.v.cls.file == defs[0].v.cls.file:
                    copied = first[src.v] + src.unit
            for r in defs:
                used.add(r.v)
                others = live[r.v.cls.file]
                if len(defs) > 1:  # results of one instruction are written together
                    others = others.union(*(self.live.units(d) for d in defs if d.v.cls.file == r.v.cls.file))
                base = first[r.v] + r.unit
                for n in range(base, base + r.count):
                    own = near[n]
                    new = others - own
                    new.discard(n)
                    if copied >= 0:
                        new.discard(copied + n - base)
                    own |= new
                    for u in new:
                        near[u].add(n)
            for r in defs:
                if not r.half and (i.guard is None or not self.live.keeps(i, r)):
                    live[r.v.cls.file].difference_update(self.live.units(r))
            for r in uses:
                used.add(r.v)
                start = first[r.v] + r.unit
                if r.count == 1:
                    live[r.v.cls.file].add(start)
                else:
                    live[r.v.cls.file].update(range(start, start + r.count))
            for n in self.live.kept(i) if kept else ():
                live[self.file[n]].add(n)


class Allocation:
    """One attempt: merge copies and colour, or choose registers to spill.

    `file`: restrict it to the registers of this file.
    """

    def __init__(self, m: MFunction, target: Target, limit: int, file: str = "") -> None:
        self.m, self.target, self.limit, self.file = m, target, limit, file
        self.graph = Interference(m, file)
        self.left_out: set[VReg] = set()
        self.first = self.graph.live.first
        self.parent: dict[VReg, VReg] = {}
        self.hints: dict[VReg, list[tuple[VReg, int]]] = {}
        self.colors: dict[VReg, int] = {}

    def find(self, v: VReg) -> VReg:
        """Return the register that `v` was coalesced into."""
        parent = self.parent
        root = v
        while root in parent:
            root = parent[root]
        while v is not root:  # the next time it is one step
            parent[v], v = root, parent[v]
        return root

    def merge(self) -> None:
        """Merge the two ends of copies that do not interfere."""
        near, first = self.graph.near, self.first
        for b in self._by_weight():
            for i in b.ins:
                if not i.moves:
                    continue
                dst, src = i.copied()
                if dst.v.cls is not src.v.cls or (self.file and dst.v.cls.file != self.file):
                    continue
                a, c = self.find(dst.v), self.find(src.v)
                if a is c:
                    continue
                if a.size != 1 or c.size != 1:
                    self.hints.setdefault(a, []).append((c, src.unit - dst.unit))
                    self.hints.setdefault(c, []).append((a, dst.unit - src.unit))
                    continue
                x, y = first[a], first[c]
                if y in near[x] or (a.fixed and c.fixed):
                    continue
                if a.fixed or (not c.fixed and len(near[x]) > len(near[y])):
                    a, c, x, y = c, a, y, x
                # a disappears in c
                for u in near[x]:
                    near[u].discard(x)
                    near[u].add(y)
                    near[y].add(u)
                near[x] = set()
                self.parent[a] = c
                c.low |= a.low
                for h in self.hints.pop(a, []):
                    self.hints.setdefault(c, []).append(h)

    def _by_weight(self) -> list[MBlock]:
        """Return blocks by estimated frequency, most frequent first, as far as the nesting of loops tells."""
        depth = loop_depths(self.m)
        return sorted(self.m.blocks, key=lambda b: -depth[b])

    def leave_out(self, gone: set[VReg]) -> None:
        """Remove registers from the graph; the next `color` skips them, and recolours those after the first of them."""
        near, first = self.graph.near, self.first
        for v in gone:
            for n in range(first[v], first[v] + v.size):
                for u in near[n]:
                    near[u].discard(n)
                near[n] = set()
        self.left_out |= gone

    def near(self, v: VReg) -> set[VReg]:
        """Return the registers that interfere with `v` and those merged into it."""
        return {self.graph.live.owner[u][0] for k in range(v.size) for u in self.graph.near[self.first[v] + k]}

    def color(self) -> list[VReg]:
        """Assign a colour to every register; return those for which there is none.

        Registers before the first one removed since the last call keep their colours.
        """
        near, first = self.graph.near, self.first
        start = next((k for k, v in enumerate(self._order) if v in self.colors and v in self.left_out), 0)
        failed: list[VReg] = [v for v in self._order[:start] if v not in self.colors and v not in self.left_out]
        held = [0] * len(near)
        """The register of each unit that has one, as a bit."""
        for v in self._order[:start]:
            if (c := self.colors.get(v)) is not None:
                for k in range(v.size):
                    held[first[v] + k] = 1 << c + k
        for v in self._order[start:]:
            self.colors.pop(v, None)
        for v in self._order[start:]:
            if v in self.left_out:
                continue
            x = first[v]
            taken = 0
            for k in range(v.size):
                bits = 0
                for u in near[x + k]:
                    bits |= held[u]
                taken |= bits >> k
            c = self._choose(v, taken)
            if c is None:
                failed.append(v)
            else:
                self.colors[v] = c
                for k in range(v.size):
                    held[x + k] = 1 << c + k
        return failed

    @cached_property
    def _order(self) -> list[VReg]:
        """The registers in colouring order; copies have been coalesced before."""
        fixed: list[VReg] = [
            v for v in self.m.vregs
            if v.fixed and v in self.graph.used and (not self.file or v.cls.file == self.file)
        ]  # fmt: skip
        operands = self.graph.live.operands
        seen: set[VReg] = set()
        wide: list[VReg] = []
        rest: list[VReg] = []
        for b in self.m.blocks:
            for i in b.ins:
                defs, uses = operands[i]
                for r in (*uses, *defs):
                    v = r.v
                    if v in self.parent:
                        v = self.find(v)
                    if v not in seen and not v.fixed:
                        seen.add(v)
                        (wide if v.size > 1 or not v.spillable else rest).append(v)
        return [*fixed, *sorted(wide, key=lambda v: (v.spillable, -v.size)), *rest]

    def _choose(self, v: VReg, taken: int) -> int | None:
        """Return a register for the first unit, None if there is none.

        `taken`: a mask of the registers for the first unit with which some unit would interfere.
        """
        if v.fixed:
            assert v.color is not None
            return v.color
        cls, align = v.cls, v.cls.align or v.size
        start, limit = cls.first, cls.first + cls.count
        if cls is self.target.general:
            limit = min(limit, start + self.limit)
        if v.low:
            limit = min(limit, cls.halves)

        free = _places(start, limit, v.size, align, cls.breaks) & ~taken
        for w, shift in self.hints.get(v, ()):
            w = self.find(w)
            c = self.colors.get(w)
            if c is not None and c + shift >= 0 and free >> c + shift & 1:
                return c + shift
        return (free & -free).bit_length() - 1 if free else None

    def finish(self) -> None:
        """Write the colours into the registers, and drop copies to themselves."""
        for v in self.m.vregs:
            v.color = self.colors.get(self.find(v))
        for b in self.m.blocks:
            kept: list[MIns] = []
            notes, b.notes = b.notes, []
            for i in b.ins:
                if i.moves:
                    dst, src = i.copied()
                    assert dst.v.color is not None
                    assert src.v.color is not None
                    if dst.v.cls.file == src.v.cls.file and dst.v.color + dst.unit == src.v.color + src.unit:
                        if self.m.marks:
                            notes += [*i.before, Note(copied=(dst, src), guard=i.guard), *i.after]
                        continue
                if notes:
                    i.before, notes = [*notes, *i.before], []
                kept.append(i)
            b.ins = kept
            b.note(notes)
        self.m.registers = max(1, self.highest())

    def highest(self) -> int:
        """Return one more than the number of the highest general register used."""
        general = ((self.colors.get(self.find(v)), v) for v in self.graph.used if v.cls is self.target.general)
        return max((c + v.size for c, v in general if c is not None), default=0)


@cache
def _places(start: int, limit: int, size: int, align: int, breaks: tuple[int, ...]) -> int:
    """Return the registers at which `size` consecutive ones may begin, as a mask."""
    fitting = (c for c in range(start, limit - size + 1) if c % align == 0)
    return sum(1 << c for c in fitting if not any(c < at < c + size for at in breaks))


def loop_depths(m: MFunction) -> dict[MBlock, int]:
    """Estimate the loop depth of each block from the order of blocks: a backward branch closes a loop."""
    delta = [0] * (len(m.blocks) + 1)
    for head, end in m.back_edges():
        delta[head] += 1
        delta[end + 1] -= 1
    out: dict[MBlock, int] = {}
    depth = 0
    for k, b in enumerate(m.blocks):
        depth += delta[k]
        out[b] = depth
    return out


def allocate(m: MFunction, target: Target, limit: int = 0, room: int = 0) -> None:
    """Assign a register or spill slot to every virtual register. Raises OutOfRegistersError.

    `room`: how many general registers the values that `m.kept` extends may use, even where the code needs fewer.
    """
    limit = limit or target.general.count
    if m.kept and (done := _with_kept(m, target, limit, room)) is not None:
        done.finish()
        return
    m.kept = {}
    for _ in range(ROUNDS):
        attempt = Allocation(m, target, limit)
        attempt.merge()
        failed = attempt.color()
        if not failed:
            attempt.finish()
            return
        _spill(m, target, attempt, failed)
    raise OutOfRegistersError


def _with_kept(m: MFunction, target: Target, limit: int, room: int) -> Allocation | None:
    """Return an allocation that keeps as many of `m.kept` as fit; None if the code spills even without them.

    Where a value finds no register, the interfering kept value with the longest extension is kept no longer.
    """
    kept, m.kept = m.kept, {}
    attempt = Allocation(m, target, limit)
    attempt.merge()
    if attempt.color():
        return None
    limit = min(limit, max(room, attempt.highest() - target.general.first))
    m.kept = kept
    for _ in range(ROUNDS):
        attempt = Allocation(m, target, limit)
        attempt.merge()
        failed = attempt.color()
        if not failed:
            return attempt
        length = Counter(v for some in m.kept.values() for v in some)
        lost: set[VReg] = set()
        for v in failed:
            rivals = [w for w in length if attempt.find(w) in (attempt.find(v), *attempt.near(attempt.find(v)))]
            lost.add(max(rivals or length, key=lambda w: (length[w], w.number)))
        m.kept = {i: left for i, some in m.kept.items() if (left := some - lost)}
    return None


def _spill(m: MFunction, target: Target, attempt: Allocation, failed: list[VReg]) -> None:
    """Spill registers: among the interfering ones, those with the lowest cost."""
    depth = loop_depths(m)
    cost: dict[VReg, float] = {}
    for b in m.blocks:
        for i in b.ins:
            for r in (*i.uses(), *i.defs()):
                v = attempt.find(r.v)
                cost[v] = cost.get(v, 0) + 10.0 ** min(depth[b], 6)
    chosen: set[VReg] = set()
    near, first = attempt.graph.near, attempt.first

    @cache
    def price(w: VReg) -> tuple[float, int]:
        return cost.get(w, 0) / (sum(len(near[first[w] + k]) for k in range(w.size)) + 1), w.number

    for v in failed:
        around = {attempt.find(w) for w in attempt.near(v)}
        rivals = {w for w in around if w.spillable and not w.fixed and w.cls.file == v.cls.file} - chosen
        if v.spillable and v not in chosen:
            rivals.add(v)
        if not rivals:
            if chosen:
                continue
            raise OutOfRegistersError
        chosen.add(min(rivals, key=price))
    _keep_elsewhere(m, target, {v: root for v in m.vregs if (root := attempt.find(v)) in chosen})


def _keep_elsewhere(m: MFunction, target: Target, roots: dict[VReg, VReg]) -> None:
    """Reload spilled registers before every use and save them after every write; those of one root share a slot."""
    homes: dict[VReg, tuple[int, VReg | None]] = {}
    for root in sorted(set(roots.values()), key=lambda v: v.number):
        if root.cls.holder is None:
            home = -(-m.spilled // 4) * 4
            m.spilled = home + 4 * root.size
            homes[root] = home, None
        else:
            homes[root] = 0, m.vreg(root.cls.holder)

    def temporary(root: VReg, mine: list[VReg]) -> VReg:
        t = m.vreg(root.cls, root.size)
        t.spillable = False
        t.low = any(v.low for v in mine)
        t.true, t.false = mine[0].true, mine[0].false
        return t

    for b in m.blocks:
        out: list[MIns] = []
        for i in b.ins:
            reads = [r for r in i.uses() if r.v in roots]
            writes = [r for r in i.defs() if r.v in roots]
            if not reads and not writes:
                out.append(i)
                continue
            new: dict[VReg, VReg] = {}
            saves: list[MIns] = []
            for root in dict.fromkeys(roots[r.v] for r in (*reads, *writes)):
                (home, holder), read = homes[root], any(roots[r.v] is root for r in reads)
                written = [r for r in writes if roots[r.v] is root]
                t = temporary(root, [r.v for r in (*reads, *writes) if roots[r.v] is root])
                new.update((r.v, t) for r in (*reads, *writes) if roots[r.v] is root)
                if read or (written and (i.guard is not None or any(r.count < root.size for r in written))):
                    out += target.reload(t, holder, home, i.loc)
                if written:
                    units = sorted({r.unit + k for r in written for k in range(r.count)})
                    saves += target.save(t, units, holder, home, i.loc)
            _rename(i, new)
            out.append(i)
            out += saves
        if b.cond is not None and b.cond[0] in roots:
            root = roots[b.cond[0]]
            t = temporary(root, [b.cond[0]])
            out += target.reload(t, homes[root][1], homes[root][0], b.loc)
            b.cond = t, b.cond[1], b.cond[2]
        b.ins = out


def _rename(i: MIns, new: dict[VReg, VReg]) -> None:
    def renamed(o: object) -> object:
        if type(o) is OperandReg and o.v in new:
            return OperandReg(new[o.v], o.unit, o.count, o.half, o.view)
        if type(o) is MemoryReference and o.base is not None and o.base.v in new:
            return MemoryReference(o.space, OperandReg(new[o.base.v]), o.offset, o.mode)
        return o

    i.ops = {k: renamed(o) for k, o in i.ops.items()}
    if i.guard is not None and i.guard[0] in new:
        i.guard = new[i.guard[0]], i.guard[1]
