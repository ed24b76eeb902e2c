"""The process behind `background`: compiles the jobs of standard input until that is closed or long idle."""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading

from isakit.engine.llvm.background import read_message, write_message
from isakit.engine.llvm.target import CodegenError, compile_text, host

IDLE_SECONDS = 30


def _end_with_parent() -> None:
    """End as soon as the other end of the input is closed, also in the middle of a compilation."""
    poll = select.poll()
    poll.register(sys.stdin.buffer, 0)  # POLLHUP and POLLERR are always reported
    poll.poll()
    os._exit(0)


def main() -> None:
    """Serve until the end of the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program; it ends this process
    if hasattr(select, "poll"):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    host()
    give, take = sys.stdout.buffer, sys.stdin.buffer
    while select.select([take], [], [], IDLE_SECONDS)[0]:
        try:
            job = read_message(take)
        except EOFError:
            return
        try:
            answer = compile_text(*pickle.loads(job)), ""
        except CodegenError as e:
            answer = b"", str(e)
        write_message(give, pickle.dumps(answer))
