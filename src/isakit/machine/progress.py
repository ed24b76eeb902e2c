"""Reports on the progress of long launches, for callers that asked for them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], object]
"""Called periodically with the number of blocks of a launch that are done, and of all blocks."""
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
    """Return the function that progress is reported to, None if there is none."""
    return _watcher.get()
