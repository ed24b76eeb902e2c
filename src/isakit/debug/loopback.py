"""Ports of this machine that debuggers of others connect to; nothing listens on any other address."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable

from isakit.errors import LaunchError

LOOPBACK = "127.0.0.1"
SECONDS = 10.0
"""How long a client may leave what it is sent unread before it counts as gone."""
_GRACE = 1.0
"""How long a new client waits for one that is about to be gone."""


def listener(port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free. Raises LaunchError where the port cannot be had."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((LOOPBACK, port))
    except (OSError, OverflowError) as e:
        made.close()
        raise LaunchError(f"port {port} cannot be had: {e}") from None
    made.listen(4)
    return made


class SocketWriter:
    """Sends to a socket, and gives up on a client that does not read. `write` raises OSError then."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data: bytes) -> int:
        """Send all of it."""
        rest = memoryview(data)
        end = time.monotonic() + SECONDS
        while rest:
            if not select.select([], [self._client], [], max(0.0, end - time.monotonic()))[1]:
                raise TimeoutError("the client does not read")
            rest = rest[self._client.send(rest[: 1 << 12]) :]
        return len(data)

    def flush(self) -> None:
        """Everything has been sent."""


class TurningAway:
    """Serves clients one after the other; those that come while there is one are turned away."""

    def __init__(self, listening: socket.socket, serve: Callable[[socket.socket], bool]) -> None:
        self._listening, self._serve = listening, serve
        self._free = threading.Event()

    def run(self) -> None:
        """Serve until a client says that it is done, which `serve` tells by True."""
        self._free.set()
        with self._listening:
            waiting: list[socket.socket] = []
            here = threading.Condition()

            def accept() -> None:
                while True:
                    try:
                        client, _ = self._listening.accept()
                    except OSError:  # closed: the session is over
                        return
                    if not self._free.wait(_GRACE):
                        client.close()
                        continue
                    self._free.clear()
                    with here:
                        waiting.append(client)
                        here.notify()

            threading.Thread(target=accept, name="isakit-accept", daemon=True).start()
            done = False
            while not done:
                with here:
                    while not waiting:
                        here.wait()
                    client = waiting.pop()
                with client:
                    done = self._serve(client)
                self._free.set()


__all__ = ["LOOPBACK", "SocketWriter", "TurningAway", "listener"]
