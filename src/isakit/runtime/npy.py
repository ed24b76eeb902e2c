"""NumPy array files as input."""

from __future__ import annotations

from os import PathLike, fspath
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import FormatError

_DAMAGED = (ValueError, EOFError, SyntaxError, TokenError, TypeError, LookupError, OverflowError, RecursionError,
            NotImplementedError, BadZipFile)  # fmt: skip
"""Exceptions of NumPy for a damaged file: its header is read as a Python literal, an archive as a zip file."""


def load_array(path: str | PathLike[str]) -> Array:
    """Return the array in a `.npy` file, in C order.

    Raises FormatError for another file, OSError for an unreadable one.
    """
    try:
        loaded: Array | np.lib.npyio.NpzFile | None = np.load(path, allow_pickle=False)
    except _DAMAGED:
        # NumPy's own message recommends to load what it does not know as a pickle, which runs code.
        loaded = None
    except MemoryError:
        raise FormatError(fspath(path), 0, "claims more elements than memory can hold") from None
    if isinstance(loaded, np.lib.npyio.NpzFile):
        loaded.close()
        raise FormatError(fspath(path), 0, "holds several arrays; save one with numpy.save")
    if loaded is None or loaded.dtype.kind not in "biufc":
        raise FormatError(fspath(path), 0, "not a NumPy array file (.npy) of numbers")
    return np.asarray(loaded, order="C")
