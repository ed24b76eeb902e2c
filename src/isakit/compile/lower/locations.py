"""Locations of the source's variables in the finished code: in a register, in memory, or nowhere.

A mark gives a variable the value of virtual registers. From there on each of its words has a set of known locations:
the registers that hold it, those it is copied to, a parameter in memory, a constant. A write to a register ends that
location; where paths merge, the locations common to both remain. A lane that is active at an instruction has come there
by one of these paths, so the locations that remain hold for every lane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from isakit.compile.ir import Mark
from isakit.compile.lower.form import MBlock, MFunction, MIns, Note, OperandReg, VReg
from isakit.flow.dataflow import solve
from isakit.flow.graph import FlowGraph
from isakit.line_table import VariableRange

Unit = tuple[VReg, int]
"""A register's worth of a virtual register."""
Location = Unit | int | str
"""A location of a word: a unit, a constant, or a memory cell as an expression of the debugger."""
Edge = tuple[MBlock, MBlock]
Cell = Hashable
"""A register of the machine."""


class KnownWords(NamedTuple):
    """The locations of each word of a variable; `how` tells a target how to read them, where there are several ways."""

    words: tuple[frozenset[Location], ...]
    how: str = ""


Known = dict[str, KnownWords]
"""Locations of variables by name."""


@dataclass
class Knowledge:
    """State at a point: the virtual registers whose value their register still holds, and the variables."""

    held: dict[Cell, frozenset[Unit]] = field(default_factory=dict[Cell, frozenset[Unit]])
    variables: Known = field(default_factory=dict[str, KnownWords])

    def copy(self) -> Knowledge:
        """Return a copy that can be changed."""
        return Knowledge(dict(self.held), dict(self.variables))

    def __or__(self, other: Knowledge) -> Knowledge:
        """Return the knowledge that holds on both paths."""
        held = {r: both for r, units in self.held.items() if (both := units & other.held.get(r, frozenset()))}
        variables: Known = {}
        for name, (words, how) in self.variables.items():
            theirs = other.variables.get(name)
            if theirs is not None and theirs.how == how and len(words) == len(theirs.words):
                both = tuple(a & b for a, b in zip(words, theirs.words, strict=True))
                if all(both):
                    variables[name] = KnownWords(both, how)
        return Knowledge(held, variables)


class VariableLocations(ABC):
    """The locations of the variables of one function after allocation.

    `addresses` has those of its instructions, `endings` the branches at the ends of blocks, which have addresses as
    well.
    """

    def __init__(self, m: MFunction, addresses: Mapping[MIns, int], endings: Mapping[MBlock, Sequence[MIns]]) -> None:
        self.m, self.addresses, self.endings = m, addresses, endings
        found = {n.mark for b in m.blocks for n in _notes(b) if n.mark is not None}
        self.lost = {mark.name for mark in m.marks if mark not in found}
        """Variables of which a mark went with a block that was not needed: nothing is said of them."""

    # --- what a target says -------------------------------------------------------------------------------------------
    @abstractmethod
    def cell(self, unit: Unit) -> Cell | None:
        """Return the register that a unit is in, None for one without a known register."""

    @abstractmethod
    def marked(self, k: Knowledge, mark: Mark) -> KnownWords:
        """Return the locations of the words of a mark's value."""

    @abstractmethod
    def copies(self, i: MIns) -> dict[Unit, Location]:
        """Return the units that an instruction copies to, with the location that each is copied from."""

    @abstractmethod
    def shown(self, type: str, known: KnownWords) -> str:
        """Return the location of a variable as an expression of the debugger."""

    def entering(self) -> Knowledge:
        """Return the variables known where the function begins."""
        return Knowledge()

    def held(self, k: Knowledge, unit: Unit) -> bool:
        """Return whether a unit's register holds its value."""
        cell = self.cell(unit)
        return cell is not None and unit in k.held.get(cell, ())

    # --- one instruction ----------------------------------------------------------------------------------------------
    def _note(self, k: Knowledge, note: Note, guard: object) -> None:
        if note.copied is not None:
            to, source = note.copied
            for n in range(to.count):
                self._written(k, (to.v, to.unit + n), (source.v, source.unit + n), note.guard is not None)
        elif note.mark is not None:
            k.variables.pop(note.mark.name, None)
            known = self.marked(k, note.mark)
            if note.guard == guard and known.words and all(known.words):
                k.variables[note.mark.name] = known

    def _written(self, k: Knowledge, unit: Unit, source: Location | None, guarded: bool) -> None:
        """Record a write to a unit, a copy of `source` if that is known; a guarded write may not happen.

        A copy of a register to itself keeps the other values it holds.
        """
        cell = self.cell(unit)
        if cell is None:
            return
        here = k.held.get(cell, frozenset())
        known = source is not None and (not isinstance(source, tuple) or self.held(k, source))
        same = isinstance(source, tuple) and self.cell(source) == cell
        holds = unit in here if guarded else known or not same
        k.held[cell] = (here - {unit} if same else frozenset()) | ({unit} if holds else frozenset())
        for name, (words, how) in list(k.variables.items()):
            new: list[frozenset[Location]] = []
            for p in words:
                left = {q for q in p if q != unit and (same or not isinstance(q, tuple) or self.cell(q) != cell)}
                if known and source in p and (not guarded or unit in p):
                    left.add(unit)
                new.append(frozenset(left))
            if all(new):
                k.variables[name] = KnownWords(tuple(new), how)
            else:
                del k.variables[name]

    def _execute(self, k: Knowledge, i: MIns) -> None:
        sources = self.copies(i)
        for r in i.defs():
            for unit in _units(r):
                self._written(k, unit, sources.get(unit), i.guard is not None)

    def _block(self, k: Knowledge, b: MBlock, seen: list[tuple[int, Known]] | None = None) -> None:
        """Follow variables through a block; store those known at each instruction in `seen`."""
        for note in b.notes:
            self._note(k, note, None)
        for i in b.ins:
            for note in i.before:
                self._note(k, note, i.guard)
            if seen is not None and i in self.addresses:
                seen.append((self.addresses[i], dict(k.variables)))
            self._execute(k, i)
            for note in i.after:
                self._note(k, note, i.guard)
        if seen is not None:
            seen += ((self.addresses[i], dict(k.variables)) for i in self.endings.get(b, ()))

    # --- whole functions ----------------------------------------------------------------------------------------------
    def ranges(self, addresses: Iterable[int], end: int) -> list[VariableRange]:
        """Return the ranges of addresses in which each variable has one location, or none.

        `addresses` are those of all instructions, in order; the code ends at `end`.
        """
        graph = FlowGraph[MBlock | Edge](self.m.blocks[:1], _after)

        def transfer(n: int, before: Knowledge) -> Knowledge:
            k, node = before.copy(), graph.nodes[n]
            if isinstance(node, MBlock):
                self._block(k, node)
            else:
                for note in node[0].edges[node[1]]:
                    self._note(k, note, None)
            return k

        entering = solve(graph, transfer, [self.entering(), *[None] * (len(graph) - 1)])
        seen: list[tuple[int, Known]] = []
        for node, k in zip(graph.nodes, entering, strict=True):
            if isinstance(node, MBlock):
                self._block(k.copy(), node, seen)
        at = dict(seen)
        types = {mark.name: mark.type for mark in self.m.marks}
        out: list[VariableRange] = []
        for name, type in types.items():
            first, place, kind = 0, "", type.removeprefix("shared:")
            mine: list[VariableRange] = []
            for address in [*addresses, end]:
                known = None if name in self.lost else at.get(address, {}).get(name)
                now = "" if known is None else self.shown(type, known)
                if now != place:
                    if place:
                        mine.append(VariableRange(name, kind, first, address, place))
                    first, place = address, now
            out += mine or [VariableRange(name, kind, 0, 0, "")]
        return out


def _after(node: MBlock | Edge) -> list[MBlock | Edge]:
    """Return the successors of a block or an edge; an edge with copies on it stands for its target block."""
    return [(node, s) if s in node.edges else s for s in node.succs] if isinstance(node, MBlock) else [node[1]]


def _units(r: OperandReg) -> list[Unit]:
    return [(r.v, r.unit + n) for n in range(r.count)]


def _notes(b: MBlock) -> list[Note]:
    inside = (n for i in b.ins for n in (*i.before, *i.after))
    return [*b.notes, *inside, *(n for s in b.succs for n in b.edges.get(s, ()))]


__all__ = ["Cell", "Knowledge", "KnownWords", "Location", "Unit", "VariableLocations"]
