"""The command line. `main` is the entry point; every command lives in a module of its own, loaded when it is used."""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with its exit code."""
    import gc

    # Loading an instruction set makes some hundred thousand objects, all of which stay: looking through them again and
    # again for garbage takes a tenth of a short run.
    gc.set_threshold(50_000, 20, 100)

    from isakit.cli.app import app

    app(prog_name="isakit")
