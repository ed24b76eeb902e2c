"""Locations of the source's variables in the finished code: in a register, in memory, or nowhere.

A mark gives a variable the value of virtual registers. From there on each of its words is known to be in a set of
places: the registers that hold it, those it is copied to, a parameter in memory, a constant. A write to a register ends
that place; where ways meet, the places remain that both have. A lane that is active at an instruction has come there
one of these ways, so what remains is so for every lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isakit.compile.ir import Const, IrValue, Mark
from isakit.compile.lower.form import MBlock, MemoryReference, MFunction, MIns, Note, PooledLiteral, VReg, Zero
from isakit.compile.ops import PARAM
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.registers import GENERAL
from isakit.flow.graph import FlowGraph
from isakit.line_table import VariableRange

Unit = tuple[VReg, int]
"""A register's worth of a virtual register."""
Place = Unit | int | str
"""A place of a word: a unit, the number that it is, or a cell of memory as an expression of the debugger."""
Known = dict[str, tuple[frozenset[Place], ...]]
"""The places of the words of variables, by their names."""


@dataclass
class Knowledge:
    """State at a point: the virtual registers whose value their register still holds, and the variables."""

    held: dict[int, frozenset[Unit]] = field(default_factory=dict[int, frozenset[Unit]])
    variables: Known = field(default_factory=dict[str, tuple[frozenset[Place], ...]])

    def copy(self) -> Knowledge:
        """Return a copy that can be changed."""
        return Knowledge(dict(self.held), dict(self.variables))

    def meet(self, other: Knowledge) -> Knowledge:
        """Return the facts that are known on both ways."""
        held = {r: both for r, units in self.held.items() if (both := units & other.held.get(r, frozenset()))}
        variables: Known = {}
        for name, words in self.variables.items():
            theirs = other.variables.get(name, ())
            if len(words) == len(theirs):
                both = tuple(a & b for a, b in zip(words, theirs, strict=True))
                if all(both):
                    variables[name] = both
        return Knowledge(held, variables)


class VariableLocations:
    """The places of the variables of one function after allocation.

    Its instructions have addresses, and so have the branches that `endings` has for its blocks.
    """

    def __init__(self, m: MFunction, addresses: Mapping[MIns, int], endings: Mapping[MBlock, Sequence[MIns]]) -> None:
        self.m, self.addresses, self.endings = m, addresses, endings
        found = {n.mark for b in m.blocks for n in _notes(b) if n.mark is not None}
        self.lost = {mark.name for mark in m.marks if mark not in found}
        """Variables of which a mark went with a block that was not needed: nothing is said of them."""

    # --- one instruction ----------------------------------------------------------------------------------------------
    def _note(self, k: Knowledge, note: Note, guard: object) -> None:
        if note.copied is not None:
            to, source = note.copied
            if to.v.cls is GENERAL:
                for n in range(to.count):
                    self._written(k, (to.v, to.unit + n), (source.v, source.unit + n), note.guard is not None)
        elif note.mark is not None:
            k.variables.pop(note.mark.name, None)
            words = tuple(p for v in _words(note.mark) for p in self._places(k, v))
            if note.guard == guard and words and all(words):
                k.variables[note.mark.name] = words

    def _places(self, k: Knowledge, v: IrValue) -> list[frozenset[Place]]:
        """Return the places of the words of a value."""
        if isinstance(v, Const):
            return [frozenset((v.value,))]
        memory: frozenset[Place] = frozenset()
        if v.ins is not None and v.ins.op is PARAM:
            memory = frozenset((_cell(MemoryReference("s", None, PARAM.of(v.ins).offset, PARAM.of(v.ins).mode)),))
        home = self.m.homes.get(v)
        if home is None or home.cls is not GENERAL or home.color is None:
            return [memory]
        units = [(home, n) for n in range(home.size)]
        return [memory | ({u} if u in k.held.get(home.color + u[1], ()) else frozenset()) for u in units]

    def _written(self, k: Knowledge, unit: Unit, source: Place | None, guarded: bool) -> None:
        """Write a unit, with a copy of `source` where that is known; a guarded write may not happen.

        A copy to the same register leaves what else is there.
        """
        number = _register(unit)
        if number is None:
            return
        here = k.held.get(number, frozenset())
        known = source is not None and (
            not isinstance(source, tuple) or source in k.held.get(_register(source) or 0, ())
        )
        same = source is not None and _register(source) == number
        holds = unit in here if guarded else known or not same
        k.held[number] = (here - {unit} if same else frozenset()) | ({unit} if holds else frozenset())
        for name, words in list(k.variables.items()):
            new: list[frozenset[Place]] = []
            for p in words:
                left = {q for q in p if q != unit and (same or _register(q) != number)}
                if known and source in p and (not guarded or unit in p):
                    left.add(unit)
                new.append(frozenset(left))
            if all(new):
                k.variables[name] = tuple(new)
            else:
                del k.variables[name]

    def _execute(self, k: Knowledge, i: MIns) -> None:
        sources: list[Place | None] = []
        if i.moves:
            source = i.copied()[1]
            sources = [(source.v, source.unit + n) for n in range(source.count)]
        elif i.op is hw.MOV_IMMEDIATE and type(i.ops.get("src1")) is PooledLiteral:
            sources = [i.ops["src1"].value]
        elif i.op is hw.MOV and type(i.ops.get("src1")) is Zero:
            sources = [0]
        elif i.op is hw.MOV and type(i.ops.get("src1")) is MemoryReference and i.ops["src1"].base is None:
            sources = [_cell(i.ops["src1"])]
        for r in i.defs():
            if r.v.cls is GENERAL:
                for n in range(r.count):
                    known = sources[n] if n < len(sources) and not r.half and r.count == len(sources) else None
                    self._written(k, (r.v, r.unit + n), known, i.guard is not None)

    def _block(self, k: Knowledge, b: MBlock, seen: list[tuple[int, Known]] | None = None) -> None:
        """Go through a block; `seen` gets what is known of variables at each instruction."""
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
    def ranges(self, addresses: list[int], end: int) -> list[VariableRange]:
        """Return the ranges of addresses in which each variable has one place, or none.

        `addresses` are those of all instructions, in order; the code ends at `end`.
        """
        entering: dict[MBlock, Knowledge] = {self.m.blocks[0]: Knowledge()}
        work = list(FlowGraph(self.m.blocks[:1], lambda b: b.succs).nodes)
        while work:
            b = work.pop(0)
            k = entering[b].copy()
            self._block(k, b)
            for s in b.succs:
                leaving = k.copy()
                for note in b.edges.get(s, ()):
                    self._note(leaving, note, None)
                new = entering[s].meet(leaving) if s in entering else leaving
                if s not in entering or new != entering[s]:
                    entering[s] = new
                    if s not in work:
                        work.append(s)
        seen: list[tuple[int, Known]] = []
        for b in self.m.blocks:
            if b in entering:
                self._block(entering[b].copy(), b, seen)
        at = dict(seen)
        types = {mark.name: mark.type for mark in self.m.marks}
        out: list[VariableRange] = []
        for name, type in types.items():
            first, place = 0, ""
            mine: list[VariableRange] = []
            for address in [*addresses, end]:
                now = "" if name in self.lost else _shown(type, at.get(address, {}).get(name, ()))
                if now != place:
                    if place:
                        mine.append(VariableRange(name, type, first, address, place))
                    first, place = address, now
            out += mine or [VariableRange(name, type, 0, 0, "")]
        return out


def _notes(b: MBlock) -> list[Note]:
    inside = (n for i in b.ins for n in (*i.before, *i.after))
    return [*b.notes, *inside, *(n for s in b.succs for n in b.edges.get(s, ()))]


def _words(mark: Mark) -> list[IrValue]:
    """Return the values of a mark that say where it is: an address has 32 bits."""
    return mark.values[:1] if mark.type.startswith(("ptr", "array")) else mark.values


def _register(p: Place | None) -> int | None:
    """Return the register that a place is in."""
    return p[0].color + p[1] if isinstance(p, tuple) and p[0].color is not None else None


def _cell(p: MemoryReference) -> str:
    """Return a cell of memory without an address register as an expression of the debugger."""
    return f"{p.space}[{p.offset:#x}]" + ("" if p.mode in ("", "b32") else f":{p.mode}")


def _shown(type: str, words: tuple[frozenset[Place], ...]) -> str:
    """Return the place of a variable as an expression of the debugger, "" where it has none."""
    if not words:
        return ""
    texts = [min((_text(p) for p in places), key=lambda t: (not t.startswith("$"), t)) for places in words]
    if type.startswith(("ptr", "array")):
        return texts[0]
    text = texts[0] if len(texts) == 1 else f"{texts[0]} | {texts[1]} << 32"
    return text if type == "u32" else f"{type}({text})"


def _text(p: Place) -> str:
    return hex(p) if isinstance(p, int) else p if isinstance(p, str) else f"$r{_register(p)}"


__all__ = ["VariableLocations"]
