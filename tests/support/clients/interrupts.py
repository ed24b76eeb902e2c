"""Ctrl-C for tests."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(after: float, within: float = 20) -> Iterator[None]:
    """What is inside is interrupted after some seconds, and ends soon."""
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(after, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()
        timer.join()
    assert time.monotonic() - started < within
