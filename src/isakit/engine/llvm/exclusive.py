"""LLVM and the life of the process: nothing of it runs while the process ends or forks.

LLVM cannot be interrupted. A process that ends while a thread is inside of it crashes, and a child that was forked then
waits for that thread, which it does not have. So callers of LLVM hold `using_llvm`; at the end the main thread
takes it for good, and a fork waits for it. It also waits for the lock of llvmlite, which objects of LLVM take when they
go, in whatever thread.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading

from isakit.lazy import others_import, wait_for_imports

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
TRIES = 100
_held: list[threading.Lock] = []
"""Locks that are held during a fork, besides `using_llvm`."""


def _before_fork() -> None:
    """Take the locks at a moment when no other thread is importing: a module that it imports might wait for them."""
    for _ in range(TRIES):
        wait_for_imports()
        using_llvm.acquire()
        lock = getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None)
        if lock is not None:
            lock.__enter__()
            _held.append(lock)
        if not others_import():
            return
        _release()
    using_llvm.acquire()


def _release() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)
    using_llvm.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_release, after_in_child=_release)
