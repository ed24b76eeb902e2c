"""Limits of Ghidra's library that it does not check: a specification beyond them writes over other memory.

The tree of an instruction (a node for it, for every table and every other operand) and the operands of a constructor
are kept in arrays of fixed size. Source: `DisassemblyCache::initialize` and `ParserWalker` of Ghidra's C++ library.
"""

from __future__ import annotations

import re

from isakit.errors import IsakitError
from isakit.flow.graph import FlowGraph

NODES, OPERANDS, DEPTH = 75, 20, 32
_CONSTRUCTOR = re.compile(r"^(\w*):(.*?) is (.*?)\{.*?\}$", re.MULTILINE)
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_CONSTRAINT = re.compile(r"\w+\s*=\s*\w+")
_NAME = re.compile(r"[A-Za-z_]\w*")


def operands_of(shown: str, pattern: str) -> frozenset[str]:
    """Return the operands of a constructor: those in its text, and those its pattern names without a value."""
    pattern = _CONSTRAINT.sub("", pattern.split("[")[0])
    return frozenset(_NAME.findall(_TEXT.sub(" ", shown))) | (set(_NAME.findall(pattern)) - {"epsilon"})


def room(specification: str) -> tuple[int, int, int, str]:
    """Return (nodes of the largest tree there may be, most operands of a constructor, depth of the deepest, words).

    The words are those in the text of the largest tree, such as a name. The first and the third are upper bounds: a
    word may rule out that the largest tables stand together.
    """
    tables: dict[str, dict[frozenset[str], str]] = {}
    for name, shown, pattern in _CONSTRUCTOR.findall(specification):
        tables.setdefault(name, {})[operands_of(shown if name else shown.replace("^", " "), pattern)] = shown
    sizes: dict[str, tuple[int, int]] = {}
    order = FlowGraph([""], lambda name: {o for row in tables[name] for o in row if o in tables}).nodes
    for name in reversed(order):
        rows = [[sizes.get(o, (1, 1)) for o in row] for row in tables[name]]
        sizes[name] = (
            max(1 + sum(nodes for nodes, _ in row) for row in rows),
            max(1 + max((depth for _, depth in row), default=0) for row in rows),
        )
    largest = max(tables[""], key=lambda row: sum(sizes.get(o, (1, 1))[0] for o in row))
    words = " ".join(w.strip('" ') for w in _TEXT.findall(tables[""][largest]))
    return sizes[""][0], max(len(row) for rows in tables.values() for row in rows), sizes[""][1], words


def check_room(specification: str) -> None:
    """Raise IsakitError for a specification that does not fit the library."""
    *found, words = room(specification)
    for has, most, what in zip(found, (NODES, OPERANDS, DEPTH), ("nodes", "operands", "levels"), strict=True):
        if has > most:
            large = f"an instruction would have {has} {what}; Ghidra has room for {most}"
            raise IsakitError(f"{large}; the largest tree is that of a text with `{words}`")
