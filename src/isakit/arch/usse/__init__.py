"""The PowerVR USSE: declarations and semantics, by kinds of instructions."""

from isakit.arch.usse import bitwise, blend, control, dual, float, integer, memory, moves, tests  # noqa: F401
from isakit.arch.usse.usse import usse

__all__ = ["usse"]
