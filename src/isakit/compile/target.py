"""What the chips can do that matters to the compiler."""

from __future__ import annotations

from dataclasses import dataclass

from isakit.arch.tesla.tesla import tesla


@dataclass(frozen=True)
class CompileTarget:
    """A variant: `features` are those of its records.

    Source: [tesla] 1.
    """

    variant: str
    fp64: bool
    vote: bool
    atomics: bool
    wide_atomics: bool
    locks: bool
    load_shared: bool

    registers = 124
    """The registers a kernel may use: those above read 0, and $r124 is named for that. Source: [tesla] 2.1."""
    conditions = 4
    addresses = 4
    """$a1 to $a4. Source: [tesla] 2.5."""


def target(variant: str | None = None) -> CompileTarget:
    """The target for a variant (default: the one with the most instructions)."""
    name = tesla.variant(variant or tesla.default_variant or "gt200").name
    late = name in ("gt200", "gt215", "mcp77")
    return CompileTarget(name, name == "gt200", late, name != "g80", name == "gt200", late, name != "g80")
