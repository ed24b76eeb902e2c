"""Random structured programs, as Tesla assembly and as plain Python run one lane at a time.

The Python reading knows nothing of warps, masks or stacks: a lane runs alone, with `if`, `while` and exceptions. A warp
that executes the assembly must leave the same registers in every lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from support.generators.assembly_lines import Lines

REGISTERS = 8
MASK = 0xFFFF_FFFF
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "l": lambda a, b: a < b,
    "e": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "g": lambda a, b: a > b,
    "lg": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
}
ALU: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("add b32 {d} {a} {b}", lambda a, b: a + b),
    "sub": ("sub b32 {d} {a} {b}", lambda a, b: a - b),
    "xor": ("xor b32 {d} {a} {b}", lambda a, b: a ^ b),
    "and": ("and b32 {d} {a} {b}", lambda a, b: a & b),
    "mul": ("mul {d} u24 {a} {b}", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "min": ("min u32 {d} {a} {b}", min),
    "shr": ("shr u32 {d} {a} 0x3", lambda a, b: a >> 3),
}

Lane = list[int]


class Break(Exception):
    pass


class Return(Exception):
    pass


class End(Exception):
    pass


@dataclass
class Text(Lines):
    """Assembly lines with counters for loops (registers above the visible ones)."""

    depth: int = 0
    deepest: int = 0


@dataclass
class Test:
    """A comparison of two registers; on the machine $c0 is set and read at once."""

    __test__ = False
    compare: str
    a: int
    b: int

    def holds(self, r: Lane) -> bool:
        return COMPARE[self.compare](r[self.a], r[self.b])

    def emit(self, t: Text) -> None:
        t.add(f"set $c0 # {self.compare} u32 $r{self.a} $r{self.b}")


@dataclass
class Alu:
    name: str
    d: int
    a: int
    b: int

    def run(self, r: Lane) -> None:
        r[self.d] = ALU[self.name][1](r[self.a], r[self.b]) & MASK

    def emit(self, t: Text) -> None:
        t.add(ALU[self.name][0].format(d=f"$r{self.d}", a=f"$r{self.a}", b=f"$r{self.b}"))


@dataclass
class When:
    """One predicated instruction."""

    test: Test
    then: Alu

    def run(self, r: Lane) -> None:
        if self.test.holds(r):
            self.then.run(r)

    def emit(self, t: Text) -> None:
        self.test.emit(t)
        self.then.emit(t)
        t.lines[-1] = "    (lg $c0) " + t.lines[-1].strip()


@dataclass
class If:
    """`meet`: "" (the sides never meet), "bra" (the first side jumps to the join), "join" (it ends with a join of its
    own before the other side's code, as Mesa's compiler emits it).
    """

    test: Test
    then: list
    otherwise: list
    meet: str

    def run(self, r: Lane) -> None:
        for s in self.then if self.test.holds(r) else self.otherwise:
            s.run(r)

    def emit(self, t: Text) -> None:
        otherwise, end = t.label(), t.label()
        if self.meet:
            t.add(f"joinat #{end}")
        self.test.emit(t)
        t.add(f"(e $c0) bra #{otherwise}")
        for s in self.then:
            s.emit(t)
        t.add("join nop" if self.meet == "join" else f"bra #{end}")
        t.place(otherwise)
        for s in self.otherwise:
            s.emit(t)
        t.place(end)
        if self.meet:
            t.add("join nop")


@dataclass
class Loop:
    """At most 7 turns, a number each lane takes from a register; `breaks`: the loop is left by `break` only."""

    turns: int
    body: list
    breaks: bool

    def run(self, r: Lane) -> None:
        n = r[self.turns] & 7
        try:
            while n:
                for s in self.body:
                    s.run(r)
                n -= 1
        except Break:
            pass

    def emit(self, t: Text) -> None:
        top, end = t.label(), t.label()
        counter = f"$r{REGISTERS + t.depth}"
        t.depth += 1
        t.deepest = max(t.deepest, t.depth)
        t.add(f"and b32 {counter} $r{self.turns} 0x7")
        t.add(f"breakaddr #{end}" if self.breaks else f"joinat #{end}")
        t.place(top)
        t.add(f"and b32 $c1 # {counter} {counter}")
        t.add("(e $c1) break" if self.breaks else f"(e $c1) bra #{end}")
        for s in self.body:
            s.emit(t)
        t.add(f"add b32 {counter} {counter} 0xffffffff")
        t.add(f"bra #{top}")
        t.place(end)
        if not self.breaks:
            t.add("join nop")
        t.depth -= 1


@dataclass
class Leave:
    """A predicated way out: of the loop, the function or the program."""

    test: Test
    how: type[Exception]

    def run(self, r: Lane) -> None:
        if self.test.holds(r):
            raise self.how

    def emit(self, t: Text) -> None:
        self.test.emit(t)
        t.add("(lg $c0) break" if self.how is Break else "(lg $c0) ret")


@dataclass
class Call:
    function: int
    functions: list

    def run(self, r: Lane) -> None:
        try:
            for s in self.functions[self.function]:
                s.run(r)
        except Return:
            pass

    def emit(self, t: Text) -> None:
        t.add(f"call #F{self.function}")


class Generator:
    """Makes programs from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.functions: list[list] = []

    def program(self) -> Program:
        # A function calls only functions made before it. Its loops may not share counters with the caller's.
        for _ in range(self.random.randrange(3)):
            self.functions.append(self.block(2, in_loop=False, way_out=Return, loops=False))
        return Program(self.block(3, in_loop=False, way_out=End, loops=True), self.functions)

    def test(self) -> Test:
        pick = self.random.randrange
        return Test(self.random.choice(list(COMPARE)), pick(REGISTERS), pick(REGISTERS))

    def alu(self) -> Alu:
        pick = self.random.randrange
        return Alu(self.random.choice(list(ALU)), pick(1, REGISTERS), pick(REGISTERS), pick(REGISTERS))

    def block(self, depth: int, in_loop: bool, way_out: type[Exception], loops: bool) -> list:
        return [self.statement(depth, in_loop, way_out, loops) for _ in range(self.random.randrange(1, 5))]

    def statement(self, depth: int, in_loop: bool, way_out: type[Exception], loops: bool) -> object:
        r = self.random
        roll = r.random()
        if depth and roll < 0.3:
            inner = [self.block(depth - 1, in_loop, way_out, loops) for _ in range(2)]
            return If(self.test(), inner[0], inner[1], r.choice(["", "bra", "bra", "join", "join"]))
        if depth and loops and roll < 0.5:
            breaks = r.random() < 0.5
            return Loop(r.randrange(REGISTERS), self.block(depth - 1, breaks, way_out, loops), breaks)
        if roll < 0.6:
            return When(self.test(), self.alu())
        if roll < 0.7:
            return Leave(self.test(), Break if in_loop and r.random() < 0.7 else way_out)
        if roll < 0.8 and self.functions and way_out is End:
            k = r.randrange(len(self.functions))
            return Call(k, self.functions)
        return self.alu()


@dataclass
class Program:
    body: list
    functions: list

    def text(self) -> str:
        """The kernel; registers start as odd multiples of the thread number."""
        t = Text()
        for k in range(1, REGISTERS):
            t.add(f"mov b32 $r{k} {0x9E3779B1 * k & MASK:#x}")
            t.add(f"mul $r{k} u24 $r0 $r{k}")
        for s in self.body:
            s.emit(t)
        t.add("exit nop")
        for k, f in enumerate(self.functions):
            t.place(f"F{k}")
            for s in f:
                s.emit(t)
            t.add("ret")
        return "\n".join(t.lines) + "\n"

    def lane(self, first: int) -> Lane:
        """The visible registers of a lane whose $r0 is `first`, at its end."""
        r = [first] + [(first & 0xFFFFFF) * (0x9E3779B1 * k & 0xFFFFFF) & MASK for k in range(1, REGISTERS)]
        try:
            for s in self.body:
                s.run(r)
        except (End, Return):
            pass
        return r


def program(seed: int) -> Program:
    """The program of a seed."""
    return Generator(seed).program()
