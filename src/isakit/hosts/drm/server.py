"""The simulator's side of the connections: one client for each process that opens the render node."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import tempfile
import threading
import time
from pathlib import Path

from isakit.errors import HostError, IsakitError
from isakit.hosts.drm import protocol
from isakit.hosts.drm.capture import Recorder
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.dump import Dump
from isakit.hosts.drm.kernel import Client
from isakit.hosts.drm.protocol import Closed, Opcode
from isakit.hosts.drm.report import Report

PATIENCE = 5.0
"""Seconds to wait for what a program has left behind."""
WATCH_SECONDS = 0.25


class DrmServer:
    """Listens on a socket of its own; every connection is a process with a card of its own.

    Args:
        chip: of the cards.
        report: collects what all of them do.
        settings: how programs run.
        capture: a file for the first process; further ones get a number after the name.
        dump: writes programs and pictures.

    Attributes: `path` of the socket, for the environment of programs; `clients` that are connected.
    """

    def __init__(
        self,
        chip: CardChip,
        report: Report,
        settings: CardSettings,
        capture: Path | None = None,
        dump: Dump | None = None,
    ) -> None:
        self.chip, self.report, self.settings, self.capture = chip, report, settings, capture
        self.dump = dump
        self.clients: list[Client] = []
        self._connections: list[socket.socket] = []
        self._count = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._folder = tempfile.TemporaryDirectory(prefix="isakit-")
        self.path = Path(self._folder.name) / "card"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.path))
        self._socket.listen(64)
        self._listener = threading.Thread(target=self._listen, name="isakit-card", daemon=True)
        self._listener.start()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="isakit-watch", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Take no more connections and wait for those that are ending."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._listener.join(1.0)
        until = time.monotonic() + PATIENCE
        while any(t.is_alive() for t in self._threads) and time.monotonic() < until:
            clients = self._connected()
            if clients and all(client.cancelled for client, _ in clients):
                break
            time.sleep(0.01)
        self._ended.set()
        for client, _ in self._connected():
            client.cancel()
        for t in (self._watcher, *self._threads):
            t.join(1.0)
        self._folder.cleanup()

    def _connected(self) -> list[tuple[Client, socket.socket]]:
        with self._lock:
            return list(zip(self.clients, self._connections, strict=True))

    def _watch(self) -> None:
        """End what runs for programs that have gone: its thread would notice only afterwards."""
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
            except OSError:
                return
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
        recorder: Recorder | None = None
        client: Client | None = None
        try:
            op, _, payload = protocol.request(connection)
            if op != Opcode.HELLO or len(payload) != protocol.HELLO.size:
                return
            with self._lock:
                recorder = self._recorder()
                client = Client(self.chip, self.report, self.settings, recorder, self.dump)
                self.clients.append(client)
                self._connections.append(connection)
            welcome = protocol.WELCOME.pack(protocol.VERSION, self.chip.pci_device, client.memory.size)
            protocol.reply(connection, 0, welcome, os.dup(client.memory.descriptor))
            while True:
                op, command, payload = protocol.request(connection)
                if op == Opcode.IOCTL:
                    status, back = client.ioctl(command, payload)
                elif op == Opcode.PUSHBUF:
                    status, back = client.pushbuf(payload)
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
            connection.close()
            if recorder is not None:
                recorder.close()
            if client is not None:
                with self._lock:
                    self.clients = [c for c in self.clients if c is not client]
                    self._connections = [c for c in self._connections if c is not connection]
                client.close()
