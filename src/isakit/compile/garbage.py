"""A pause of the collector of cyclic garbage, for compilers, which make many objects that stay."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Generator[None]:
    """Pause the collection of cyclic garbage.

    A function being compiled is some hundred thousand objects, all of them in use: scanning them again and again took a
    third of the time, and more for longer texts.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
