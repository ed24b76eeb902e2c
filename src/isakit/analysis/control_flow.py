"""Basic blocks, the control-flow graph and the call graph of a program.

The graph is that of one lane: an edge is there if a lane that executed the last instruction of one block may execute
the first of the other next. Lanes that wait for others (at a `join`, on the stack of a divergent branch) do not move
meanwhile, so they need no edges. A branch through a table in constant memory has an edge to each target in the table;
other branches to an address that is known only at run time are listed as unresolved.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from isakit.asm import Program
from isakit.codec import Instruction, Memory
from isakit.flow.blocks import basic_blocks
from isakit.flow.graph import FlowGraph, reachable
from isakit.lean import cached_property
from isakit.spec import InstructionKind


class EdgeKind(StrEnum):
    """The reason why lanes go from one block to another."""

    NEXT = "next"
    """Execution falls through to the following block."""
    BRANCH = "branch"
    """A branch to an address in the instruction."""
    BREAK = "break"
    """To an address that an earlier instruction gave for lanes that leave a region."""
    INDIRECT = "indirect"
    """A branch to an address in a table: one of the places in it."""
    CALL = "call"
    """Into a function."""
    RETURN = "return"
    """Back after a call."""


@dataclass(frozen=True)
class Edge:
    """From one block to another, both by number."""

    source: int
    target: int
    kind: EdgeKind


@dataclass
class CodeBlock:
    """Instructions that are executed one after the other.

    Attributes:
        number: its place in `ControlFlow.blocks`, which are in address order.
        instructions: at least one.
        function: number of the function it belongs to, None for code that is not reached.
        joins: a region of diverged lanes meets here again: some instruction names this address for that.
    """

    number: int
    instructions: Sequence[Instruction]
    function: int | None = None
    joins: bool = False

    @property
    def address(self) -> int:
        """Byte address of the first instruction."""
        return self.instructions[0].address

    @property
    def end(self) -> int:
        """Byte address past the last instruction."""
        return self.instructions[-1].address + self.instructions[-1].size

    def at(self, address: int) -> Instruction:
        """Return the instruction at a byte address. Raises KeyError if none starts there."""
        k = bisect_left(self.instructions, address, key=_address)
        if k == len(self.instructions) or self.instructions[k].address != address:
            raise KeyError(f"no instruction stands at {address:#x}")
        return self.instructions[k]


def _address(i: Instruction) -> int:
    return i.address


@dataclass
class FlowFunction:
    """An entry point or the target of a call, and the blocks reached from it without following calls.

    `calls` are the numbers of the functions it calls. A block that several functions share belongs to the first.
    """

    number: int
    entry: int
    blocks: list[int] = field(default_factory=list[int])
    calls: set[int] = field(default_factory=set[int])


@dataclass
class ControlFlow:
    """The control-flow graph of a program.

    Attributes:
        program: the analysed program.
        blocks: in address order; together they hold every valid instruction once.
        edges: from each block, ordered as fall-through, branches, others.
        functions: the first is the program's entry point.
        unresolved: addresses of branches whose targets are unknown: to an address in a register, or in a table that
            the file does not contain. Their edges are missing.
    """

    program: Program
    blocks: list[CodeBlock]
    edges: list[Edge]
    functions: list[FlowFunction]
    unresolved: tuple[int, ...] = ()

    @cached_property
    def successors(self) -> list[list[Edge]]:
        """Edges that leave each block."""
        out: list[list[Edge]] = [[] for _ in self.blocks]
        for e in self.edges:
            out[e.source].append(e)
        return out

    @cached_property
    def predecessors(self) -> list[list[Edge]]:
        """Edges that enter each block."""
        out: list[list[Edge]] = [[] for _ in self.blocks]
        for e in self.edges:
            out[e.target].append(e)
        return out

    @cached_property
    def _starts(self) -> list[int]:
        return [b.address for b in self.blocks]

    def block_at(self, address: int) -> CodeBlock:
        """Return the block with the instruction at a byte address. Raises KeyError if there is none."""
        k = bisect_right(self._starts, address) - 1
        if k < 0 or not self.blocks[k].address <= address < self.blocks[k].end:
            raise KeyError(f"no block holds {address:#x}")
        return self.blocks[k]

    @property
    def reached(self) -> list[bool]:
        """For each block, true if it is reached from an entry point."""
        return [b.function is not None for b in self.blocks]

    def within(self, function: FlowFunction) -> Iterator[Edge]:
        """Yield the edges between blocks of a function; calls are stepped over."""
        inside = set(function.blocks)
        for n in function.blocks:
            for e in self.successors[n]:
                if e.target in inside and e.kind not in (EdgeKind.CALL, EdgeKind.RETURN):
                    yield e

    def successors_within(self, function: FlowFunction) -> dict[int, list[int]]:
        """Return the blocks after each block of a function; calls are stepped over."""
        out: dict[int, list[int]] = {n: [] for n in function.blocks}
        for e in self.within(function):
            out[e.source].append(e.target)
        return out

    @cached_property
    def graph(self) -> FlowGraph[int]:
        """The blocks by number, those that are not reached included, with all edges."""
        return FlowGraph(range(len(self.blocks)), lambda n: [e.target for e in self.successors[n]])


def control_flow(program: Program, entries: Sequence[int] = ()) -> ControlFlow:
    """Analyse a program; `entries` are byte addresses of more entry points than its first instruction.

    Words that are not an instruction end a block and belong to none. Takes time in proportion to the code.
    """
    return _Reader(program, entries).graph()


_ENDS_BLOCK = {InstructionKind.BRANCH, InstructionKind.CALL, InstructionKind.RETURN, InstructionKind.EXIT}


class _Reader:
    """The facts of instructions that decide about the flow of control, by their index in the program."""

    def __init__(self, program: Program, entries: Sequence[int]) -> None:
        self.program = program
        self.code = [i for i in program if i.valid]
        self.place = {i.address: k for k, i in enumerate(self.code)}
        self.slots = program.decoder.isa.delay_slots
        self.entries = [self.place[a] for a in dict.fromkeys((program.address, *entries)) if a in self.place]
        self.breaks = self._named_by("break_target")
        self.joins = self._named_by("join_target")
        self.calls = {
            k: t
            for k, i in enumerate(self.code)
            if i.group is InstructionKind.CALL and (t := self._target(i)) is not None
        }
        self.unresolved: list[int] = []
        self.flow = [self._moves(k) for k in range(len(self.code))]

    def _named_by(self, fact: str) -> list[int]:
        """Return the addresses that are named by instructions whose record has the fact `fact`."""
        found = (self._target(i) for i in self.code if i.record is not None and fact in i.record.facts)
        return sorted({t for t in found if t is not None})

    def _target(self, i: Instruction) -> int | None:
        return None if i.target is None else self.place.get(i.target)

    def _behind(self, k: int) -> int | None:
        """Return the number of the following instruction, None at a gap in the code."""
        i = self.code[k]
        return self.place.get(i.address + i.size)

    # --- one instruction --------------------------------------------------------------------------------------
    def _moves(self, k: int) -> list[tuple[int, EdgeKind]]:
        """Return the edges of instruction `k` itself, without those that its delay slot adds."""
        i = self.code[k]
        out: list[tuple[int, EdgeKind]] = []
        behind = self._behind(k)
        if behind is not None and (i.falls_through or self._next_phase(i, behind)):
            out.append((behind, EdgeKind.NEXT))
        if i.record is not None and "breaks" in i.record.facts:
            out += [(t, EdgeKind.BREAK) for t in self.breaks]
        elif i.group is InstructionKind.BRANCH:
            targets = [t for a in i.targets if (t := self.place.get(a)) is not None]
            out += [(t, EdgeKind.BRANCH) for t in targets]
            if not i.targets:
                found = self._table(i)
                out += [(t, EdgeKind.INDIRECT) for t in found]
                if not found:
                    self.unresolved.append(i.address)
        elif len(i.targets) and i.group not in (InstructionKind.CALL, InstructionKind.CONTROL):
            # A branch that stands beside another operation.
            out += [(t, EdgeKind.BRANCH) for a in i.targets if (t := self.place.get(a)) is not None]
        return out

    def _next_phase(self, i: Instruction, behind: int) -> bool:
        """Return true if an instruction that ends the program ends only a phase, and the next one begins after it."""
        record = self.code[behind].record
        return i.facts.ends and record is not None and "begins_phase" in record.facts

    def _table(self, i: Instruction) -> list[int]:
        """Return the targets of a branch through a table in constant memory: the entries that lead to code.

        A table ends at the first word that is not the address of an instruction. Empty if the file lacks its content.
        """
        at = next((o for o in i.operands if isinstance(o, Memory)), None)
        kernel = self.program.kernel
        if at is None or kernel is None or kernel.module is None or not at.space[1:].isdigit():
            return []
        bank = int(at.space[1:])
        content = (kernel if bank in kernel.constants else kernel.module).constant_bytes(bank)
        out: dict[int, None] = {}
        for start in range(at.offset, len(content) - 3, 4):
            target = self.place.get(int.from_bytes(content[start : start + 4], "little"))
            if target is None:
                break
            out[target] = None
        return list(out) if at.base is not None else list(out)[:1]

    # --- delay slots ------------------------------------------------------------------------------------------
    def _delayed(self, k: int) -> bool:
        """Return true if instruction `k` transfers control after its delay slot."""
        i = self.code[k]
        return bool(self.slots) and (
            i.group in (InstructionKind.BRANCH, InstructionKind.CALL, InstructionKind.RETURN) or bool(i.targets)
        )

    def _edges_behind(self, k: int) -> list[tuple[int, EdgeKind]]:
        """Return edges after instruction `k`, calls stepped over."""
        if not self.slots:
            return self.flow[k]
        out: list[tuple[int, EdgeKind]] = []
        behind = self._behind(k)
        if behind is not None and (self.code[k].falls_through or self._delayed(k)):
            out.append((behind, EdgeKind.NEXT))
        before = self._before(k)
        if before is not None and self._delayed(before):
            branched = [e for e in self.flow[before] if e[1] is not EdgeKind.NEXT]
            gone = not self.code[before].falls_through
            out = ([] if gone and not self._delayed(k) else out) + branched
        return out

    def _before(self, k: int) -> int | None:
        if not k or self._behind(k - 1) != k:
            return None
        return k - 1

    # --- the graph ----------------------------------------------------------------------------------------------
    def graph(self) -> ControlFlow:
        edges = [self._edges_behind(k) for k in range(len(self.code))]
        blocks, number = self._blocks(edges)
        functions = self._functions(blocks, number, edges)
        found: dict[Edge, None] = {}
        for b in blocks:
            last = number[b.instructions[-1].address][1]
            for target, kind in edges[last]:
                found[Edge(b.number, number[self.code[target].address][0], kind)] = None
        self._call_edges(blocks, number, functions, found)
        return ControlFlow(self.program, blocks, list(found), functions, tuple(self.unresolved))

    def _blocks(self, edges: list[list[tuple[int, EdgeKind]]]) -> tuple[list[CodeBlock], dict[int, tuple[int, int]]]:
        """Return the blocks, and for each instruction's address (number of its block, its index there)."""
        leaders = {*self.entries, *self.breaks, *self.joins, *self.calls.values()}
        leaders |= {t for out in edges for t, kind in out if kind is not EdgeKind.NEXT}
        leaders |= {k + 1 for k in range(len(edges)) if self._ends_block(k)}
        bodies = basic_blocks(range(len(edges)), [[t for t, _ in out] for out in edges].__getitem__, leaders)
        blocks = [CodeBlock(n, [self.code[k] for k in body]) for n, body in enumerate(bodies)]
        number = {self.code[k].address: (n, k) for n, body in enumerate(bodies) for k in body}
        for t in self.joins:
            blocks[number[self.code[t].address][0]].joins = True
        return blocks, number

    def _ends_block(self, k: int) -> bool:
        """Return true if a block ends after an instruction that may fall through: calls, guarded returns."""
        if self.slots:
            before = self._before(k)
            return before is not None and self._delayed(before)
        return self.code[k].group in _ENDS_BLOCK

    def _functions(
        self,
        blocks: list[CodeBlock],
        number: dict[int, tuple[int, int]],
        edges: list[list[tuple[int, EdgeKind]]],
    ) -> list[FlowFunction]:
        heads = [number[self.code[k].address][0] for k in dict.fromkeys((*self.entries, *self.calls.values()))]
        functions = [FlowFunction(n, blocks[b].address) for n, b in enumerate(heads)]
        by_head = {b: n for n, b in enumerate(heads)}
        ends = [number[b.instructions[-1].address][1] for b in blocks]
        after = [[number[self.code[t].address][0] for t, _ in edges[end]] for end in ends]
        for f, head in zip(functions, heads, strict=True):
            free = (n for n in [head] if blocks[n].function is None)
            f.blocks = sorted(reachable(free, lambda n: [t for t in after[n] if blocks[t].function is None]))
            for n in f.blocks:
                blocks[n].function = f.number
        for k, t in self.calls.items():
            caller = blocks[number[self.code[k].address][0]].function
            if caller is not None:
                functions[caller].calls.add(by_head[number[self.code[t].address][0]])
        return functions

    def _call_edges(
        self,
        blocks: list[CodeBlock],
        number: dict[int, tuple[int, int]],
        functions: list[FlowFunction],
        found: dict[Edge, None],
    ) -> None:
        returns: dict[int, list[int]] = {}
        for f in functions:
            returns[f.entry] = [
                n for n in f.blocks if any(i.group is InstructionKind.RETURN for i in blocks[n].instructions)
            ]
        for k, t in self.calls.items():
            end = k + self.slots
            caller = number[self.code[k].address][0]
            entry = self.code[t].address
            found[Edge(caller, number[entry][0], EdgeKind.CALL)] = None
            behind = self._behind(end) if end < len(self.code) else None
            if behind is None:
                continue
            for r in returns.get(entry, ()):
                found[Edge(r, number[self.code[behind].address][0], EdgeKind.RETURN)] = None
