"""Debuggers that attach to a running program: the program's side is a thread that launches kernels."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.compile import compile_ptx
from isakit.debug.attach import AttachServer, RemoteCommands
from isakit.errors import HostError, LaunchError, MachineFault
from support.clients.gdb_client import GDB, Gdb
from support.patience import PATIENCE, until

PTX = """\
.version 1.4
.target sm_13
.entry twice (.param .u64 x)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<4>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r3, %r2, %r2;
    st.global.u32 [%rd1], %r3;
    exit;
}
.entry next (.param .u64 x)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<4>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [x];
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r3, %r2, 1;
    st.global.u32 [%rd1], %r3;
    exit;
}
.entry until_set (.param .u64 x)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd2, [x];
again:
    ld.volatile.global.u32 %r2, [%rd2];
    setp.eq.u32 %p, %r2, 0;
    @%p bra again;
    exit;
}
.entry stray (.param .u64 x)
{
    .reg .u32 %r<4>;
    .reg .u64 %rd<4>;
    mov.u64 %rd2, 16;
    mov.u32 %r1, 5;
    st.global.u32 [%rd2], %r1;
    exit;
}
"""
LINES = {name: PTX.split(f".entry {name} ")[0].count("\n") + 1 for name in ("twice", "next", "until_set", "stray")}
"""Lines at which the kernels begin."""
SUM = 9
"""Lines from there to the addition."""


class Gone(Exception):
    """The program's process has ended."""


class Program:
    """A program: a thread that launches kernels, one after the other, on one array of 64 numbers."""

    def __init__(self, place: str, *kernels: str, waits: bool = True) -> None:
        self.device = isakit.Device("gt200")
        self.module = self.device.load(compile_ptx(PTX, "gt200", named=True).module)
        self.array = self.device.alloc(256)
        self.set(0, 1)
        self.told: list[str] = []
        self.server = AttachServer(place, "gt200", waits=waits, tell=self.told.append)
        self.kernels, self.done = kernels, 0
        self.gone = self.looked = False
        self.failed: list[BaseException] = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        for name in self.kernels:
            kernel = self.module[name]
            machine = kernel.machine(1, 64, (self.array,))
            try:
                self.server.launch(machine, kernel.info.program, name, self._there)
            except (MachineFault, Gone) as e:
                self.failed.append(e)
            self.done += 1

    def _there(self) -> None:
        self.looked = True
        if self.gone:
            raise Gone

    def numbers(self) -> list[int]:
        return np.frombuffer(self.array.view(), np.uint32).tolist()

    def set(self, first: int, step: int) -> None:
        self.array.write(first + step * np.arange(64, dtype=np.uint32))

    def end(self) -> None:
        """Wait for the last launch, and end as a program does."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        self.server.close()


@pytest.fixture
def start(short_path: Path) -> Iterator[Callable[..., Program]]:
    made: list[Program] = []

    def program(*kernels: str, waits: bool = True) -> Program:
        made.append(Program(str(short_path / "k"), *kernels, waits=waits))
        return made[-1]

    yield program
    for p in made:
        p.gone = True
        p.end()
    assert not list(short_path.iterdir())


def attached(p: Program) -> tuple[RemoteCommands, list[str]]:
    """A terminal that is attached, and what it shows first."""
    commands = RemoteCommands(p.server.place, pauses=False)
    return commands, commands.stopped().lines


def test_breakpoints_stop_in_later_kernels_and_inspect_them(start: Callable[..., Program]) -> None:
    p = start("twice", "next", "twice")
    commands, first = attached(p)
    assert first[0] == "twice begins"
    assert len(p.told) == 1
    assert p.server.place in p.told[0]
    assert commands.run(f"b ptx:{LINES['next'] + SUM} if lane == 5").lines[0].startswith("breakpoint 1 waits")
    assert commands.run("c").lines[0].startswith("breakpoint 1: block (0, 0) warp 0 lane 5")
    assert p.done == 1
    assert commands.run("p %r2").lines == ["10 (0xa)"]
    commands.run("set %r2 = 999")
    assert commands.run("c").lines[0].startswith("breakpoint 1: block (0, 0) warp 1 lane 5")
    commands.run("rs")
    commands.run("quit")
    commands.close()
    p.end()
    assert p.done == 3
    wanted = [2 * (2 * k + 1) for k in range(64)]
    wanted[5] = 2000
    assert p.numbers() == wanted


def test_a_fault_is_seen_first_and_is_the_programs_then(start: Callable[..., Program]) -> None:
    p = start("stray", "next")
    commands, _ = attached(p)
    commands.run("b next")
    stop = commands.run("c")
    assert stop.data["reason"] == "fault"
    assert "0x10" in stop.lines[0]
    assert not p.failed
    assert commands.run("c").lines[0].startswith("breakpoint 1: ")
    assert [type(e) for e in p.failed] == [MachineFault]
    commands.close()


def test_a_debugger_that_vanishes_leaves_the_program_to_itself(start: Callable[..., Program]) -> None:
    p = start("twice", "next")
    commands, _ = attached(p)
    commands.run("b next")
    commands.close()
    p.end()
    assert p.numbers() == [2 * k + 1 for k in range(64)]


def test_a_program_that_is_killed_ends_its_stop(start: Callable[..., Program]) -> None:
    p = start("twice")
    commands, _ = attached(p)
    p.gone = True

    def ask_on() -> None:
        while True:
            commands.run("info warps")

    with pytest.raises(HostError, match="gone"):
        ask_on()
    p.end()
    assert [type(e) for e in p.failed] == [Gone]


def test_an_endless_kernel_is_interrupted_where_it_is(start: Callable[..., Program]) -> None:
    p = start("until_set", waits=False)
    assert until(lambda: p.looked)
    commands, first = attached(p)
    assert first[0] == "interrupted"
    assert p.done == 0
    assert int(commands.run("p position").data) > 0
    p.set(1, 0)
    commands.run("b exit")
    assert commands.run("c").lines[0].startswith("breakpoint 1: ")
    commands.close()
    p.end()


def test_a_second_debugger_is_turned_away(start: Callable[..., Program]) -> None:
    p = start("twice")
    one, _ = attached(p)
    other = RemoteCommands(p.server.place, pauses=False)
    with pytest.raises(HostError, match="another"):
        other.stopped()
    other.close()
    assert one.run("p position").data == 0
    one.close()


def said(place: str, data: bytes) -> None:
    """Say something, and wait for the end of the connection."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(place)
    client.sendall(data)
    with suppress(ConnectionResetError):  # what it has not read goes with it
        while client.recv(1 << 12):
            pass
    client.close()


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\0"])
def test_what_is_no_debugger_is_turned_away(start: Callable[..., Program], data: bytes) -> None:
    p = start("twice")
    said(p.server.place, data)
    commands, first = attached(p)
    assert first[0] == "twice begins"
    commands.close()


@pytest.mark.parametrize("data", [b"{nothing\n", b"{}[]\n", b"Content-Length: -1\r\n\r\n"])
def test_a_debugger_that_talks_nonsense_leaves_the_program_to_itself(
    start: Callable[..., Program], data: bytes
) -> None:
    p = start("twice")
    said(p.server.place, data)
    p.end()
    assert p.numbers() == [2 * k for k in range(64)]


class Editor:
    """A client of the Debug Adapter Protocol over a socket."""

    def __init__(self, place: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(place)
        self.file = self.socket.makefile("rb")
        self.messages: list[dict[str, Any]] = []
        self.seq = 0

    def ask(self, command: str, **arguments: object) -> Any:
        self.seq += 1
        data = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        answer = self.next(lambda m: m.get("request_seq") == self.seq)
        assert answer["success"], answer
        return answer["body"]

    def event(self, name: str) -> Any:
        return self.next(lambda m: m.get("event") == name)["body"]

    def next(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            found = next((m for m in self.messages if wanted(m)), None)
            if found is not None:
                self.messages.remove(found)
                return found
            length = int(self.file.readline().split(b":")[1])
            self.file.readline()
            self.messages.append(json.loads(self.file.read(length)))


def test_an_editor_sets_breakpoints_for_kernels_to_come(start: Callable[..., Program]) -> None:
    p = start("twice", "next", "twice")
    editor = Editor(p.server.place)
    editor.ask("initialize", adapterID="isakit")
    ptx = {"sourceReference": 1}
    line = LINES["next"] + SUM
    (b,) = editor.ask("setBreakpoints", source=ptx, breakpoints=[{"line": line, "condition": "lane == 7"}])[
        "breakpoints"
    ]
    assert not b["verified"]
    editor.ask("attach")
    editor.ask("configurationDone")
    assert editor.event("stopped")["reason"] == "entry"
    editor.ask("continue", threadId=1)
    assert editor.event("breakpoint")["breakpoint"]["verified"]
    stop = editor.event("stopped")
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [b["id"]])
    assert editor.ask("stackTrace", threadId=1)["stackFrames"][0]["line"] == line
    assert editor.ask("evaluate", expression="%r2")["result"] == "14"
    editor.ask("setBreakpoints", source=ptx, breakpoints=[])
    editor.ask("continue", threadId=1)
    p.thread.join(PATIENCE)
    p.server.close()
    assert editor.event("exited")["exitCode"] == 0
    editor.event("terminated")
    assert p.numbers() == [2 * (2 * k + 1) for k in range(64)]


def test_an_editor_pauses_between_launches(start: Callable[..., Program]) -> None:
    p = start(waits=False)
    editor = Editor(p.server.place)
    editor.ask("initialize", adapterID="isakit")
    editor.ask("configurationDone")
    editor.ask("pause")
    stop = editor.event("stopped")
    assert stop["reason"] == "pause"
    assert "no kernel is running" in stop["text"]
    editor.ask("disconnect")
    editor.socket.close()


@pytest.mark.gdb
@pytest.mark.skipif(GDB is None, reason="gdb is not installed")
def test_gdb_keeps_its_breakpoints_to_their_kernel(start: Callable[..., Program]) -> None:
    p = start("twice", "next", "twice")
    here = list(p.module["twice"].info.program)[-1].address
    with Gdb(p.server.place) as gdb:
        gdb.ask(f"-break-insert *{here:#x}")
        stop = gdb.move("-exec-continue")
        assert (stop["reason"], int(stop["addr"], 16)) == ("breakpoint-hit", here)
        gdb.move("-exec-continue")
        assert p.done == 0
        stop = gdb.move("-exec-continue")
        assert (p.done, int(stop["addr"], 16)) == (2, here)
        gdb.move("-exec-continue")
        gdb.ask("-exec-continue")
        assert until(lambda: p.done == 3)
        p.server.close()
        assert gdb.stopped()["reason"] == "exited-normally"


@pytest.mark.gdb
@pytest.mark.skipif(GDB is None, reason="gdb is not installed")
def test_gdb_gets_lines_and_variables_of_every_kernel(start: Callable[..., Program]) -> None:
    p = start("twice", "next")
    with Gdb(p.server.place) as gdb:
        assert ".entry twice (.param .u64 x)" in gdb.shown("list")
        here = LINES["twice"] + SUM
        gdb.shown(f"tbreak kernel.ptx:{here}")
        assert gdb.move("-exec-continue")["line"] == str(here)
        assert "%r2 = 0\n" in gdb.shown("info locals")
        gdb.shown("thread 2")  # which has not read it yet
        assert "%r2 = <optimized out>\n" in gdb.shown("info locals")
        later = LINES["next"] + SUM
        gdb.shown(f"isakit b ptx:{later}")  # the server knows that a kernel to come has the line
        assert gdb.move("-exec-continue")["addr"]
        assert f"kernel.ptx:{later}" in gdb.shown("bt")
        assert "%r2 = 0\n" in gdb.shown("info locals")
        gdb.shown("isakit delete")
        gdb.ask("-exec-continue")
        p.end()
        assert gdb.stopped()["reason"] == "exited-normally"
    assert p.numbers() == [2 * k + 1 for k in range(64)]


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k").write_text("")
    with pytest.raises(LaunchError, match="cannot be had"):
        AttachServer(str(tmp_path / "k"), "gt200", waits=True, tell=print)
