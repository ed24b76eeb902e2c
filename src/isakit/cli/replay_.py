"""`isakit replay`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isakit.cli.common import NO, Options, echo, echo_json, engine_options, json_option, write_bytes
from isakit.hosts.drm import is_capture
from isakit.results import Output, records_at

if TYPE_CHECKING:
    from isakit.hosts.cuda.replay import Capture, Outcome, OutcomeRecord
    from isakit.hosts.drm.replay import ReplayedDraw

OUTPUT = Output(
    "replay", 1, records_at("isakit.hosts.cuda.replay:OutcomeRecord[]", "isakit.hosts.drm.replay:ReplayedFrames")
)


@click.command(
    "replay",
    epilog="""\b
Examples:
  isakit replay launches --list
  isakit replay launches --check
  isakit replay launches --launch 3 --engine reference --check --json
  isakit replay launches/launches/0003.json
  isakit replay frame.glc --frame 2 --draw 3 -o out.png""",
)
@click.option("--launch", "number", type=click.IntRange(1), metavar="N", help="Only this launch.")
@click.option("--check", is_flag=True, help="Compare what the launches leave in memory with the capture.")
@click.option("--list", "listed", is_flag=True, help="Only say what is in it; launches do not run.")
@engine_options()
@click.option("--frame", type=click.IntRange(0), metavar="N", help="Of a GL capture: stop after this frame.")
@click.option("--draw", type=click.IntRange(1), metavar="K", help="Of a GL capture: stop after this draw.")
@click.option("--chip", metavar="CHIP", help="Of a GL capture: another chip than the one it was made on.")
@click.option("-o", "--output", metavar="PNG", help="Of a GL capture: where the picture of render target 0 goes.")
@json_option
@click.argument("capture", metavar="DIR|FILE", type=Path)
def command(
    capture: Path,
    number: int | None,
    check: bool,
    listed: bool,
    as_json: bool,
    frame: int | None,
    draw: int | None,
    chip: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Run a capture of `isakit cuda` or `isakit gl` again, without its program.

    The exit code is 3 when --check finds a difference, or a launch faults that did not when it was captured.
    """
    capture.stat()  # the system's words where nothing is there
    if is_capture(capture):
        if number is not None or check:
            raise click.UsageError("--launch and --check are for captures of CUDA programs")
        _gl(capture, frame, draw, chip, output, as_json, options)
        return
    if (frame, draw, chip, output) != (None, None, None, None):
        raise click.UsageError("--frame, --draw, --chip and -o are for captures of GL programs")
    from isakit.hosts.cuda.replay import Capture

    source = Capture(capture)
    numbers = [number] if number is not None else sorted(source.launches)
    if listed:
        if as_json or check:
            raise click.UsageError("--list goes without --json and --check")
        for line in _contents(source, numbers):
            echo(line)
        return
    outcomes: list[Outcome] = []
    for n in numbers:
        outcome = source.replay(n, check=check, **options)
        outcomes.append(outcome)
        if not as_json:
            for line in _lines(outcome, check):
                echo(line)
    if as_json:
        echo_json([_launch(o, check) for o in outcomes])
    unexpected = [o for o in outcomes if o.fault is not None and o.expected_fault is None]
    different = [o for o in outcomes if check and not o.same]
    if unexpected:
        echo(f"fault: {unexpected[0].fault}", err=True)
    elif different:
        echo(f"error: {len(different)} of {len(outcomes)} launches differ", err=True)
    click.get_current_context().exit(NO if unexpected or different else 0)


def _contents(source: Capture, numbers: list[int]) -> list[str]:
    """List launches without running them, and the work of libraries after the launch it followed."""
    work = source.libraries()
    out = [f"      done on the host  {name}" for name in work.get(0, ())]
    for n in numbers:
        entry = source.launch(n)
        with source.reading(n):
            grid, block = (" x ".join(str(int(k)) for k in entry[what]) for what in ("grid", "block"))
            out.append(f"{n:4}  grid {grid}  block {block}  shared {int(entry['shared'])}  {entry['kernel']}")
        out += [f"      done on the host  {name}" for name in work.get(n, ())]
    return out


def _gl(path: Path, frame: int | None, draw: int | None, chip: str | None, output: str | None, as_json: bool,
        options: Options) -> None:  # fmt: skip
    """Draw a capture again; write the picture."""
    from isakit.cli.gl_ import lines
    from isakit.graphics.png import png
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.chips import chip_named
    from isakit.hosts.drm.replay import Replay

    settings = CardSettings(options["engine"], options["tier"], options["threads"] or 1)
    replay = Replay(path, settings, None if chip is None else chip_named(chip))
    replay.lists_changes = True
    try:
        replay.run(frame, draw)
        if output is not None:
            write_bytes(output, png(replay.picture()))
    finally:
        replay.close()
    if as_json:
        from isakit.hosts.drm.replay import ReplayedFrames

        echo_json(ReplayedFrames(replay.chip.name, replay.draws, **vars(replay.report.record())))
    else:
        for d in replay.draws:
            echo(_drawn(d))
        for line in lines(replay.report, False, False):
            echo(line, err=True)
    click.get_current_context().exit(NO if replay.report.faults else 0)


def _drawn(d: ReplayedDraw) -> str:
    """Describe a draw of a GL program in a line."""
    line = f"frame {d.frame} draw {d.draw}: {d.mode}, {d.vertices} vertices, {d.fragments} fragments, "
    changed = f"; changed: {', '.join(d.changed)}" if d.changed else ""
    return f"{line}{d.instructions} instructions, {1000 * d.seconds:.1f} ms{changed}"


def _lines(o: Outcome, check: bool) -> list[str]:
    """Return lines that describe a launch and its differences."""
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


def _launch(o: Outcome, check: bool) -> OutcomeRecord:
    from isakit.hosts.cuda.replay import OutcomeRecord

    fault = None if o.fault is None else str(o.fault)
    found = OutcomeRecord(o.number, o.kernel, o.stats.instructions, o.stats.seconds, fault)
    return replace(found, same=o.same, different=o.different, first=o.first) if check else found
