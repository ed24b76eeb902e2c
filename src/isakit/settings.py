"""Dataclasses whose fields are checked when they are made: a misspelt setting must not act as another one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from isakit.errors import LaunchError


class Settings:
    """Base of dataclasses that are checked against their annotations.

    Names (`Literal`), `bool` and `int` are looked at, alone, in tuples or together with None;
    `Annotated[int, range(...)]` gives the numbers that are allowed. Anything else is taken as it is.

    Raises LaunchError.
    """

    def __post_init__(self) -> None:
        for check in _checks(type(self)):
            value = getattr(self, check.field)
            if value is not check.passed:
                if not check.values.accept(value):
                    raise LaunchError(f"{check.field} is {check.values.text}, not {value!r}")
                check.passed = value


@dataclass(frozen=True)
class _Values:
    """The values that a field accepts.

    They are `names`, instances of `types` (in `numbers`, where those are not None), and tuples of `length` (None: any)
    with such `parts`. `text` says so in words.
    """

    text: str
    names: tuple[object, ...] = ()
    types: tuple[type, ...] = ()
    numbers: range | None = None
    parts: _Values | None = None
    length: int | None = None

    def accept(self, value: object) -> bool:
        """Return whether a value is one of them."""
        if isinstance(value, tuple):
            parts = cast(tuple[object, ...], value)
            return self.parts is not None and self.length in (None, len(parts)) and all(map(self.parts.accept, parts))
        if isinstance(value, self.types) and (bool in self.types or not isinstance(value, bool)):
            return self.numbers is None or value in self.numbers
        return any(type(value) is type(n) and value == n for n in self.names)


class _FieldCheck:
    """The check of a field. `passed`: a value that is known to pass."""

    def __init__(self, field: str, values: _Values) -> None:
        self.field, self.values = field, values
        self.passed: object = self  # no value


@cache
def _checks(cls: type[Any]) -> list[_FieldCheck]:
    """Return the checks of the fields that can be checked."""
    hints = get_type_hints(cls, include_extras=True)
    found = [(f.name, _values(hints[f.name])) for f in fields(cls)]
    return [_FieldCheck(name, values) for name, values in found if values is not None]


def _values(hint: object) -> _Values | None:
    """Return the values that an annotation stands for; None for an unknown one."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _Values(f"one of {', '.join(map(str, args))}", names=args)
    if hint is bool:
        return _Values("True or False", types=(bool, np.bool_))
    if hint is int:
        return _Values("a whole number", types=(int, np.integer))
    if origin is Annotated and isinstance(args[1], range):
        numbers = args[1]
        text = f"a whole number from {numbers[0]} to {numbers[-1]}"
        return _Values(text, types=(int, np.integer), numbers=numbers)
    if origin in (Union, UnionType):
        others = [a for a in args if a is not type(None)]
        some = _values(others[0]) if len(others) < len(args) == 2 else None
        return None if some is None else replace(some, names=(*some.names, None))
    if origin is tuple:
        parts = _values(args[0])
        if parts is None or any(a not in (args[0], Ellipsis) for a in args[1:]):
            return None
        length = None if args[-1] is Ellipsis else len(args)
        counted = "a tuple" if length is None else f"a tuple of {length}"
        return _Values(f"{counted}, each {parts.text}", parts=parts, length=length)
    return None
