"""Connections of the workbench: those that never finish a request go, those that are used stay."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

pytest.importorskip("starlette", reason="needs the extra `web`")
pytest.importorskip("uvicorn", reason="needs the extra `web`")

import uvicorn

from isakit.web.connections import bounded_connections
from isakit.web.limits import Limits
from support.patience import PATIENCE

SECONDS = 0.4


LEFT: list[str] = []
"""Addresses of long answers whose reader is gone."""

HELD: list[asyncio.Event] = []
"""One for each answer that waits for a word of the test."""


async def application(scope, receive, send):
    """Read the body, wait longer than a request may take to arrive, and answer."""
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/long":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(64 << 20), "more_body": True})
        await send({"type": "http.response.body", "body": bytes(1)})
        LEFT.append(scope["path"])
        return
    if scope["path"] == "/held":
        HELD.append(asyncio.Event())
        await asyncio.wait_for(HELD[-1].wait(), PATIENCE)
    else:
        await asyncio.sleep(2 * SECONDS)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def served(test, arrival=SECONDS, **limits):
    """Run a coroutine function with the port of a server."""

    async def whole():
        http = bounded_connections(Limits(arrival=arrival, **limits))
        server = uvicorn.Server(
            uvicorn.Config(
                application, http=http, log_level="error", lifespan="off", port=0, timeout_graceful_shutdown=1
            )
        )
        running = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            await test(server.servers[0].sockets[0].getsockname()[1])
        finally:
            server.should_exit = True
            await running

    asyncio.run(whole())


async def end_of(port, *sent):
    """What a server says to bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(ConnectionError):
        for data in sent:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(SECONDS / 10)
    said = b""
    with contextlib.suppress(ConnectionError):
        said = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    return said


HALF = {
    "nothing": [],
    "half a line": [b"GET / HT"],
    "half a head": [b"GET / HTTP/1.1\r\nHost: x\r\n"],
    "half a body": [b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12345"],
    "half a chunk": [b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n123"],
    "a byte now and then": [b"G", b"E", b"T", b" ", b"/", b" ", b"H", b"T", b"T", b"P", b"/", b"1", b".", b"1"] * 3,
}


@pytest.mark.parametrize("what", HALF)
def test_half_a_request_is_closed(what):
    async def test(port):
        assert b"200" not in await end_of(port, *HALF[what])

    served(test)


async def answered(port, *sent):
    """Whether a whole request is answered; on a busy machine, it may take too long to arrive."""
    for _ in range(10):
        if (await end_of(port, *sent)).endswith(b"ok"):
            return True
    return False


def test_a_whole_request_is_answered_however_long_that_takes():
    async def test(port):
        whole = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
        assert await answered(port, whole[:20], whole[20:], b"12345")

    served(test)


GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def test_silent_connections_hold_nobody_up_and_the_oldest_is_closed():
    async def test(port):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
        assert (await end_of(port, GET)).endswith(b"ok")
        ended = await asyncio.wait([asyncio.ensure_future(r.read()) for r, _ in silent[:7]], timeout=PATIENCE)
        assert not ended[1]
        assert not silent[-1][0].at_eof()
        for _, writer in silent:
            writer.close()

    served(test, PATIENCE, connections=3)


def test_what_is_being_answered_is_not_closed_for_others():
    async def test(port):
        asked = [asyncio.ensure_future(end_of(port, GET.replace(b"/ ", b"/held "))) for _ in range(3)]
        async with asyncio.timeout(PATIENCE):
            while len(HELD) < len(asked):
                await asyncio.sleep(0.01)
        assert await end_of(port, GET) == b""
        for answer in HELD:
            answer.set()
        assert all(said.endswith(b"ok") for said in await asyncio.gather(*asked))
        assert await answered(port, GET)

    HELD.clear()
    served(test, PATIENCE, connections=3)


def test_half_a_request_behind_a_whole_one_is_closed():
    async def test(port):
        whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        said = await end_of(port, whole + b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n12345")
        assert said.count(b"200") <= 1

    served(test)


def test_a_connection_that_reads_no_answer_is_closed():
    async def test(port):
        class Deaf(asyncio.Protocol):
            def connection_made(self, transport):
                transport.pause_reading()
                transport.write(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")

        transport, _ = await asyncio.get_running_loop().create_connection(Deaf, "127.0.0.1", port)
        async with asyncio.timeout(PATIENCE):
            while not LEFT:
                await asyncio.sleep(0.05)
        transport.abort()

    LEFT.clear()
    served(test)
