"""A running workbench for tests: the command in a process of its own, and plain HTTP to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

from support.patience import PATIENCE


class Address:
    """Where a server is, and plain HTTP to it. `url` ends with the token and a slash."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.path = parts.netloc, parts.port or 0, parts.path

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """One request, to the server's port whatever the headers say: (status, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.host, **{k.replace("_", "-"): v for k, v in headers.items()}}.items():
                if value:
                    connection.putheader(name, value)
            if body is not None and "Content-Length" not in {k.replace("_", "-") for k in headers}:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            # The server may refuse while the body is on its way.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.send(body or b"")
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def page(self) -> Page:
        """A page, as a browser opens it."""
        return Page(self)


class Server(Address):
    """A server in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "isakit", "web", "--json", *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        super().__init__(json.loads(self.process.stdout.readline())["url"])

    def end(self) -> int:
        """Interrupt it as Ctrl-C does, and wait."""
        import signal

        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


class Page:
    """A page of a server, without a browser."""

    def __init__(self, server: Address) -> None:
        self.server = server
        status, body = server.request("POST", server.path + "open")
        patience = time.monotonic() + PATIENCE
        while status != 200 and b"pages are open" in body and time.monotonic() < patience:
            time.sleep(0.1)  # a page that was closed a moment ago may still count on a busy machine
            status, body = server.request("POST", server.path + "open")
        assert status == 200, body
        self.answer = json.loads(body)
        self.tab = self.answer["tab"]
        self._alive = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        self._alive.request("GET", f"{server.path}alive/{self.tab}", headers={"Host": server.host})
        self._alive.getresponse()

    def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """The whole answer to a request."""
        path = f"{self.server.path}ask/{self.tab}/{verb}"
        status, body = self.server.request("POST", path, json.dumps(fields).encode(), Content_Type="application/json")
        assert status in (200, 404), (status, body)
        return json.loads(body)

    def result(self, verb: str, **fields: Any) -> Any:
        """The result of a request that must succeed. On a busy machine, what comes first may be interrupted."""
        answer = self.ask(verb, **fields)
        for _ in range(9):
            if answer.get("kind") == "interrupt":
                answer = self.ask(verb, **fields)
        assert "error" not in answer, answer
        return answer["result"]

    def assembled(self, source: str, **more: Any) -> str:
        """The name of a text's first program."""
        return self.result("assemble", source=source, isa="tesla", variant="gt200", language="asm", **more)["units"][0][
            "unit"
        ]

    def close(self) -> None:
        """As closing the tab of the browser does."""
        if self._alive.sock is not None:
            self._alive.sock.close()
        self._alive.close()


@contextlib.contextmanager
def server(*arguments: str) -> Iterator[Server]:
    """A server that is ended with the block."""
    made = Server(*arguments)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.terminate()
            made.process.wait(PATIENCE)


def asked(bench: Any, verb: str, **fields: Any) -> Any:
    """The result of a request that must succeed, of a workbench in this process."""
    from isakit.web.verbs import answer

    got = answer(bench, verb, fields)
    assert "error" not in got, got
    return got["result"]
