"""The process that outlives a command and takes away what the command could not: run as a script, see `processes`.

The argument is the mark of the command's processes. Standard input names folders to remove, and sockets as DEVICE:INODE
before their path, each with a zero byte after it, and says by DISMISSED that the command has ended in order and nothing
is to be done; without that it was killed. Nothing of the package is imported, so that it starts in a few milliseconds.
"""

import contextlib
import os
import shutil
import signal
import sys
import time

DISMISSED = b"dismissed"
SECONDS = 5.0
"""Seconds for which processes that start others meanwhile are hunted."""
GRACE_SECONDS = 0.1
"""Seconds in which processes may end by themselves: a program whose device is gone says so."""
EXEC_SECONDS = 0.5
"""Seconds for which a process may show no environment because it is about to become another program."""


def main() -> None:
    """Wait for the end of the command, then kill its remaining processes and remove its files."""
    os.chdir("/")
    *folders, _unfinished = sys.stdin.buffer.read().split(b"\0")
    if DISMISSED in folders:
        return
    hunt(os.fsencode(sys.argv[1]))
    for name in map(os.fsdecode, folders):
        place, _, path = name.partition("/")
        with contextlib.suppress(OSError):
            if not place:
                shutil.rmtree(name)
            elif place == device_and_inode(f"/{path}"):  # else somebody has put something in the socket's place
                os.unlink(f"/{path}")


def device_and_inode(path: str) -> str:
    """Return a file's identity, which another file of the same name does not have. Raises OSError."""
    found = os.lstat(path)
    return f"{found.st_dev}:{found.st_ino}"


def hunt(mark: bytes) -> None:
    """Kill the processes with the mark that do not end by themselves, until there are none."""
    own, bare_since = _start("/proc", "self"), dict[int, float]()
    grace = time.monotonic() + GRACE_SECONDS
    until = grace + SECONDS
    while (now := time.monotonic()) < until:
        found, bare = marked(mark, own)
        for pid in found if now >= grace else ():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found and all(now - bare_since.setdefault(pid, now) > EXEC_SECONDS for pid in bare):
            return
        time.sleep(0.002)


def marked(mark: bytes, since: int, proc: str = "/proc") -> tuple[list[int], list[int]]:
    """Return the processes whose environment has the mark, of those that may be looked at, and those without any.

    A process shows no environment in the moment in which it becomes another program, and may have the mark after it.
    `since`: the start of the first process that may have it; what started before is left out.
    """
    found: list[int] = []
    bare: list[int] = []
    for name in os.listdir(proc):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                with open(f"{proc}/{name}/environ", "rb") as f:
                    environment = f.read()
                if mark in environment.split(b"\0"):
                    found.append(int(name))
                # What has ended, and threads of the system, have no program.
                elif not environment and os.readlink(f"{proc}/{name}/exe") and _start(proc, name) >= since:
                    bare.append(int(name))
    return found, bare


def _start(proc: str, name: str) -> int:
    """Return when a process was started, in ticks of the system's clock."""
    with open(f"{proc}/{name}/stat", "rb") as f:
        return int(f.read().rpartition(b")")[2].split()[19])


if __name__ == "__main__":
    main()
