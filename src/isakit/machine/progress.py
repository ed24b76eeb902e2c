"""Reports on the progress of long launches, for callers that asked for them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], object]
"""Told from time to time how many blocks of a launch are done, of how many."""
_watcher: ContextVar[Watcher | None] = ContextVar("isakit_watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Report the progress of launches on the llvm engine inside the `with` block, a few times per second."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def watcher() -> Watcher | None:
    """Return the function that is told of the progress of launches."""
    return _watcher.get()
