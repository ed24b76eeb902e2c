"""Interrupts while work is handed to another thread."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("llvmlite")
if not hasattr(signal, "SIGUSR1"):
    pytest.skip("needs signals of Unix", allow_module_level=True)

from isakit.machine.tesla.compiled.launch import host_assist


class Struck(Exception):
    """What the handler of the signal raises."""


def test_an_interrupt_before_the_wait_has_begun_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that nobody stops would keep the process from ending."""
    stop, over = np.zeros(1, np.int32), threading.Event()

    def work() -> None:
        while not stop[0]:
            time.sleep(0.001)
        over.set()

    def strike(number: int, frame: object) -> None:
        raise Struck

    monkeypatch.setattr(host_assist, "watcher", lambda: signal.raise_signal(signal.SIGUSR1))
    before = signal.signal(signal.SIGUSR1, strike)
    try:
        with pytest.raises(Struck):
            host_assist.interruptible(work, stop)
        stopped = over.is_set()
    finally:
        signal.signal(signal.SIGUSR1, before)
        stop[0] = 1
    assert stopped
