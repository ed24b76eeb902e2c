"""The instruction sets and chips there are, by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
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


ARCH_TO_VARIANT: Mapping[str, str] = {"sm_10": "g80", "sm_11": "g84", "sm_12": "gt215", "sm_13": "gt200"}
# CUDA calls mcp77 sm_11, but it has the instructions of sm_12, and that is what a file has to say. [tesla] 1
VARIANT_TO_ARCH: Mapping[str, str] = {v: k for k, v in ARCH_TO_VARIANT.items()} | {"mcp77": "sm_12"}


def instruction_set(name: str) -> InstructionSet:
    """The records of an instruction set. Raises UnknownIsaError."""
    if name not in VARIANTS:
        raise UnknownIsaError(f"there is no instruction set {name!r}; there are {', '.join(VARIANTS)}")
    try:
        module = importlib.import_module(f"isakit.arch.{name}")
    except ModuleNotFoundError as e:
        raise UnknownIsaError(f"this installation has no instruction set {name!r}") from e
    return getattr(module, name)
