"""The command line. `main` is the entry point; every command has its own module, loaded on first use."""

from __future__ import annotations

import errno
import io
import sys

from isakit.cli.interrupts import interrupted


def main() -> None:
    """Run the command line and leave with its exit code; an interrupt at any time is one line and exit code 130."""
    try:
        _run()
    except KeyboardInterrupt:  # while modules were loaded
        interrupted()
    finally:
        _let_go()


def _let_go() -> None:
    """Make an interrupt end the interpreter at once, without a traceback: only its shutdown is left."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run() -> None:
    import atexit
    import gc
    from importlib import import_module

    import_module("signal")  # what handles interrupts needs it
    # Loading an instruction set makes some hundred thousand objects, all of which stay: looking through them again and
    # again for garbage takes a tenth of a short run, and once more at its end as long as `import numpy`.
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)

    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = _Closed()
    from isakit.cli.app import app

    app(prog_name="isakit")


class _Closed(io.StringIO):
    """A stand-in for a missing standard output: writing raises an error, as for a closed file."""

    def write(self, s: str, /) -> int:
        raise OSError(errno.EBADF, "standard output is closed")
