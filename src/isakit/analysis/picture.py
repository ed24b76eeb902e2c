"""Pictures of control-flow graphs: text for a terminal, dot for Graphviz, SVG where Graphviz is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence

from isakit.analysis.control_flow import CodeBlock, ControlFlow, EdgeKind
from isakit.analysis.dominators import loop_depths
from isakit.codec import Instruction
from isakit.errors import IsakitError

_STYLES = {
    EdgeKind.NEXT: "",
    EdgeKind.BRANCH: 'color="#2060c0"',
    EdgeKind.BREAK: 'color="#c06020", style=dashed',
    EdgeKind.INDIRECT: 'color="#a02080", style=dashed',
    EdgeKind.CALL: 'color="#208040", style=dotted, constraint=false',
    EdgeKind.RETURN: 'color="#208040", style=dotted, constraint=false',
}
_SECONDS = 60.0
"""Seconds that Graphviz may take over a picture."""


Note = Callable[[Instruction], Sequence[str]]
"""Further lines about an instruction."""


def text(flow: ControlFlow, note: Note | None = None) -> str:
    """Return the graph as text: every block with its instructions, predecessors and successors."""
    depth = loop_depths(flow)
    out: list[str] = []
    for b in flow.blocks:
        facts = [f"loop depth {depth[b.number]}"] if b.number in depth else []
        facts += ["lanes meet"] if b.joins else []
        facts += ["not reached"] if b.function is None else []
        entry = next((f for f in flow.functions if f.entry == b.address), None)
        facts += [f"function {entry.number}"] if entry is not None else []
        out.append(f"block {b.number} at {b.address:#x}" + (f" ({', '.join(facts)})" if facts else ""))
        came = flow.predecessors[b.number]
        if came:
            out.append("    from " + ", ".join(f"{e.source}{_told(e.kind)}" for e in came))
        out += [f"    {line}" for line in _lines(b, note)]
        goes = flow.successors[b.number]
        out.append("    to " + (", ".join(f"{e.target}{_told(e.kind)}" for e in goes) if goes else "the end"))
        out.append("")
    if flow.unresolved:
        found = ", ".join(f"{a:#x}" for a in flow.unresolved)
        out.append(f"not followed: branches to addresses that no table of the program holds, at {found}")
    return "\n".join(out).rstrip() + "\n"


def _lines(block: CodeBlock, note: Note | None) -> Iterator[str]:
    for i in block.instructions:
        line = f"{i.address:#06x}  {i.text}"
        said = ", ".join(note(i)) if note is not None else ""
        yield f"{line:<52}  // {said}" if said else line


def dot(flow: ControlFlow, name: str = "program", note: Note | None = None) -> str:
    """Return the graph in Graphviz's language."""

    def shown(block: CodeBlock) -> str:
        return "".join(f"{line}\n" for line in _lines(block, note))

    lines = [f"digraph {_quoted(name)} {{", '  node [shape=box, fontname="monospace", fontsize=10];']
    for f in flow.functions:
        lines += [f"  subgraph cluster_{f.number} {{", f"    label={_quoted(f'{f.entry:#x}')};"]
        lines += [f"    b{n} [label={_left(shown(flow.blocks[n]))}{_fill(flow.blocks[n])}];" for n in f.blocks]
        lines.append("  }")
    lines += [f"  b{b.number} [label={_left(shown(b))}, style=dashed];" for b in flow.blocks if b.function is None]
    lines += [f"  b{e.source} -> b{e.target} [{_STYLES[e.kind]}];" for e in flow.edges]
    return "\n".join([*lines, "}", ""])


def svg(flow: ControlFlow, name: str = "program", note: Note | None = None) -> str:
    """Return the graph as an SVG picture. Raises IsakitError if Graphviz is missing or takes longer than a minute."""
    program = shutil.which("dot")
    if program is None:
        raise IsakitError("an SVG picture needs Graphviz's `dot`, which is not installed; --format text needs nothing")
    try:
        run = subprocess.run(
            [program, "-Tsvg"], input=dot(flow, name, note).encode(), capture_output=True, check=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise IsakitError(f"Graphviz found no layout of {len(flow.blocks)} blocks in {_SECONDS:.0f} s") from None
    except subprocess.CalledProcessError as e:
        raise IsakitError(f"Graphviz failed: {e.stderr.decode(errors='replace').strip()}") from None
    return run.stdout.decode()


def _told(kind: EdgeKind) -> str:
    return "" if kind is EdgeKind.NEXT else f" ({kind.value})"


def _fill(block: CodeBlock) -> str:
    return ', style=filled, fillcolor="#fff2cc"' if block.joins else ""


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _left(value: str) -> str:
    """Return a quoted dot label whose lines are left-aligned."""
    return _quoted(value).replace("\n", "\\l")
