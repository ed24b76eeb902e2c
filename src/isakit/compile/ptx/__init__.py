"""Reading PTX: tokens, declarations, statements, and the instructions the compiler knows."""

from isakit.compile.ptx.parser import parse
from isakit.compile.ptx.syntax import Entry, PtxModule

__all__ = ["Entry", "PtxModule", "parse"]
