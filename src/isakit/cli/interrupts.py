"""The end of a program that its user interrupts."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`: nothing is imported before interrupts have a handler
if TYPE_CHECKING:
    from typing import NoReturn


def interrupted() -> NoReturn:
    """Report that the user interrupted the program, and exit with its status."""
    import signal

    # What Python compiles for modules remembers that it was interrupted, and would end the process by the signal.
    exec("")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would interrupt this
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    sys.exit(130)
