"""The server of `isakit gl`: what processes leave behind that end, that say nothing, and that say nonsense."""

from __future__ import annotations

import errno
import gc
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.process_device import DeviceOptions, ProcessDevice
from isakit.hosts.drm import protocol
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.protocol import Opcode
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.server import DrmServer
from support.clients.leftovers import no_more_than, settled
from support.patience import PATIENCE, until

if not hasattr(os, "memfd_create"):
    pytest.skip("needs files in memory", allow_module_level=True)


@pytest.fixture
def server() -> Iterator[DrmServer]:
    made = DrmServer(chip_named("a0"), Report(), CardSettings())
    yield made
    made.close(0)


def connected(server: DrmServer) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.connect(str(server.path))
    return made


def request(op: int, payload: bytes, command: int = 0) -> bytes:
    return protocol.REQUEST.pack(op, command, len(payload)) + payload


def greeted(server: DrmServer, version: int = protocol.VERSION) -> tuple[socket.socket, int]:
    """A connection, and the descriptor of its card's memory."""
    made = connected(server)
    made.sendall(request(Opcode.HELLO, protocol.HELLO.pack(version, os.getpid())))
    _, files, _, _ = socket.recv_fds(made, protocol.REPLY.size, 1)
    protocol.received(made, protocol.WELCOME.size)
    return made, files[0]


def cards_mapped() -> int:
    """Mappings of cards' memory: other tests in this process may have some."""
    gc.collect()
    return Path("/proc/self/maps").read_text().count("isakit-card")


def test_a_process_that_ends_leaves_no_descriptor_and_no_memory(server: DrmServer) -> None:
    before, mapped = settled(), cards_mapped()
    for _ in range(20):
        connection, file = greeted(server)
        os.pwrite(file, b"\1" * (1 << 20), 0)
        os.close(file)
        connection.close()
    assert until(lambda: not server.clients)
    assert until(lambda: no_more_than(before))
    assert until(lambda: cards_mapped() <= mapped)


def test_a_program_says_what_it_maps(server: DrmServer) -> None:
    connection, file = greeted(server)
    (client,) = server.clients
    made = client.memory.allocate(1 << 16, 1)

    def tell(payload: bytes) -> int:
        connection.sendall(request(Opcode.MAPPING, payload))
        status, length = protocol.REPLY.unpack(protocol.received(connection, protocol.REPLY.size))
        assert not length
        return status

    assert tell(protocol.MAPPING.pack(1, 0x7000_0000, made.offset + made.size, 4096)) == 0
    assert not made.mapped
    assert tell(protocol.MAPPING.pack(1, 0x7001_0000, made.offset, 4096)) == 0
    assert made.mapped
    for k in (0, 1):  # what no program has
        assert tell(protocol.MAPPING.pack(k, 0, (1 << 64) - 1, (1 << 64) - 1)) == 0
    assert tell(b"short") == -errno.EINVAL
    os.close(file)
    connection.close()


def test_silent_connections_do_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isakit.hosts.drm.server.GREETING_SECONDS", 10 * PATIENCE)
    server = DrmServer(chip_named("a0"), Report(), CardSettings())
    silent = [connected(server) for _ in range(20)]
    connection, file = greeted(server)
    half = connected(server)
    half.sendall(request(Opcode.HELLO, b"12345678")[:9])
    os.close(file)
    connection.close()
    started = time.monotonic()
    server.close()
    assert time.monotonic() - started < PATIENCE
    for s in silent:
        assert s.recv(1) == b""
        s.close()
    with suppress(ConnectionResetError):  # where the server had not read the half
        assert half.recv(1) == b""
    half.close()


def test_a_connection_that_never_says_what_it_wants_is_closed(
    server: DrmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isakit.hosts.drm.server.GREETING_SECONDS", 0.05)
    with connected(server) as silent:
        silent.settimeout(PATIENCE)
        assert silent.recv(1) == b""


def test_a_greeting_that_comes_byte_by_byte_is_closed(server: DrmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isakit.hosts.drm.server.GREETING_SECONDS", 0.3)
    with connected(server) as slow:
        slow.sendall(request(Opcode.HELLO, bytes(1 << 20))[: protocol.REQUEST.size])

        def closed() -> bool:
            try:
                slow.sendall(b"x")
                return not slow.recv(1, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True

        assert until(closed)


def test_there_are_no_more_connections_than_allowed(server: DrmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isakit.hosts.drm.server.MOST_CONNECTIONS", 3)
    many = [connected(server) for _ in range(4)]
    many[3].settimeout(PATIENCE)
    assert many[3].recv(1) == b""
    many[0].close()
    assert until(lambda: len(server._connections) == 2)  # pyright: ignore[reportPrivateUsage]
    connection, file = greeted(server)
    os.close(file)
    for s in (*many, connection):
        s.close()


NONSENSE = {
    "another version": request(Opcode.HELLO, protocol.HELLO.pack(protocol.VERSION + 1, 1)),
    "a greeting of another size": request(Opcode.HELLO, b"1234"),
    "no greeting": request(Opcode.IOCTL, b"", 0x40),
    "an oversized message": struct.pack("<IIQ", Opcode.HELLO, 0, 1 << 60),
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_who_speaks_another_language_is_left_alone_and_others_are_served(server: DrmServer, what: str) -> None:
    with connected(server) as odd:
        odd.sendall(NONSENSE[what])
        odd.settimeout(PATIENCE)
        with suppress(ConnectionResetError):  # closed before all was read
            assert odd.recv(1) == b""
    connection, file = greeted(server)
    assert server.opened == 1
    os.close(file)
    connection.close()


def test_connections_are_taken_again_after_there_were_no_descriptors(server: DrmServer) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    early = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    held = [os.dup(early.fileno())]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 8, before[1]))
    try:
        with suppress(OSError):
            while True:
                held.append(os.dup(early.fileno()))
        early.connect(str(server.path))
        time.sleep(0.1)
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        early.close()
    assert server._listener.is_alive()
    connection, file = greeted(server)
    os.close(file)
    connection.close()


@pytest.mark.parametrize("failing", ["mmap.mmap", "os.ftruncate"])
def test_memory_that_cannot_be_had_leaves_no_descriptor(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping takes a descriptor of its own, and there may be just one left."""
    before = settled()

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(failing, refuse)
    for _ in range(3):
        with pytest.raises(OSError, match="open files"):
            VideoMemory()
        with pytest.raises(OSError, match="open files"):
            ProcessDevice(DeviceOptions(card("sm_13")))
    monkeypatch.undo()
    assert until(lambda: no_more_than(before))


def test_what_a_program_does_wrong_is_counted_in_bounded_memory() -> None:
    report = Report()
    for k in range(10_000):
        report.fault(f"address {k}")
        report.missing(f"method {k}")
    assert report.faults["address 0"] == report.unsupported["method 0"] == 1
    assert sum(report.faults.values()) == sum(report.unsupported.values()) == 10_000
    assert len(report.faults) == len(report.unsupported) < 5000
