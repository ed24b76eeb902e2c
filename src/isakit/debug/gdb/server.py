"""The server of gdb's remote protocol: one session, one client at a time, on this machine alone."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress

from isakit.debug import loopback
from isakit.debug.gdb.packets import PacketError, PacketReader, packet
from isakit.debug.gdb.stub import Stub
from isakit.debug.session import Session
from isakit.waits import until_readable


class _ClientGone(Exception):
    """The client has disconnected, or is not a gdb."""


class GdbServer:
    """Listens from its construction on; `serve` answers clients until one detaches from the session or kills it.

    A client that vanishes leaves the session as it is, and the next one continues it. While a client is connected,
    others are turned away. Raises LaunchError where the port cannot be had.
    """

    def __init__(self, session: Session, place: int | str = 0) -> None:
        self.session = session
        self._listener = loopback.listener(place)
        self.place = loopback.place_of(self._listener)
        self.port = 0 if isinstance(place, str) else int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Answer clients, one after the other."""
        with loopback.closing(self._listener):
            while True:
                until_readable([self._listener])
                client, _ = self._listener.accept()
                with client:
                    conversation = Conversation(self.session, client, self._listener)
                    if conversation.run():
                        return


class Conversation:
    """One client's conversation; clients that connect to `listener` meanwhile are turned away."""

    def __init__(self, session: Session, client: socket.socket, listener: socket.socket | None = None) -> None:
        self._session, self._client, self._listener = session, client, listener
        self._writer = loopback.SocketWriter(client)
        self._reader = PacketReader()
        self._acknowledges = True
        self._last = b""
        self._is_gone = False

    def run(self) -> bool:
        """Answer packets until the client disconnects; return whether it detached."""
        stub = Stub(self._session, lambda text: self._send(packet(b"O" + text.hex().encode())))
        before, self._session.asked = self._session.asked, self._asked
        try:
            while not stub.detached:
                self._one(stub.answer)
        except (_ClientGone, PacketError):
            pass
        finally:
            stub.close()
            self._session.asked = before
        return stub.detached

    def _one(self, answer: Callable[[bytes], bytes | None]) -> None:
        """Wait for the client's next packet, and answer it."""
        while (event := self._reader.event()) is None:
            self._wait(None)
        what, content = event
        if what == "packet" and content is not None:
            if self._acknowledges:
                with suppress(_ClientGone):  # a client may ask for the end and not wait for it
                    self._send(b"+")
            reply = answer(content)
            if self._is_gone:
                raise _ClientGone
            if reply is not None:
                self._last = packet(reply)
                self._send(self._last)
            if content == b"QStartNoAckMode":
                self._acknowledges = False
        elif what == "damaged":
            if not self._acknowledges:
                raise _ClientGone
            self._send(b"-")
        elif what == "again":
            self._send(self._last)

    def _wait(self, seconds: float | None) -> None:
        """Receive bytes from the client; with None, block until some arrive.

        Other clients are turned away meanwhile.
        """
        while True:
            others = [] if self._listener is None else [self._listener]
            sources = [self._client, *others]
            ready = until_readable(sources) if seconds is None else select.select(sources, [], [], seconds)[0]
            if self._client in ready:  # first: it may be gone, and the other one the next client
                try:
                    data = self._client.recv(1 << 16)
                except OSError:
                    raise _ClientGone from None
                if not data:
                    raise _ClientGone
                self._reader.feed(data)
                return
            if self._listener is not None and self._listener in ready:
                self._listener.accept()[0].close()
            if seconds is not None:
                return

    def _asked(self) -> bool:
        """Return true if a run must end: gdb interrupts it, or has disconnected."""
        if not self._is_gone:
            try:
                self._wait(0)
            except (_ClientGone, PacketError):
                self._is_gone = True
        return self._is_gone or self._reader.interrupted()

    def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
        except OSError:
            raise _ClientGone from None


__all__ = ["Conversation", "GdbServer"]
