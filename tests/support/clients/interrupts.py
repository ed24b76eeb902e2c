"""Ctrl-C for tests."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.patience import PATIENCE


@contextmanager
def interrupted(after: float, within: float = PATIENCE) -> Iterator[None]:
    """What is inside is interrupted after some seconds, and ends soon.

    Again every five seconds: an interrupt that meets a callback of the garbage collector is lost.
    """
    main = threading.main_thread().ident
    assert main is not None
    over = threading.Event()

    def interrupt() -> None:
        pause = after
        while not over.wait(pause):
            signal.pthread_kill(main, signal.SIGINT)
            pause = 5.0

    thread = threading.Thread(target=interrupt)
    thread.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        over.set()
        thread.join()
    assert time.monotonic() - started < within
