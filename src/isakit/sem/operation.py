"""Named operations: one exact integer definition, which engines may replace by an implementation proven equal.

`f32_add(a, b, rounding="rn")` builds one `call` node. An engine that knows a faster exact way (host floating point)
uses it by name; every other engine expands the definition, which is written with the same `Value` algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from isakit.sem.value import Value, param

Statics = Mapping[str, Any]
"""Static arguments of an operation or a routine by name: a rounding mode, a format, a flag. Each says which it takes,
and its lowerings know their types."""
StaticKey = tuple[tuple[str, Any], ...]
"""The same sorted by name, as a call node keeps them."""


class Operation:
    """A pure function of values with static keyword options.

    Attributes: `name`, `definition` (Python function on Values), `__doc__` (the rule in words).
    """

    def __init__(self, definition: Callable[..., Value]) -> None:
        self.definition = definition
        self.name = definition.__name__
        self.__doc__ = definition.__doc__

    def __call__(self, *args: Value, **statics: object) -> Value:
        key = tuple(sorted(statics.items()))
        widths = tuple(a.width for a in args)
        _, body = expansion(self, key, widths)
        if all(a.op == "const" for a in args):
            return self.definition(*args, **statics)
        return Value("call", body.width, args, (self, key))

    def __repr__(self) -> str:
        return self.name


@cache
def expansion(op: Operation, statics: StaticKey, widths: tuple[int, ...]) -> tuple[list[Value], Value]:
    """Apply the definition to formal arguments: (formal params, result). The params are named `a0`, `a1`, ..."""
    formals = [formal(i, w) for i, w in enumerate(widths)]
    return formals, op.definition(*formals, **dict(statics))


def formal(i: int, width: int) -> Value:
    """Return formal argument `i` of a definition; not uniform, since it represents a lane value."""
    v = param(f"a{i}", width)
    v.uniform = False
    return v


def operation(definition: Callable[..., Value]) -> Operation:
    """Make a definition an `Operation` (decorator)."""
    return Operation(definition)
