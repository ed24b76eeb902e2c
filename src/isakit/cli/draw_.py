"""`isakit draw`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click

from isakit.cli.common import echo, echo_json, engine_options, json_option, progress, write_bytes
from isakit.errors import IsakitError
from isakit.results import Output, records_at

OUTPUT = Output("draw", 1, records_at("isakit.graphics.draw_state:DrawStats[]"))


@click.command(
    "draw",
    epilog="""\b
Examples:
  isakit draw scene.json -o out.png
  isakit draw scene.json -o out.png --chip gt215 --stats
  isakit draw examples/usse/scene -o ring.png""",
)
@click.option("-o", "--output", metavar="OUT", required=True, help="The picture: a PNG, or raw pixels for .bin.")
@click.option("--chip", metavar="CHIP", help="The simulated chip.  [default: the first one the scene is for]")
@click.option("--target", type=click.IntRange(0), default=0, help="The render target to write.  [default: 0]")
@engine_options(1, "Threads that run fragments.")
@click.option(
    "--max", "limit", type=click.IntRange(1), metavar="N", help="Stop after N warp instructions of all draws."
)
@click.option("--stats", is_flag=True, help="Show what was drawn.")
@json_option
@click.argument("scene", metavar="SCENE.json")
def command(
    scene: str,
    output: str,
    chip: str | None,
    target: int,
    threads: int,
    engine: str,
    tier: str,
    limit: int | None,
    stats: bool,
    as_json: bool,
) -> None:
    """Draw a scene file and write the picture.

    Its programs are for Tesla chips, or shaders of GXP files. Row 0 of a Tesla target is the lowest row of the picture.
    """
    from isakit.graphics.gxm_scene import ShaderScene, open_scene
    from isakit.graphics.png import png

    if output != "-" and Path(output).suffix.lower() not in (".png", ".bin", ""):
        raise click.BadParameter(f"{output!r}: a picture is a .png, or a .bin of raw pixels", param_hint="--output")

    found = open_scene(scene)
    if isinstance(found, ShaderScene):
        if threads > 1 or tier != "auto" or chip not in (None, found.default_chip):
            raise click.UsageError(f"{scene} has shaders for {found.default_chip}: no --chip, --threads, --tier")
        pipeline = found.pipeline(engine=engine, max_instructions=limit)
    else:
        pipeline = found.pipeline(threads=threads, engine=engine, tier=tier, max_instructions=limit)
    if target >= len(pipeline.targets):
        raise IsakitError(f"the scene has {len(pipeline.targets)} render targets; there is no number {target}")
    draws = _shown(range(len(found.draws)), "drawing")
    drawn = [found.draw(cast("Any", pipeline), n, chip or found.default_chip) for n in draws]
    image = pipeline.image(target)
    if Path(output).suffix == ".bin":
        write_bytes(output, image.tobytes())
    else:
        write_bytes(output, png(pipeline.picture(target)))
    if as_json:
        echo_json(drawn)
    elif stats:
        for n, d in enumerate(drawn):
            echo(
                f"draw {n}: {d.vertices} vertices, {d.primitives} primitives, {d.fragments} fragments, "
                f"{d.instructions} instructions, {d.seconds:.3f} s"
            )


def _shown(numbers: Sequence[int], what: str) -> Iterator[int]:
    """Yield numbers in turn, with a progress bar on a terminal if there are several."""
    with progress(what, len(numbers), wanted=len(numbers) > 1) as bar:
        for k, number in enumerate(numbers):
            yield number
            bar(completed=k + 1)
