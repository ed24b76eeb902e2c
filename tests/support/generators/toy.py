"""Instruction sets invented for tests: units of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isakit.spec import InstructionSet, Variant


def toy_variant(name: str, *features: str, aliases: tuple[str, ...] = ()) -> Variant:
    """A variant with some features."""
    return Variant(name, frozenset(features), unit_bits=8, unit_bytes=1, aliases=aliases)


def empty_isa(*variants: Variant, length: Callable[[int], int] = lambda unit: 1, **more: Any) -> InstructionSet:
    """An instruction set without instructions."""
    return InstructionSet("toy", {v.name: v for v in variants}, "a toy", length, **more)
