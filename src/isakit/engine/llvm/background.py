"""Background compilation, in a separate process that can be ended at any moment.

A thread would keep the interpreter from ending for as long as LLVM takes (`exclusive` says why), which for big kernels
is a minute.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from isakit.engine.llvm.target import CodegenError, Host, compile_text, with_attributes
from isakit.forks import in_child

_START = "import sys; sys.path[:] = {path!r}; from isakit.engine.llvm.compile_server import main; main()"


class Ending(Exception):
    """The process ends; nothing is compiled any more."""


class _Server:
    """The other process, started with the first request and again when it has ended for want of work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.ending = False

    def request(self, job: bytes) -> bytes:
        """Send a job, wait for the reply and return it.

        Raises Ending, and OSError if no such process can be started.
        """
        with self.lock:
            for _ in range(2):
                try:
                    return self._exchange(job)
                except (EOFError, BrokenPipeError):
                    self.end()
            raise OSError("the process that compiles ends by itself")

    def _exchange(self, job: bytes) -> bytes:
        if self.ending:
            raise Ending
        if self.process is None:
            self.process = _start()
            if self.ending:  # meanwhile
                self.end()
                raise Ending
        give, take = self.process.stdin, self.process.stdout
        assert give is not None
        assert take is not None
        write_message(give, job)
        return read_message(take)

    def end(self) -> None:
        """End the process, if there is one."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _start() -> subprocess.Popen[bytes]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("no Python to run")
    return subprocess.Popen(
        [sys.executable, "-c", _START.format(path=sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def write_message(pipe: IO[bytes], data: bytes) -> None:
    """Write the length, then the content."""
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes:
    """Read what `write_message` wrote. Raises EOFError."""
    head = pipe.read(8)
    data = pipe.read(int.from_bytes(head, "little")) if len(head) == 8 else b""
    if len(head) < 8 or len(data) < int.from_bytes(head, "little"):
        raise EOFError
    return data


_server = _Server()


def _at_end() -> None:
    _server.ending = True
    process = _server.process
    if process is not None:
        process.kill()
        with suppress(KeyboardInterrupt):
            process.wait()
            if _server.lock.acquire(timeout=1):  # the caller that waited for an answer has given up
                _server.end()


@in_child
def _in_child() -> None:
    """Forget the parent's server in a forked process, which must not wait for it."""
    global _server
    old, _server = _server.process, _Server()
    if old is not None:
        old.returncode = 0  # not ours to wait for
        for pipe in (old.stdin, old.stdout):
            if pipe is not None:
                with suppress(OSError):
                    os.close(pipe.fileno())


atexit.register(_at_end)


def object_code_elsewhere(ir: str, target: Host, quick: bool = False) -> bytes:
    """Return `object_code` without the cache, from another process, or from this one if none can be started.

    Raises Ending, and CompileError.
    """
    job = with_attributes(ir, target), target, 2, quick
    try:
        code, error = pickle.loads(_server.request(pickle.dumps(job)))
    except OSError:
        if _server.ending:
            raise Ending from None
        return compile_text(*job)
    if error:
        raise CodegenError(error)
    return code
