"""Clients of the debug adapter that send nonsense: each request has one answer, and nothing stays behind."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from isakit.debug import dap
from isakit.debug.dap import Adapter, DapServer, read_message
from support.patience import PATIENCE
from support.runners.debugging import diverging

DEEP: Any = []
for _ in range(600):
    DEEP = [DEEP]
VALUES: list[Any] = [
    None, True, 0, 1, -1, 1 << 31, 1 << 70, 10**400, 1.5, float("nan"), float("inf"), "", "0x0", "s:0", "$r1",
    "x" * 300, "\0", "\ud800", [], [[]], {}, DEEP, {"path": 5}, {"path": "k.s"}, {"sourceReference": 1},
    {"sourceReference": "x"}, [None], [1], [{}], [{"line": 1}], [{"line": "x"}], [{"line": 1 << 70}], [{"name": 5}],
    [{"dataId": None}], [{"instructionReference": "0x0", "offset": "x"}],
    [{"instructionReference": "0x8", "condition": {"a": 1}}],
    [{"instructionReference": "0x8", "hitCondition": 1 << 70}], [{"dataId": "$r1"}], [{"name": "k"}],
]  # fmt: skip
USUAL: dict[str, list[Any]] = {
    "memoryReference": ["0x0", "s:0", "g:0"], "threadId": [0, 1, 2], "variablesReference": [1, 2, 3, 4, 5, 100],
    "count": [4, 1 << 20, -1], "instructionCount": [3, -3, 1 << 40], "context": ["repl", "hover", "watch"],
    "expression": ["$r1", "info locals", "x/4x 0", "set $r1 = 1", "1/0", "9**9**9", "-" * 3000, "(" * 3000, "help"],
    "name": ["$r1", "$pc", "s[0]"], "value": ["1", "0x", "1<<99", "nan"], "data": ["AAAA", "!", "="],
}  # fmt: skip
ARGUMENTS = [
    *USUAL, "frameId", "text", "column", "line", "endLine", "source", "sourceReference", "breakpoints", "offset",
    "instructionOffset", "granularity", "filter", "levels", "startFrame",
]  # fmt: skip
COMMANDS = [c for c in (*dap._HANDLERS, *dap._MOVES) if c not in ("disconnect", "terminate")]


def request(rng: random.Random, number: int) -> dict[str, Any]:
    """A request whose arguments are as they must be, or of any other type, or not there."""
    given = {a: rng.choice(USUAL.get(a, VALUES) if rng.random() < 0.5 else VALUES) for a in rng.sample(ARGUMENTS, 8)}
    command: Any = rng.choice(VALUES) if rng.random() < 0.05 else rng.choice(COMMANDS)
    arguments: Any = rng.choice(VALUES) if rng.random() < 0.1 else given
    return {"seq": number if rng.random() < 0.95 else rng.choice(VALUES), "type": "request", "command": command,
            "arguments": arguments}  # fmt: skip


def framed(message: object) -> bytes:
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


@contextmanager
def adapter() -> Generator[socket.socket]:
    """A connection to an adapter, which ends with it."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    with theirs, theirs.makefile("rb") as source, theirs.makefile("wb") as to:
        served = threading.Thread(target=Adapter(diverging(), source, to).serve)
        served.start()
        try:
            yield ours
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            ours.close()
            served.join(PATIENCE)
            assert not served.is_alive()


@pytest.mark.parametrize("seed", range(12))
def test_every_request_has_one_answer_whatever_its_arguments_are(seed: int) -> None:
    rng = random.Random(seed)
    with adapter() as connection, connection.makefile("rb") as stream:
        for number in range(40):
            asked = request(rng, number)
            connection.sendall(framed(asked) + framed({"seq": -7, "type": "request", "command": "loadedSources"}))
            answers: list[dict[str, Any]] = []
            while not answers or answers[-1]["request_seq"] != -7:
                told = read_message(stream)
                assert told is not None, asked
                answers += [told] if told["type"] == "response" else []
            assert len(answers) == 2, asked
            assert "internal error" not in answers[0].get("message", ""), asked


def broken(rng: random.Random) -> bytes:
    """Messages, of which the last is not one, or does not end."""
    whole = framed(request(rng, 1))
    return rng.choice([
        whole[: rng.randrange(len(whole))],
        whole.replace(b"Content-Length: ", b"Content-Length: 9", 1),
        whole.replace(b"Content-Length: ", b"Content-Length: -", 1),
        b"Content-Length: 100000\r\n\r\n" + rng.choice((b"{", b"[")) * 100_000,
        b"Content-Length: 500000\r\n\r\n" + b'{"a":' * 100_000,
        b"Content-Length: 5000\r\n\r\n" + b"1" * 5000,
        b"Content-Length: " + b"9" * 900 + b"\r\n\r\n",
        b"\r\n" * 3,
        b"Content-Length: 2\r\n" * 200,
        rng.randbytes(rng.randrange(4000)),
        framed({"seq": 1, "type": "request", "command": "disconnect"}) + whole if rng.random() < 0.1 else whole,
    ])  # fmt: skip


def test_whatever_a_client_sends_the_next_one_is_served() -> None:
    rng = random.Random(5)
    server = DapServer(diverging())
    served = threading.Thread(target=server.serve, daemon=True)
    served.start()
    for _ in range(60):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client, suppress(ConnectionError):
            begun = [framed(request(rng, k)) for k in range(rng.randrange(3))]
            client.sendall(b"".join(begun) + broken(rng).replace(b'"disconnect"', b'"pause"'))
            if rng.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset, as of a killed one
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client, client.makefile("rb") as stream:
        for command in ("threads", "disconnect", "initialize"):
            client.sendall(framed({"seq": 1, "type": "request", "command": command}))
        told = [m for m in iter(lambda: read_message(stream), None) if m["type"] == "response"]
        assert [(m["command"], m["success"]) for m in told] == [("threads", True), ("disconnect", True)]
    served.join(PATIENCE)
    assert not served.is_alive()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such sockets")
@pytest.mark.parametrize("seed", range(4))
def test_an_adapter_whose_client_vanishes_leaves_nothing(seed: int, tmp_path: Path) -> None:
    """Over its own input and output, where the end of the client is the end of the adapter."""
    rng = random.Random(seed)
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "isakit", "debug", str(ROOT / "examples/tesla/diverge.s"), "--block", "64",
         "--arg", "zeros:i32:64", "--dap"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):
        process.stdin.write(b"".join(framed(request(rng, k)) for k in range(10)) + broken(rng))
        process.stdin.flush()
    process.stdout.close() if seed % 2 else None
    with suppress(BrokenPipeError):
        process.stdin.close()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == b""
    assert list(folder.iterdir()) == []
