"""Faster NumPy implementations of named operations, each proven equal to the integer definition by tests.

`@native("name")` registers a factory `(statics, widths) -> function of arrays, or None where it has nothing faster`.
A function that can meet NaN, infinity or overflow in host floating point has the attribute `needs_errstate`: the
generated code that calls it then switches NumPy's warnings off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from isakit.engine.protocol import Array
from isakit.sem.operation import Operation

Lowered = Callable[..., Array]
Factory = Callable[[dict[str, Any], tuple[int, ...]], Lowered | None]
_FACTORIES: dict[str, Factory] = {}


def native(*names: str) -> Callable[[Factory], Factory]:
    """Register a factory for operations of these names."""

    def register(factory: Factory) -> Factory:
        _FACTORIES.update(dict.fromkeys(names, factory))
        return factory

    return register


@cache
def lowering(op: Operation, statics: tuple[tuple[str, Any], ...], widths: tuple[int, ...]) -> Lowered | None:
    """The native function of an operation for these statics and argument widths, or None."""
    factory = _FACTORIES.get(op.name)
    return factory(dict(statics), widths) if factory else None
