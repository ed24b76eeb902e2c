"""Random kernels whose warps race for words of s[] and g[] inside one block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from support.generators.warp_races import HEAD, STORE

BUDGET = 20_000
"""Instructions of a launch: some kernels wait for a word that nobody writes."""
SIZE = 512
"""Words of the result: one for each thread of the largest block."""
DEEPEST = 2
"""How deep branches and loops are nested."""
WORDS = range(0x40, 0x58, 4)
"""Words of s[] that are meant by number; an element per thread lies behind."""
ELEMENTS = 0x80
VALUES = ("$r1", "$r2", "$r3", "$r4")
ATOMICS = ("add u32", "exch b32", "max u32", "min u32", "and b32", "or b32", "xor b32", "inc u32")


@dataclass(frozen=True)
class RacingKernel:
    """The text of a kernel and the number of threads of its block."""

    text: str
    threads: int


class _Writer:
    """Writes statements; $r4 is what a thread has seen, $r5 to $r12 are scratch, $r13 and $r14 count rounds."""

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.threads = self.r.choice((33, 64, 64, 96, 100, 128, 160, 224, 256, 384, 512))
        self.labels = 0
        self.lines: list[str] = []

    def emit(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]

    def label(self) -> str:
        self.labels += 1
        return f"at{self.labels}"

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def seen(self, register: str) -> None:
        """Mix a value into what the thread has seen."""
        self.emit("shl b32 $r6 $r4 0x1", f"add b32 $r4 $r6 {register}")

    def condition(self) -> str:
        """Set $c0; returns a predicate on it."""
        kind = self.r.choice(("threads", "lanes", "warp", "seen"))
        if kind == "threads":
            self.emit(f"mov b32 $r5 {self.r.randrange(1, self.threads):#x}", "set $c0 # l u32 $r1 $r5")
        elif kind == "lanes":
            self.emit(f"mov b32 $r5 {self.r.choice((1, 2, 5, 16)):#x}", "and b32 $c0 # $r1 $r5")
        elif kind == "warp":
            self.emit("shr u32 $r6 $r1 0x5", f"mov b32 $r5 {self.r.randrange(4):#x}", "set $c0 # e u32 $r6 $r5")
        else:
            self.emit(f"mov b32 $r5 {self.r.choice((1, 3, 7)):#x}", "and b32 $c0 # $r4 $r5")
        return self.r.choice(("(lg $c0)", "(e $c0)"))

    def guard(self) -> str:
        return self.condition() + " " if self.r.random() < 0.4 else ""

    def address(self) -> str:
        """The address of a word of s[], or of an element that belongs to some thread, in $a1."""
        if self.r.random() < 0.7:
            return f"{self.r.choice(WORDS):#x}"
        how = self.r.choice(("own", "next", "seen", "turned"))
        self.emit("shl b32 $r7 $r1 0x2")
        if how == "next":
            self.emit(f"mov b32 $r6 {4 * self.r.choice((1, 31, 32, 33, 64)):#x}", "add b32 $r7 $r7 $r6")
        elif how == "seen":
            self.emit("shl b32 $r7 $r4 0x2")
        elif how == "turned":
            self.emit("mov b32 $r6 0x7fc", "sub b32 $r7 $r6 $r7")
        self.emit("mov b32 $r6 0x7fc", "and b32 $r7 $r7 $r6", "shl $a1 $r7 0x0")
        return f"$a1+{ELEMENTS:#x}"

    # --- statements -------------------------------------------------------------------------------------------
    def store(self) -> None:
        at, guard = self.address(), self.guard()
        value = self.r.choice(VALUES)
        if self.r.random() < 0.2:
            self.emit(f"{guard}st b16 s[{at}] {value}l")
        else:
            self.emit(f"{guard}st b32 s[{at}] {value}")

    def load(self) -> None:
        at = self.address()
        self.emit("mov b32 $r5 $r2")
        guard = self.guard().strip()
        self.emit(f"{guard} ld $r5 b32 s[{at}]".strip())
        self.seen("$r5")

    def store_global(self) -> None:
        self.emit(f"mov b32 $r7 {4 * self.r.randrange(4):#x}", "add b32 $r7 b32 s[counter] $r7")
        self.emit(f"{self.guard()}st b32 g14[$r7] {self.r.choice(VALUES)}")

    def load_global(self) -> None:
        self.emit(f"mov b32 $r7 {4 * self.r.randrange(4):#x}", "add b32 $r7 b32 s[counter] $r7")
        self.emit("ld b32 $r8 g14[$r7]")
        self.seen("$r8")

    def atomic(self) -> None:
        self.emit(f"mov b32 $r7 {4 * self.r.randrange(4):#x}", "add b32 $r7 b32 s[counter] $r7")
        op, value = self.r.choice(ATOMICS), self.r.choice(VALUES)
        guard = self.guard()
        if self.r.random() < 0.4 and not op.startswith("exch"):
            self.emit(f"{guard}red {op} g14[$r7] {value}")
        else:
            ld = "" if op.startswith("exch") else "ld "
            self.emit("mov b32 $r8 $r2", f"{guard}{ld}{op} $r8 g14[$r7] {value}")
            self.seen("$r8")

    def locked(self) -> None:
        again, met, at = self.label(), self.label(), self.r.choice(WORDS)
        self.emit(f"joinat #{met}", f"mov b32 $r7 {at:#x}", "shl $a1 $r7 0x0")
        self.place(again)
        self.emit("ld lock $c1 $r8 b32 s[$a1]", f"(l $c1) add b32 $r8 $r8 {self.r.choice(VALUES)}",
                  "(l $c1) st unlock b32 s[$a1] $r8", f"(geu $c1) bra #{again}")  # fmt: skip
        self.place(met)
        self.emit("join nop")
        self.seen("$r8")

    def voted(self) -> None:
        predicate = self.condition()
        self.emit(f"{predicate} vote {self.r.choice(('any', 'all'))} $c1")
        self.emit("(l $c1) add b32 $r4 $r4 $r3")

    def barrier(self) -> None:
        self.emit("bar inc wait 0x0 0xfff")

    def branch(self, depth: int) -> None:
        other, met = self.label(), self.label()
        predicate = self.condition()
        self.emit(f"joinat #{met}", f"{predicate} bra #{other}")
        self.some(depth + 1)
        self.emit(f"bra #{met}")
        self.place(other)
        self.some(depth + 1)
        self.place(met)
        self.emit("join nop")

    def rounds(self, depth: int) -> None:
        """A loop; its number of rounds is the same for all threads, or theirs."""
        top, count = self.label(), f"$r{13 + depth}"
        own = self.r.random() < 0.3
        end = self.label()
        if own:
            self.emit("mov b32 $r5 0x3", f"and b32 {count} $r1 $r5", f"add b32 {count} {count} $r3",
                      f"breakaddr #{end}")  # fmt: skip
        else:
            self.emit(f"mov b32 {count} {self.r.randrange(2, 4):#x}")
        self.place(top)
        self.some(depth + 1, alone=own)
        self.emit(f"sub b32 {count} {count} $r3", f"set $c2 # e u32 {count} $r2")
        if own:
            self.emit("(lg $c2) break", f"bra #{top}")
            self.place(end)
        else:
            self.emit(f"(e $c2) bra #{top}")

    def waits(self) -> None:
        """Threads wait until a word of s[] is not 0 any more, which others may or may not see to."""
        top, at = self.label(), self.r.choice(WORDS)
        if self.r.random() < 0.8:
            self.emit(f"mov b32 $r5 {32 * self.r.randrange(1, 4):#x}", "set $c0 # ge u32 $r1 $r5",
                      f"(lg $c0) st b32 s[{at:#x}] $r3")  # fmt: skip
        self.place(top)
        self.emit(f"ld $r8 b32 s[{at:#x}]", "set $c1 # e u32 $r8 $r2", f"(lg $c1) bra #{top}")

    def leaves(self) -> None:
        self.emit(f"{self.condition()} ret")

    def some(self, depth: int, alone: bool = True) -> None:
        """Statements; `alone`: not all threads come here, so barriers for all are rare."""
        simple: list[Callable[[], None]] = [
            self.store, self.store, self.store, self.load, self.load, self.load, self.store_global, self.load_global,
            self.atomic, self.atomic, self.locked, self.voted,
        ]  # fmt: skip
        for _ in range(self.r.randrange(1, 4 if depth else 9)):
            x = self.r.random()
            if x < 0.12 and depth < DEEPEST:
                self.branch(depth)
            elif x < 0.24 and depth < DEEPEST:
                self.rounds(depth)
            elif x < (0.25 if alone else 0.36):
                self.barrier()
            elif x < 0.38 and not alone and depth == 0:
                self.leaves()
            elif x < 0.39:
                self.waits()
            else:
                self.r.choice(simple)()


def kernel(seed: int) -> RacingKernel:
    """A kernel that ends, deadlocks or runs until its budget is used up; that depends on the seed alone."""
    w = _Writer(seed)
    w.emit("mov b32 $r4 $r1")
    w.some(0, alone=False)
    text = HEAD.replace(".shared 0x400", ".shared 0xa00") + "\n".join(w.lines) + "\n" + STORE
    return RacingKernel(text, w.threads)
