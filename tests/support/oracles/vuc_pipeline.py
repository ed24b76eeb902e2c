"""A second, slow vµc pipeline: every write of every instruction waits in one list until its cycle has come.

Follows the event loop the documents suggest, cycle by cycle, with values from `vuc_model`. It knows the base
instructions on $r, $p and some special registers, D[] loads and stores, predicate and long instructions, bra and nop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from support.oracles.vuc_model import SET, State, bits, run_base, run_long, run_predicate, shape

PRED = 14
LHI, LLO = 12, 13
LATENCY = {0x00: 3, 0x01: 3, 0x02: 1, 0x04: 1, 0x08: 1, 0x0C: 34}


@dataclass
class Write:
    due: int
    issue: int
    file: str  # r, p, sr, acc (for long instructions), view (for $lhi and $llo)
    index: int
    value: int

    @property
    def visible(self) -> int:
        """The first cycle in which an instruction sees it: forwarded files at once, the others a cycle later."""
        return self.due if self.file in ("r", "p", "acc") else self.due + 1


@dataclass
class Pipeline:
    variant: str
    words: list[int]
    state: State = field(default_factory=State)
    data: list[int] = field(default_factory=lambda: [0] * 0x800)
    view: int = 0
    cycle: int = 0
    pc: int = 0
    npc: int = 1
    queue: list[Write] = field(default_factory=list)
    p_before: list[int] | None = None

    def step(self) -> None:
        ready = sorted((w for w in self.queue if w.visible <= self.cycle), key=lambda w: (w.due, w.issue))
        self.queue = [w for w in self.queue if w.visible > self.cycle]
        for w in ready:
            self._apply(w)
        target = self._issue(self.words[self.pc])
        self.pc, self.npc = self.npc, self.npc + 1 if target is None else target
        self.cycle += 1

    def _apply(self, w: Write) -> None:
        s = self.state
        if w.file == "r":
            s.r[w.index] = w.value if w.index else 0
        elif w.file == "p":
            if w.index not in (1, 15):
                s.p[w.index] = w.value
                s.p[1] = 1 - s.p[0]
        elif w.file == "acc":
            s.acc = w.value
        elif w.file == "view":
            self.view = w.value
        elif w.index == PRED:
            for p in (s.p, self.p_before):
                for n in range(16) if p is not None else ():
                    if n not in (1, 15):
                        p[n] = w.value >> n & 1
                if p is not None:
                    p[1] = 1 - p[0]
        elif w.index in (LHI, LLO):
            shift = 16 if w.index == LHI else 0
            if self.variant != "vp2":
                s.acc = s.acc & ~(0xFFFF << shift) | w.value << shift
                self.view = self.view & ~(0xFFFF << shift) | w.value << shift
        else:
            s.sr[w.index] = w.value

    def _seen(self) -> State:
        """What an instruction of this cycle sees."""
        seen = self.state.copy()
        # $pred shows the predicates without what the instruction before wrote: that is due in this very cycle
        shown = self.p_before if self.p_before is not None else self.state.p
        seen.sr[PRED] = sum(v << n for n, v in enumerate(shown))
        seen.sr[LHI], seen.sr[LLO] = self.view >> 16, self.view & 0xFFFF
        return seen

    def _issue(self, word: int) -> int | None:
        seen = self._seen()
        t = self.cycle
        ot = bits(word, 26, 1), bits(word, 28, 1)
        pe, pred, dst, ext = bits(word, 29, 1), bits(word, 20, 4), bits(word, 16, 4), bits(word, 24, 2)
        self.p_before = None
        if pe and not seen.p[pred]:
            return None
        add = self.queue.append
        if ot != (1, 1):
            kind = shape(word & 31, self.variant)
            after = run_base(word, self.variant, seen)
            if kind != SET:
                if ot[1]:
                    add(Write(t + 1, t, "sr", ext * 16 + dst, after.sr[ext * 16 + dst]))
                else:
                    add(Write(t + 1, t, "r", dst, after.r[dst]))
            if bits(word, 5, 2) != 3:
                n = dst if pe else pred
                add(Write(t + 1, t, "p", n, after.p[n]))
                self.p_before = seen.p[:]
            return None
        low = word & 0xFF
        if low >> 5 == 2:
            after = run_predicate(word, seen)
            if low & 3 != 3:
                n = dst if pe else pred
                add(Write(t + 1, t, "p", n, after.p[n]))
                self.p_before = seen.p[:]
        elif low >> 5 == 5:
            after = run_long(word, seen)
            due = t + LATENCY[low & 31]
            self.queue = [w for w in self.queue if not (w.file in ("acc", "view") and w.due > t)]
            self.queue.append(Write(due, t, "acc", 0, after.acc))
            self.queue.append(Write(due, t, "view", 0, after.acc))
        elif low == 0x81:
            if bits(word, 27, 1):
                offset = bits(word, 12, 4) + (0 if pe else 16 * pred) + ext * (16 if pe else 256)
            else:
                offset = seen.r[bits(word, 12, 4)]
            add(Write(t + 3, t, "r", dst, self.data[(seen.r[bits(word, 8, 4)] + offset) % 65536 % 0x800]))
        elif low == 0x80:
            if bits(word, 27, 1):
                at = seen.r[bits(word, 8, 4)] + dst + (0 if pe else 16 * pred) + ext * (16 if pe else 256)
            else:
                at = seen.r[dst] + 2 * seen.r[bits(word, 8, 4)]
            self.data[at % 65536 % 0x800] = seen.r[bits(word, 12, 4)]
        elif low == 0x00:
            return bits(word, 8, 11)
        else:
            raise ValueError(hex(word))
        return None
