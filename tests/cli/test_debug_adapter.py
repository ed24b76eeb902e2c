"""`isakit debug --dap` in a process of its own, with a client that speaks the Debug Adapter Protocol to it."""

from __future__ import annotations

import base64
import itertools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import isakit
from conftest import ROOT
from isakit.debug.dap import DapServer, read_message
from isakit.debug.session import Session
from support.clients.command_line import run
from support.clients.node_tools import needs_node, node
from support.patience import PATIENCE, until
from support.runners.debugging import diverging

DIVERGE = (str(ROOT / "examples/tesla/diverge.s"), "--block", "64", "--arg", "zeros:i32:64")


class Client:
    """A client of the protocol: requests out, responses and events in."""

    def __init__(self, *debug: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "isakit", "debug", *(debug or DIVERGE), "--dap"],
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
    assert client.process.wait(PATIENCE) == 0


LOOP = """\
import isakit

@isakit.kernel
def total(out: "u32p", n: "u32"):
    value = 0
    for k in range(n):
        value += k * k
    out[thread.x] = value
"""


@pytest.fixture
def editors() -> Iterator[Callable[..., Client]]:
    """Start clients; end their adapters."""
    made: list[Client] = []

    def make(*debug: str) -> Client:
        made.append(Client(*debug))
        return made[-1]

    yield make
    for c in made:
        c.process.kill()
        c.process.wait()


def top(client: Client) -> tuple[str, int]:
    """Return the file and the line at which the first thread stands."""
    frame = client.body("stackTrace", threadId=1)["stackFrames"][0]
    return frame["source"]["name"], frame["line"]


def test_source_of_a_python_kernel(editors: Callable[..., Client], tmp_path: Path) -> None:
    text, cubin = tmp_path / "total.py", tmp_path / "total.cubin"
    text.write_text(LOOP)
    run("cc", str(text), "-o", str(cubin))
    client = editors(str(cubin), "--block", "32", "--arg", "out:u32:32", "--arg", "u32:3")
    client.begin()
    source = {"path": str(text)}
    lines = client.body("breakpointLocations", source=source, line=1, endLine=20)["breakpoints"]
    assert {8} < {b["line"] for b in lines} <= {4, 5, 6, 7, 8}
    found = client.body("setBreakpoints", source=source, breakpoints=[{"line": 8}, {"line": 99}])["breakpoints"]
    assert [b["verified"] for b in found] == [True, False]
    assert found[0]["line"] == 8
    client.body("continue", threadId=1)
    stop = client.event("stopped")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [found[0]["id"]])
    assert top(client) == ("total.py", 8)
    client.body("stepBack", threadId=1)
    assert client.event("stopped")["reason"] == "step"
    assert top(client)[1] in (6, 7)
    client.body("setBreakpoints", source=source, breakpoints=[])
    client.body("restart")
    client.event("stopped")
    seen = []
    for _ in range(40):
        client.body("next", threadId=1)
        message = client.receive() if not client.events else client.events.pop(0)
        if message["event"] != "stopped":
            break
        seen.append(top(client)[1])
    assert seen[-1] == 8
    assert all(a != b for a, b in itertools.pairwise(seen))
    assert [s["path"] for s in client.body("loadedSources")["sources"]] == [str(text)]


def test_source_of_assembly_and_functions(client: Client) -> None:
    client.begin()
    text = ROOT / "examples/tesla/diverge.s"
    label = next(n for n, line in enumerate(text.read_text().splitlines(), 1) if line.startswith("twice:"))
    assert top(client)[0] == "diverge.s"
    (b,) = client.body("setBreakpoints", source={"path": str(text)}, breakpoints=[{"line": label}])["breakpoints"]
    assert b["verified"]
    assert b["line"] >= label
    client.body("continue", threadId=1)
    assert client.event("stopped")["reason"] == "breakpoint"
    assert top(client) == ("diverge.s", b["line"])
    client.body("setBreakpoints", source={"path": str(text)}, breakpoints=[])
    client.body("restart")
    client.event("stopped")
    names = [{"name": "twice", "hitCondition": "2"}, {"name": "nowhere"}]
    found = client.body("setFunctionBreakpoints", breakpoints=names)["breakpoints"]
    assert [b["verified"] for b in found] == [True, False]
    client.body("continue", threadId=1)
    stop = client.event("stopped")
    assert (stop["reason"], stop["threadId"]) == ("function breakpoint", 2)
    before = client.body("stackTrace", threadId=2)["stackFrames"][0]["instructionPointerReference"]
    client.body("stepIn", threadId=2, granularity="instruction")
    client.event("stopped")
    assert client.body("stackTrace", threadId=2)["stackFrames"][0]["instructionPointerReference"] != before
    assert client.body("setExceptionBreakpoints", filters=[]) == {}
    assert not client.ask("exceptionInfo", threadId=1)["success"]


def test_a_text_that_is_said_to_be_assembly_is_its_source(editors: Callable[..., Client]) -> None:
    path = str(ROOT / "examples/vuc/p1_copy_checksum.s")
    line = 1 + Path(path).read_text("utf-8").split("\n").index("    add  $r5 $r5 $r4")
    editor = editors("-m", "vuc", "-V", "vp2", path)
    editor.begin()
    (made,) = editor.body("setBreakpoints", source={"path": path}, breakpoints=[{"line": line}])["breakpoints"]
    assert (made["verified"], made["line"]) == (True, line)
    editor.body("continue", threadId=1)
    assert editor.event("stopped")["reason"] == "breakpoint"
    (frame,) = editor.body("stackTrace", threadId=1)["stackFrames"]
    assert (frame["source"]["path"], frame["line"]) == (path, line)


def test_source_that_is_in_no_file_is_the_ptx(editors: Callable[..., Client], tmp_path: Path) -> None:
    cubin = tmp_path / "k.cubin"
    text = ".version 1.4\n.target sm_13\n.entry k ()\n{\n  .reg .u32 %r<3>;\n  mov.u32 %r1, 7;\n"
    text += "  st.shared.u32 [64], %r1;\n  st.shared.u32 [68], %r1;\n  exit;\n}\n"
    run("cc", "-", "-o", str(cubin), "--language", "ptx", stdin=text)
    client = editors(str(cubin), "--block", "32", "--shared", "256")
    client.begin()
    frame = client.body("stackTrace", threadId=1)["stackFrames"][0]
    assert frame["source"] == {"name": "kernel.ptx", "sourceReference": 1}
    content = client.body("source", sourceReference=1, source=frame["source"])["content"]
    assert content.splitlines()[frame["line"] - 1].strip() == "st.shared.u32 [64], %r1;"
    wanted = [{"line": n} for n, line in enumerate(content.splitlines(), 1) if "[68]" in line]
    (b,) = client.body("setBreakpoints", source=frame["source"], breakpoints=wanted)["breakpoints"]
    assert b["verified"]
    client.body("continue", threadId=1)
    client.event("stopped")
    assert top(client) == ("kernel.ptx", wanted[0]["line"])
    assert not client.ask("source", sourceReference=2)["success"]


def test_a_fault_says_what_it_is(editors: Callable[..., Client], tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text(".isa tesla\nmov b32 $r1 0x40\n\nld b32 $r0 g14[$r1]\nexit nop\n")
    client = editors(str(path), "--block", "32")
    client.begin()
    client.body("continue", threadId=1)
    assert client.event("stopped")["reason"] == "exception"
    assert top(client) == ("k.s", 4)
    assert "g14" in client.body("exceptionInfo", threadId=1)["description"]


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
    assert client.process.wait(PATIENCE) == 0


# --- on a port --------------------------------------------------------------------------------------------------------
def served(session: Session | None = None) -> DapServer:
    server = DapServer(session or diverging())
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def talk(port: int, *commands: str) -> tuple[socket.socket, Any]:
    """A connection on which the commands were answered."""
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
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
    second = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    assert second.recv(1) == b""
    first[0].close()


@pytest.mark.parametrize("data", HOSTILE)
def test_an_editor_that_is_none_leaves_the_session_to_the_next(data: bytes) -> None:
    server = served()
    bad = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    bad.sendall(data)
    bad.close()
    connection, stream = talk(server.port, "initialize", "configurationDone", "threads", "disconnect")
    assert stream.read() == b""
    connection.close()


ENDLESS = ".isa tesla gt200\n.kernel k\nagain:\n    add b32 $r1 $r1 0x1\n    bra #again\n    exit nop\n"


def message(command: str, **arguments: Any) -> bytes:
    body = json.dumps({"seq": 1, "type": "request", "command": command, "arguments": arguments}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_an_editor_that_asks_for_more_than_can_be_kept_during_a_run_is_closed() -> None:
    kernel = isakit.Device("gt200").load(isakit.isa("tesla", "gt200").assemble(ENDLESS))["k"]
    session = Session(kernel.machine(1, 32))
    server = DapServer(session)
    threading.Thread(target=server.serve, daemon=True).start()
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as greedy:
        greedy.sendall(message("continue"))
        assert until(lambda: session.position > 0)
        with suppress(ConnectionError):
            for _ in range(100):
                greedy.sendall(message("evaluate", expression="1", more=[[]] * 200_000))
            pytest.fail("all of it is kept")
    position = session.position
    connection, _ = talk(server.port, "initialize", "threads")
    assert session.position >= position
    connection.close()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS", "PRI"])
def test_messages_in_a_request_of_http_are_not_carried_out(method: str) -> None:
    """The header of a request has a line in common with the protocol, and its body may be any message."""
    session = diverging()
    server = served(session)
    body = json.dumps({"seq": 1, "type": "request", "command": "stepIn", "arguments": {}}).encode()
    page = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    with page, suppress(ConnectionError):  # it is closed as soon as the first line has been read
        page.sendall(b"%s / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (method.encode(), len(body), body))
        page.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert page.recv(100) == b""
    assert session.position == 0
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


def test_variables_of_a_python_kernel_have_their_names() -> None:
    source = str(ROOT / "examples/python/saxpy.py")
    given = ("--kernel", "reduce", "--block", "64", "--arg", "ramp:f32:64", "--arg", "zeros:f32:1")
    client = Client(source, *given)
    client.body("initialize", adapterID="isakit")
    client.body("launch")
    asked = {"source": {"path": source}, "breakpoints": [{"line": 27, "condition": "k == 32"}]}
    assert client.body("setBreakpoints", **asked)["breakpoints"][0]["verified"]
    client.body("configurationDone")
    client.event("stopped")
    client.body("continue", threadId=1)
    assert client.event("stopped")["reason"] == "breakpoint"
    frame = client.body("stackTrace", threadId=1)["stackFrames"][0]
    assert (frame["line"], frame["name"]) == (27, "reduce+0x60")
    scope = client.body("scopes", frameId=frame["id"])["scopes"][0]
    assert scope["name"] == "Locals"
    found = {
        v["name"]: v for v in client.body("variables", variablesReference=scope["variablesReference"])["variables"]
    }
    assert (found["k"]["value"], found["k"]["type"]) == ("32", "s32")
    array = client.body("variables", variablesReference=found["s"]["variablesReference"])["variables"]
    assert [a["value"] for a in array[:3]] == ["0", "1", "2"]
    assert client.body("evaluate", expression="k", context="hover")["result"] == "32"
    assert client.body("evaluate", expression="x[5]", context="watch")["result"] == "5"
    assert client.body("setExpression", expression="k", value="16")["value"] == "16"
    refused = client.ask("evaluate", expression="k +", context="hover")
    assert not refused["success"]
    assert "labels" not in client.body("completions", text="info lo", column=8)
    client.body("disconnect")
    assert client.process.wait(PATIENCE) == 0
