"""Assembly of compiled kernels, with the lines of PTX and source it was compiled from as comments."""

from __future__ import annotations

from isakit.asm.source_listing import source_listing
from isakit.description import Module


def listing(module: Module) -> str:
    """Return the assembly of all kernels of a module; without line tables, as `isakit dis` prints it."""
    out: list[str] = []
    for kernel in module.kernels.values():
        out += [*source_listing(kernel.program), ""]
    return "\n".join(out)
