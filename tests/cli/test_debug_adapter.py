"""`isakit debug --dap` in a process of its own, with a client that speaks the Debug Adapter Protocol to it."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from conftest import ROOT
from isakit.debug.dap import DapServer, read_message
from support.clients.node_tools import needs_node, node
from support.runners.debugging import diverging


class Client:
    """A client of the protocol: requests out, responses and events in."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "isakit", "debug", str(ROOT / "examples/tesla/diverge.s"), "--block", "64",
             "--arg", "zeros:i32:64", "--dap"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.seq = 0
        self.events: list[dict[str, Any]] = []

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        header = self.process.stdout.readline()
        assert header.lower().startswith(b"content-length:"), header
        assert self.process.stdout.readline() == b"\r\n"
        return json.loads(self.process.stdout.read(int(header.split(b":")[1])))

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The response; events before it are kept."""
        self.seq += 1
        data = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        while (message := self.receive())["type"] != "response":
            self.events.append(message)
        assert message["request_seq"] == self.seq
        return message

    def body(self, command: str, **arguments: Any) -> Any:
        response = self.ask(command, **arguments)
        assert response["success"], response
        return response["body"]

    def event(self, name: str) -> dict[str, Any]:
        while True:
            message = self.events.pop(0) if self.events else self.receive()
            if message["type"] == "event" and message["event"] == name:
                return message["body"]

    def begin(self) -> None:
        self.body("initialize", adapterID="isakit")
        self.event("initialized")
        self.body("launch")
        self.body("configurationDone")
        assert self.event("stopped")["reason"] == "entry"

    def variables(self, reference: int = 1) -> dict[str, str]:
        return {v["name"]: v["value"] for v in self.body("variables", variablesReference=reference)["variables"]}


@pytest.fixture
def client() -> Iterator[Client]:
    c = Client()
    yield c
    c.process.kill()
    c.process.wait()


def test_a_conversation(client: Client) -> None:
    client.begin()
    assert [t["id"] for t in client.body("threads")["threads"]] == [1, 2]
    code = client.body("disassemble", memoryReference="0x0", instructionOffset=0, instructionCount=30)["instructions"]
    twice = next(i["address"] for i in code if i.get("symbol") == "twice")
    wanted = [{"instructionReference": twice, "condition": "warp == 1"}]
    (b,) = client.body("setInstructionBreakpoints", breakpoints=wanted)["breakpoints"]
    assert b["verified"]
    client.body("continue", threadId=1)
    stop = client.event("stopped")
    assert (stop["reason"], stop["threadId"], stop["hitBreakpointIds"]) == ("instruction breakpoint", 2, [b["id"]])
    frames = client.body("stackTrace", threadId=2)["stackFrames"]
    assert frames[0]["name"] == "twice"
    assert len(frames) == 2
    assert client.variables()["$r2"] == "0x20"
    client.body("stepIn", threadId=2)
    assert client.event("stopped")["reason"] == "step"
    assert client.variables()["$r2"] == "0x40"
    client.body("stepBack", threadId=2)
    client.event("stopped")
    assert client.variables()["$r2"] == "0x20"
    assert client.body("setVariable", variablesReference=1, name="$r2", value="5")["value"] == "0x5"
    assert client.body("evaluate", expression="$r2 * 2")["result"] == "10"
    client.body("writeMemory", memoryReference="s:0x40", data=base64.b64encode(b"abcd").decode())
    assert base64.b64decode(client.body("readMemory", memoryReference="s:0x40", count=4)["data"]) == b"abcd"
    client.body("continue", threadId=2)
    client.event("terminated")
    client.body("disconnect")
    assert client.process.wait(20) == 0


def test_requests_that_are_wrong_are_answered(client: Client) -> None:
    client.begin()
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("nonsense", {}),
        ("variables", {}),
        ("variables", {"variablesReference": 99}),
        ("readMemory", {"memoryReference": "q:1", "count": 4}),
        ("disassemble", {"memoryReference": "x", "instructionCount": 1}),
        ("evaluate", {"expression": "1 +"}),
        ("writeMemory", {"memoryReference": "s:0", "data": "!"}),
        ("stackTrace", {"threadId": 9999}),
    ]
    for command, arguments in wrong:
        assert not client.ask(command, **arguments)["success"], command
    (b,) = client.body("setInstructionBreakpoints", breakpoints=[{"instructionReference": "0x3"}])["breakpoints"]
    assert not b["verified"]


HOSTILE = (
    b"",
    b"Content-Length: 99999999999\r\n\r\n",
    b"Content-Length: x\r\n\r\n",
    b"GET /\r\n\r\n",
    b"Content-Length: 4\r\n\r\n[1]x",
    b"Content-Length: 10\r\n\r\n{",
    b"\xff" * 5000,
)


@pytest.mark.parametrize("data", HOSTILE)
def test_a_client_that_is_no_client_ends_the_conversation(client: Client, data: bytes) -> None:
    client.raw(data)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(20) == 0


# --- on a port --------------------------------------------------------------------------------------------------------
def served() -> DapServer:
    server = DapServer(diverging())
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def talk(port: int, *commands: str) -> tuple[socket.socket, Any]:
    """A connection on which the commands were answered."""
    connection = socket.create_connection(("127.0.0.1", port), 20)
    stream = connection.makefile("rb")
    for k, command in enumerate(commands):
        data = json.dumps({"seq": k, "type": "request", "command": command, "arguments": {}}).encode()
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        while (message := read_message(stream)) is None or message["type"] != "response":
            assert message is not None
        assert message["success"], message
    return connection, stream


def test_a_second_editor_is_turned_away() -> None:
    server = served()
    first = talk(server.port, "initialize")
    second = socket.create_connection(("127.0.0.1", server.port), 20)
    assert second.recv(1) == b""
    first[0].close()


@pytest.mark.parametrize("data", HOSTILE)
def test_an_editor_that_is_none_leaves_the_session_to_the_next(data: bytes) -> None:
    server = served()
    bad = socket.create_connection(("127.0.0.1", server.port), 20)
    bad.sendall(data)
    bad.close()
    connection, stream = talk(server.port, "initialize", "configurationDone", "threads", "disconnect")
    assert stream.read() == b""
    connection.close()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS", "PRI"])
def test_messages_in_a_request_of_http_are_not_carried_out(method: str) -> None:
    """The header of a request has a line in common with the protocol, and its body may be any message."""
    server = served()
    body = json.dumps({"seq": 1, "type": "request", "command": "stepIn", "arguments": {}}).encode()
    with socket.create_connection(("127.0.0.1", server.port), 20) as page:
        page.sendall(b"%s / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (method.encode(), len(body), body))
        page.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        with suppress(ConnectionResetError):
            assert page.recv(100) == b""
    assert server.session.position == 0
    connection, _ = talk(server.port, "initialize")
    connection.close()


@needs_node("@vscode/debugadapter-testsupport")
def test_the_client_of_vs_code_talks_to_it() -> None:
    seen = json.loads(node(str(ROOT / "tests/support/clients/node/dap_client.cjs"), str(served().port)))
    assert seen["entry"] == "entry"
    assert [t["name"] for t in seen["threads"]] == ["block (0, 0) warp 0, ready", "block (0, 0) warp 1, ready"]
    assert seen["first"] == "and b32 $r1 $r0 0xffff"
    assert seen["hit"] | {"at": ""} == {"reason": "instruction breakpoint", "thread": 1, "at": "", "frames": 2,
                                        "value": "0x0"}  # fmt: skip
    assert seen["stepped"]["reason"] == "step"
    assert seen["back"]["at"] == seen["hit"]["at"]
    assert seen["capabilities"]["supportsStepBack"]
