"""`isakit cuda`."""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import redirect_stdout
from typing import Any

import click

from isakit.cli.common import attach_server, debug_option, echo, echo_json, engine_options, json_option
from isakit.results import Output, records_at

OUTPUT = Output("cuda", 1, records_at("isakit.hosts.cuda.statistics:StatisticsRecord"))


def _version(context: click.Context, option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    major, _, minor = value.partition(".")
    if not (major.isdigit() and minor.isdigit() and (2, 0) <= (int(major), int(minor)) <= (6, 5)):
        raise click.BadParameter(f"{value!r}: give a version from 2.0 to 6.5", context, option)
    return int(major), int(minor)


@click.command(
    "cuda",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  isakit cuda -- ./vectorAdd -noprompt
  isakit cuda --device sm_10 --stats -- ./matrixMul
  isakit cuda --capture launches -- ./a.out; isakit replay launches --check
  isakit cuda --gl -- ./particles
  isakit cuda --debug ./k.sock -- ./a.out
\b
The program runs with your rights and is not confined: run only programs you trust.""",
)
@click.option("--device", default="sm_13", metavar="DEVICE", help="sm_10 to sm_13, or a chip.  [default: sm_13]")
@click.option("--strict", is_flag=True, help="Accesses between allocations are faults.")
@click.option("--no-limits", "limits", is_flag=True, default=True, flag_value=False,
              help="Start launches that are too large for the card.")  # fmt: skip
@click.option("--fill", type=click.IntRange(0, 255), default=0, metavar="BYTE", help="Content of fresh memory.")
@click.option("--cuda", "version", callback=_version, metavar="VERSION", help="CUDA version, where it is taken wrong.")
@engine_options()
@click.option("--stats", is_flag=True, help="Show at the end what the kernels took.")
@click.option("--trace", is_flag=True, help="Show every call on standard error.")
@click.option("--capture", type=click.Path(file_okay=False), metavar="DIR", help="Write each distinct launch to DIR.")
@click.option("--gl", is_flag=True, help="Draw on the simulated chip as well, through Mesa's nv50 driver.")
@debug_option("launch")
@json_option
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    program: str,
    arguments: tuple[str, ...],
    as_json: bool,
    stats: bool,
    gl: bool,
    debug_place: int | str | None,
    **options: Any,
) -> None:
    """Run a CUDA program made for sm_10 to sm_13 as it is.

    The exit status is the program's.
    """
    from isakit.hosts.cuda.run import run

    report = None
    if gl:
        from isakit.hosts.drm.report import Report

        report = Report()
    from isakit.hosts.cuda.device_facts import card

    with attach_server(debug_place, card(options["device"]).chip) as debugger:
        status, statistics = run(program, arguments, gl=report, debugger=debugger, **options)
    sys.stdout.flush()
    if as_json:
        with redirect_stdout(sys.stderr):  # standard output is the program's own
            echo_json(statistics.record())
    elif stats:
        for line in statistics.lines():
            echo(line, err=True)
    if report is not None and not as_json:
        from isakit.cli.gl_ import lines

        for line in lines(report, stats, False):
            echo(line, err=True)
    _end_like(status)


def _end_like(status: int) -> None:
    """End as the program has ended: with its status, or by its signal."""
    if status >= 0:
        click.get_current_context().exit(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left a core, if one was wanted
    if signal.Signals(-status) not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
