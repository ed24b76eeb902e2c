"""Memory of a device: files that programs of the host map, too, and mappings that end with the process they are for."""

from __future__ import annotations

import gc
import mmap
import os

_GENERATIONS = (0, 1, 2, 2)
"""Generations to collect, one after the other: looking through all objects of a large process takes a second."""


SPARSE = hasattr(os, "memfd_create")
"""True where there are files without a name, which take only what is written to them: not in a page of a browser."""


def memory_file(name: str, size: int) -> tuple[int, mmap.mmap]:
    """Return the descriptor and the mapping of a sparse file of `size` bytes. Raises OSError; nothing is left then.

    Nobody who gets it can make it shorter or longer: a file that shrinks under a mapping kills the process that reads
    it. Where there are no such files it is memory of this process alone, all of which is taken, and the descriptor -1.
    """
    if not SPARSE:
        return -1, mmap.mmap(-1, size)
    import fcntl  # where there are such files, there are seals

    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(file, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        try:
            return file, mmap.mmap(file, size)
        except OSError:  # arrays keep earlier mappings until garbage is collected
            gc.collect()
            return file, mmap.mmap(file, size)
    except BaseException:
        os.close(file)
        raise


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
