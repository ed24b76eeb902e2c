"""Control of the vµc core, written once as routines (`isakit.sem.routine`) for the reference core and compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from isakit.engine.routine_functions import MadeFunction, python_function
from isakit.machine.vuc.rules import cycle, flow, specials, writes

if TYPE_CHECKING:
    from isakit.machine.vuc.options import Options
    from isakit.sem.routine import AnyRoutine

_MODULES = (cycle, flow, specials, writes)


class CoreRules:
    """The routines as functions, for given options: `rules.call(core, target)`. They are compiled when first used.

    `watched`: for a core with a listener for every write that lands.
    """

    def __init__(self, options: Options, vp2: bool, watched: bool = False) -> None:
        self._known = {"options": options, "vp2": vp2, "watched": watched}
        self._reads: dict[int, Callable[[object], int]] = {}

    def __getattr__(self, name: str) -> MadeFunction:
        if name.startswith("_"):
            raise AttributeError(name)
        routine: AnyRoutine = next(getattr(m, name) for m in _MODULES if hasattr(m, name))
        made = self._made(routine)
        setattr(self, name, made)
        return made

    def _made(self, routine: AnyRoutine, **statics: object) -> MadeFunction:
        known = self._known | statics
        return python_function(routine, **{n: known[n] for n in routine.statics})

    def special(self, core: object, number: int) -> int:
        """Return the content of a special register."""
        read = self._reads.get(number)
        if read is None:
            read = self._reads[number] = self._made(specials.special, number=number)
        return read(core)


__all__ = ["CoreRules"]
