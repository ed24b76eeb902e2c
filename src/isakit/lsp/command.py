"""`isakit lsp`."""

from __future__ import annotations

import os
import signal
from types import FrameType

import click

from isakit.cli.common import isa_option
from isakit.cli.interrupts import interrupted
from isakit.errors import HostError


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: Python would wait for the thread that waits for the editor's next message."""
    try:
        interrupted()
    except SystemExit as e:
        os._exit(e.code if isinstance(e.code, int) else 1)


@click.command(
    "lsp",
    epilog="""\b
Examples:
  isakit lsp                            (an editor starts it and talks to it)
  isakit lsp -m usse""",
)
@isa_option(required=False)
def command(isa_name: str | None) -> None:
    """Serve an editor: errors while typing, what every bit means, completion, definitions, renaming.

    Speaks the Language Server Protocol on standard input and output, for assembly of all instruction sets, PTX, kernels
    in Python, CUDA C and OpenCL C, and shaders. Texts are assembled and compiled, never run. A text that does not name
    its instruction set and whose language the editor does not tell is taken for the one given, else for tesla.
    """
    try:
        from isakit.lsp.server import Server
    except ImportError as e:
        raise HostError(
            f"the language server needs {e.name}: install the extra `lsp` (pip install 'isakit[lsp]')"
        ) from None
    signal.signal(signal.SIGINT, _end)
    Server(isa_name or "tesla").serve()
