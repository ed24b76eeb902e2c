"""Variables of the source by name: where they are at an instruction, and what expressions that name them mean there.

The line table has their places as expressions of registers and memory. Where a variable has no place, its value has
been optimised out: that is said, and no older value is shown.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import dataclass

from isakit.debug.expressions import (
    TYPES,
    Binary,
    Cast,
    ExpressionError,
    Load,
    Node,
    NumberTerm,
    Unary,
    Variable,
    parse,
)
from isakit.line_table import LineTable, VariableRange

OPTIMISED_OUT = "<optimised out>"
GLOBAL, SHARED = "g14", "s"
"""The spaces that addresses of global memory, and of arrays of a block, are used in by what is compiled here."""
_MOST = 10_000
ELEMENTS = 64
"""Elements of an array that are shown at most."""


class OptimisedOutError(ExpressionError):
    """A variable whose value is nowhere at this instruction."""


@dataclass(frozen=True)
class SourceVariable:
    """A variable at an instruction: its name and type, and its place there, as an expression; "" where it has none.

    An array has a `count`; `element` is the type of what it holds or an address leads to; `inner`: the lengths of its
    axes but the first.
    """

    name: str
    type: str
    place: str
    element: str = ""
    count: int = 0
    inner: tuple[int, ...] = ()

    @property
    def axes(self) -> tuple[int, ...]:
        """The lengths of the axes of an array."""
        return self.count // math.prod(self.inner), *self.inner

    @property
    def space(self) -> str:
        """The memory that an array is in, or that an address leads to."""
        return SHARED if self.count else GLOBAL

    @property
    def own(self) -> bool:
        """True for a variable of the kernel, false for one of a function that was inlined."""
        return "::" not in self.name

    @property
    def whole(self) -> str:
        """The name of the vector, matrix, array or structure that a variable is a number of; else its own."""
        return whole_name(self.name)


def whole_name(name: str) -> str:
    """Return what stands before the first field or index of a variable's name."""
    return name.partition(".")[0].partition("[")[0]


class SourceVariables:
    """The variables of a program, which its line table knows.

    `NAME[...]` with the name of one of the `memories` means that memory, whatever variables are called.
    """

    def __init__(self, table: LineTable | None, memories: Container[str] = ()) -> None:
        self._memories = memories
        self._ranges: dict[str, list[VariableRange]] = {}
        for v in table.variables if table is not None else ():
            self._ranges.setdefault(v.name, []).append(v)
        self._parsed: dict[str, Node] = {}
        self._placed: dict[tuple[int, int | None], tuple[Node, Node]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._ranges

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def at(self, name: str, address: int | None) -> SourceVariable:
        """Return a variable as it is before the instruction at an address."""
        ranges = self._ranges[name]
        here = next((v for v in ranges if address is not None and v.first <= address < v.end), None)
        kind, _, rest = ranges[0].type.partition(":")
        element, *axes = rest.split(":")
        count, *inner = map(int, axes or ["0"])
        place = here.place if here is not None else ""
        return SourceVariable(name, kind, place, element if element in TYPES else "", count, tuple(inner))

    def parts(self, whole: str) -> list[str]:
        """Return the names of the numbers that a vector, matrix, array or structure consists of; [] for others."""
        return [name for name in self._ranges if name != whole and whole_name(name) == whole]

    def indexed(self, name: str) -> bool:
        """Return whether a variable is an array, or the address of elements that are known."""
        return name in self._ranges and name not in self._memories and bool(self.at(name, None).element)

    def inner(self, name: str) -> tuple[int, ...]:
        """Return the lengths of the axes of an array but the first; () for others, and for memories."""
        return self.at(name, None).inner if self.indexed(name) else ()

    def placed(self, node: Node, address: int | None) -> Node:
        """Return an expression with places for the names of variables, the same object each time it is asked for.

        Raises OptimisedOutError.
        """
        found = self._placed.get((id(node), address))
        if found is None:
            if len(self._placed) >= _MOST:
                self._placed.clear()
            found = self._placed[id(node), address] = node, self._placed_anew(node, address)
        return found[1]

    def _placed_anew(self, node: Node, address: int | None) -> Node:
        match node:
            case Variable(name) if name in self._ranges:
                return self._place(name, address)
            case Load(space, inner, _) if self.indexed(space):
                v = self.at(space, address)
                index = Binary("*", self.placed(inner, address), NumberTerm(TYPES[v.element][0]))
                return Load(v.space, Binary("+", self._place(space, address), index), v.element)
            case Load(space, inner, kind):
                return Load(space, self.placed(inner, address), kind)
            case Cast(kind, inner):
                return Cast(kind, self.placed(inner, address))
            case Unary(operator, inner):
                return Unary(operator, self.placed(inner, address))
            case Binary(operator, left, right):
                return Binary(operator, self.placed(left, address), self.placed(right, address))
            case _:
                return node

    def _place(self, name: str, address: int | None) -> Node:
        text = self.at(name, address).place
        if not text:
            raise OptimisedOutError(f"`{name}` is optimised out here")
        if text not in self._parsed:
            self._parsed[text] = parse(text)
        return self._parsed[text]


__all__ = [
    "ELEMENTS",
    "GLOBAL",
    "OPTIMISED_OUT",
    "SHARED",
    "OptimisedOutError",
    "SourceVariable",
    "SourceVariables",
    "whole_name",
]
