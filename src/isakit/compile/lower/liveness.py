"""Which registers are needed where, as bit sets over single registers of virtual registers."""

from __future__ import annotations

from isakit.compile.lower.form import MBlock, MFunction, MIns, Reg, VReg


class Liveness:
    """Registers live at the beginning and at the end of every block.

    `first` is the bit of a virtual register's first unit. A write under a condition keeps what was there, unless it
    is the only write of the register.
    """

    def __init__(self, m: MFunction) -> None:
        self.m = m
        self.first: dict[VReg, int] = {}
        n = 0
        for v in m.vregs:
            v.defs = 0
            self.first[v] = n
            n += v.size
        self.owner: list[tuple[VReg, int]] = [(v, k) for v in m.vregs for k in range(v.size)]
        for b in m.blocks:
            for i in b.ins:
                for r in i.defs():
                    r.v.defs += 1
        self.inside: dict[MBlock, int] = {}
        self.outside: dict[MBlock, int] = {}
        self._solve()

    def bits(self, r: Reg) -> int:
        """The bits of an operand."""
        return (1 << r.count) - 1 << self.first[r.v] + r.unit

    def keeps(self, i: MIns, r: Reg) -> bool:
        """Whether a write leaves the old value to some lanes that need it."""
        return i.guard is not None and r.v.defs > r.v.size and r.v.file != "x"

    def step(self, i: MIns, live: int) -> int:
        """What is live in front of an instruction."""
        for r in i.defs():
            if not self.keeps(i, r) and not r.half:
                live &= ~self.bits(r)
        for r in i.uses():
            live |= self.bits(r)
        return live

    def _solve(self) -> None:
        use: dict[MBlock, int] = {}
        kill: dict[MBlock, int] = {}
        for b in self.m.blocks:
            u = k = 0
            if b.cond is not None:
                u |= self.bits(Reg(b.cond[0]))
            for i in reversed(b.ins):
                for r in i.defs():
                    if not self.keeps(i, r) and not r.half:
                        bits = self.bits(r)
                        u &= ~bits
                        k |= bits
                for r in i.uses():
                    u |= self.bits(r)
            use[b], kill[b] = u, k
        self.inside = dict(use)
        self.outside = dict.fromkeys(self.m.blocks, 0)
        work = list(self.m.blocks)
        waiting = set(work)
        while work:
            b = work.pop()
            waiting.discard(b)
            out = 0
            for s in b.succs:
                out |= self.inside[s]
            self.outside[b] = out
            new = use[b] | (out & ~kill[b])
            if new != self.inside[b]:
                self.inside[b] = new
                for p in b.preds:
                    if p not in waiting:
                        waiting.add(p)
                        work.append(p)


def indices(bits: int) -> list[int]:
    """The numbers of the bits that are set."""
    out: list[int] = []
    base = 0
    while bits:
        chunk = bits & 0xFFFF_FFFF_FFFF_FFFF
        while chunk:
            low = chunk & -chunk
            out.append(base + low.bit_length() - 1)
            chunk ^= low
        bits >>= 64
        base += 64
    return out
