"""`isakit gl`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from isakit.cli.common import attach_server, debug_option, echo, echo_json, engine_options, json_option
from isakit.results import Output, records_at

if TYPE_CHECKING:
    from isakit.debug.attach import AttachServer
    from isakit.hosts.drm.card import Channel
    from isakit.hosts.drm.report import Report

OUTPUT = Output("gl", 1, records_at("isakit.hosts.drm.report:ReportRecord"))


@click.command(
    "gl",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  isakit gl -- ./triangle 256 out.ppm
  isakit gl --chip 50 --stats --unsupported -- eglinfo
  isakit gl -- glxgears
  isakit gl --capture frame.glc -- ./gears; isakit replay frame.glc -o gears.png
  isakit gl --debug ./g.sock -- ./gears & isakit debug --attach ./g.sock
\b
Linux with Mesa's nouveau driver (on Debian: apt install libgl1-mesa-dri libegl1). The program runs with your rights and
is not confined: run only programs you trust.""",
)
@click.option("--chip", default="a0", metavar="CHIP", help="50, 84, 86, 92, 98, a0, a3, a5 or a8.  [default: a0]")
@click.option("--log", type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE", help="Write every method.")
@click.option("--dump", type=click.Path(file_okay=False), metavar="DIR", help="Write programs and pictures of targets.")
@click.option("--unsupported", is_flag=True, help="Show at the end what was asked for and is not there.")
@click.option("--stats", is_flag=True, help="Show at the end what was done.")
@click.option("--capture", type=click.Path(dir_okay=False), metavar="FILE", help="Record for `isakit replay`.")
@click.option("--mesa", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="Use the Mesa unpacked in DIR, not the installed one.")  # fmt: skip
@debug_option("program of a draw or compute shader")
@engine_options(1, "Threads that run fragments.")
@json_option
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    program: str,
    arguments: tuple[str, ...],
    chip: str,
    log: str | None,
    dump: str | None,
    unsupported: bool,
    stats: bool,
    capture: str | None,
    mesa: str | None,
    debug_place: int | str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run an OpenGL program on Mesa's nv50 driver and a simulated chip.

    The exit status is the program's; 1 where that is 0 and the program never opened the card.
    """
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.chips import chip_named
    from isakit.hosts.drm.report import Report
    from isakit.hosts.drm.session import run

    made = chip_named(chip)
    with _opened(log) as stream, attach_server(debug_place, made.variant) as debugger:
        report = Report(log=stream)
        code = run(
            (program, *arguments),
            made,
            report,
            CardSettings(**settings),
            capture=None if capture is None else Path(capture),
            dump=None if dump is None else Path(dump),
            mesa=None if mesa is None else Path(mesa),
            on_channel=None if debugger is None else partial(_debugged, debugger),
        )
    sys.stdout.flush()
    if as_json:
        echo_json(report.record())
    else:
        for line in lines(report, stats, unsupported):
            echo(line, err=True)
    click.get_current_context().exit(code)


def _debugged(debugger: AttachServer, channel: Channel) -> None:
    """Make the programs of a channel's draws, and its compute shaders, visible to debuggers."""
    from isakit.debug.debugged_stages import DebuggedStages

    pipeline = channel.engine3d.drawing.pipeline
    pipeline.engine = stages = DebuggedStages(pipeline.engine, debugger)
    channel.compute.debugged = stages.grid


def _opened(log: str | None) -> AbstractContextManager[IO[str] | None]:
    """Open the log's file; without one, return an empty context."""
    return nullcontext() if log is None else click.open_file(log, "w")


def lines(report: Report, stats: bool, unsupported: bool) -> list[str]:
    """Return the report of a run: counts, missing features, errors of the card."""
    out: list[str] = []
    if stats:
        out += [f"{n:12}  {what}" for what, n in report.counts.items()]
        out += [f"{s:12.3f}  seconds {what}" for what, s in report.seconds.items()]
    if unsupported:
        out += [f"{n:8}  {what}" for what, n in report.unsupported.most_common()]
        if not report.unsupported and not report.faults:
            out.append("nothing was missing")
    elif report.unsupported:
        total = sum(report.unsupported.values())
        out.append(f"{total} times something was asked for that is not there: --unsupported lists it")
    out += [f"card: {what}" + (f" ({n} times)" if n > 1 else "") for what, n in report.faults.most_common(20)]
    return out
