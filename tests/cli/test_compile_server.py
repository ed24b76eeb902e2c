"""The compiler of shaders as a server: what it answers, to whom, and what it takes from nobody."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs fork", allow_module_level=True)

from isakit.cli import cc_server
from isakit.cli.cc_server import MOST_HEADER, MOST_SOURCE, RequestError, parsed
from isakit.compile.shading.compiled import build_shader
from support.clients.processes import SOURCE
from support.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-vita-shader.md"
TEXT = b"float4 main(float4 c : COLOR, uniform float4 t) : COLOR { return c * t * K; }"
PROGRAM = "import sys; from isakit.cli import cc_server; {more}; from isakit.cli.app import app; app(sys.argv[1:])"


@contextmanager
def server(place: str = "0", more: str = "pass") -> Iterator[str]:
    """A server; gives its place."""
    command = [sys.executable, "-c", PROGRAM.format(more=more), "cc", "--serve", place]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(SOURCE)}
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert "shaders are compiled at" in said, said + process.stderr.read()
            yield said.split()[-1]
        finally:
            process.kill()


@contextmanager
def connected(place: str) -> Iterator[socket.socket]:
    """A connection."""
    if place.startswith("/"):
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        made.connect(place)
    else:
        made = socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2])), PATIENCE)
    with made:
        yield made


def request(text: bytes, words: str = "stage=fragment define=K=0.5") -> bytes:
    """A request for a text."""
    return b"isakit-cc 1 %s bytes=%d\n" % (words.encode(), len(text)) + text


def answer(stream: object) -> tuple[str, bytes, str]:
    """The next answer: its first word or the kind of error, the file, the messages."""
    line = stream.readline().decode()  # type: ignore[attr-defined]
    sizes = {k: v for k, _, v in (word.partition("=") for word in line.split()[1:])}
    data = stream.read(int(sizes.get("bytes", 0)))  # type: ignore[attr-defined]
    return sizes.get("kind", line.split()[0]), data, stream.read(int(sizes["messages"])).decode()  # type: ignore[attr-defined]


def test_answers_are_what_the_compiler_makes(tmp_path: Path) -> None:
    """One after the other on a connection, as well as sent all at once; and at a socket that others cannot open."""
    want = build_shader(TEXT.decode(), stage="fragment", language="cg", defines={"K": "0.5"}).data
    with server(str(tmp_path / "s")) as place, connected(place) as client:
        assert Path(place).stat().st_mode & 0o077 == 0
        stream = client.makefile("rb")
        for _ in range(3):
            client.sendall(request(TEXT))
            assert answer(stream) == ("ok", want, "")
        bad = request(b"float4 main() : COLOR { return x; }")
        client.sendall(request(TEXT) + bad + request(TEXT))
        kinds = [answer(stream) for _ in range(3)]
        assert [k[0] for k in kinds] == ["ok", "source", "ok"]
        assert kinds[1][2] == "shader(1,32): error: `x` is not declared\n"
        client.sendall(request(b'#include "/etc/passwd"\n'))
        assert answer(stream)[0] == "source"
        client.sendall(request(b"\xff"))
        assert answer(stream) == ("source", b"", "shader(1,1): error: the text is not UTF-8\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"GET / HTTP/1.1", "begins with"),
        (b"isakit-cc 2 stage=vertex bytes=1", "begins with"),
        (b"isakit-cc 1 bytes=1", "stage=vertex or stage=fragment is missing"),
        (b"isakit-cc 1 stage=geometry bytes=1", "not 'geometry'"),
        (b"isakit-cc 1 stage=vertex", "not a number"),
        (b"isakit-cc 1 stage=vertex bytes=-1", "not a number"),
        (b"isakit-cc 1 stage=vertex bytes=%d" % (MOST_SOURCE + 1), "not a number"),
        (b"isakit-cc 1 stage=vertex bytes=99999999999999999999", "not a number"),
        ("isakit-cc 1 stage=vertex bytes=²".encode(), "not a number"),
        (b"isakit-cc 1 stage=vertex bytes=1 file=/etc/passwd", "no option 'file'"),
        (b"isakit-cc 1 \xff\xfe", "no option"),
    ],
)
def test_what_is_no_request(line: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)):
        parsed(line)


def test_strangers_are_turned_away_and_others_still_served() -> None:
    r = random.Random(5)
    with server() as place:
        strange = [b"GET / HTTP/1.1\r\n\r\n", b"isakit-cc 1 " + b"x" * MOST_HEADER, b"\0" * (2 * MOST_HEADER),
                   *(r.randbytes(40) + b"\n" for _ in range(5))]  # fmt: skip
        for data in strange:
            with connected(place) as client:
                client.sendall(data)
                stream = client.makefile("rb")
                assert answer(stream)[0] == "request"
                assert not stream.read()
        for _ in range(70):  # more than it takes at once, each of which leaves in the middle of a request
            with connected(place) as client:
                client.sendall(request(TEXT)[: r.randrange(100)])
        with connected(place) as client:
            client.sendall(request(TEXT))
            assert answer(client.makefile("rb"))[0] == "ok"


def test_texts_that_take_too_long_or_too_much_are_ended() -> None:
    """The server goes on, and nothing of them stays."""
    endless = "import itertools; cc_server.PROCESSOR_SECONDS = 1; was = cc_server.compiled; "
    endless += "cc_server.compiled = lambda r, t: [None for _ in itertools.count()] if t == b'spin' else was(r, t)"
    with server(more=endless) as place, connected(place) as client:
        stream = client.makefile("rb")
        client.sendall(request(b"spin") + request(TEXT))
        kind, data, message = answer(stream)
        assert (kind, data) == ("limit", b"")
        assert "processor time" in message
        assert answer(stream)[0] == "ok"


def test_the_page_shows_the_program_in_c(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs `cc`")
    code = re.search(r"```c\n(#include <stdio.h>.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    main = """int main(int count, char **given) {
        size_t size; char *messages;
        char *file = isakit_compile(atoi(given[1]), "fragment", "cg", given[2], &size, &messages);
        if (file) fwrite(file, 1, size, stdout); else fputs(messages ? messages : "nothing", stderr);
        return !file; }"""
    (tmp_path / "client.c").write_text(code[1] + main)
    subprocess.run([compiler, "-Wall", "-Werror", "-o", tmp_path / "client", tmp_path / "client.c"], check=True,
                   timeout=PATIENCE)  # fmt: skip
    text = "float4 main(float4 c : COLOR) : COLOR { return c.wzyx; }"
    with server() as place:
        port = place.rpartition(":")[2]
        done = subprocess.run([tmp_path / "client", port, text], capture_output=True, timeout=PATIENCE)
        assert done.stdout == build_shader(text, stage="fragment", language="cg").data
        done = subprocess.run([tmp_path / "client", port, text[:-1]], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1
        assert done.stderr.startswith("shader(1,")


def test_the_page_names_the_bounds() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"up to {MOST_SOURCE:,}" in page
    assert f"{cc_server.PROCESSOR_SECONDS} s of processor time or {cc_server.MEMORY >> 30} GiB" in page
    for name in ("stage", "bytes", "language", "target", "entry", "define"):
        assert f"`{name}=" in page
