"""Typed terms, the input of the printer. Equal terms are one object, so that shared ones can be named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from isakit.sem.value import postorder

Type = Literal["float", "int", "uint", "bool"]


class Term:
    """An operation on terms. `type` is that of a component, `size` the number of components (1 for a scalar).

    `op` is an operator (`+`, `?:`, `-x`), the name of a function (`dot`, `f16`), or one of: `number` (attr: the
    number), `symbol` (attr: a Symbol), `texel` (args: coordinates and further arguments, attr: (Fetch, component)),
    `vector` (args: the components), `swizzle` (args: a vector, attr: letters).
    """

    __slots__ = ("args", "attr", "op", "size", "type")
    type: Type

    def __init__(self, op: str, type: Type, args: tuple[Term, ...], attr: Any, size: int) -> None:
        self.op, self.type, self.args, self.attr, self.size = op, type, args, attr, size

    def __repr__(self) -> str:
        return f"{self.op}:{self.type}{self.size}({', '.join(map(repr, self.args))})"


class Terms:
    """Makes terms; equal ones are one object."""

    def __init__(self) -> None:
        self._made: dict[object, Term] = {}

    def make(self, op: str, type: Type, *args: Term, attr: object = None, size: int = 1) -> Term:
        """Return a term, the same object for equal ones."""
        key = op, type, tuple(map(id, args)), repr(attr) if isinstance(attr, float) else attr, size
        if key not in self._made:
            self._made[key] = Term(op, type, args, attr, size)
        return self._made[key]

    def number(self, value: float | int | bool, type: Type) -> Term:
        """Return a constant."""
        return self.make("number", type, attr=value)


def every(roots: list[Term]) -> Iterator[Term]:
    """Return all terms reachable from `roots`, each once, arguments before the terms that use them."""
    seen: set[int] = set()
    for root in roots:
        yield from postorder(root, seen)
