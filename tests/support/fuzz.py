"""Random Tesla kernels for comparing engines, and what a launch of one leaves behind.

A kernel is valid assembly: structured control flow (branches that join or do not, loops, breaks, calls, barriers,
quads) around random instructions of every form a chip has, with all their modifiers, and accesses to every memory
space. Warps touch memory of their own or synchronise, so the result does not depend on the order warps run in.

`tests/property/test_engines.py` compares engines with it, in a worker process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.arch.tesla.tesla import tesla
from isakit.codec import decoder
from isakit.errors import BudgetExceeded, IsakitError, MachineFault
from isakit.machine.tesla.native.select import executor
from isakit.sem.semantics import trace_of
from support.assembly_lines import Lines

CHIPS = ("g80", "g84", "gt200", "gt215", "mcp77")
DATA = 8  # $r0-$r7 are data, $r8-$r11 counters, $r12 the warp's memory, $r13-$r14 scratch, $r15 the thread's results
REGISTERS = 16
WARP_BYTES, THREAD_BYTES = 256, 128
SPECIAL = [
    0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00800000, 0x007FFFFF,
    0x3F800000, 0xBF800000, 0x40490FDB, 0x4B800000, 0x3F000000, 0x00000001, 0x80000001, 0x3FF00000, 0x7FF00000,
]  # fmt: skip
SUFFIX = {8: "d", 16: "q"}
_MACHINE = {"lane", "quad", "sr", "vote", "mp_flag"}


@dataclass
class Fuzzed:
    """A kernel and how it is launched."""

    seed: int
    chip: str
    text: str
    words: list[int]
    grid: int
    block: int
    flags: dict[str, bool]
    budget: int | None
    inputs: Any
    constants: dict[int, bytes]

    @property
    def one_warp(self) -> bool:
        """With one warp even a fault comes at a place that does not depend on scheduling."""
        return self.grid == 1 and self.block <= 32


@dataclass
class Outcome:
    """What a launch left: memory, instruction counts, or the fault."""

    memory: bytes = b""
    counts: tuple[int, int] = (0, 0)
    fault: tuple[Any, ...] | None = None
    exact: bool = True

    def difference(self, other: Outcome) -> str:
        """What is not the same, or an empty string."""
        if (self.fault is None) != (other.fault is None):
            return f"fault {self.fault} against {other.fault}"
        if self.fault is not None and not self.exact:
            return ""
        if self.fault != other.fault:
            return f"fault {self.fault} against {other.fault}"
        if self.counts != other.counts:
            return f"counts {self.counts} against {other.counts}"
        if self.memory != other.memory:
            a, b = (np.frombuffer(m, np.uint32) for m in (self.memory, other.memory))
            k = int(np.flatnonzero(a != b)[0])
            return f"{int((a != b).sum())} words of memory, the first at {4 * k:#x}: {a[k]:#x} against {b[k]:#x}"
        return ""


@cache
def _forms(chip: str) -> tuple[tuple[str, ...], dict[str, list[Any]]]:
    d = decoder(tesla, chip, "compute")
    by_name: dict[str, list[Any]] = {}
    for f in d.view.forms:
        if f.record is not None and f.record.semantics is not None:
            by_name.setdefault(f.record.name, []).append(f)
    return tuple(sorted(by_name)), by_name


def _plain(form: Any, word: int) -> bool:
    """Whether an instruction only computes: no control transfer, no memory but c[] and s[] operands."""
    try:
        trace = trace_of(form, word)
    except IsakitError:
        return False
    for e in trace.effects:
        if e.kind in ("control", "trap", "atomic", "store") or (e.kind == "load" and e.name[0] not in "cs"):
            return False
        if e.kind == "write" and e.name not in ("r", "c", "a"):
            return False
    return all(n in _MACHINE for n in _machine_names(trace))


def _machine_names(trace: Any) -> set[str]:
    seen: set[int] = set()
    todo = [v for e in trace.effects for v in (*e.args, *([e.when] if e.when is not None else []))]
    names: set[str] = set()
    while todo:
        v = todo.pop()
        if id(v) not in seen:
            seen.add(id(v))
            todo += v.args
            if v.op == "machine":
                names.add(v.attr[0])
    return names


@dataclass
class Generator(Lines):
    """Writes one kernel."""

    seed: int
    depth: int = 0
    functions: int = 0
    wild: bool = False

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        r = self.random
        self.chip = r.choice(CHIPS)
        self.wild = r.random() < 0.15  # allowed to fault
        self.alone = self.wild or r.random() < 0.4  # one warp, which may read all of s[] at any time
        self.names, self.forms = _forms(self.chip)
        self.decoder = decoder(tesla, self.chip, "compute")
        self.assembler = isakit.isa("tesla", self.chip)

    def data(self) -> str:
        return f"$r{self.random.randrange(DATA)}"

    # --- random instructions --------------------------------------------------------------------------------
    def compute(self) -> str:
        """The text of a random instruction that only computes."""
        r = self.random
        while True:
            form = r.choice(self.forms[r.choice(self.names)])
            bits = 32 * form.units
            noise = r.getrandbits(bits)
            if r.random() < 0.4:
                noise &= r.getrandbits(bits)
            word = form.base ^ (noise & form.possible & ~form.fixed.mask)
            if r.random() < 0.2:
                word = noise & ~form.fixed.mask | form.fixed.value
            i = self.decoder.one(word, form.units)
            if i.error is not None or i.form is None or not _plain(i.form, i.word):
                continue
            text = self.tame(i.text)
            if text is not None and self.assembles(text):
                return text

    def computed(self, tail: str = "") -> bool:
        """Add a random instruction that only computes; False when it cannot have the tail."""
        text = tail + self.compute()
        if tail and not self.assembles(text):
            return False
        self.add(text)
        if self.assembler.assemble(text + "\n")[0].size == 4 and not self.assembles("long " + text):
            self.add("mov b16 $r0l $r0l")  # 8-byte instructions start at multiples of 8
        return True

    def tame(self, text: str) -> str | None:
        """Registers and constant banks that exist; no tails."""
        r = self.random

        def number(m: re.Match[str]) -> str:
            n = int(m[1])
            return f"$r{n % DATA + 16}" if n % 41 == 40 else f"$r{n % DATA}"

        text = re.sub(r"\b(exit|join) ", "", re.sub(r"\$r(\d+)", number, text))
        text = re.sub(r" \{0x[0-9a-f]+\}$", "", text)
        text = re.sub(r"\bc(\d+)\[", lambda m: f"c{int(m[1]) % 2}[", text)
        if "$a" in text and not (self.alone and (self.wild or r.random() < 0.05)):
            text = re.sub(r"\[\$a\d\+*\+?", "[", text)
            if "$a" in text:
                return None
        return text

    def assembles(self, text: str) -> bool:
        try:
            p = self.assembler.assemble(text + "\n")
        except IsakitError:
            return False
        i = next(iter(p), None)
        return i is not None and i.valid and i.form is not None and _plain(i.form, i.word)

    def set_flags(self, c: int = 0) -> None:
        r = self.random
        how = r.choice(["l", "e", "le", "g", "lg", "ge"])
        kind = r.choice(["u32", "s32", "f32"])
        self.add(f"set $c{c} # {how} {kind} {self.data()} {self.data()}")

    # --- statements -----------------------------------------------------------------------------------------
    def block(self, depth: int, **how: Any) -> None:
        for _ in range(self.random.randrange(1, 5)):
            self.statement(depth, **how)

    def statement(self, depth: int, breaks: bool = False, function: bool = False, loops: bool = True) -> None:
        r = self.random
        how = {"breaks": breaks, "function": function, "loops": loops}
        roll = r.random()
        if depth and roll < 0.16:
            self.branch(depth, **how)
        elif depth and loops and roll < 0.26:
            self.loop(depth, **how)
        elif roll < 0.30:
            self.set_flags()
            guard = r.choice(["(lg $c0)", "(e $c0)", "(l $c0)", "(c $c0)", "(never)"])
            self.add(f"{guard} break" if breaks and r.random() < 0.7 else f"{guard} ret")
        elif roll < 0.35 and self.functions and not function:
            self.add(f"call #F{r.randrange(self.functions)}")
        elif roll < 0.52:
            self.memory()
        elif roll < 0.55:
            self.add("quadon")
            for _ in range(r.randrange(3)):
                self.computed()
            if not self.wild or r.random() < 0.7:
                self.add("quadpop")
        elif roll < 0.57 and self.wild:
            line = r.choice(
                ["trap", "join nop", "brkpt", "ret", "bar wait 0x1 0xfff", "bar inc wait 0x0 0x2", "quadpop"]
            )
            if self._valid(line):
                self.add(line)
        elif roll < 0.58:
            self.add("bar inc 0x3 0xfff")
        else:
            self.computed()

    def branch(self, depth: int, **how: Any) -> None:
        r, otherwise, end = self.random, self.label(), self.label()
        joined = r.random() < 0.8
        if joined:
            self.add(f"joinat #{end}")
        self.set_flags(r.randrange(4))
        c = re.findall(r"\$c(\d)", self.lines[-1])[0]
        condition = r.choice(["e", "lg", "l", "s", "c", "ns", "nc", "leu"])
        self.add(f"({condition} $c{c}) bra #{otherwise}" if r.random() < 0.95 else f"(never) bra #{otherwise}")
        self.block(depth - 1, **how)
        self.add(f"bra #{end}")
        self.place(otherwise)
        if r.random() < 0.7:
            self.block(depth - 1, **how)
        self.place(end)
        if joined:
            self.join()

    def join(self) -> None:
        """A join tail on nothing, or on an instruction."""
        while self.random.random() < 0.3:
            if self.computed("join "):
                return
        self.add("join nop")

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
        self.block(depth - 1, **{**how, "breaks": broken, "loops": self.depth < 4})
        self.add(f"add b32 {counter} {counter} 0xffffffff")
        self.add(f"bra #{top}")
        self.place(end)
        if not broken:
            self.join()
        self.depth -= 1

    def memory(self) -> None:
        """An access to memory of the warp, with a guard now and then."""
        r = self.random
        guard = ""
        if r.random() < 0.3:
            self.set_flags(2)
            guard = "(e $c2) "
        kind = r.random()
        kinds = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "b32": 4, "b64": 8, "b128": 16}
        ty = r.choice(list(kinds))
        size = kinds[ty]
        reg = f"$r{r.randrange(DATA) // max(1, size // 4) * max(1, size // 4)}{SUFFIX.get(size, '')}"
        mask = WARP_BYTES - size
        if self.wild and r.random() < 0.1:
            mask = 0xFFF
        if kind < 0.35:
            self.add(f"and b32 $r13 {self.data()} {mask:#x}")
            self.add("add b32 $r13 $r12 $r13")
            space = r.choice(["g14", "g14", "g3"])
            if space == "g3":
                self.add("add b32 $r13 $r13 0xffff0000")  # the window starts there
            access = f"ld {ty} {reg} {space}[$r13]" if r.random() < 0.5 else f"st {ty} {space}[$r13] {reg}"
            if self._valid(guard + access):
                self.add(guard + access)
        elif kind < 0.5 and self.chip != "g80":
            self.add(f"and b32 $r13 {self.data()} 0xf8")
            self.add("add b32 $r13 $r12 $r13")
            op = r.choice(["add", "exch", "inc", "dec", "max", "min", "and", "or", "xor", "cas"])
            ty = r.choice(["u32", "s32", "b32", "u64", "s64", "b64", "u16", "u8"])
            dst, src, new = (f"$r{r.randrange(4) * 2}d" if "64" in ty else self.data() for _ in range(3))
            op = op if op in ("exch", "cas") else f"ld {op}"
            line = f"{guard}{op} {ty} {dst} g14[$r13] {src}" + (f" {new}" if op == "cas" else "")
            if self._valid(line):
                self.add(line)
        elif kind < 0.58 and self.chip != "g80":
            op = r.choice(["add", "max", "min", "and", "or", "xor"])
            line = f"{guard}red {op} u32 g14[$r13] {self.data()}"
            if self._valid(line):
                self.add("mov b32 $r13 b32 s[0x18]")
                self.add(line)
        elif kind < 0.8:
            ty = r.choice(["b8", "b16", "b32", "b32"])
            mask = 0x3C if not self.wild or r.random() < 0.9 else 0x3F
            self.add(f"and b32 $r13 {self.data()} {mask:#x}")
            self.add("add b32 $r13 $r14 $r13")
            self.add("add b32 $r13 $r13 0x100")  # beyond what operands without an address register reach
            self.add("shl $a1 $r13 0x0")
            if r.random() < 0.5:
                self.add(f"{guard}st {ty} s[$a1] {self.data()}{'l' if ty != 'b32' else ''}")
            else:
                self.add(f"{guard}mov b32 {self.data()} b32 s[$a1]")
            if not self._valid(self.lines[-1]):
                self.lines.pop()
        else:
            self.add(f"and b32 $r13 {self.data()} {0x40 - size:#x}")
            self.add("shl $a2 $r13 0x0")
            what = f"ld {ty} {reg} l[$a2]" if r.random() < 0.5 else f"st {ty} l[$a2] {reg}"
            self.add(guard + what)
            if not self._valid(self.lines[-1]):
                self.lines.pop()

    def _valid(self, text: str) -> bool:
        try:
            return all(i.valid for i in self.assembler.assemble(text + "\n"))
        except IsakitError:
            return False

    def exchange(self) -> None:
        """All warps write to s[], wait, read each other's words, wait."""
        self.add("and b32 $r13 $r0 0x1f")
        self.add("add b32 $r13 $r13 $r14")
        self.add("shl b32 $r13 $r13 0x2")
        self.add("add b32 $r13 $r13 0x200")
        self.add("shl $a1 $r13 0x0")
        self.add("st b32 s[$a1] " + self.data())
        self.add("bar inc wait 0x0 0xfff")
        self.add(f"and b32 $r13 {self.data()} 0x7c")
        self.add("add b32 $r13 $r13 0x200")
        self.add("shl $a1 $r13 0x0")
        self.add(f"mov b32 {self.data()} b32 s[$a1]")
        self.add("bar inc wait 0x0 0xfff")

    # --- the kernel -----------------------------------------------------------------------------------------
    def kernel(self) -> Fuzzed:
        r = self.random
        grid, block = (1, r.choice([1, 7, 32, 32])) if self.alone else (r.randrange(1, 4), r.choice([32, 50, 64, 96]))
        warps = -(-block // 32)
        self.functions = r.randrange(3)
        self.add("cvt u32 $r12 u16 u16 s[0xc]")
        self.add(f"mov b32 $r13 {warps:#x}")
        self.add("shr u32 $r14 $r0 0x5")
        self.add("add $r12 (mul u24 $r12 $r13) $r14")  # number of the warp
        self.add("shl b32 $r14 $r14 0x6")  # its part of s[]
        self.add("and b32 $r13 $r0 0x1f")
        self.add("shl b32 $r15 $r12 0x5")
        self.add("add b32 $r15 $r15 $r13")
        self.add("shl b32 $r15 $r15 0x7")
        self.add("add b32 $r15 b32 s[0x10] $r15")
        self.add("shl b32 $r12 $r12 0x8")
        self.add("add b32 $r12 b32 s[0x14] $r12")
        for k in range(1, DATA):
            self.add(f"ld b32 $r{k} g14[$r15]")
            self.add("add b32 $r15 $r15 0x4")
        for k in range(8, 12):
            self.add(f"mov b32 $r{k} 0x0")
        uniform = r.random() < 0.5
        for _ in range(r.randrange(1, 4)):
            self.block(2)
            if uniform and r.random() < 0.3:
                self.exchange()
        self.finish()
        for k in range(self.functions):
            self.place(f"F{k}")
            self.block(1, function=True, loops=False)
            self.add("ret")
        text = "\n".join(self.lines) + "\n"
        flags = {n: r.random() < 0.2 for n in ("mul_zero_wins", "sat_nan", "nonfp_deriv_inf")}
        budget = r.randrange(1, 400) if r.random() < 0.1 and grid * warps == 1 else None
        return prepared(self.seed, self.chip, text, grid, block, flags, budget)

    def finish(self) -> None:
        """The thread's registers go to memory."""
        for k in range(DATA):
            self.add(f"st b32 g14[$r15] $r{k}")
            self.add("add b32 $r15 $r15 0x4")
        for c in range(1, 3):
            self.add(f"mov $r1 $c{c}")
            self.add("st b32 g14[$r15] $r1")
            self.add("add b32 $r15 $r15 0x4")
        self.add("exit nop")


def prepared(
    seed: int, chip: str, text: str, grid: int, block: int, flags: dict[str, bool], budget: int | None
) -> Fuzzed:
    """A kernel with the inputs of its seed."""
    rng = np.random.default_rng(seed)
    threads = grid * -(-block // 32) * 32
    inputs = rng.integers(0, 1 << 32, (threads, THREAD_BYTES // 4), dtype=np.uint32)
    special = rng.random(inputs.shape) < 0.4
    inputs[special] = rng.choice(np.array(SPECIAL, np.uint32), int(special.sum()))
    small = rng.random(inputs.shape) < 0.1
    inputs[small] &= 0xFF
    constants = {k: rng.integers(0, 256, 1 << 16, dtype=np.uint8).tobytes() for k in (0, 1)}
    words = list(isakit.isa("tesla", chip).assemble(text).words)
    return Fuzzed(seed, chip, text, words, grid, block, flags, budget, inputs, constants)


def kept(path: Path) -> Fuzzed:
    """A kernel that once showed a difference; its first line says in JSON how it is launched."""
    text = path.read_text()
    facts = json.loads(text.split("\n", 1)[0].removeprefix("//"))
    return prepared(text=text, **facts)


def kernel(seed: int) -> Fuzzed:
    """The kernel of a seed."""
    return Generator(seed).kernel()


def run(k: Fuzzed, engine: str, **how: Any) -> Outcome:
    """Launch a kernel; `how` are further options of `Device`, or `portable`."""
    portable = how.pop("portable", False)
    device = isakit.Device(k.chip, engine=engine, limits=False, **k.flags, **how)
    if portable:
        device._execute = executor(engine, portable=True, **how)[1]
    threads = len(k.inputs)
    data = device.alloc(THREAD_BYTES * threads + 64)
    device.write(data, k.inputs)
    own = device.alloc(WARP_BYTES * (threads // 32) + 64)
    common = device.alloc(64)
    device.bind(3, isakit.runtime.device.LinearWindow(0x10000, 1 << 20))
    kernel = device.load(k.words, registers=REGISTERS, shared=0x480, local=0x40, barriers=4)["main"]
    kernel.constants.update(k.constants)
    params = np.array([data.address, own.address, common.address, 0], np.uint32).tobytes()
    out = Outcome(exact=k.one_warp)
    try:
        stats = kernel.launch(k.grid, k.block, param_bytes=params, max_instructions=k.budget)
        out.counts = stats.instructions, stats.warp_instructions
    except BudgetExceeded as e:
        out.fault = "budget", e.pc
    except MachineFault as e:
        out.fault = e.kind, e.pc, e.block, e.warp, e.lane, e.space, e.address
    except IsakitError as e:
        out.fault = type(e).__name__, str(e)
    out.memory = device.memory.memory.bytes[: common.address + 64].tobytes()
    return out


def compare(which: int | Path, ways: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Run the kernel of a seed, or a kept one, on the reference engine and in other ways; returns what differs."""
    k = kernel(which) if isinstance(which, int) else kept(which)
    wanted = run(k, "reference")
    found: list[str] = []
    for engine, how in ways:
        difference = wanted.difference(run(k, engine, **how))
        if difference:
            found.append(f"{which} ({k.chip}), {engine} {how}: {difference}")
    return found
