"""The command line. `main` is the entry point; every command lives in a module of its own, loaded when it is used."""

from __future__ import annotations

import errno
import io


def main() -> None:
    """Run the command line and leave with its exit code."""
    import atexit
    import gc
    import sys

    # Loading an instruction set makes some hundred thousand objects, all of which stay: looking through them again and
    # again for garbage takes a tenth of a short run, and once more at its end as long as `import numpy`.
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)

    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = _Closed()
    try:
        from isakit.cli.app import app

        app(prog_name="isakit")
    except KeyboardInterrupt:  # while modules were loaded
        sys.stderr.write("interrupted\n")
        sys.exit(130)


class _Closed(io.StringIO):
    """Standard output where there is none: writing to it is an error, as writing to a closed file."""

    def write(self, s: str, /) -> int:
        raise OSError(errno.EBADF, "standard output is closed")
