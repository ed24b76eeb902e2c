"""`isakit replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import echo_json, json_option

if TYPE_CHECKING:
    from isakit.hosts.cuda.replay import Outcome

DIFFERENT, FAULTED = 1, 3


@click.command(
    "replay",
    epilog="""\b
Examples:
  isakit replay launches --check
  isakit replay launches --launch 3 --engine reference --check --json
  isakit replay launches/launches/0003.json""",
)
@click.option("--launch", "number", type=click.IntRange(1), metavar="N", help="Only this launch.")
@click.option("--check", is_flag=True, help="Compare what the launches leave in memory with the capture.")
@click.option("--engine", type=click.Choice(["auto", "reference", "llvm"]), default="auto", help="How to execute.")
@click.option("--tier", type=click.Choice(["auto", "interp", "jit"]), default="auto", help="How llvm executes.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the llvm engine.  [default: all cores]")
@json_option
@click.argument("capture", metavar="DIR|FILE", type=click.Path(exists=True))
def command(capture: str, number: int | None, check: bool, as_json: bool, **options: Any) -> None:
    """Run captured launches again, without their program.

    The exit code is 1 when --check finds a difference, 3 when a launch faults that did not when it was captured.
    """
    from isakit.hosts.cuda.replay import Capture

    source = Capture(Path(capture))
    numbers = [number] if number is not None else sorted(source.launches)
    outcomes: list[Outcome] = []
    for n in numbers:
        outcome = source.replay(n, check=check, **options)
        outcomes.append(outcome)
        if not as_json:
            for line in _lines(outcome, check):
                click.echo(line)
    if as_json:
        echo_json([_data(o, check) for o in outcomes])
    unexpected = any(o.fault is not None and o.expected_fault is None for o in outcomes)
    different = check and not all(o.same for o in outcomes)
    click.get_current_context().exit(FAULTED if unexpected else DIFFERENT if different else 0)


def _lines(o: Outcome, check: bool) -> list[str]:
    """What a launch did, and where it differs."""
    rate = o.stats.instructions / o.stats.seconds / 1e9 if o.stats.seconds else 0.0
    verdict = f"fault: {o.fault}" if o.fault is not None else ""
    if check and not verdict:
        verdict = "same" if o.same else f"{o.different} bytes differ"
    line = f"{o.number:4}  {o.stats.instructions:12} instructions  {o.stats.seconds:8.3f} s  {rate:6.2f} G/s  "
    out = [f"{line}{verdict + '  ' if verdict else ''}{o.kernel}"]
    out += [f"      {d.address:#010x}: {d.expected:02x} captured, {d.found:02x} now" for d in o.first]
    if check and o.expected_fault is not None and o.fault is None:
        out.append(f"      no fault; it was captured with {o.expected_fault}")
    return out


def _data(o: Outcome, check: bool) -> dict[str, Any]:
    """The same as plain data."""
    out: dict[str, Any] = {
        "launch": o.number, "kernel": o.kernel, "instructions": o.stats.instructions, "seconds": o.stats.seconds,
        "fault": None if o.fault is None else str(o.fault),
    }  # fmt: skip
    if check:
        out |= {"same": o.same, "different": o.different, "first": [vars(d) for d in o.first]}
    return out
