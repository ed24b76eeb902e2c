"""`isakit profile`."""

from __future__ import annotations

from pathlib import Path

import click

from isakit.cli.common import echo, echo_json, json_option
from isakit.cli.launches import launch_options, prepare
from isakit.results import Output, records_at

OUTPUT = Output("profile", 1, records_at("isakit.debug.profile_records:ProfileRecord"))


@click.command(
    "profile",
    epilog="""\b
Examples:
  isakit profile matmul.s --grid 4,4 --block 16,16 --arg in:a.npy --arg in:b.npy --arg out:f32:64x64 --arg i32:64
  isakit profile kernel.cubin --grid 8 --block 64 --arg zeros:f32:512 --capability 1.0 --html profile.html""",
)
@launch_options
@click.option("--capability", type=click.Choice(["1.0", "1.1", "1.2", "1.3"]),
              help="Whose rules for memory count.  [default: the chip's]")  # fmt: skip
@click.option("--html", metavar="OUT", help="Write a page with heat colours, complete in one file.")
@click.option("--max", "limit", type=click.IntRange(1), metavar="N", help="Stop after N warp instructions.")
@json_option
@click.argument("file", metavar="FILE")
def command(
    file: str,
    isa_name: str | None,
    variant: str | None,
    capability: str | None,
    html: str | None,
    limit: int | None,
    as_json: bool,
    **options: object,
) -> None:
    """Run a kernel and count what it costs.

    Shows the code with executions, active lanes, bytes moved and serialised steps, their sums over basic blocks, the
    counters under the names of NVIDIA's profiler, and the occupancy of every chip. Nothing is timed.
    """
    from isakit.debug.profile import profile

    prepared = prepare(file, isa_name, variant, options)
    found = profile(prepared.machine, prepared.name, capability=capability, max_instructions=limit,
                    source=prepared.program.lines if prepared.program is not None else None,
                    labels=prepared.labels)  # fmt: skip
    if html is not None:
        from isakit.debug.profile_page import page

        Path(html).write_text(page(found.record()), encoding="utf-8")
    if as_json:
        echo_json(found.record())
    elif html is None:
        tables = (*_behind(found.block_table()), *_behind(found.by_source()), *found.table())
        for line in [*found.listing(), "", *tables]:
            echo(line)


def _behind(lines: list[str]) -> list[str]:
    """Return lines followed by an empty one, if there are any."""
    return [*lines, ""] if lines else []


__all__ = ["command"]
