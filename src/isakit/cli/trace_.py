"""`isakit trace`."""

from __future__ import annotations

from pathlib import Path

import click

from isakit.cli.common import echo_json, json_option
from isakit.cli.launches import launch_options, prepare
from isakit.programs.kernel_names import source_name
from isakit.results import Output, records_at

OUTPUT = Output("trace", 1, records_at("isakit.debug.trace.replay:TraceRecord"))


@click.command(
    "trace",
    epilog="""\b
Examples:
  isakit trace diverge.s --block 32 --arg zeros:i32:32 --html replay.html
  isakit trace kernel.cubin --grid 8 --block 64 --arg zeros:f32:512 --trace out.pftrace --max 20000""",
)
@launch_options
@click.option("--trace", "trace_file", metavar="OUT", help="Write a trace for ui.perfetto.dev.")
@click.option("--html", metavar="OUT", help="Write a page to step through the program in, complete in one file.")
@click.option("--max", "limit", type=click.IntRange(1), metavar="N",
              help="Stop after N steps.  [default: 100000, for a page 2000]")  # fmt: skip
@json_option
@click.argument("file", metavar="FILE")
def command(
    file: str,
    isa_name: str | None,
    variant: str | None,
    trace_file: str | None,
    html: str | None,
    limit: int | None,
    as_json: bool,
    **options: object,
) -> None:
    """Write down what a program does, step by step.

    A trace has a track per warp, with a slice per basic block, and counters of active lanes and of bytes accessed; a
    step takes a microsecond in it. A page shows code, lanes, registers, stack and memory at every step, forwards and
    backwards. With --json, and without a file to write, what the page holds is printed.
    """
    if trace_file is None and html is None and not as_json:
        raise click.UsageError("say what to write: --trace OUT, --html OUT or --json")
    from isakit.debug.session import Session
    from isakit.debug.trace.perfetto import perfetto
    from isakit.debug.trace.replay import STEPS, recorded, replay

    prepared = prepare(file, isa_name, variant, options)
    session = Session(prepared.machine, prepared.program, labels=prepared.labels)
    start = session.position
    name = source_name(prepared.name) or Path(file).name
    if html is not None:
        Path(html).write_text(replay(session, limit or STEPS, f"{name} on {session.target.variant}"), "utf-8")
        session.goto(start)
    if trace_file is not None:
        with open(trace_file, "wb") as out:
            for piece in perfetto(session, limit or 100_000, name):
                out.write(piece)
        session.goto(start)
    if as_json:
        echo_json(recorded(session, limit or STEPS))


__all__ = ["command"]
