"""Signals that would end a command while it runs a program of the host."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

from isakit.waits import until_readable

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class ProgramSignals:
    """Forwards signals to the child; the second one of a kind kills it.

    Without a child they end the command like an exception, so that nothing is left behind. Those that arrive while the
    child is being started are the child's.
    """

    child: subprocess.Popen[bytes] | None = None
    seen: set[int] = field(default_factory=set[int])
    _starting: bool = False
    _early: list[int] = field(default_factory=list[int])

    def __enter__(self) -> ProgramSignals:
        self._before = {n: signal.signal(n, self._arrived) for n in ENDING}
        return self

    def start(self, program: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start the child by calling `program`."""
        self._starting = True
        try:
            self.child = program()
        finally:
            self._starting = False
        while self._early:
            self._hand_on(self.child, self._early.pop(0))
        return self.child

    def wait(self, child: subprocess.Popen[bytes]) -> int:
        """Wait for the child's end; return its `Popen.returncode`."""
        try:
            end = os.pidfd_open(child.pid)
        except ProcessLookupError:  # a signal has ended it, and it has been waited for
            return child.wait()
        try:
            until_readable([end])
        finally:
            os.close(end)
        return child.wait()

    def _arrived(self, number: int, frame: object) -> None:
        if self.child is not None:
            self._hand_on(self.child, number)
        elif self._starting:
            self._early.append(number)
        else:
            raise SystemExit(128 + number)

    def _hand_on(self, child: subprocess.Popen[bytes], number: int) -> None:
        child.send_signal(signal.SIGKILL if number in self.seen else number)
        self.seen.add(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
