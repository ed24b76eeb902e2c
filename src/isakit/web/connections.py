"""Connections that are kept only as long as they are used: those that never finish a request are closed."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from isakit.web.limits import Limits


def bounded_connections(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's protocol with limits on the number of connections and the time of a request."""

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.abort()
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Bound the time until the request is there; between two of them the server has a bound of its own."""
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._unwatch()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(limits.arrival, self.transport.abort)

        def _unwatch(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return BoundedProtocol


__all__ = ["bounded_connections"]
