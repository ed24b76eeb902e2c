"""The PowerVR USSE: declarations and semantics, by kinds of instructions."""

# Importing a module registers its records.
from isakit.arch.usse import bitwise, blend, conditions, control, dual, float, integer, memory, moves
from isakit.arch.usse.faults import FAULTS
from isakit.arch.usse.usse import usse

usse.faults = FAULTS
usse.complete()

__all__ = ["bitwise", "blend", "conditions", "control", "dual", "float", "integer", "memory", "moves", "usse"]
