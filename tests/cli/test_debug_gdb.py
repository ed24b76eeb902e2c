"""`isakit debug --gdb`: the stock gdb, driven through its machine interface, and clients that are none."""

from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import isakit
from conftest import ROOT
from isakit.debug.gdb.packets import LONGEST, packet
from isakit.debug.gdb.server import GdbServer
from isakit.debug.gdb.stub import Stub
from isakit.debug.session import Session
from isakit.errors import LaunchError
from support.clients.gdb_client import GDB, Bare, Gdb, Serving
from support.patience import PATIENCE, until
from support.runners import debugging
from support.runners.debugging import buffer_of, diverging

gdb = pytest.mark.gdb
needs_gdb = pytest.mark.skipif(GDB is None, reason="gdb is not installed")
ENDLESS = """\
.isa tesla gt200
.kernel endless
again:
    add b32 $r1 $r1 0x1
    bra #again
"""


def endless() -> Session:
    kernel = isakit.Device("gt200").load(isakit.isa("tesla", "gt200").assemble(ENDLESS))["endless"]
    return Session(kernel.machine(1, 32))


@pytest.fixture
def served() -> Serving:
    return Serving(diverging())


@pytest.fixture
def driven(served: Serving) -> Iterator[Gdb]:
    with Gdb(served.port) as client:
        yield client


@gdb
@needs_gdb
def test_gdb_sees_warps_as_threads_with_their_activity(driven: Gdb) -> None:
    said = driven.ask("-thread-info")
    assert re.findall(r'name="([^"]*)"', said) == ["block (0, 0) warp 0", "block (0, 0) warp 1"]
    assert said.count("32 of 32 lanes active, ready at 0x0") == 2


@gdb
@needs_gdb
def test_gdb_lists_our_instructions(driven: Gdb) -> None:
    shown = driven.shown("x/3i $pc")
    assert "and b32 $r1 $r0 0xffff" in shown
    assert re.search(r"0x10:\s+mov b32 \$r4 0x10", shown)
    assert "joinat" in driven.ask("-data-disassemble -s 0x20 -e 0x28 -- 0")


@gdb
@needs_gdb
def test_gdb_breaks_steps_goes_back_and_finishes(driven: Gdb) -> None:
    address = driven.value('$label("twice")')
    driven.ask(f"-break-insert *{address}")
    stop = driven.move("-exec-continue")
    assert (stop["reason"], int(stop["addr"], 16), stop["thread-id"]) == ("breakpoint-hit", int(address), "1")
    assert "16 of 32 lanes active" in driven.ask("-thread-info 1")
    addresses = [int(a, 16) for a in re.findall(r'addr="(0x[0-9a-f]+)"', driven.ask("-stack-list-frames"))]
    assert addresses[:2] == [int(address), 0x48]
    driven.shown("lane 5")
    assert driven.value("$r2") == "5"
    driven.move("-exec-step-instruction")
    assert driven.value("$r2") == "10"
    driven.move("-exec-step-instruction --reverse")
    assert driven.value("$r2") == "5"
    driven.ask("-break-delete")
    assert int(driven.move("-exec-finish")["addr"], 16) == 0x48
    assert int(driven.move("-exec-continue --reverse")["addr"], 16) == 0
    assert "No more reverse-execution history" in driven.said


@gdb
@needs_gdb
def test_gdb_steps_over_a_call(driven: Gdb) -> None:
    driven.ask("-break-insert *0x40")
    driven.move("-exec-continue")
    assert int(driven.move("-exec-next-instruction")["addr"], 16) == 0x48


@gdb
@needs_gdb
def test_gdb_watches_and_writes_memory_and_registers(served: Serving) -> None:
    out = buffer_of(served.session)
    with Gdb(served.port) as driven:
        at = driven.value(f'$at("g14", {out + 4 * 3})')
        driven.ask(f"-break-watch *(int*){at}")
        stop = driven.move("-exec-continue")
        assert stop["reason"] == "watchpoint-trigger"
        assert (stop["old"], stop["new"]) == ("0", "7")
        assert driven.value(f"*(int*){at}") == "7"
        driven.ask(f'-data-evaluate-expression "*(int*){at} = 1234"')
        assert int.from_bytes(served.session.target.read_memory("g14", out + 12, 4), "little") == 1234


@gdb
@needs_gdb
@pytest.mark.parametrize("name", ["r3", "r9", "r19"])
def test_gdb_sets_registers_those_that_share_a_name_with_x86_too(name: str) -> None:
    source = ".isa tesla gt200\n.kernel many\n.regs 20\n    mov b32 $r1 0x4\n    exit nop\n"
    kernel = isakit.Device("gt200").load(isakit.isa("tesla", "gt200").assemble(source))["many"]
    session = Session(kernel.machine(1, 32))
    with Gdb(Serving(session).port) as driven:
        driven.shown(f"set var ${name} = 0xfffffffe")
        assert session.evaluate(f"${name}") == 0xFFFFFFFE
        assert driven.value(f"${name}") == "4294967294"


@gdb
@needs_gdb
def test_gdb_shows_a_warp_and_takes_our_commands(driven: Gdb) -> None:
    shown = driven.shown("warp 1 3")
    assert "> block (0, 0) warp 1" in shown
    assert "the stack is empty" in shown
    assert "breakpoint 1 at 0x70" in driven.shown("monitor b twice if warp == 1 && lane == 4")
    stop = driven.move("-exec-continue")
    assert stop["thread-id"] == "2"
    assert "= 36" in driven.shown("isakit p $r2") or "36" in driven.console
    assert "no command" in driven.shown("monitor nonsense")


@gdb
@needs_gdb
def test_gdb_interrupts_a_kernel_that_never_ends() -> None:
    served = Serving(endless())
    with Gdb(served.port) as driven:
        driven.ask("-exec-continue")
        assert until(lambda: served.session.position > 3000)
        driven.process.send_signal(2)
        assert driven.stopped()["signal-name"] == "SIGINT"
        assert int(driven.value("$r1")) > 1000


@gdb
@needs_gdb
@pytest.mark.parametrize("make", [debugging.usse, debugging.vuc])
def test_gdb_debugs_the_other_machines(make: object) -> None:
    session = make(3)  # type: ignore[operator]
    served = Serving(session)
    first = next(iter(session.program)).text
    with Gdb(served.port) as driven:
        assert first in driven.shown("x/i $pc")
        driven.move("-exec-step-instruction")
        here = driven.value("$pc")
        assert session.position == 1
        driven.move("-exec-step-instruction")
        driven.move("-exec-step-instruction --reverse")
        assert driven.value("$pc") == here


@gdb
@needs_gdb
def test_the_command_serves_gdb_until_it_detaches() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "isakit", "debug", str(ROOT / "examples/tesla/diverge.s"), "--block", "32", "--arg",
         "zeros:i32:32", "--gdb", "0"], stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    port = int(process.stderr.readline().rstrip("'\n").rpartition(":")[2])
    with Gdb(port) as driven:
        driven.ask("-target-detach")
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


# --- without gdb ------------------------------------------------------------------------------------------------------
HOSTILE = (
    b"",
    b"GET / HTTP/1.1\r\n\r\n",
    b"$" + b"a" * (LONGEST + 9),
    b"\xff" * 100_000,
    b"$qSupported#00",
    b"$m0,ffffffffffffffffffffffff#00" + packet(b"mfffffffffffffffffffffff,ffffffffffff"),
    packet(b"QStartNoAckMode") + b"$x#zz",
    packet(b"vCont;c"),
    packet(b"bc") * 50,
    packet(b"c") + b"\x03" * 1000,
    b"-" * 5000,
)


@pytest.mark.parametrize("data", HOSTILE)
def test_a_client_that_is_none_leaves_the_session_to_the_next(data: bytes) -> None:
    served = Serving(endless())
    bad = Bare(served.port)
    with suppress(OSError):
        bad.raw(data)
    bad.close()
    good = Bare(served.port)
    assert good.ask(b"qC") == b"QC1"
    assert good.ask(b"?").startswith(b"T")
    good.raw(packet(b"k"))
    served.end()


METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY", "PRI"]


@pytest.mark.parametrize("method", METHODS)
def test_packets_in_a_request_of_http_are_not_carried_out(method: str) -> None:
    """As a page of a browser can send them to any port of this machine."""
    served = Serving(diverging())
    page = Bare(served.port)
    body = packet(b"qRcmd," + b"s 3".hex().encode()) + packet(b"k")
    with suppress(OSError):
        page.raw(f"{method} / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert page.socket.recv(100) == b""
    page.close()
    good = Bare(served.port)
    assert served.session.position == 0
    assert good.ask(b"qC") == b"QC1"
    good.close()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in folders here")
def test_a_socket_lets_in_its_user_alone_and_goes_with_the_server(short_path: Path) -> None:
    path = short_path / "k.sock"
    server = GdbServer(diverging(), str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    with pytest.raises(LaunchError, match="cannot be had"):
        GdbServer(diverging(), str(path))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.settimeout(PATIENCE)
        client.sendall(b"+" + packet(b"qC"))
        answer = b""
        while b"#" not in answer[:-2]:  # what is not read before the end takes what was sent before it with it
            answer += client.recv(100)
        assert answer.startswith(b"+$QC")
        client.sendall(b"+" + packet(b"k"))
        while client.recv(100):
            pass
    thread.join(PATIENCE)
    assert not path.exists()


@gdb
@needs_gdb
def test_gdb_talks_to_a_socket(short_path: Path) -> None:
    path = short_path / "k.sock"
    server = GdbServer(diverging(), str(path))
    threading.Thread(target=server.serve, daemon=True).start()
    commands = ("set remotetimeout 100", f"target remote {server.place}", "info threads", "kill")
    line = [str(GDB), "-nx", "-batch", *(word for command in commands for word in ("-ex", command))]
    said = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
    assert "warp 1" in said


def test_a_client_that_vanishes_while_the_program_runs_stops_it() -> None:
    served = Serving(endless())
    bad = Bare(served.port)
    bad.raw(packet(b"QStartNoAckMode"))
    bad.receive()
    bad.raw(packet(b"vCont;c"))
    assert until(lambda: served.session.position > 1000)
    bad.close()
    good = Bare(served.port)
    assert good.ask(b"?").startswith(b"T02")
    before = served.session.position
    assert before > 1000
    good.close()


def test_a_second_client_is_turned_away() -> None:
    served = Serving(diverging())
    first = Bare(served.port)
    assert first.ask(b"qC") == b"QC1"
    second = Bare(served.port)
    assert second.socket.recv(100) == b""
    assert first.ask(b"qC") == b"QC1"


def test_a_client_that_does_not_read_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isakit.debug.loopback.SECONDS", 0.2)
    served = Serving(diverging())
    lazy = Bare(served.port)
    with suppress(OSError):
        for _ in range(100_000):
            lazy.raw(packet(b"qXfer:features:read:target.xml:0,3000"))
    good = Bare(served.port)
    good.ask(b"qC")


def test_random_packets_are_answered() -> None:
    session = diverging(32)
    stub = Stub(session, lambda text: None)
    rnd = random.Random(1)
    starts = [b"qXfer:features:read:", b"qRcmd,", b"H", b"T", b"p", b"P", b"m", b"M", b"X", b"Z", b"z", b"vCont;", b"qThreadExtraInfo,"]  # noqa: E501  # fmt: skip
    for _ in range(3000):
        tail = bytes(rnd.choice(b"0123456789abcdef,;:=g-sc") for _ in range(rnd.randrange(24)))
        answer = stub.answer(rnd.choice(starts) + tail)
        assert answer is not None
        assert not stub.detached or answer == b"W00"
        stub.detached = False
    assert stub.answer(b"g")


def test_a_port_that_is_taken_is_an_error() -> None:
    server = GdbServer(diverging(32))
    with pytest.raises(LaunchError, match="cannot be had"):
        GdbServer(diverging(32), server.port)


def test_a_program_that_ends_stands_at_its_end_first() -> None:
    served = Serving(diverging(32))
    client = Bare(served.port)
    assert client.ask(b"vCont;c").endswith(b"replaylog:end;")
    assert client.ask(b"g")
    assert client.ask(b"bs").startswith(b"T05")
    assert client.ask(b"c").endswith(b"replaylog:end;")
    assert client.ask(b"c") == b"W00"
    served.end()


def test_a_fault_is_a_signal_with_its_text() -> None:
    source = ".isa tesla gt200\n.kernel bad\n    mov b32 $r1 0x4\n    exit st b32 g14[$r1] $r1\n"
    kernel = isakit.Device("gt200").load(isakit.isa("tesla", "gt200").assemble(source))["bad"]
    client = Bare(Serving(Session(kernel.machine(1, 32))).port)
    said = client.ask(b"c")
    assert b"out of bounds" in bytes.fromhex(said[1:].decode()).lower() or said.startswith(b"O")
    assert client.receive().startswith(b"T0b")
    assert client.monitor("p pc").strip() == "8"


PAGE = re.search(r"^```gdb\n(.*?)^```$", (ROOT / "docs/howto/debug-a-program.md").read_text("utf-8"), re.M | re.S)


@gdb
@needs_gdb
def test_gdb_shows_what_the_page_shows(driven: Gdb) -> None:
    assert PAGE is not None
    shown = ""
    for line in PAGE[1].splitlines()[1:]:
        if not line.startswith("(gdb) "):
            assert line in shown.splitlines()
            continue
        command = line.removeprefix("(gdb) ")
        shown = driven.shown(command)
        if command in ("c", "reverse-stepi"):
            driven.stopped()
