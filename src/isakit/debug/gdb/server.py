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


class GdbServer(loopback.SingleClientServer):
    """Answers clients, one after the other, until one detaches from the session or kills it.

    A client that vanishes leaves the session as it is, and the next one continues it. Raises LaunchError where the port
    cannot be had.
    """

    def __init__(self, session: Session, place: int | str = 0) -> None:
        super().__init__(loopback.listener(place), lambda client: Conversation(session, client).run())


class Conversation:
    """One client's conversation."""

    def __init__(self, session: Session, client: socket.socket) -> None:
        self._session, self._client = session, client
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
            until_readable([self._client])
            self._receive()
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

    def _receive(self) -> None:
        """Take what the client has sent."""
        try:
            data = self._client.recv(1 << 16)
        except OSError:
            raise _ClientGone from None
        if not data:
            raise _ClientGone
        self._reader.feed(data)

    def _asked(self) -> bool:
        """Return true if a run must end: gdb interrupts it, or has disconnected."""
        if not self._is_gone and select.select([self._client], [], [], 0)[0]:
            try:
                self._receive()
            except (_ClientGone, PacketError):
                self._is_gone = True
        return self._is_gone or self._reader.interrupted()

    def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
        except OSError:
            raise _ClientGone from None


__all__ = ["Conversation", "GdbServer"]
