"""The sockets of debuggers: one client at a time."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from isakit.debug import loopback
from isakit.processes import Reaper
from support.patience import PATIENCE, until

pytestmark = pytest.mark.skipif(
    not hasattr(select, "POLLRDHUP"), reason="the system does not say that a client has left"
)


def served(
    answered: threading.Event, kind: type[loopback.SingleClientServer] = loopback.SingleClientServer
) -> tuple[threading.Thread, Callable[[], socket.socket]]:
    """A server that is busy with a client that says 1 until `answered`, and ends by another, to which it says the same.

    Returns its thread and what makes clients.
    """

    def serve(client: socket.socket) -> bool:
        said = client.recv(1)
        if said == b"1":
            answered.wait(PATIENCE)
            return False
        client.sendall(said)
        return True

    listening = loopback.listener(0)
    server = threading.Thread(target=kind(listening, serve).serve, daemon=True)
    server.start()
    return server, lambda: socket.create_connection(listening.getsockname(), PATIENCE)


@pytest.mark.parametrize("stays", [True, False])
def test_a_client_waits_for_one_that_has_left_however_busy_it_keeps_the_server(
    stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is turned away while the other one is there."""
    monkeypatch.setattr(loopback, "_GRACE", 0.01)
    answered = threading.Event()
    server, client = served(answered)
    first, second = client(), client()
    first.sendall(b"1")
    if not stays:
        first.close()
    else:
        assert second.recv(1) == b""
        second.close()
        first.close()
        second = client()
    threading.Timer(0.2, answered.set).start()
    second.sendall(b"2")
    assert second.recv(1) == b"2"
    second.close()
    server.join(PATIENCE)


def test_a_client_that_comes_after_one_has_left_is_not_turned_away_with_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loopback, "_GRACE", 0.01)
    all_here, answered = threading.Event(), threading.Event()

    class Server(loopback.SingleClientServer):
        def _turn_away(self) -> None:
            all_here.wait(PATIENCE)
            super()._turn_away()

    server, client = served(answered, Server)
    first, second = client(), client()
    first.sendall(b"1")
    assert second.recv(1) == b""
    first.close()
    third = client()
    third.sendall(b"3")
    all_here.set()
    answered.set()
    assert third.recv(1) == b"3"
    second.close()
    third.close()
    server.join(PATIENCE)


def test_clients_that_come_together_are_turned_away_together() -> None:
    """One wait for all of them: many would shut out the next client for as many seconds."""
    all_here, waits = threading.Event(), list[float | None]()

    class Free(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            all_here.wait(PATIENCE)
            return self.is_set()

    listening = loopback.listener(0)
    served = loopback.SingleClientServer(listening, lambda client: bool(client.recv(1)))
    server = threading.Thread(target=served.serve, daemon=True)
    server.start()
    first = socket.create_connection(listening.getsockname(), PATIENCE)
    assert until(lambda: served._client is not None)  # pyright: ignore[reportPrivateUsage]
    served._free = Free()  # pyright: ignore[reportPrivateUsage]
    others = [socket.create_connection(listening.getsockname(), PATIENCE) for _ in range(4)]
    all_here.set()
    assert [other.recv(1) for other in others] == [b""] * 4
    for other in others:
        other.close()
    first.sendall(b"1")
    server.join(PATIENCE)
    first.close()
    assert len(waits) == 1


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no sockets in folders")
def test_a_socket_whose_path_is_there_takes_clients(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the process that removes it starts, which takes long."""
    place = str(short_path / "s")

    class Meanwhile(Reaper):
        def __init__(self) -> None:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(place)
            super().__init__()

    monkeypatch.setattr(loopback, "Reaper", Meanwhile)
    with loopback.closing(loopback.listener(place)):
        pass
    assert not list(short_path.iterdir())


@pytest.mark.parametrize("killed", [False, True])
def test_what_somebody_puts_in_the_place_of_a_socket_stays(short_path: Path, killed: bool) -> None:
    """Also where the process is killed, and its reaper cleans up."""
    place = short_path / "s"
    listening = loopback.listener(str(place))
    place.unlink()
    place.mkdir()
    (place / "kept").touch()
    assert isinstance(listening, loopback._SocketFile)  # pyright: ignore[reportPrivateUsage]
    if killed:
        listening.reaper.close(orderly=False)
    with loopback.closing(listening):
        pass
    assert (place / "kept").exists()
    (place / "kept").unlink()
    place.rmdir()
    other = loopback.listener(str(place))
    assert isinstance(other, loopback._SocketFile)  # pyright: ignore[reportPrivateUsage]
    if killed:
        other.reaper.close(orderly=False)
        assert not place.exists()
    with loopback.closing(other):
        pass
    assert not place.exists()
