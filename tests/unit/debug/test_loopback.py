"""The sockets of debuggers: one client at a time."""

from __future__ import annotations

import select
import socket
import threading

import pytest

from isakit.debug import loopback
from support.patience import PATIENCE

pytestmark = pytest.mark.skipif(
    not hasattr(select, "POLLRDHUP"), reason="the system does not say that a client has left"
)


@pytest.mark.parametrize("stays", [True, False])
def test_a_client_waits_for_one_that_has_left_however_busy_it_keeps_the_server(
    stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is turned away while the other one is there."""
    monkeypatch.setattr(loopback, "_GRACE", 0.01)
    answered = threading.Event()

    def serve(client: socket.socket) -> bool:
        if client.recv(1) == b"1":
            answered.wait(PATIENCE)
            return False
        client.sendall(b"2")
        return True

    listening = loopback.listener(0)
    server = threading.Thread(target=loopback.SingleClientServer(listening, serve).run)
    server.start()
    first, second = (socket.create_connection(listening.getsockname(), PATIENCE) for _ in range(2))
    first.sendall(b"1")
    if not stays:
        first.close()
    else:
        assert second.recv(1) == b""
        second.close()
        first.close()
        second = socket.create_connection(listening.getsockname(), PATIENCE)
    threading.Timer(0.2, answered.set).start()
    second.sendall(b"2")
    assert second.recv(1) == b"2"
    second.close()
    server.join(PATIENCE)
