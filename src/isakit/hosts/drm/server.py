"""The simulator's side of the connections: one client for each process that opens the render node."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
import time
from pathlib import Path

from isakit.errors import HostError, IsakitError
from isakit.hosts.drm import protocol
from isakit.hosts.drm.capture import Recorder
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.dump import Dump
from isakit.hosts.drm.kernel import Client, OnChannel
from isakit.hosts.drm.protocol import Closed, Opcode
from isakit.hosts.drm.report import Report
from isakit.processes import Reaper, TemporaryFolder

PATIENCE = 5.0
"""Seconds to wait for work left behind by a program."""
JOIN_SECONDS = 1.0
"""Seconds that stopping may take, for all threads together."""
WATCH_SECONDS = 0.25
GREETING_SECONDS = 10.0
"""Seconds in which the whole first request of a connection must arrive."""
MOST_CONNECTIONS = 256
_LATER = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED})
"""Transient errors of accepting a connection: descriptors become free when others have ended."""


class DrmServer:
    """Listens on a socket of its own; every connection is a process with a card of its own.

    Args:
        chip: of the cards.
        report: collects the statistics of all of them.
        settings: how programs run.
        capture: a file for the first process; for further ones a number is appended to its name.
        dump: writes programs and pictures.
        reaper: removes the socket when this process is killed.
        on_channel: called with every channel before anything is executed in it.

    Attributes: `path` of the socket, for the environment of programs; `clients` that are connected; `opened`: number of
    cards opened.
    """

    def __init__(
        self,
        chip: CardChip,
        report: Report,
        settings: CardSettings,
        capture: Path | None = None,
        dump: Dump | None = None,
        reaper: Reaper | None = None,
        on_channel: OnChannel | None = None,
    ) -> None:
        self.chip, self.report, self.settings, self.capture = chip, report, settings, capture
        self.dump, self.on_channel = dump, on_channel
        self.opened = 0
        self._connections: dict[socket.socket, Client | None] = {}
        """All of them, also those that have not said yet what they want."""
        self._count = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._folder = TemporaryFolder(reaper)
        self.path = self._folder.path / "card"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self.path))
        except OSError as e:
            self._folder.close()
            raise HostError(f"there can be no socket in {self._folder.path.parent}: {e}; set TMPDIR to another") from e
        self._socket.listen(64)
        self._listener = threading.Thread(target=self._listen, name="isakit-card", daemon=True)
        self._listener.start()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="isakit-watch", daemon=True)
        self._watcher.start()

    @property
    def clients(self) -> list[Client]:
        """The connected clients."""
        return [client for client, _ in self._connected()]

    def close(self, patience: float = PATIENCE) -> None:
        """Accept no more connections, and wait for those that are ending, `patience` seconds at most."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._listener.join(JOIN_SECONDS)
        until = time.monotonic() + patience
        while (clients := self.clients) and time.monotonic() < until:
            if all(client.cancelled for client in clients):
                break
            time.sleep(0.01)
        self._ended.set()
        with self._lock:
            for connection, client in self._connections.items():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                if client is not None:
                    client.cancel()
        until = time.monotonic() + JOIN_SECONDS
        for t in (self._watcher, *self._threads):
            t.join(max(0.0, until - time.monotonic()))
        self._folder.close()

    def _connected(self) -> list[tuple[Client, socket.socket]]:
        with self._lock:
            return [(client, connection) for connection, client in self._connections.items() if client is not None]

    def _watch(self) -> None:
        """Stop work in progress for programs that have exited: its thread would notice only afterwards."""
        while not self._ended.wait(WATCH_SECONDS):
            for client, connection in self._connected():
                poll = select.poll()
                with contextlib.suppress(OSError, ValueError):  # it may be closed meanwhile
                    poll.register(connection, select.POLLRDHUP)
                    if poll.poll(0):
                        client.cancel()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as e:
                if e.errno not in _LATER:
                    return  # closed
                time.sleep(WATCH_SECONDS)
                continue
            with self._lock:
                room = len(self._connections) < MOST_CONNECTIONS
                if room:
                    self._connections[connection] = None
            if not room:
                self.report.fault(f"connection: there are {MOST_CONNECTIONS} already")
                connection.close()
                continue
            t = threading.Thread(target=self._serve, args=(connection,), name="isakit-client", daemon=True)
            self._threads = [*[x for x in self._threads if x.is_alive()], t]
            t.start()

    def _recorder(self) -> Recorder | None:
        if self.capture is None:
            return None
        self._count += 1
        name = self.capture if self._count == 1 else self.capture.with_name(f"{self.capture.name}.{self._count}")
        return Recorder(name, self.chip.number)

    def _serve(self, connection: socket.socket) -> None:
        client: Client | None = None
        try:
            client = self._greeted(connection)
            while client is not None:
                op, command, payload = protocol.request(connection)
                if op == Opcode.IOCTL:
                    status, back = client.ioctl(command, payload)
                elif op == Opcode.PUSHBUF:
                    status, back = client.pushbuf(payload)
                elif op == Opcode.PICTURE:
                    status, back = client.picture(payload)
                elif op == Opcode.MAPPING:
                    status, back = client.mapping(payload)
                else:
                    return
                protocol.reply(connection, status, back)
        except (Closed, KeyboardInterrupt):  # `cancel` interrupts
            pass
        except (HostError, OSError) as e:
            self.report.fault(f"connection: {e}")
        except IsakitError as e:  # a fault of ours must not look like one of the program
            self.report.fault(f"simulator: {type(e).__name__}: {e}")
        finally:
            with self._lock:
                client = self._connections.pop(connection)
            connection.close()
            if client is not None:
                if client.recorder is not None:
                    client.recorder.close()
                client.close()

    def _greeted(self, connection: socket.socket) -> Client | None:
        """Return the card of a new connection; None if its first request is not the greeting.

        Raises what requests raise.
        """
        op, _, payload = protocol.request(connection, time.monotonic() + GREETING_SECONDS)
        connection.settimeout(None)
        if op != Opcode.HELLO or len(payload) != protocol.HELLO.size:
            return None
        version, _ = protocol.HELLO.unpack(payload)
        if version != protocol.VERSION:
            raise HostError(f"protocol version {version}; this is {protocol.VERSION}")
        with self._lock:
            client = Client(self.chip, self.report, self.settings, self._recorder(), self.dump, self.on_channel)
            self._connections[connection] = client
            self.opened += 1
        welcome = protocol.WELCOME.pack(protocol.VERSION, self.chip.pci_device, client.memory.size)
        protocol.reply(connection, 0, welcome, client.memory.descriptor)
        return client
