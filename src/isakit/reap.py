"""The process that outlives a command and takes away what the command could not: run as a script, see `processes`.

The arguments are the mark of the command's processes and the folder to remove, which may be empty. Standard input says
how the command ended: a byte before the end of the input, and there is nothing to do; the end alone, and it was killed.
Nothing of the package is imported, so that it starts in a few milliseconds.
"""

import contextlib
import os
import shutil
import signal
import sys
import time

SECONDS = 5.0
"""How long processes that start others meanwhile are hunted."""


def main() -> None:
    """Wait for the end of the command; end and remove what is left of it."""
    mark, folder = sys.argv[1:]
    os.chdir("/")
    if sys.stdin.buffer.read(1):
        return
    until = time.monotonic() + SECONDS
    while (found := marked(mark.encode())) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def marked(mark: bytes) -> list[int]:
    """Return the processes whose environment has the mark, of those that may be looked at."""
    out: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as f:
                if mark in f.read().split(b"\0"):
                    out.append(int(name))
    return out


if __name__ == "__main__":
    main()
