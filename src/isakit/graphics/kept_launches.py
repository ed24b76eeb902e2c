"""Launches of stages that a thread keeps from one draw to the next; they hold textures and targets.

The memory of launches that are no longer kept is returned to the system: `return_freed_memory`.
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
    """Take the object kept by this thread under a key, or make a new one."""
    found = cast("T | None", _own.launches.pop(key, None))
    return make() if found is None else found


def keep(key: object, some: object) -> None:
    """Keep an object for the next draw of this thread, in place of the least recently used one."""
    _own.launches[key] = some
    if len(_own.launches) > MOST_LAUNCHES:
        _own.launches.popitem(last=False)


def forget() -> None:
    """Drop the launches kept by this thread, which would keep the memory of a closed card alive."""
    _own.launches.clear()


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    return found


def return_freed_memory() -> None:
    """Make the C library return free pages to the system.

    Otherwise it keeps them, in an arena for each thread: gigabytes after some hundred programs.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
