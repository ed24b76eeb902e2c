"""Servers that are killed or interrupted, and clients that vanish: what is left of them.

Every server is a command in a process of its own, forked from one that has imported what they need, so that a hundred
of them take seconds.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from support.clients.leftovers import descriptors, ended, processes
from support.clients.processes import SOURCE
from support.clients.workbench import Address
from support.patience import PATIENCE, until

MARK = "ISAKIT_TEST_OF"
"""The variable by which a test finds the processes that its server has started."""
KERNEL = ".kernel k\n.param out ptr\nagain:\n    add b32 $r0 $r0 $r0\n    bra #again\n"

_FORKS = """
import atexit, gc, importlib, json, os, signal, sys, tempfile
from isakit.cli.app import app
from isakit.sandbox import end_with_parent
for name in {modules}:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
replies, sys.stdout = sys.stdout, sys.stderr
sys.modules["isakit.cli.cc_server"].warm()
try:
    app({warm})
except SystemExit:
    pass
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
atexit.register(gc.freeze)  # as the command itself does
gc.freeze()
own = os.getpid()
for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if not child:
        end_with_parent(own)  # whoever tests may be killed, too
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for to, name in ((1, job["out"]), (2, job["out"]), (0, job["in"])):
            found = os.open(name, os.O_WRONLY | os.O_APPEND if to else os.O_RDONLY)
            os.dup2(found, to)
            os.close(found)
        os.environ.update(job["environment"])
        tempfile.tempdir = None
        sys.stdout = replies
        app(job["arguments"])
    print(child, file=replies, flush=True)
"""
_MODULES = [
    "uvicorn", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on", "isakit.web.app", "isakit.web.command",
    "isakit.cli.debug_", "isakit.debug.dap", "isakit.debug.gdb.server", "isakit.debug.terminal", "isakit.cli.gl_",
    "isakit.cli.cc_server", "isakit.hosts.drm.session", "isakit.cli.cuda_", "isakit.hosts.cuda.server",
    "isakit.hosts.cuda.handlers",
]  # fmt: skip


@cache
def _forks() -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    kernel = Path(tempfile.mkdtemp(prefix="vanishing-")) / "k.s"
    kernel.write_text(KERNEL)
    atexit.register(shutil.rmtree, kernel.parent, True)
    warm = [*(a.format(kernel=kernel) for a in _DEBUG), "-e", "s"]
    program = _FORKS.format(modules=_MODULES, warm=warm)
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=environment,
    )  # fmt: skip


@dataclass
class Started:
    """A server that runs: its process, its private temporary folder, what it has said, and its standard input."""

    pid: int
    mark: str
    folder: Path
    said: re.Match[str]
    clients: list[Any] = field(default_factory=list[Any])

    @property
    def temporary(self) -> Path:
        """Where it puts temporary files."""
        return self.folder / "temporary"

    def left(self) -> str:
        """What is left of it, or nothing."""
        if not ended(self.pid):
            return "the process itself"
        if found := processes(MARK, self.mark):
            return f"processes {[_command(p) for p in found]}"
        files = [str(p.relative_to(self.temporary)) for p in self.temporary.rglob("*")]
        return f"files {files}" if files else ""

    def state(self) -> tuple[list[str], int, int]:
        """What it has open while it runs, its processes, its files."""
        files = len([*self.temporary.iterdir()])
        return [_kind(d) for d in descriptors(self.pid)], len(processes(MARK, self.mark)), files


def _kind(descriptor: str) -> str:
    return re.sub(r"\d+", "N", descriptor)


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:80]
    return str(pid)


@dataclass(frozen=True)
class Served:
    """A kind of server.

    Attributes: `arguments` of its command, `{kernel}` is a program, `{socket}` a path for a socket; `says`: what it
    says when it is there; `client` connects and gives what to close for it to vanish; `piped`: standard input is a
    pipe.
    """

    arguments: tuple[str, ...]
    says: str
    client: Callable[[Started], Any] | None = None
    piped: bool = False


def _page(started: Started) -> Any:
    page = Address(started.said[1]).page()
    if started.pid % 2:  # with something on it
        page.assembled(KERNEL)
    return page


def _connected(started: Started) -> socket.socket:
    """A connection to the port or the socket that a server has said."""
    place = started.said[1]
    if place.isdecimal():
        return socket.create_connection(("127.0.0.1", int(place)), PATIENCE)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect(place)
    return client


def _gdb(started: Started) -> Any:
    client = _connected(started)
    client.sendall(b"+$vCont;c#a8")  # an endless run
    assert client.recv(1) == b"+"
    return client


def _dap_request(command: str) -> bytes:
    body = json.dumps({"seq": 1, "type": "request", "command": command, "arguments": {}}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _dap(started: Started) -> Any:
    client = _connected(started)
    client.sendall(_dap_request("continue"))
    assert client.recv(1) == b"C"
    return client


def _shaders(started: Started) -> Any:
    """A connection that goes while a shader is compiled for it."""
    client = _connected(started)
    text = b"float4 main(float4 c : COLOR) : COLOR { return c; }"
    request = b"isakit-cc 1 stage=fragment bytes=%d\n%s" % (len(text), text)
    client.sendall(request)
    assert client.recv(1) == b"o"
    client.sendall(request)
    return client


_DEBUG = ("debug", "-m", "tesla", "-V", "gt200", "{kernel}", "--arg", "out:u32:1")
_TWO = ("sh", "-c", "trap - INT; sleep 1000 & echo begun; exec sleep 1000")
SERVERS = {
    "web": Served(("web", "--json"), r'"url": "(.*?)"', _page),
    "cuda": Served(("cuda", "--", *_TWO), "begun"),
    "gl": Served(("gl", "--", *_TWO), "begun"),
    "gdb port": Served((*_DEBUG, "--gdb", "0"), r"127\.0\.0\.1:(\d+)", _gdb),
    "DAP port": Served((*_DEBUG, "--dap-port", "0"), r"127\.0\.0\.1:(\d+)", _dap),
    "gdb socket": Served((*_DEBUG, "--gdb", "{socket}"), r"(/\S+/socket)\b", _gdb),
    "DAP socket": Served((*_DEBUG, "--dap-port", "{socket}"), r"(/\S+/socket)\b", _dap),
    "shaders": Served(("cc", "--serve", "0"), r"127\.0\.0\.1:(\d+)", _shaders),
    "shaders socket": Served(("cc", "--serve", "{socket}"), r"(/\S+/socket)\b", _shaders),
    "DAP": Served((*_DEBUG, "--dap"), "", None, True),
}


@contextmanager
def started(name: str) -> Iterator[Started]:
    """A server of a kind, with a temporary folder of its own; whatever is left of it is ended and removed."""
    kind, mark = SERVERS[name], secrets.token_hex(8)
    folder = Path(tempfile.mkdtemp(prefix="vanishing-"))
    (folder / "temporary").mkdir()
    (folder / "k.s").write_text(KERNEL)
    out, given = folder / "out", folder / "in"
    out.touch()
    os.mkfifo(given)
    forks = _forks()
    assert forks.stdin is not None
    assert forks.stdout is not None
    arguments = [a.format(kernel=folder / "k.s", socket=folder / "temporary" / "socket") for a in kind.arguments]
    environment = {MARK: mark, "TMPDIR": str(folder / "temporary")}
    source = str(given) if kind.piped else os.devnull
    forks.stdin.write(
        json.dumps({"arguments": arguments, "environment": environment, "out": str(out), "in": source}) + "\n"
    )
    forks.stdin.flush()
    pid = int(forks.stdout.readline())
    clients: list[Any] = []
    try:
        if kind.piped:
            clients.append(given.open("wb", buffering=0))
            clients[0].write(_dap_request("threads"))
        said: list[re.Match[str]] = []

        def there() -> bool:
            said[:] = [m for m in (re.search(kind.says or "Content-Length", out.read_text()),) if m]
            return bool(said) or ended(pid)

        assert until(there, PATIENCE), out.read_text()
        assert said, out.read_text()
        yield Started(pid, mark, folder, said[0], clients)
    finally:
        for left in (pid, *processes(MARK, mark)):
            with suppress(OSError):
                os.kill(left, signal.SIGKILL)
        for client in clients:
            client.close()
        shutil.rmtree(folder, ignore_errors=True)


def end(server: Started, how: signal.Signals, seconds: float) -> float:
    """End a server by a signal, Ctrl-C to all that runs in its terminal; raises AssertionError for what is left of it.

    Returns the seconds until nothing was left.
    """
    begun = time.monotonic()
    if how == signal.SIGINT:
        os.killpg(server.pid, how)
    else:
        os.kill(server.pid, how)
    assert until(lambda: not server.left(), seconds), f"after {how.name}: {server.left()}"
    return time.monotonic() - begun


def one_end(name: str, how: signal.Signals, with_client: bool, seconds: float, pause: float = 0.0) -> float:
    """Start a server, let a client connect or not, and end it after a pause; see `end`."""
    with started(name) as server:
        client = SERVERS[name].client
        if client is not None and with_client:
            server.clients.append(client(server))
        time.sleep(pause)
        return end(server, how, seconds)


def vanishing_clients(name: str, count: int, seconds: float) -> None:
    """Let clients of one server vanish, one after the other; afterwards it is as before, and ends as it should."""
    client = SERVERS[name].client
    assert client is not None
    with started(name) as server:
        client(server).close()  # what stays after the first, as modules and a worker for the next, stays
        calm: list[Any] = []

        def calmed() -> bool:
            time.sleep(0.1)
            calm.append(server.state())
            return len(calm) > 8 and all(c == calm[-1] for c in calm[-8:])

        assert until(calmed, PATIENCE)
        for k in range(count):
            client(server).close()
            assert until(lambda: server.state() == calm[-1], PATIENCE if k == 0 else seconds), (
                f"client {k}: {calm[-1]}, then {server.state()}"
            )
        end(server, signal.SIGKILL, seconds)
