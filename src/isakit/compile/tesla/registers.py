"""The registers of Tesla chips, and the classes of values they hold."""

from __future__ import annotations

from isakit.compile.lower.form import RegisterClass

GENERAL = RegisterClass("r", "r", 0, 124, halves=64)
"""The registers a kernel may use: those above read 0, and $r124 is named for that. Source: [tesla] 2.1."""
ADDRESS = RegisterClass("a", "a", 1, 4, holder=GENERAL)
"""$a1 to $a4. Source: [tesla] 2.5."""
CONDITION = RegisterClass("c", "c", 0, 4, holder=GENERAL)

KINDS = {
    "r": (GENERAL, 1),
    "d": (GENERAL, 2),
    "q": (GENERAL, 4),
    "a": (ADDRESS, 1),
    "p": (CONDITION, 1),
    "f": (CONDITION, 1),
}
