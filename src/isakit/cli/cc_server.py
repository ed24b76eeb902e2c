"""The compiler of shaders as a server, for programs that compile shaders while they run.

A request is one line, `isakit-cc 1 stage=fragment language=cg bytes=N` and what else it wants, and N bytes of text. The
answer is one line, `ok bytes=N messages=M` or `error kind=K messages=M`, the N bytes of the shader file, and M bytes of
messages. A connection takes any number of requests, one after the other. Texts are compiled, each in a process of its
own with bounds, and never run; no file is read or written.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import NoReturn

from isakit.debug.loopback import closing
from isakit.errors import CompileError, HostError, IsakitError
from isakit.sandbox import end_with_parent

GREETING = b"isakit-cc 1 "
MOST_HEADER, MOST_SOURCE, MOST_ANSWER = 1 << 10, 1 << 20, 1 << 22
"""Bytes of a request's line, of its text, and of an answer."""
MOST_CLIENTS, AT_ONCE = 64, 4
"""Limits of connections, and of concurrent compilations; further ones wait."""
IDLE_SECONDS = 60.0
"""Seconds for a request to come, a compilation to end, an answer to be read."""
FAREWELL_SECONDS = 5.0
"""Seconds that a client whose connection ends has to read why."""
PROCESSOR_SECONDS, MEMORY = 20, 1 << 30
"""The limits of one compilation: processor time in seconds, memory in bytes."""
VALUES = {"stage": ("vertex", "fragment"), "language": ("cg", "glsl")}
DEFAULTS = {"stage": "", "language": "cg", "target": "f16x4", "entry": "main", "bytes": ""}


class RequestError(Exception):
    """A malformed request; it ends the connection."""


@dataclass
class Request:
    """A text of `size` bytes to compile, and how: `options` are those of `DEFAULTS`, `macros` definitions by name."""

    options: dict[str, str]
    macros: dict[str, str]
    size: int


@cache
def warm() -> None:
    """Compile a small program, so that processes forked from this one have loaded all that a compilation needs."""
    for stage, semantic in (("vertex", "POSITION"), ("fragment", "COLOR")):
        text = b"float4 main(float4 c, uniform float4 t[2]) : %s { return mul(float4x4(c, t[0], c, t[1]), c); }"
        compiled(Request({**DEFAULTS, "stage": stage}, {}, 0), text % semantic.encode())
    gc.freeze()


def parsed(line: bytes) -> Request:
    """Parse the line of a request. Raises RequestError."""
    if not line.startswith(GREETING):
        raise RequestError("a request begins with `isakit-cc 1 `")
    options, macros = dict(DEFAULTS), dict[str, str]()
    for word in line[len(GREETING) :].decode("utf-8", "replace").split():
        name, _, value = word.partition("=")
        if name == "define":
            macro, mark, text = value.partition("=")
            macros[macro] = text if mark else "1"
        elif name not in options:
            raise RequestError(f"there is no option {name[:40]!r}; there are {', '.join(options)}, define")
        elif name in VALUES and value not in VALUES[name]:
            raise RequestError(f"{name} is {' or '.join(VALUES[name])}, not {value[:40]!r}")
        else:
            options[name] = value
    if not options["stage"]:
        raise RequestError("stage=vertex or stage=fragment is missing")
    size = options["bytes"]
    if not (size.isascii() and size.isdecimal() and len(size) < 10 and int(size) <= MOST_SOURCE):
        raise RequestError(f"bytes={size[:20]} is not a number up to {MOST_SOURCE}")
    return Request(options, macros, int(size))


def compiled(request: Request, text: bytes) -> bytes:
    """Return the response to a request: the shader file with warnings, or the errors in the text."""
    from isakit.compile.shading.compiled import build_shader

    o = request.options
    try:
        made = build_shader(text.decode("utf-8-sig"), stage=o["stage"], language=o["language"], target=o["target"],
                            entry=o["entry"], defines=request.macros, path="shader")  # fmt: skip
    except UnicodeDecodeError:
        return refusal("source", "shader(1,1): error: the text is not UTF-8")
    except CompileError as e:
        return refusal("source", *(f"{d.path}({d.line},{d.column}): error: {d.message}" for d in e.diagnostics))
    except IsakitError as e:
        return refusal("source", f"shader(1,1): error: {e}")
    messages = "".join(f"{d.path}({d.line},{d.column}): warning: {d.message}\n" for d in made.warnings).encode()
    return b"ok bytes=%d messages=%d\n" % (len(made.data), len(messages)) + made.data + messages


def refusal(kind: str, *messages: str) -> bytes:
    """Return a response with an error; `kind`: `request`, `source` or `limit`."""
    text = "".join(f"{m}\n" for m in messages).encode("utf-8", "replace")
    return b"error kind=%s messages=%d\n" % (kind.encode(), len(text)) + text


@dataclass(eq=False)
class Client:
    """A connection: unanswered input, unsent output, and the time at which it is dropped."""

    socket: socket.socket
    deadline: float
    got: bytearray = field(default_factory=bytearray)
    left: bytes = b""
    last: bool = False
    request: Request | None = None


@dataclass(eq=False)
class Compilation:
    """A process that compiles for a client, and its answer so far."""

    client: Client
    process: int
    pipe: int
    deadline: float
    answer: bytearray = field(default_factory=bytearray)


class CompileServer:
    """Serves clients in one thread. Raises HostError if the system cannot fork."""

    def __init__(self, listening: socket.socket) -> None:
        if not hasattr(os, "fork"):
            raise HostError("a server that compiles shaders needs a system with fork, as Linux and macOS")
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._clients: set[Client] = set()
        self._waiting: deque[tuple[Client, Request, bytes]] = deque()
        self._running: set[Compilation] = set()
        self._accepts = False

    def run(self) -> NoReturn:
        """Serve until the process is interrupted."""
        self._listening.setblocking(False)
        with closing(self._listening), self._selector:
            try:
                while True:
                    self.turn()
            finally:
                for c in list(self._running):
                    self._end(c)
                for client in list(self._clients):
                    self._drop(client)

    def turn(self) -> None:
        """Handle pending events, for a second at most."""
        room = len(self._clients) < MOST_CLIENTS
        if room != self._accepts:
            self._accepts = room
            if room:
                self._selector.register(self._listening, selectors.EVENT_READ)
            else:
                self._selector.unregister(self._listening)
        for key, _ in self._selector.select(1.0):
            if key.fileobj is self._listening:
                self._accept()
            elif isinstance(key.data, Compilation):
                self._read_answer(key.data)
            elif key.data in self._clients:
                self._serve(key.data)
        now = time.monotonic()
        for c in [c for c in self._running if now > c.deadline]:
            self._finish(c)
        busy = {c.client for c in self._running} | {client for client, _, _ in self._waiting}
        for client in [c for c in self._clients if now > c.deadline and c not in busy]:
            self._drop(client)

    # --- clients -----------------------------------------------------------------------------------------------------
    def _accept(self) -> None:
        try:
            made, _ = self._listening.accept()
        except OSError:  # gone again, or no descriptor is left
            return
        made.setblocking(False)
        client = Client(made, time.monotonic() + IDLE_SECONDS)
        self._clients.add(client)
        self._selector.register(made, selectors.EVENT_READ, client)

    def _drop(self, client: Client) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(client.socket)
        self._clients.discard(client)
        client.socket.close()

    def _serve(self, client: Client) -> None:
        try:
            if client.left:
                client.left = client.left[client.socket.send(client.left) :]  # a few times: an answer is small
                if not client.left:
                    self._sent(client)
                return
            came = client.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        if not came:
            self._drop(client)
        if not came or client.last:
            return
        client.got += came
        self._next(client)

    def _next(self, client: Client) -> None:
        """Take the next complete request out of the received bytes, if there is one."""
        if client.request is None:
            end = client.got.find(b"\n", 0, MOST_HEADER)
            if end < 0 and len(client.got) < MOST_HEADER and GREETING.startswith(bytes(client.got[: len(GREETING)])):
                return
            try:
                if end < 0:
                    raise RequestError(
                        f"a request begins with a line of at most {MOST_HEADER} bytes: `isakit-cc 1 ...`"
                    )
                client.request = parsed(bytes(client.got[:end]))
            except RequestError as e:
                self._send(client, refusal("request", str(e)), last=True)
                return
            del client.got[: end + 1]
        size = client.request.size
        if len(client.got) < size:
            return
        self._waiting.append((client, client.request, bytes(client.got[:size])))
        del client.got[:size]
        client.request = None
        self._selector.unregister(client.socket)  # what it says next is heard after the answer
        self._start()

    def _send(self, client: Client, answer: bytes, last: bool = False) -> None:
        client.left, client.last, client.deadline = answer, last, time.monotonic() + IDLE_SECONDS
        with suppress(KeyError):
            self._selector.unregister(client.socket)
        self._selector.register(client.socket, selectors.EVENT_WRITE, client)

    def _sent(self, client: Client) -> None:
        client.deadline = time.monotonic() + IDLE_SECONDS
        self._selector.modify(client.socket, selectors.EVENT_READ, client)
        if client.last:  # what it still says is dropped: closed before, the answer could be lost with it
            with suppress(OSError):
                client.socket.shutdown(socket.SHUT_WR)
            client.deadline = time.monotonic() + FAREWELL_SECONDS
        elif client.got:
            self._next(client)

    # --- compilations ------------------------------------------------------------------------------------------------
    def _start(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            # What Python calls around a fork swallows an interrupt: it waits until the process is noted.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
            try:
                self._begin(*self._waiting.popleft())
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _begin(self, client: Client, request: Request, text: bytes) -> None:
        """Start the process that compiles a text."""
        parent = os.getpid()
        read, write = os.pipe()
        try:
            process = os.fork()
        except OSError as e:
            os.close(read)
            os.close(write)
            self._send(client, refusal("limit", f"no process can be started: {e.strerror}"))
            return
        if not process:
            _compile_and_end(request, text, write, parent)
        os.close(write)
        c = Compilation(client, process, read, time.monotonic() + IDLE_SECONDS)
        self._running.add(c)
        self._selector.register(read, selectors.EVENT_READ, c)

    def _read_answer(self, c: Compilation) -> None:
        part = os.read(c.pipe, 1 << 16)
        c.answer += part
        if not part or len(c.answer) > MOST_ANSWER:
            self._finish(c, ended=not part)

    def _finish(self, c: Compilation, ended: bool = False) -> None:
        """Hand on the answer of a process that has `ended`, or end it."""
        answered = self._end(c, ended) and c.answer
        bounds = f"{PROCESSOR_SECONDS} s of processor time or {MEMORY >> 30} GiB of memory"
        self._send(c.client, bytes(c.answer) if answered else refusal("limit", f"the shader needs more than {bounds}"))
        self._start()

    def _end(self, c: Compilation, ended: bool = False) -> bool:
        """Wait for the process of a compilation, killed if it has not `ended`; return whether it succeeded."""
        self._selector.unregister(c.pipe)
        os.close(c.pipe)
        self._running.discard(c)
        if not ended:
            os.kill(c.process, signal.SIGKILL)
        return os.waitpid(c.process, 0)[1] == 0


def _compile_and_end(request: Request, text: bytes, write: int, parent: int) -> NoReturn:
    """Compile in a new process, within its bounds, and end it: nothing of the server's is closed or written twice."""
    code = 1
    try:
        end_with_parent(parent)
        _bound()
        rest = memoryview(compiled(request, text))
        while rest:
            rest = rest[os.write(write, rest) :]
        code = 0
    except MemoryError:
        pass
    finally:
        os._exit(code)


def _bound() -> None:
    if sys.platform == "win32":
        return
    import resource

    for what, most in ((resource.RLIMIT_CPU, PROCESSOR_SECONDS), (resource.RLIMIT_DATA, MEMORY),
                       (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):  # fmt: skip
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


__all__ = ["CompileServer", "Request", "RequestError", "compiled", "parsed", "refusal"]
