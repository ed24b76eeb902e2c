"""Control-flow graphs and notes on them as records, for JSON."""

from __future__ import annotations

from isakit.analysis.control_flow import CodeBlock, ControlFlow, Edge, FlowFunction
from isakit.analysis.dominators import Loop, dominators, loops, post_dominators
from isakit.analysis.notes import Notes, NotesRecord
from isakit.results import OMITTED, Omitted, record


@record
class BlockRecord:
    """A basic block: byte addresses of its first instruction and past its last, and the texts of its instructions."""

    number: int
    address: int
    end: int
    function: int | None
    joins: bool
    instructions: list[str]


@record
class FunctionRecord:
    """A function; dominators, post-dominators (by block) and loops if they were requested."""

    entry: int
    blocks: list[int]
    calls: list[int]
    dominators: dict[str, int | None] | Omitted = OMITTED
    post_dominators: dict[str, int | None] | Omitted = OMITTED
    loops: list[Loop] | Omitted = OMITTED


@record
class GraphRecord:
    """A control-flow graph; `unresolved`: byte addresses of branches whose targets are not known."""

    blocks: list[BlockRecord]
    edges: list[Edge]
    functions: list[FunctionRecord]
    unresolved: list[int]


def graph_record(flow: ControlFlow, *, structure: bool = False) -> GraphRecord:
    """Return the record of a graph, with dominators and loops if `structure`."""
    functions = [_structured(flow, f) if structure else _function(f) for f in flow.functions]
    return GraphRecord([_block(b) for b in flow.blocks], flow.edges, functions, list(flow.unresolved))


def _block(b: CodeBlock) -> BlockRecord:
    return BlockRecord(b.number, b.address, b.end, b.function, b.joins, [i.text for i in b.instructions])


def _function(f: FlowFunction) -> FunctionRecord:
    return FunctionRecord(f.entry, f.blocks, sorted(f.calls))


def _structured(flow: ControlFlow, f: FlowFunction) -> FunctionRecord:
    return FunctionRecord(
        f.entry,
        f.blocks,
        sorted(f.calls),
        {str(k): v for k, v in sorted(dominators(flow, f).items())},
        {str(k): v for k, v in sorted(post_dominators(flow, f).items())},
        loops(flow, f),
    )


@record
class ProgramGraph:
    """The graph of a program, and the facts the analysis has found.

    `live_ranges`: first and last byte address of each range, by register; `pressure`: most live registers, by file.
    """

    name: str
    blocks: list[BlockRecord]
    edges: list[Edge]
    functions: list[FunctionRecord]
    unresolved: list[int]
    live_ranges: dict[str, list[list[int]]]
    pressure: dict[str, int]
    notes: NotesRecord


@record
class ProgramGraphs:
    """The graphs of the programs in a file."""

    schema: str
    programs: list[ProgramGraph]


def program_graph(name: str, flow: ControlFlow, notes: Notes) -> ProgramGraph:
    """Return the record of a program's graph with dominators, loops, live registers and notes."""
    from isakit.analysis import liveness

    graph, facts = graph_record(flow, structure=True), liveness(flow)
    return ProgramGraph(
        name,
        graph.blocks,
        graph.edges,
        graph.functions,
        graph.unresolved,
        {f"{file}{n}": [list(span) for span in spans] for (file, n), spans in sorted(facts.ranges().items())},
        {file: facts.highest_pressure(file)[0] for file in facts.files},
        notes.record(),
    )
