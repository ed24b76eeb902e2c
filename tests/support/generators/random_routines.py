"""Random routines, as text: scalars, records, rows of records, lanes, loops, early returns, exceptions, calls."""

from __future__ import annotations

import linecache
from random import Random
from typing import Annotated, Any

from isakit.sem import routine as language
from isakit.sem.records import ArrayField, StateRecord, u8, u16, u32, u64
from isakit.sem.routine import Routine, routine, shared_routine

WIDTHS = {"a": 8, "b": 16, "c": 32, "d": 64}
ITEMS, NUMBERS = 4, 6


class Item(StateRecord):
    """An element of a row."""

    x: u32
    y: u16


class State(StateRecord):
    """What random routines work on."""

    a: u8
    b: u16
    c: u32
    d: u64
    items: Annotated[list[Item], ArrayField(ITEMS)]
    numbers: Annotated[list[u32], ArrayField(NUMBERS, align=16)]
    behind: Annotated[list[Item], ArrayField(behind=True)]


class Refused(Exception):
    """What random routines raise."""


class Writer:
    """Writes the routine of a seed: `text`, and `helpers` that it calls."""

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.lines: list[str] = []
        self.locals: list[str] = []
        self.loops = 0
        self.shared = self.r.random() < 0.5
        self.body(2, 1)
        self.lines.append(f"    return {self.number()}")

    # --- expressions ------------------------------------------------------------------------------------------------
    def field(self) -> str:
        r = self.r
        return r.choice(
            [*(f"s.{n}" for n in WIDTHS), f"s.items[{self.index(ITEMS)}].x", f"s.items[{self.index(ITEMS)}].y",
             f"s.numbers[{self.index(NUMBERS)}]", f"s.behind[{self.index(ITEMS)}].x"]
        )  # fmt: skip

    def index(self, count: int) -> str:
        r = self.r
        return str(r.randrange(count)) if r.random() < 0.6 else f"p & {count // 2 - 1 if count == ITEMS else 3}"

    def number(self, depth: int = 2) -> str:
        r = self.r
        if depth == 0 or r.random() < 0.25:
            return r.choice([self.field(), "p", "q", str(r.choice([0, 1, 7, 255, 0x8000_0000])), *self.locals])
        a, b = self.number(depth - 1), self.number(depth - 1)
        how = r.randrange(9)
        if how == 0:
            return f"({a} if {self.condition(depth - 1)} else {b})"
        if how == 1:
            return f"(u32({a}) {r.choice(['<<', '>>'])} {r.choice(['3', '31', 'u32(p & 15)'])})"
        if how == 2:
            return f"{r.choice(['lowest', 'highest'])}(u32({a}) | 1)"
        if how == 3:
            return f"lanes_equal(v, u32({a}) & 3)"
        if how == 4:
            return f"v[u32({a}) & 31]"
        if how == 5:
            return f"~u32({a})"
        return f"(u32({a}) {r.choice(['+', '-', '*', '&', '|', '^'])} {b})"

    def condition(self, depth: int = 1) -> str:
        r = self.r
        plain = f"u32({self.number(depth)}) {r.choice(['==', '!=', '<', '<=', '>', '>='])} {self.number(depth)}"
        how = r.random()
        if depth and how < 0.35:
            return f"({plain}) {r.choice(['and', 'or'])} {self.condition(depth - 1)}"
        if how < 0.45:
            return f"not ({plain})"
        return f"({plain}) {r.choice(['and', 'or'])} mode == {r.randrange(3)}" if how < 0.55 else plain

    # --- statements -------------------------------------------------------------------------------------------------
    def body(self, depth: int, indent: int) -> None:
        for _ in range(self.r.randrange(1, 5)):
            self.statement(depth, indent)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, depth: int, indent: int) -> None:
        r, how = self.r, self.r.random()
        if depth and how < 0.22:
            self.line(indent, f"if {self.condition()}:")
            known = list(self.locals)
            self.body(depth - 1, indent + 1)
            if r.random() < 0.5:
                self.locals = list(known)
                self.line(indent, "else:")
                self.body(depth - 1, indent + 1)
            self.locals = known
        elif depth and how < 0.36:
            self.loops += 1
            known = list(self.locals)
            if r.random() < 0.5:
                self.line(indent, f"for k{self.loops} in range({r.randrange(1, 6)}):")
            else:
                self.line(indent, f"n{self.loops} = u32({self.number(1)}) & 7")
                self.line(indent, f"while n{self.loops} != 0:")
                self.line(indent + 1, f"n{self.loops} -= 1")
            self.body(depth - 1, indent + 1)
            self.locals = known
        elif how < 0.42:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, r.choice([f"return {self.number()}", 'raise Refused("no")']))
        elif how < 0.52:
            name = f"t{len(self.lines)}"
            self.line(indent, f"{name} = {r.choice(['inner', 'called'])}(s, u32({self.number(1)}), v, mode)")
            self.locals.append(name)
        elif how < 0.58:
            name = f"e{len(self.lines)}"
            self.line(indent, f"{name} = s.items[{self.index(ITEMS)}]")
            self.line(indent, f"{name}.y = {self.number()}")
            self.line(indent, f"{name}.x += {name}.y")
        elif how < 0.78:
            name = f"t{len(self.lines)}"
            self.line(indent, f"{name} = u32({self.number()})")
            self.locals.append(name)
        elif how < 0.86 and self.locals:
            self.line(indent, f"{r.choice(self.locals)} {r.choice(['+=', '^=', '&='])} u32({self.number(1)})")
        else:
            self.line(indent, f"{self.field()} {r.choice(['=', '=', '+=', '|='])} {self.number()}")

    @property
    def text(self) -> str:
        """The definition."""
        return "def outer(s: State, p: u32, q: u32, v: Lanes, mode: Static[int]) -> u32:\n" + "\n".join(self.lines)


HELPERS = """
def inner(s: State, p: u32, v: Lanes, mode: Static[int]) -> u32:
    if mode == 1:
        s.c ^= p
    if p & 1 != 0:
        return p + s.items[1].x
    s.items[p & 3].x = v[p & 31]
    return s.numbers[2]

def called(s: State, p: u32, v: Lanes, mode: Static[int]) -> u32:
    found = 0
    for k in range(32):
        if v[k] == p & 3:
            found += 1
            if mode == 2 and found > 20:
                raise Refused("too many")
    s.b += found
    return found
"""


def made(seed: int) -> dict[str, Routine[Any, Any]]:
    """`outer`, `inner`, `called`: the routines of a seed."""
    text = HELPERS + "\n" + Writer(seed).text + "\n"
    name = f"<random routine {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {**vars(language), **globals()}
    exec(compile(text, name, "exec"), space)
    space["inner"] = routine(space["inner"])
    space["called"] = shared_routine(space["called"])
    space["outer"] = routine(space["outer"])
    return {n: space[n] for n in ("outer", "inner", "called")}
