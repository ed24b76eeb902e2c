"""The server of `isakit cuda`: descriptors that are no connections, and messages that never end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

if not hasattr(os, "pidfd_open"):
    pytest.skip("CUDA programs run on Linux only", allow_module_level=True)

from isakit.hosts.cuda import server as servers
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.dispatch import ANSWER, HEADER
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.server import CudaServer
from isakit.hosts.cuda.table import fingerprint, functions
from support.clients.leftovers import no_more_than, settled
from support.patience import PATIENCE, until


@contextmanager
def serving() -> Iterator[tuple[CudaServer, socket.socket, list[str]]]:
    """A server in a thread, the socket through which processes introduce themselves, and what it has said."""
    said: list[str] = []
    broker, program_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = CudaServer(DeviceOptions(card("sm_13"), engine="reference", tell=said.append), (broker, program_end))
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(server.serve(child)))
    thread.start()
    ours = program_end.dup()
    try:
        yield server, ours, said
    finally:
        ours.close()
        assert child.stdin is not None
        with suppress(OSError):
            child.stdin.write(b"\n")
            child.stdin.close()
        thread.join(PATIENCE)
    assert ended == [0]


def introduced(broker: socket.socket) -> socket.socket:
    """A connection, as the library in a program makes it."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        socket.send_fds(broker, [b"c"], [theirs.fileno()])
    mine.settimeout(PATIENCE)
    return mine


def welcomed(mine: socket.socket) -> tuple[bool, int]:
    """Greet: whether the process is served, and the descriptor of its device's memory."""
    body = b"".join(n.to_bytes(8, "little") for n in (fingerprint(), 1, 8)) + b"libcudart.so.4"
    mine.sendall(HEADER.pack(functions()["hello"].number, len(body)) + body)
    code, length = ANSWER.unpack(mine.recv(ANSWER.size, socket.MSG_WAITALL))
    mine.recv(length, socket.MSG_WAITALL)
    _, (memory,), _, _ = socket.recv_fds(mine, 1, 1)
    return code == 0, memory


def greets(broker: socket.socket) -> bool:
    """Whether a process that connects now is served."""
    with introduced(broker) as mine:
        served, memory = welcomed(mine)
        os.close(memory)
        return served


def test_a_program_cannot_make_the_memory_of_its_device_shorter() -> None:
    """The server would end by a signal when it next looked there."""
    with serving() as (_, broker, _), introduced(broker) as mine:
        _, memory = welcomed(mine)
        size = os.fstat(memory).st_size
        for other in (0, size - 4096, size + 4096):
            with pytest.raises(PermissionError):
                os.ftruncate(memory, other)
        os.close(memory)


def _listening() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind("")  # the system chooses a name
    made.listen()
    return made


ODD: dict[str, Callable[[], int]] = {
    "a file": lambda: os.open(os.devnull, os.O_RDONLY),
    "a folder": lambda: os.open("/", os.O_RDONLY),
    "a path": lambda: os.open("/", os.O_PATH),
    "a pipe": lambda: os.pipe()[0],
    "a socket that listens": lambda: _listening().detach(),
    "a socket without another end": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).detach(),
    "a socket of datagrams": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].detach(),
    "a socket of packets": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0].detach(),
    "a socket of the network": lambda: socket.socket().detach(),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_descriptor_is_closed_and_others_are_served(what: str) -> None:
    with serving() as (server, broker, _):
        assert greets(broker)
        assert until(lambda: not server.connections)
        before = settled()
        for _ in range(20):
            fd = ODD[what]()
            socket.send_fds(broker, [b"c"], [fd])
            os.close(fd)
        assert greets(broker)
        assert until(lambda: not server.connections)
        if what not in ("a pipe", "a socket that listens"):  # whose other ends are open here
            assert until(lambda: no_more_than(before))


def test_unfinished_messages_take_no_more_memory_than_two_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_MOST_UNFINISHED", 4 << 20)
    with serving() as (server, broker, said):
        half = HEADER.pack(functions()["module"].number, 1 << 27) + bytes(3 << 19)
        many = [introduced(broker) for _ in range(5)]
        for mine in many:
            with suppress(OSError):
                mine.sendall(half)
        assert until(lambda: any("under way" in line for line in said))
        assert until(lambda: sum(len(c.buffer) for c in list(server.connections)) <= 4 << 20)
        assert greets(broker)
        for mine in many:
            mine.close()


ASKED = HEADER.pack(functions()["connect"].number, 0)
MANY = 4000
"""More of them than answers find room in a socket."""


@pytest.mark.parametrize("reads", [True, False])
def test_a_program_that_makes_its_socket_wait_and_reads_no_answers_holds_nobody_up(
    reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether calls wait is a flag of the socket, which the program still has."""
    monkeypatch.setattr(servers, "_SEND_SECONDS", 2 * PATIENCE if reads else 0.05)
    with serving() as (server, broker, said):
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with mine, theirs:
            mine.settimeout(PATIENCE)
            socket.send_fds(broker, [b"c"], [theirs.fileno()])
            os.close(welcomed(mine)[1])
            theirs.setblocking(True)
            mine.sendall(ASKED * MANY)
            for _ in range(3):
                assert greets(broker)
            if reads:
                answer = mine.recv(ANSWER.size, socket.MSG_WAITALL)
                answer += mine.recv(ANSWER.unpack(answer)[1], socket.MSG_WAITALL)
                with mine.makefile("rb") as answers:
                    assert answers.read(len(answer) * (MANY - 1)) == answer * (MANY - 1)
            else:
                assert until(lambda: not server.connections)
                assert any("does not read" in line for line in said)


def test_processes_beyond_the_most_are_told_apart_and_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_MOST_CONNECTIONS", 3)
    with serving() as (_, broker, said):
        many = [introduced(broker) for _ in range(4)]
        assert many[3].recv(1) == b""
        assert "3 processes" in said[0]
        for mine in many:
            mine.close()


def test_processes_that_vanish_leave_nothing() -> None:
    with serving() as (server, broker, _):
        assert greets(broker)
        assert until(lambda: not server.connections)
        before = settled()
        for sent in (b"", HEADER.pack(functions()["hello"].number, 100), HEADER.pack(1, 1 << 27) + bytes(1 << 16)) * 7:
            with introduced(broker) as mine:
                mine.sendall(sent)
        assert greets(broker)
        assert until(lambda: not server.connections)
        assert until(lambda: no_more_than(before))
