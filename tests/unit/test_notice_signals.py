"""A signal that does not wake the main thread is noticed all the same.

The system may hand a signal to any thread, or to the main one just before it falls asleep; here it is another thread
that gets it.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import isakit
from isakit.debug import loopback
from isakit.debug.attach import carry_bytes
from isakit.debug.dap import Adapter
from isakit.debug.gdb.server import GdbServer
from isakit.debug.session import Session
from isakit.machine.interrupts import wait_stoppable
from support.patience import PATIENCE

KERNEL = ".kernel k\nexit mov b32 $r0 $r1\n"

if not hasattr(signal, "pthread_kill"):
    pytest.skip("signals go to the main thread here", allow_module_level=True)


class _Noticed(BaseException):
    pass


@pytest.fixture
def elsewhere() -> Generator[Callable[[Callable[[], object]], None]]:
    """Send a signal to a thread that is not the main one, and call the last resort where nothing notices it."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are handled by the main thread")

    def handler(number: int, frame: object) -> None:
        raise _Noticed

    before = signal.signal(signal.SIGUSR1, handler)
    over = threading.Event()
    started: list[threading.Thread] = []

    def begin(last_resort: Callable[[], object]) -> None:
        def send() -> None:
            time.sleep(0.2)  # by then the main thread waits
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            if not over.wait(PATIENCE):
                last_resort()

        started.append(threading.Thread(target=send))
        started[0].start()

    yield begin
    over.set()
    started[0].join()
    signal.signal(signal.SIGUSR1, before)


def _session() -> Session:
    program = isakit.isa("tesla", "gt200").assemble(KERNEL)
    return Session(isakit.Device("gt200").load(program)["k"].machine(1, 1), program)


def test_by_a_server_that_waits_for_a_client(elsewhere: Callable[[Callable[[], object]], None]) -> None:
    server = loopback.SingleClientServer(loopback.listener(0), lambda client: True)
    elsewhere(server.close)
    with pytest.raises(_Noticed):
        server.serve()


def test_by_an_adapter_that_waits_for_a_request(elsewhere: Callable[[Callable[[], object]], None]) -> None:
    here, there = socket.socketpair()
    with here, there, here.makefile("rb") as source:
        elsewhere(lambda: there.shutdown(socket.SHUT_RDWR))
        with pytest.raises(_Noticed):
            Adapter(_session(), source, loopback.SocketWriter(here)).serve()
        there.shutdown(socket.SHUT_RDWR)  # ends the thread that reads


def test_while_bytes_are_carried(elsewhere: Callable[[Callable[[], object]], None]) -> None:
    read, write = os.pipe()
    with loopback.closing(listening := loopback.listener(0)):
        elsewhere(lambda: os.close(write))
        with pytest.raises(_Noticed):
            carry_bytes(listening.getsockname()[1], read, write)
    os.close(read)
    os.close(write)


def test_by_a_gdb_server_with_a_client(elsewhere: Callable[[Callable[[], object]], None]) -> None:
    server = GdbServer(_session(), 0)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        elsewhere(client.close)
        with pytest.raises(_Noticed):
            server.serve()


def test_by_a_run(elsewhere: Callable[[Callable[[], object]], None]) -> None:
    stop = np.zeros(1, np.uint32)
    end = threading.Event()

    def work() -> None:
        while not stop[0] and not end.is_set():
            time.sleep(0.01)

    with ThreadPoolExecutor(1) as pool, suppress(RuntimeError):
        elsewhere(end.set)
        with pytest.raises(_Noticed):
            wait_stoppable([pool.submit(work)], stop)
    assert stop[0]
