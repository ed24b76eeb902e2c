"""`isakit cfg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    echo,
    echo_json,
    isa_option,
    json_option,
    named_code,
    output_option,
    read_bytes,
    shown,
    variant_option,
)
from isakit.errors import IsakitError
from isakit.programs.kernel_names import chosen
from isakit.results import Output, records_at

if TYPE_CHECKING:
    from isakit.analysis import ControlFlow
    from isakit.analysis.graph_records import ProgramGraphs
    from isakit.analysis.notes import Notes
    from isakit.asm import Program

OUTPUT = Output("cfg", 1, records_at("isakit.analysis.graph_records:ProgramGraphs"))


@click.command(
    "cfg",
    epilog="""\b
Examples:
  isakit cfg kernel.cubin --kernel saxpy --format svg > saxpy.svg
  isakit cfg --notes shader.gxp""",
)
@isa_option()
@variant_option
@json_option
@click.option("--kernel", metavar="NAME", help="Only this kernel.")
@click.option(
    "--format", "style", type=click.Choice(["text", "dot", "svg", "json"]), default="text", help="What to write."
)
@click.option("--live", is_flag=True, help="Text: the registers that are live before each instruction.")
@click.option(
    "--notes", is_flag=True, help="Say what is uniform, divergent, dead, guarded, repeated, late, in a delay slot."
)
@click.argument("file", metavar="FILE|-")
@output_option
def command(
    isa_name: str | None,
    variant: str | None,
    as_json: bool,
    kernel: str | None,
    style: str,
    live: bool,
    notes: bool,
    file: str,
) -> None:
    """Show the control-flow graph of a program: blocks, branches, joins, loops, calls, live registers.

    A picture (svg) needs Graphviz; text needs nothing. dot and svg write one graph, so name a kernel where a file has
    several.
    """
    from isakit import analysis
    from isakit.programs.reading import load_all

    modules = load_all(read_bytes(file), **named_code(isa_name, variant), path=shown(file))
    kernels = chosen(kernel, ((k.name, k) for m in modules for k in m.kernels.values()), shown(file))
    found = [(name, k.program) for name, k in kernels]
    if not found:
        raise IsakitError("the file holds no program")
    style = "json" if as_json else style
    if style in ("dot", "svg") and len(found) > 1:
        names = ", ".join(name for name, _ in found)
        raise IsakitError(f"{shown(file)} has {len(found)} programs, name one with --kernel: {names}")
    if style == "json":
        echo_json(_graphs(found))
        return
    for name, program in found:
        flow = analysis.control_flow(program)
        note = _notes(flow).of if notes else None
        if style == "dot":
            echo(analysis.dot(flow, name, note), nl=False)
        elif style == "svg":
            echo(analysis.svg(flow, name, note), nl=False)
        else:
            echo(f"{name}: {len(flow.blocks)} blocks, {len(flow.edges)} edges, {_told(flow)}")
            echo(_live(flow) if live else analysis.text(flow, note))


def _graphs(programs: list[tuple[str, Program]]) -> ProgramGraphs:
    from isakit.analysis import control_flow
    from isakit.analysis.graph_records import ProgramGraphs, program_graph

    flows = [(name, control_flow(p)) for name, p in programs]
    return ProgramGraphs("isakit-cfg-1", [program_graph(name, flow, _notes(flow)) for name, flow in flows])


def _notes(flow: ControlFlow) -> Notes:
    """Return the notes on a program, with the hazards of microcode."""
    from isakit.analysis.notes import Notes

    program = flow.program
    hazards: dict[int, list[str]] = {}
    if program.isa == "vuc":
        from isakit.vuc import lint

        unit = program.decoder.view.variant.unit_bytes
        for found in lint(program):
            some = "" if found.certain else " on some path"
            hazards.setdefault(program.address + found.address * unit, []).append(
                f"{found.kind}{some}: {found.message}"
            )
    return Notes(flow, hazards)


def _told(flow: ControlFlow) -> str:
    from isakit.analysis import liveness

    facts = liveness(flow)
    most = ((file, *facts.highest_pressure(file)) for file in facts.files)
    return ", ".join(f"at most {n} live {file} registers at {at:#x}" for file, n, at in most) or "no registers"


def _live(flow: ControlFlow) -> str:
    from isakit.analysis import liveness

    facts = liveness(flow)
    rows: list[str] = []
    for b in flow.blocks:
        rows.append(f"block {b.number} at {b.address:#x}")
        for i in b.instructions:
            names = " ".join(f"{file}{n}" for file, n in sorted(facts.before(i.address)))
            rows.append(f"    {i.address:#06x}  {i.text:<48} {names}")
    return "\n".join(rows) + "\n"
