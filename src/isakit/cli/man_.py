"""`isakit man`."""

from __future__ import annotations

import shutil
import subprocess

import click

from isakit.cli.common import echo, on_terminal, write_bytes


@click.command(
    "man",
    epilog="""\b
Examples:
  isakit man dis
  isakit man dis > isakit-dis.1
  isakit man -o ~/.local/share/man/man1""",
)
@click.argument("verb", required=False)
@click.option("-o", "--output", metavar="FOLDER", help="Write the pages of all verbs into a folder.")
def command(verb: str | None, output: str | None) -> None:
    """Show the manual page of a verb, or of isakit itself; where no terminal is, its source."""
    from isakit.cli.app import COMMANDS
    from isakit.cli.manual import page

    if output is None:
        source = page(verb or "")
        man = shutil.which("man") if on_terminal() else None
        if man is None:
            echo(source, nl=False)
        else:  # which draws it, with the user's pager
            subprocess.run([man, "-l", "-"], input=source.encode(), check=False)
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
