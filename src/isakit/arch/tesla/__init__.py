"""The Tesla CUDA ISA: declarations and semantics, in the order of the documents' chapters."""

# Importing a module registers its records.
from isakit.arch.tesla import (
    atomics,
    bitwise,
    control,
    convert,
    data,
    float32,
    float64,
    graphics,
    integer,
    memory,
    multiply,
    sfu,
    texture,
)
from isakit.arch.tesla.faults import FAULTS
from isakit.arch.tesla.tesla import tesla

tesla.faults = FAULTS
tesla.complete()

__all__ = [
    "atomics",
    "bitwise",
    "control",
    "convert",
    "data",
    "float32",
    "float64",
    "graphics",
    "integer",
    "memory",
    "multiply",
    "sfu",
    "tesla",
    "texture",
]
