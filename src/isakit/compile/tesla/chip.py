"""Capabilities of each variant of the Tesla chips that matter to the compiler."""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.tesla.tesla import tesla


@dataclass(frozen=True)
class Chip:
    """A variant.

    Source: [tesla] 1.
    """

    variant: str
    fp64: bool
    vote: bool
    atomics: bool
    wide_atomics: bool
    locks: bool
    load_shared: bool


def chip_of(variant: str | None = None) -> Chip:
    """Return the capabilities of a variant (default: the one with the most instructions)."""
    name = tesla.variant(variant or tesla.default_variant or "gt200").name
    late = name in ("gt200", "gt215", "mcp77")
    return Chip(name, name == "gt200", late, name != "g80", name == "gt200", late, name != "g80")
