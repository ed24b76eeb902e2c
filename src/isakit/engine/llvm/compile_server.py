"""The process behind `background`: compiles what standard input asks for until it is closed or idle for long."""

from __future__ import annotations

import pickle
import select
import signal
import sys

from isakit.engine.llvm.background import read_message, write_message
from isakit.engine.llvm.target import CompileError, compile_text, host

IDLE_SECONDS = 30


def main() -> None:
    """Serve until the end of the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program; it ends this process
    host()
    give, take = sys.stdout.buffer, sys.stdin.buffer
    while select.select([take], [], [], IDLE_SECONDS)[0]:
        try:
            job = read_message(take)
        except EOFError:
            return
        try:
            answer = compile_text(*pickle.loads(job)), ""
        except CompileError as e:
            answer = b"", str(e)
        write_message(give, pickle.dumps(answer))
