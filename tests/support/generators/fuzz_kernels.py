"""Random Tesla kernels: structured control flow around random instructions.

Branches that join or do not, loops, breaks, calls and returns, indirect branches, barriers, quads, lanes that end
early, and accesses to every memory space. Warps touch memory of their own or synchronise, so the result does not depend
on the order warps run in. At the end every thread stores its registers and words of s[] and l[].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from isakit.arch.tesla.operands.conditions import CONDITION_NAMES
from support.generators.assembly_lines import Lines
from support.generators.fuzz_instructions import CODE_BANK, DATA, WARP_BYTES, Instructions, walk

CHIPS = ("g80", "g84", "gt200", "gt215", "mcp77")
WALKED = 5
"""Items of the walk that one kernel takes on: 10,000 seeds, 2000 per chip, cover all of them."""
CONDITIONS = [f"({c} $c{{}})" for c in CONDITION_NAMES if c not in ("never", "always", "")] + ["(never)"]


@dataclass
class Generator(Lines):
    """Writes the kernel of a seed: `text`, to be launched with `grid` blocks of `block` threads."""

    seed: int
    targets: list[str] = field(default_factory=list[str])
    depth: int = 0
    functions: int = 0

    def __post_init__(self) -> None:
        self.random = r = Random(self.seed)
        self.chip = CHIPS[self.seed % len(CHIPS)]
        self.wild = r.random() < 0.15  # allowed to fault
        self.alone = self.wild or r.random() < 0.4
        self.grid, self.block = (
            (1, r.choice([1, 7, 32, 32])) if self.alone else (r.randrange(1, 4), r.choice([32, 50, 64, 96]))
        )
        self.flags = {n: r.random() < 0.2 for n in ("mul_zero_wins", "sat_nan", "nonfp_deriv_inf")}
        self.budget = r.randrange(1, 400) if r.random() < 0.1 and self.alone else None
        # One operation per kernel: of two different ones the result shows which warp was first.
        operations = ["add", "max", "min", "and", "or", "xor"]
        self.reduction = Random(f"reduction of {self.seed}").choice(operations)
        own = Random(f"textures of {self.seed}")
        self.textures = own if own.random() < 0.05 else None
        self.instructions = self.writer()
        self.text = self.program()

    def writer(self) -> Instructions:
        """What writes single instructions."""
        return Instructions(self.chip, self.random, self.alone, self.wild)

    # --- operands ---------------------------------------------------------------------------------------------
    def data(self) -> str:
        return self.instructions.data()

    def condition(self, c: int) -> str:
        return self.random.choice(CONDITIONS).format(c)

    def set_flags(self, c: int = 0) -> None:
        r = self.random
        how = r.choice(["l", "e", "le", "g", "lg", "ge"])
        kind = r.choice(["u32", "s32", "f32"])
        self.add(f"set $c{c} # {how} {kind} {self.data()} {self.data()}")

    # --- statements -----------------------------------------------------------------------------------------
    def statements(self, depth: int, **how: Any) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, **how)

    def statement(self, depth: int, breaks: bool = False, function: bool = False, loops: bool = True) -> None:
        r = self.random
        how = {"breaks": breaks, "function": function, "loops": loops}
        roll = r.random()
        if self.textures is not None and self.textures.random() < 0.1:
            self.texture(self.textures)
        if depth and roll < 0.14:
            self.branch(depth, **how)
        elif depth and loops and roll < 0.24:
            self.loop(depth, **how)
        elif roll < 0.28:
            self.set_flags()
            self.add(f"{self.condition(0)} {'break' if breaks and r.random() < 0.7 else 'ret'}")
        elif roll < 0.33 and self.functions and not function:
            self.add(f"call {r.choice(['', 'lim '])}#F{r.randrange(self.functions)}")
        elif roll < 0.47:
            self.memory()
        elif roll < 0.50:
            self.add("quadon")
            for _ in range(r.randrange(3)):
                self.add(*self.instructions.compute())
            if not self.wild or r.random() < 0.7:
                self.add("quadpop")
        elif roll < 0.52 and self.chip in ("gt200", "gt215", "mcp77"):
            self.jump(depth, **how)
        elif roll < 0.53 and depth < 2:
            self.end("nop")
        elif roll < 0.55 and self.wild:
            self.odd()
        elif roll < 0.56:
            self.add(r.choice(["bar inc 0x3 0xfff", "bar inc 0x2 all"]))
        else:
            self.add(*self.instructions.compute())

    def end(self, *lines: str) -> None:
        """The active lanes end, with an instruction that carries the tail where it can."""
        *setup, line = self.instructions.access() if self.random.random() < 0.5 else lines
        if self.instructions.assembled("exit " + line) is None:
            *setup, line = lines
        self.add(*setup, "exit " + line)

    def odd(self) -> None:
        """Something that may end the program."""
        lines = ["trap", "join nop", "brkpt", "(e $c0) brkpt", "ret", "bar wait 0x1 0xfff", "bar inc wait 0x0 0x2"]
        line = self.random.choice([*lines, "quadpop", "add $a5 $a1 0x10", "mov b32 $r1 b32 s[0x7c]"])
        if self.instructions.assembled(line) is not None:
            self.add(line)

    def branch(self, depth: int, **how: Any) -> None:
        r, otherwise, end = self.random, self.label(), self.label()
        joined = r.random() < 0.8
        if joined:
            self.add(f"joinat #{end}")
        c = r.randrange(4)
        self.set_flags(c)
        self.add(f"{self.condition(c)} bra #{otherwise}")
        self.statements(depth - 1, **how)
        self.add(f"bra #{end}")
        self.place(otherwise)
        if r.random() < 0.7:
            self.statements(depth - 1, **how)
        self.place(end)
        if joined:
            self.join()

    def join(self) -> None:
        """A join tail on nothing, or on an instruction."""
        if self.random.random() < 0.3:
            *setup, line = self.instructions.compute()
            if self.instructions.assembled("join " + line) is not None and not setup:
                self.add("join " + line)
                return
        self.add("join nop")

    def jump(self, depth: int, **how: Any) -> None:
        """An indirect branch, or a return address that was pushed by hand."""
        after = self.label()
        if self.random.random() < 0.5:
            self.add(f"bra c{CODE_BANK}[{4 * len(self.targets):#x}]")
            self.targets.append(after)
            self.add(*self.instructions.compute())
        else:
            self.add(f"preret #{after}")
            self.statements(0, **{**how, "breaks": False})
            self.add("ret")
        self.place(after)

    def loop(self, depth: int, **how: Any) -> None:
        r, top, end = self.random, self.label(), self.label()
        counter = f"$r{8 + self.depth}"
        broken = r.random() < 0.5
        self.depth += 1
        self.add(f"and b32 {counter} {self.data()} {r.choice(['0x3', '0x7', '0x1'])}")
        self.add(f"breakaddr #{end}" if broken else f"joinat #{end}")
        self.place(top)
        self.add(f"and b32 $c1 # {counter} {counter}")
        self.add("(e $c1) break" if broken else f"(e $c1) bra #{end}")
        self.statements(depth - 1, **{**how, "breaks": broken, "loops": self.depth < 4})
        self.add(f"add b32 {counter} {counter} 0xffffffff")
        self.add(f"bra #{top}")
        self.place(end)
        if not broken:
            self.join()
        self.depth -= 1

    def memory(self) -> None:
        """An access to memory of the warp, or an atomic operation on a word that all warps share."""
        if self.chip == "g80" or self.random.random() < 0.92:
            self.add(*self.instructions.access())
            return
        guard = ""
        if self.random.random() < 0.3:
            self.set_flags(2)
            guard = f"{self.condition(2)} "
        line = f"{guard}red {self.reduction} u32 g14[$r13] {self.data()}"
        if self.instructions.assembled(line) is not None:
            self.add("mov b32 $r13 b32 s[0x18]", line)

    def texture(self, r: Random) -> None:
        """A sample of the texture: an instruction that engines may leave to the reference machine."""
        first = r.randrange(5)
        names = [f"$r{first + k}" for k in range(4)]
        what, sources = r.choice([("texauto", 2), ("texfetch", 3), ("texlod", 3), ("texbias", 3), ("texsize", 1)])
        results = ":".join(n if r.random() < 0.7 else "#" for n in names)
        offsets = "" if what == "texsize" else f" {r.randrange(4):#x} {-r.randrange(1, 4):#x} 0x0"
        line = f"{r.choice(['', '(e $c1) '])}{what} all {results} $t0 $s0 {':'.join(names[:sources])}{offsets}"
        if self.instructions.assembled(line) is not None:
            self.add(line)

    def exchange(self) -> None:
        """All warps write to s[], wait, read each other's words, wait."""
        self.add("and b32 $r13 $r0 0x1f", "shl b32 $r13 $r13 0x3", "add b32 $r13 $r13 $r14", "shr u32 $r13 $r13 0x1")
        self.add("add b32 $r13 $r13 0x380", "shl $a1 $r13 0x0", f"st b32 s[$a1] {self.data()}")
        self.add("bar inc wait 0x0 0xfff", f"and b32 $r13 {self.data()} 0x1fc", "add b32 $r13 $r13 0x400")
        self.add("shl $a1 $r13 0x0", f"mov b32 {self.data()} b32 s[$a1]", "bar inc wait 0x0 0xfff")

    # --- the kernel -----------------------------------------------------------------------------------------
    def program(self) -> str:
        """The text."""
        r = self.random
        self.functions = r.randrange(3)
        self.start()
        everything = walk(self.chip)
        first = self.seed // len(CHIPS) * WALKED
        todo = [everything[k % len(everything)] for k in range(first, first + WALKED)]
        uniform = r.random() < 0.5
        for _ in range(r.choice([1, 1, 2, 3])):
            self.statements(2)
            if uniform and r.random() < 0.3:
                self.exchange()
            while todo and r.random() < 0.7:
                self.add(*(self.instructions.having(*todo.pop()) or []))
        for form, item in todo:
            self.add(*(self.instructions.having(form, item) or []))
        self.finish()
        return self.complete()

    def complete(self) -> str:
        """The text, with the functions it calls and the constants it uses."""
        for k in range(self.functions):
            self.place(f"F{k}")
            self.statements(1, function=True, loops=False)
            self.add("ret")
        if self.targets:
            self.lines += [f".const {CODE_BANK}", *(f"    .word {t}" for t in self.targets)]
        return "\n".join(self.lines) + "\n"

    def start(self) -> None:
        """Registers from memory; addresses."""
        self.add("cvt u32 $r12 u16 u16 s[0xc]", f"mov b32 $r13 {-(-self.block // 32):#x}", "shr u32 $r14 $r0 0x5")
        self.add("add $r12 (mul u24 $r12 $r13) $r14")  # number of the warp
        self.add("add b32 $r14 $r14 0x1", "shl b32 $r14 $r14 0x8")  # its part of s[] is behind the header
        self.add("and b32 $r13 $r0 0x1f", "shl b32 $r15 $r12 0x5", "add b32 $r15 $r15 $r13")
        self.add("shl b32 $r15 $r15 0x7", "add b32 $r15 b32 s[0x10] $r15")
        self.add(f"shl b32 $r12 $r12 {WARP_BYTES.bit_length() - 1:#x}", "add b32 $r12 b32 s[0x14] $r12")
        self.add("ld b128 $r0q g14[$r15]", "add b32 $r15 $r15 0x10", "ld b128 $r4q g14[$r15]")
        self.add(*(f"mov b32 $r{k} 0x0" for k in range(DATA, DATA + 4)), *(f"mov $c{k} $r{k + 2}" for k in range(4)))

    def finish(self) -> None:
        """The thread's state goes to memory: data, $c, $a, and words of s[] and l[]."""
        r = self.random
        self.save()
        self.save(*(f"mov $r{c} $c{c}" for c in range(4)), *(f"mov $r{4 + k} $a{k + 1}" for k in range(4)))
        self.add("and b32 $r13 $r15 0xf80", "shr u32 $r13 $r13 0x5", "add b32 $r13 $r13 $r14", "shl $a1 $r13 0x0")
        self.add("mov $r5 $a7", "mov b32 $r4 b32 s[$a1]", f"ld b64 $r6d l[{8 * r.randrange(16):#x}]")
        self.add(
            "add b32 $r15 $r15 0x10",
            *r.choice([("st b128 g14[$r15] $r4q", "exit nop"), ("exit st b128 g14[$r15] $r4q",)]),
        )

    def save(self, *before: str) -> None:
        """Two vectors of registers go to memory."""
        self.add(*before)
        for q in ("$r0q", "$r4q"):
            self.add("add b32 $r15 $r15 0x10", f"st b128 g14[$r15] {q}")
