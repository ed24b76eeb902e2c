"""Dataclasses whose fields are checked when they are made: a misspelt setting must not act as another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
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
                if not check.allowed(value):
                    raise LaunchError(f"{check.field} is {check.wanted}, not {value!r}")
                check.passed = value


class _FieldCheck:
    """The test of a field: `allowed`, and `wanted` in words. `passed`: a value that is known to pass."""

    def __init__(self, field: Field[Any], test: tuple[Callable[[object], bool], str]) -> None:
        self.field = field.name
        self.allowed, self.wanted = test
        self.passed: object = self  # no value


@cache
def _checks(cls: type[Any]) -> list[_FieldCheck]:
    """Return the tests of the fields that can be checked."""
    hints = get_type_hints(cls, include_extras=True)
    found = [(f, _check(hints[f.name])) for f in fields(cls)]
    return [_FieldCheck(f, check) for f, check in found if check is not None]


def _check(hint: object) -> tuple[Callable[[object], bool], str] | None:
    """Return the test for an annotation, and the words that describe accepted values; None for an unknown one."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return (lambda v: any(type(v) is type(a) and v == a for a in args)), _one_of(args)
    if hint is bool:
        return (lambda v: isinstance(v, bool | np.bool_)), "True or False"
    if hint is int:
        return _is_int, "a whole number"
    if origin is Annotated and isinstance(args[1], range):
        numbers = args[1]
        return (lambda v: _is_int(v) and v in numbers), f"a whole number from {numbers[0]} to {numbers[-1]}"
    if origin in (Union, UnionType):
        return _either([a for a in args if a is not type(None)])
    if origin is tuple:
        inner = _check(args[0])
        if inner is None or any(a not in (args[0], Ellipsis) for a in args[1:]):
            return None
        length = None if args[-1] is Ellipsis else len(args)
        counted = "a tuple" if length is None else f"a tuple of {length}"
        return (lambda v: _all_are(inner[0], v, length)), f"{counted}, each {inner[1]}"
    return None


def _is_int(v: object) -> bool:
    return isinstance(v, int | np.integer) and not isinstance(v, bool)


def _all_are(test: Callable[[object], bool], v: object, length: int | None) -> bool:
    if not isinstance(v, tuple):
        return False
    parts = cast(tuple[object, ...], v)
    return (length is None or len(parts) == length) and all(test(x) for x in parts)


def _one_of(names: tuple[object, ...]) -> str:
    return f"one of {', '.join(map(str, names))}"


def _either(hints: list[object]) -> tuple[Callable[[object], bool], str] | None:
    """Return a test that accepts None and what one of the annotations does; None if one of them is unknown."""
    checks = [_check(h) for h in hints]
    known = [c for c in checks if c is not None]
    if len(known) < len(checks):
        return None
    return (lambda v: v is None or any(c[0](v) for c in known)), " or ".join(c[1] for c in known)
