"""Launches of stages that a thread keeps from one draw to the next; they hold textures and targets.

Memory of what is no longer kept goes back to the system: `return_freed_memory`.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

T = TypeVar("T")
MOST_LAUNCHES = 64
"""Launches that a thread keeps."""


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.launches: OrderedDict[object, object] = OrderedDict()


_own = _OfThread()


def kept(key: object, make: Callable[[], T]) -> T:
    """Return what this thread has kept under a key, which it keeps no longer, or something new."""
    found = cast("T | None", _own.launches.pop(key, None))
    return make() if found is None else found


def keep(key: object, some: object) -> None:
    """Keep something for the next draw of this thread, in place of what was used least recently."""
    _own.launches[key] = some
    if len(_own.launches) > MOST_LAUNCHES:
        _own.launches.popitem(last=False)


def forget() -> None:
    """Forget the launches this thread has kept, which would keep the memory of a closed card alive."""
    _own.launches.clear()


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    return found


def return_freed_memory() -> None:
    """Let the C library give pages to the system that are free again.

    It keeps them otherwise, in an arena for each thread: gigabytes after some hundred programs.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
