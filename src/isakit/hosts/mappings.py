"""Mappings of a device's memory, which end with the process they were made for."""

from __future__ import annotations

import gc
import mmap

_GENERATIONS = (0, 1, 2, 2)
"""Generations to collect, one after the other: looking through all objects of a large process takes a second."""


def close_mapping(pages: mmap.mmap) -> None:
    """Unmap memory, and with it give back a descriptor and the pages of a file without a name.

    What has worked on it refers to itself and may hold views until garbage is collected. Views that somebody else still
    holds keep the mapping as long as they live.
    """
    for generation in _GENERATIONS:  # a collection that is under way in another thread lets `collect` do nothing
        try:
            pages.close()
        except BufferError:
            gc.collect(generation)
        else:
            return
