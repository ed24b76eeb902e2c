"""Requests that wait for their answers: what all of them together may take."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("starlette", reason="needs the extra `web`")

from isakit.web.app import RequestGuard

BODY, TOGETHER = 1000, 3000
SCOPE = {"type": "http", "headers": [(b"host", b"here")]}


class Waiting:
    """A guard before an application that reads bodies and answers when it is told to."""

    def __init__(self) -> None:
        self.guard = RequestGuard(self._application, frozenset({"here"}), BODY, TOGETHER)
        self.go, self.read = asyncio.Event(), 0

    async def _application(self, scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        self.read += 1
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def status(self, *parts: bytes) -> int:
        """Send one request; the status of its answer, 0 if there is none."""
        left, said = list(parts), [0]

        async def receive():
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        async def send(message):
            said.append(message.get("status", said[-1]))

        await self.guard(SCOPE, receive, send)
        return said[-1]

    async def holding(self, *bodies: bytes) -> list[asyncio.Task[int]]:
        """Send requests whose bodies are read, and that are not answered."""
        tasks = [asyncio.ensure_future(self.status(b)) for b in bodies]
        while self.read < len(bodies):
            await asyncio.sleep(0)
        return tasks


def carried_out(test):
    async def whole():
        await test(Waiting())

    asyncio.run(whole())


def test_a_request_beyond_the_sum_is_refused_until_others_are_answered():
    async def test(server):
        first = await server.holding(*[b"x" * BODY] * 3)
        for parts in ((b"x",), (b"x", b"y" * 10)):
            assert await server.status(*parts) == 503
        server.go.set()
        assert [await t for t in first] == [200] * 3
        assert await server.status(b"x" * BODY) == 200

    carried_out(test)


def test_what_a_request_held_is_free_however_it_ends():
    async def test(server):
        first = await server.holding(*[b"x" * BODY] * 3)
        first[0].cancel()
        await asyncio.wait(first[:1])
        assert await server.status(b"x" * BODY + b"y") == 0  # longer than one may be: no answer, and nothing is held
        assert [t.done() for t in first] == [True, False, False]
        last = asyncio.ensure_future(server.status(b"x" * BODY))
        while server.read < 4:
            await asyncio.sleep(0)
        server.go.set()
        assert [await t for t in (*first[1:], last)] == [200] * 3

    carried_out(test)


@pytest.mark.parametrize("body", [
    b"[]," * 100, b'{"a":1}' * 20, b"1," * 100, rb"\ud83d" * 150, "\N{SNOWMAN}".encode() * 300,
])  # fmt: skip
def test_objects_count_as_what_they_take(body):
    async def test(server):
        server.go.set()
        assert await server.status(body) == 503
        assert await server.status(b"x" * BODY) == 200

    carried_out(test)
