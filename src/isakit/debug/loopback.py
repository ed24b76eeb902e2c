"""The sockets that other debuggers connect to: a port of this machine, open to all its users, or a file in a folder.

Nothing listens on any other address. Web pages can reach ports, too, by having the browser send an HTTP request:
protocols here recognise their clients by the first bytes.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from isakit.errors import LaunchError
from isakit.processes import Reaper
from isakit.reap import device_and_inode
from isakit.waits import NOTICE_SECONDS

LOOPBACK = "127.0.0.1"
SECONDS = 10.0
"""Seconds that a client may leave its data unread before it counts as gone."""
_GRACE = 1.0
"""Seconds that a new client waits for one that may be about to disconnect."""


class _SocketFile(socket.socket):
    """A socket in a folder, with the process that removes it when this one is killed; `made`: its device and inode."""

    __slots__ = ("made", "reaper")
    reaper: Reaper
    made: str


def listener(place: int | str) -> socket.socket:
    """Return a socket that listens: at a port, 0 for any that is free, or at a path, for this user alone.

    Raises LaunchError if that is not possible.
    """
    if isinstance(place, str):
        return _at_path(place)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((LOOPBACK, place))
    except (OSError, OverflowError) as e:
        made.close()
        raise LaunchError(f"port {place} cannot be had: {e}") from None
    made.listen(4)
    return made


def _at_path(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise LaunchError(f"{path}: this system has no Unix-domain sockets; give a port")
    made = _SocketFile(socket.AF_UNIX)
    before = os.umask(0o177)  # others may not even connect between the making of the socket and a change of its mode
    try:
        made.bind(path)
        made.listen(4)  # at once: who waits for the path to be there connects then
    except OSError as e:
        made.close()
        raise LaunchError(f"the socket {path} cannot be had: {e.strerror or e}") from None
    finally:
        os.umask(before)
    made.made = device_and_inode(path)
    made.reaper = Reaper()  # from now on, not from the first client on: its path is said to others before that
    made.reaper.removes_socket(Path(path).absolute())
    return made


def place_of(listening: socket.socket) -> str:
    """Return the address of a listening socket, in the notation of gdb and others."""
    name = listening.getsockname()
    return name if isinstance(name, str) else f"{name[0]}:{name[1]}"


@contextmanager
def closing(listening: socket.socket) -> Generator[None]:
    """Close a listening socket at the end, and remove its file, if it has one."""
    name = listening.getsockname()
    try:
        with listening:
            yield
    finally:
        if isinstance(listening, _SocketFile):
            listening.reaper.close()
            with suppress(OSError):
                if device_and_inode(name) == listening.made:  # else somebody has put something in its place
                    os.unlink(name)


class SocketWriter:
    """Sends to a socket, and gives up on a client that does not read. `write` raises OSError then."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        if client.family != getattr(socket, "AF_UNIX", None):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data: bytes) -> int:
        """Send all bytes."""
        rest = memoryview(data)
        end = time.monotonic() + SECONDS
        while rest:
            if not select.select([], [self._client], [], max(0.0, end - time.monotonic()))[1]:
                raise TimeoutError("the client does not read")
            rest = rest[self._client.send(rest[: 1 << 12]) :]
        return len(data)

    def flush(self) -> None:
        """Do nothing: everything has been sent."""


def _has_left(client: socket.socket | None) -> bool:
    """Return true if the other end is closed, even if some of its data has not been answered yet."""
    if client is None or not hasattr(select, "POLLRDHUP"):
        return False
    watched = select.poll()
    try:
        watched.register(client, select.POLLRDHUP)
        return bool(watched.poll(0))
    except (OSError, ValueError):  # it is closed here, too
        return True


class SingleClientServer:
    """Serves one client at a time; others are turned away while it is connected.

    Attributes: `place`: the address, as clients take it; `port`: 0 for a file in a folder.
    """

    def __init__(self, listening: socket.socket, serve: Callable[[socket.socket], bool]) -> None:
        self._listening, self._serve = listening, serve
        self.place = place_of(listening)
        name = listening.getsockname()
        self.port: int = 0 if isinstance(name, str) else name[1]
        self._free = threading.Event()
        self._client: socket.socket | None = None
        self._waiting: list[socket.socket | None] = []
        self._here = threading.Condition()

    def serve(self) -> None:
        """Serve until a client is done, in which case the function given returns True."""
        self._free.set()
        with closing(self._listening):

            def accept() -> None:
                while True:
                    try:
                        client, _ = self._listening.accept()
                    except OSError:  # closed: the session is over
                        return
                    while not (free := self._free.wait(_GRACE)) and _has_left(self._client):
                        pass
                    if not free:
                        client.close()
                        self._turn_away()
                        continue
                    self._free.clear()
                    self._client = client
                    self._next(client)

            threading.Thread(target=accept, name="isakit-accept", daemon=True).start()
            done = False
            while not done:
                with self._here:
                    while not self._waiting:
                        self._here.wait(NOTICE_SECONDS)
                    client = self._waiting.pop(0)
                if client is None:
                    return
                with client:
                    done = self._serve(client)
                self._free.set()

    def _turn_away(self) -> None:
        """Turn away clients that arrived while another one was waiting in vain.

        They would all wait, one after the other. One that arrives after the served client has left is not among them.
        """
        with suppress(OSError, ValueError):  # closed: the session is over
            while select.select([self._listening], [], [], 0)[0]:
                if self._free.is_set() or _has_left(self._client):
                    return
                self._listening.accept()[0].close()

    def _next(self, client: socket.socket | None) -> None:
        with self._here:
            self._waiting.append(client)
            self._here.notify()

    def close(self) -> None:
        """Let `serve` return after the present client."""
        self._next(None)


__all__ = ["LOOPBACK", "SingleClientServer", "SocketWriter", "closing", "listener", "place_of"]
