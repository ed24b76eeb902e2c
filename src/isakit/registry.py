"""The instruction sets there are, by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from isakit.errors import UnknownIsaError

if TYPE_CHECKING:
    from isakit.spec import InstructionSet

VARIANTS = {
    "tesla": ("g80", "g84", "gt200", "gt215", "mcp77"),
    "vuc": ("vp2", "vp3", "vp4"),
    "usse": ("sgx543", "seed"),
}
"""Names that are valid, so that asking for them loads no instruction set."""


def instruction_set(name: str) -> InstructionSet:
    """The records of an instruction set. Raises UnknownIsaError."""
    if name not in VARIANTS:
        raise UnknownIsaError(f"there is no instruction set {name!r}; there are {', '.join(VARIANTS)}")
    try:
        module = importlib.import_module(f"isakit.arch.{name}")
    except ModuleNotFoundError as e:
        raise UnknownIsaError(f"this installation has no instruction set {name!r}") from e
    return getattr(module, name)
