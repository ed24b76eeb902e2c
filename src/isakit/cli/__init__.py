"""The command line. `main` is the entry point; every command lives in a module of its own, loaded when it is used."""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with its exit code."""
    from isakit.cli.app import app

    app(prog_name="isakit")
