"""The engine of a core: compiled code where it pays, else the reference core."""

from __future__ import annotations

from collections.abc import Callable, Container
from importlib.util import find_spec
from typing import TYPE_CHECKING

from isakit.errors import LaunchError, NotModelled

if TYPE_CHECKING:
    from isakit.machine.vuc.core import CoreMachine

ENGINES = ("auto", "reference", "llvm")
WARM_UP = 200_000
"""Cycles on the reference core before `auto` compiles: a hundred instructions compile in as much time."""

Advance = Callable[[int, Container[int]], str]


def accelerator(core: CoreMachine, engine: str) -> Advance | None:
    """Return the engine `core` is to advance with; None for the reference core itself.

    `auto` compiles after 200,000 cycles, and never without llvmlite. Raises LaunchError for an unknown name,
    NotModelled for `llvm` without llvmlite.
    """
    if engine not in ENGINES:
        raise LaunchError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")
    usable = find_spec("llvmlite") is not None
    if engine == "llvm":
        if not usable:
            raise NotModelled("the llvm engine on this host", "llvmlite is not installed; use engine='reference'")
        return _driver(core, eager=True)
    return _WarmUp(core).advance if engine == "auto" and usable else None


def _driver(core: CoreMachine, *, eager: bool) -> Advance:
    from isakit.machine.vuc.compiled.compiled_core import Driver  # imports LLVM

    return Driver(core, eager).advance


class _WarmUp:
    """The reference core, until compiling pays."""

    def __init__(self, core: CoreMachine) -> None:
        self._core, self._left = core, WARM_UP

    def advance(self, limit: int, stops: Container[int]) -> str:
        core, begin = self._core, self._core.cycle
        reason = core.advance_reference(min(limit, begin + self._left), stops)
        self._left -= core.cycle - begin
        if self._left > 0:
            return reason
        core.accelerator = _driver(core, eager=False)
        return reason if reason != "limit" else core.accelerator(limit, stops)
