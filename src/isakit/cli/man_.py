"""`isakit man`."""

from __future__ import annotations

import click

from isakit.cli.common import echo, write_bytes


@click.command(
    "man",
    epilog="""\b
Examples:
  isakit man dis | man -l -
  isakit man -o ~/.local/share/man/man1""",
)
@click.argument("verb", required=False)
@click.option("-o", "--output", metavar="FOLDER", help="Write the pages of all verbs into a folder.")
def command(verb: str | None, output: str | None) -> None:
    """Write the manual page of a verb, or of isakit itself."""
    from isakit.cli.app import COMMANDS
    from isakit.cli.manual import page

    if output is None:
        echo(page(verb or ""), nl=False)
        return
    if verb is not None:
        raise click.UsageError("-o writes the pages of all verbs: name none")
    from pathlib import Path

    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("", *COMMANDS):
        path = folder / f"isakit{'-' * bool(name)}{name}.1"
        write_bytes(str(path), page(name).encode())
        echo(str(path))
