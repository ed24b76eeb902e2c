"""Reading PTX: tokens, declarations, statements, and the instructions the compiler knows."""

import re

from isakit.compile.ptx.parser import parse
from isakit.compile.ptx.syntax import PtxFunction, PtxModule

_BEGINNING = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*\.version\s+\d", re.S)


def is_ptx(data: bytes) -> bool:
    """Return whether the content of a file is a PTX text: after comments it begins with its version."""
    return _BEGINNING.match(data[:0x4000]) is not None


__all__ = ["PtxFunction", "PtxModule", "is_ptx", "parse"]
