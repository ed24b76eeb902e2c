"""Signals that would end a command while it runs a program of the host."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass, field

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class ProgramSignals:
    """Hands signals on to the child, which decides about them; the second one of a kind kills it.

    As long as there is no child they end the command as an exception does, so that nothing of it is left behind.
    """

    child: subprocess.Popen[bytes] | None = None
    seen: set[int] = field(default_factory=set[int])

    def __enter__(self) -> ProgramSignals:
        self._before = {n: signal.signal(n, self._arrived) for n in ENDING}
        return self

    def _arrived(self, number: int, frame: object) -> None:
        if self.child is None:
            raise SystemExit(128 + number)
        self.child.send_signal(signal.SIGKILL if number in self.seen else number)
        self.seen.add(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
