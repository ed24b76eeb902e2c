"""Memory of a device: files shared with programs of the host, and mappings that end with their process."""

from __future__ import annotations

import gc
import mmap
import os

_GENERATIONS = (0, 1, 2, 2)
"""Generations to collect, one after the other: scanning all objects of a large process takes a second."""


SPARSE = hasattr(os, "memfd_create")
"""True if the system has sparse unnamed files: not in a browser page."""


def memory_file(name: str, size: int) -> tuple[int, mmap.mmap]:
    """Return the descriptor and the mapping of a sparse file of `size` bytes. Raises OSError and leaves nothing behind.

    Its size is sealed: a file that shrinks under a mapping kills the process that reads it. On systems without such
    files it is private memory of this process, all of it allocated, and the descriptor is -1.
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
    """Unmap memory, which frees the descriptor and the pages of an unnamed file.

    Objects with cyclic references may hold views until garbage is collected. Other views keep the mapping as long as
    they live.
    """
    for generation in _GENERATIONS:  # a collection that is under way in another thread lets `collect` do nothing
        try:
            pages.close()
        except BufferError:
            gc.collect(generation)
        else:
            return
