"""Variables of the source by name: their locations at an instruction, and the meaning of expressions that name them.

The line table has their locations as expressions of registers and memory. If a variable has no location, its value has
been optimised out: that is reported, and no older value is shown.
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
"""The spaces of global and shared memory in addresses, in programs compiled here."""
_MOST = 10_000
ELEMENTS = 64
"""Largest number of elements shown of an array."""


class OptimisedOutError(ExpressionError):
    """A variable has no location at this instruction."""


@dataclass(frozen=True)
class SourceVariable:
    """A variable at an instruction: its name and type, and its location there as an expression, "" if it has none.

    An array has a `count`; `element` is the type of its elements, or of those that an address points to; `inner`: the
    lengths of its axes except the first.
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
        """The memory that an array is in, or that an address points to."""
        return SHARED if self.count else GLOBAL

    @property
    def own(self) -> bool:
        """True for a variable of the kernel, false for one of a function that was inlined."""
        return "::" not in self.name

    @property
    def whole(self) -> str:
        """The name of the vector, matrix, array or structure that a variable is part of; else its own."""
        return whole_name(self.name)


def whole_name(name: str) -> str:
    """Return a variable's name up to its first field or index."""
    return name.partition(".")[0].partition("[")[0]


class SourceVariables:
    """The variables in a program's line table.

    `NAME[...]` with the name of one of the `memories` means that memory, even if a variable has the same name.
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
        """Return the names of the parts of a vector, matrix, array or structure; [] for others."""
        return [name for name in self._ranges if name != whole and whole_name(name) == whole]

    def indexed(self, name: str) -> bool:
        """Return whether a variable is an array, or an address with a known element type."""
        return name in self._ranges and name not in self._memories and bool(self.at(name, None).element)

    def inner(self, name: str) -> tuple[int, ...]:
        """Return the lengths of an array's axes except the first; () for other variables and for memories."""
        return self.at(name, None).inner if self.indexed(name) else ()

    def placed(self, node: Node, address: int | None) -> Node:
        """Return an expression with locations in place of variables, cached.

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
