"""The Tesla CUDA ISA: declarations and semantics, in the order of the documents' chapters."""

# Importing a module registers its records.
from isakit.arch.tesla import data
from isakit.arch.tesla import memory
from isakit.arch.tesla import atomics
from isakit.arch.tesla import integer
from isakit.arch.tesla import float32
from isakit.arch.tesla import sfu
from isakit.arch.tesla import control
from isakit.arch.tesla.tesla import tesla

__all__ = ["atomics", "control", "data", "float32", "integer", "memory", "sfu", "tesla"]
