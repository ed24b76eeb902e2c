"""Entries of the core's queue: writes that land later, and events of the units.

An entry is a list, so that it can be cancelled in place:
[visible from cycle, lands in cycle, serial number, kind, register number, value or action, address of the instruction].
"""

from __future__ import annotations

from typing import Any

Entry = list[Any]
REGISTER, SPECIAL, ACCUMULATOR, LONG_VIEW, EVENT, DEAD = range(6)
"""A $r register, a special register, the accumulator (for long instructions, as $lhi and $llo), an action, nothing."""
