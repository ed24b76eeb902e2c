"""Forked children of a campaign, and how they end."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable

from support.farm.campaign import Wrong

SECONDS = 120.0
"""What a process may take."""


def forked(run: Callable[[], object], **environment: str) -> int:
    """A child that runs something, with other variables of the environment; what goes wrong there is its status."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ.update(environment)
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(child: int, seconds: float = SECONDS) -> str:
    """Wait for a child; says what is wrong with its end, if anything is."""
    end = time.monotonic() + seconds
    pause = 0.001
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"a process ended with {code}"
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "a process does not end"


def all_end(children: Iterable[int]) -> None:
    """Wait for children; raise Wrong for the first that does not end well."""
    wrong = [w for w in map(ended, children) if w]
    if wrong:
        raise Wrong(wrong[0])
