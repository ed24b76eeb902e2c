"""Connections that are kept as long as they are used: those that finish no request, or read no answer, are closed."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from isakit.web.limits import Limits


def bounded_connections(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's protocol with limits on connections, and on the time in which nothing comes or goes."""
    waiting: dict[H11Protocol, None] = {}  # for a request, the longest first

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None
        _stuck: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                # Whoever only holds places must not keep out those who ask: the one that has waited longest goes.
                oldest = next(iter(waiting), self)
                waiting.pop(oldest, None)
                oldest.transport.abort()
                if oldest is self:
                    return
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.their_state is h11.SEND_BODY:  # of a request that came before this answer went
                self._watch()
            elif self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                waiting[self] = None  # the server closes it after a while, or what comes next is watched

        def pause_writing(self) -> None:
            super().pause_writing()
            self._look(1 << 62)

        def resume_writing(self) -> None:
            self._look_no_more()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            self._look_no_more()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Bound the time until the request is there; between two of them the server has a bound of its own."""
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
                self._unwatch()
            elif self._deadline is None:
                waiting.pop(self, None)
                waiting[self] = None
                self._deadline = self.loop.call_later(limits.arrival, self.transport.abort)

        def _unwatch(self) -> None:
            waiting.pop(self, None)
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _look(self, left: int) -> None:
            """Look now and then whether an answer is read; a connection on which nothing moves is closed."""
            now = self.transport.get_write_buffer_size()
            if now >= left:
                self.transport.abort()
            else:
                self._stuck = self.loop.call_later(limits.arrival, self._look, now)

        def _look_no_more(self) -> None:
            if self._stuck is not None:
                self._stuck.cancel()
                self._stuck = None

    return BoundedProtocol


__all__ = ["bounded_connections"]
