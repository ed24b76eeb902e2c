"""The process that outlives a command and takes away what the command could not: run as a script, see `processes`.

The argument is the mark of the command's processes. Standard input names folders and sockets to remove, each with a
zero byte after it, and says by DISMISSED that the command has ended in order and nothing is to be done; without that it
was killed. Nothing of the package is imported, so that it starts in a few milliseconds.
"""

import contextlib
import os
import shutil
import signal
import stat
import sys
import time

DISMISSED = b"dismissed"
SECONDS = 5.0
"""Seconds for which processes that start others meanwhile are hunted."""


def main() -> None:
    """Wait for the end of the command; end and remove what is left of it."""
    os.chdir("/")
    *folders, _unfinished = sys.stdin.buffer.read().split(b"\0")
    if DISMISSED in folders:
        return
    until = time.monotonic() + SECONDS
    while (found := marked(os.fsencode(sys.argv[1]))) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    for path in map(os.fsdecode, folders):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
            else:
                shutil.rmtree(path)


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
