"""LLVM and the life of the process: nothing of it runs while the process ends or forks.

LLVM cannot be interrupted. A process that ends while a thread is inside of it crashes, and a child that was forked then
waits for that thread, which it does not have. So callers of LLVM hold `using_llvm`; at the end the main thread
takes it for good, and a fork waits for it.
"""

from __future__ import annotations

import atexit
import os
import threading

using_llvm = threading.RLock()


def _at_end() -> None:
    """Wait for other threads to leave LLVM, and keep new calls out."""
    while True:
        try:
            using_llvm.acquire()
            return
        except KeyboardInterrupt:  # patience: leaving now would crash
            continue


atexit.register(_at_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=using_llvm.acquire, after_in_parent=using_llvm.release, after_in_child=using_llvm.release
    )
