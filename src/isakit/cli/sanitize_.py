"""`isakit sanitize`."""

from __future__ import annotations

import click

from isakit.cli.common import NO, echo, echo_json, json_option
from isakit.cli.launches import Prepared, launch_options, prepare
from isakit.results import Output, records_at

OUTPUT = Output("sanitize", 1, records_at("isakit.debug.sanitize.findings:SanitizerRecord"))


@click.command(
    "sanitize",
    epilog="""\b
Examples:
  isakit sanitize reduce.s --grid 4 --block 128 --arg in:x.npy --arg out:f32:4
  isakit sanitize shader.gxp --arg texcoord0=in:t.npy --json
\b
Arguments are those of `isakit run`. What `out:` passes counts as uninitialised memory.""",
)
@launch_options
@click.option("--max", "limit", type=click.IntRange(1), metavar="N", help="Stop after N warp instructions, or cycles.")
@json_option
@click.argument("file", metavar="FILE")
def command(
    file: str, isa_name: str | None, variant: str | None, limit: int | None, as_json: bool, **options: object
) -> None:
    """Run a program and report what it does wrong, faulting or not.

    For kernels: reads of uninitialised registers and memory, races between warps, barriers in divergent code or
    with missing warps, accesses out of bounds or misaligned, writes to constants. For microcode: writes that have
    not landed. For shaders: reads of unwritten registers. The exit code is 3 if something was found.
    """
    from isakit.debug.sanitize import sanitize

    prepared = prepare(file, isa_name, variant, options)
    report = sanitize(prepared.machine, unwritten=_unwritten(prepared), max_instructions=limit,
                      source=prepared.program.source_table if prepared.program is not None else None)  # fmt: skip
    if as_json:
        echo_json(report.record())
    else:
        echo(str(report))
    if not report.clean:
        click.get_current_context().exit(NO)


def _unwritten(prepared: Prepared) -> list[tuple[int, int]]:
    """Return (address, bytes) of the kernel's `out:` arguments: they are unwritten before the launch."""
    if prepared.kernel is None or prepared.kernel.params is None or not prepared.arguments:
        return []  # a captured launch has arguments that something has written
    params = prepared.machine.launch.params
    return [
        (int.from_bytes(params[p.offset : p.offset + 4], "little"), a.value.nbytes)
        for p, a in zip(prepared.kernel.params, prepared.arguments, strict=True)
        if a.kind == "out"
    ]


__all__ = ["command"]
