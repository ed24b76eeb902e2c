"""Whatever is typed at the debugger, a client asks of it, or a port is sent: an answer or an error, and it goes on."""

from __future__ import annotations

import io
import json
import random
from contextlib import suppress

import pytest

import isakit
from isakit.debug.dap import Adapter
from isakit.debug.gdb.stub import Stub
from isakit.debug.session import Session
from isakit.debug.terminal import COMMANDS, Commands
from isakit.errors import IsakitError

SOURCE = """.kernel k
.param out ptr
    mov b32 $r1 b32 s[out]
    mov b32 $r2 0x7
again:
    add b32 $r2 $r2 0xffffffff
    set $c0 # g u32 $r2 $r9
    (lg $c0) bra #again
    exit st b32 g14[$r1] $r2
"""
WORDS = [
    "021", "08", "f", '"', "'", "0x", "0b2", "1e999", "-1", "0", "1", "7", "40", "1,2", "(1,2)", ",", "lane", "warp",
    "block", "thread", "pc", "$r1", "$r999", "$c0", "s[0x10]", "g14[0]", "g14[$r1]:u32", "[", "]", "(", ")", "if", "==",
    "=", "+", "/", "%", "<<", "u32(", "f32(1.5)", "again", "main", "0x10", "99999999999999999999", "1/0", "1%0",
    "1<<9999999", "ignore", "nan", "é", "\x1b[31m", "\\", "/x", "/9999999999", "on", "off", ":", ".", "x.py:3", "*",
]  # fmt: skip


def session() -> Session:
    """A session in two warps, of which the first may end before the second."""
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(SOURCE)
    machine = device.machine(device.load(program)["k"], 1, 64, [device.alloc(256)])
    return Session(machine, program)


def line(rng: random.Random) -> str:
    """A command with words that may or may not make sense after it."""
    name = rng.choice([n for c in COMMANDS for n in c.names])
    glue = rng.choice((" ", " ", "", ", "))
    return f"{name}{rng.choice((' ', ' ', '/'))}{glue.join(rng.choice(WORDS) for _ in range(rng.randrange(5)))}"


WRONG = ["p 021", "focus lane f", 'focus "', "focus lane 1,2", "focus thread 1e", "focus x 1", "p 0x", "goto 08"]


@pytest.mark.parametrize("text", WRONG)
def test_words_that_are_no_numbers_are_errors(text: str) -> None:
    commands = Commands(session())
    with pytest.raises(IsakitError):
        commands.run(text)
    assert commands.run("p 1 + 1").data == 2


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_typed_is_answered_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    commands = Commands(session())
    for _ in range(400):
        typed = line(rng)
        if typed.split("/")[0].split(" ")[0] in ("quit", "q"):
            continue
        try:
            with suppress(IsakitError):
                commands.run(typed)
        except Exception as e:
            raise AssertionError(f"{typed!r} ends in {type(e).__name__}: {e}") from e


def conversation(made: Session, requests: list[dict[str, object]]) -> list[dict[str, object]]:
    """The responses of the adapter to requests."""
    given = b""
    for n, request in enumerate(requests, 1):
        body = json.dumps({"seq": n, "type": "request", **request}).encode()
        given += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    out = io.BytesIO()
    Adapter(made, io.BytesIO(given), out).serve()
    texts = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in out.getvalue().split(b"Content-Length: ")[1:]]
    return [t for t in texts if t["type"] == "response"]


def test_the_stack_of_a_warp_that_has_ended_is_empty() -> None:
    made = session()
    while made.target.thread(0).address is not None:
        made.focus = 0
        made.step()
    other = next(n for n in range(64) if made.target.thread(n).address is not None)
    made.focus = other
    first, threads, scopes, registers, second = conversation(made, [
        {"command": "stackTrace", "arguments": {"threadId": 1}}, {"command": "threads"}, {"command": "scopes"},
        {"command": "variables", "arguments": {"variablesReference": 1}},
        {"command": "stackTrace", "arguments": {"threadId": 2}},
    ])  # fmt: skip
    assert first["success"]
    assert first["body"] == {"stackFrames": [], "totalFrames": 0}
    assert all(answer["success"] for answer in (threads, scopes, registers))
    assert second["body"]["totalFrames"] == 1  # type: ignore[index]


ODD = [None, 0, -1, 1, 2, 3, 99, 1 << 70, 1.5, "", "x", "0x10", "s:0x10", "g14:0", [], [1], {}, {"x": 1}, True, "$r1"]
NAMES = ["threadId", "variablesReference", "expression", "context", "name", "value", "breakpoints", "memoryReference",
         "count", "offset", "data", "instructionCount", "instructionOffset", "frameId", "levels"]  # fmt: skip


def test_whatever_a_client_asks_is_answered() -> None:
    from isakit.debug import dap

    rng = random.Random(5)
    asked = [n for n in dap._HANDLERS if n not in ("disconnect", "terminate")] + ["", "x"]  # pyright: ignore[reportPrivateUsage]
    for _ in range(20):
        requests: list[dict[str, object]] = []
        for _ in range(50):
            names = rng.sample(NAMES, rng.randrange(5))
            requests.append({"command": rng.choice(asked), "arguments": {n: rng.choice(ODD) for n in names}})
        requests.append({"command": rng.choice(asked), "arguments": rng.choice(ODD)})
        assert len(conversation(session(), requests)) == len(requests)


def test_whatever_packet_gdb_sends_is_answered() -> None:
    from isakit.debug.gdb import stub as stubs

    rng = random.Random(6)
    names = [name for name, _ in stubs._HANDLERS if name not in ("D", "k", "vKill")]  # pyright: ignore[reportPrivateUsage]
    texts = ["", "0", "1", "-1", "ffffffff", "0,4", "0,ffffffffff", "1,0,4", "1;c", ";c", ";s:1", ";s:zz", ":", "é",
             "g14", "features:read:target.xml:0,fff", "features:read::0,fff", "threads:read::0,z", "m0,4:00", "=0",
             "5=00", b"p 021".hex(), b'focus "'.hex(), "zz"]  # fmt: skip
    for _ in range(5):
        stub = Stub(session(), lambda text: None)
        for _ in range(100):
            packet = (rng.choice(names) + "".join(rng.choice(texts) for _ in range(rng.randrange(3)))).encode("latin-1")
            stub.answer(packet)
