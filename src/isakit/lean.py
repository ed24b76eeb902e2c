"""`dataclass` and `cached_property`, as in the standard library but cheaper.

A command imports a hundred data classes. The standard decorator compiles up to six methods per class while the module
is imported, which took a fifth of a short run. Here `__init__` is compiled, and the other methods are closures over the
names of the fields. `fields`, `replace`, `asdict`, `field` and inheritance work across both kinds; what is asked for
seldom (`slots`, `order`) is left to the standard decorator.

Cached properties have a lock up to Python 3.11, one for all objects of a class: threads wait for each other, and a
process that is forked meanwhile waits for ever. Those here have none, as it is from Python 3.12 on.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")

_FIELDS, _PARAMS = "__dataclass_fields__", "__dataclass_params__"


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - used like a function
        """A property that is computed once; threads that compute it at the same time get the same object."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            known = instance.__dict__
            if self.attrname in known:  # while it was looked up
                return known[self.attrname]
            return known.setdefault(self.attrname, self.func(instance))


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(
    *, frozen: bool = False, eq: bool = True, repr: bool = True, order: bool = False, slots: bool = False
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: type[object] | None = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    order: bool = False,
    slots: bool = False,
) -> Any:
    """Make a class of annotated fields; parameters as of `dataclasses.dataclass`."""

    def make(cls: type[object]) -> type[Any]:
        if order or slots:
            return dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr, order=order, slots=slots)(cls)
        return _made(cls, frozen, eq, repr)

    return make if cls is None else make(cls)


def _made(cls: type[Any], frozen: bool, eq: bool, repr: bool) -> type[Any]:
    known: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        known |= base.__dict__.get(_FIELDS, {})
        if base.__dict__.get(_PARAMS) and base.__dict__[_PARAMS].frozen != frozen:
            raise TypeError(f"{cls.__name__} and {base.__name__} must both be frozen, or neither")
    own, params = _own_fields(cls)
    known |= own
    params.frozen, params.eq, params.repr = frozen, eq, repr
    setattr(cls, _FIELDS, known)
    setattr(cls, _PARAMS, params)
    fields = dataclasses.fields(cls)
    defined = cls.__dict__
    new: dict[str, object] = {"__match_args__": tuple(f.name for f in fields if f.init and not f.kw_only)}
    if "__init__" not in defined:
        new["__init__"] = _init(cls, sorted(fields, key=lambda f: f.kw_only is True), frozen)
    if repr:
        new["__repr__"] = _repr([f.name for f in fields if f.repr])
    if eq:
        new["__eq__"] = _eq(_values([f.name for f in fields if f.compare]))
        hashed = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
        new["__hash__"] = _hash(_values(hashed)) if frozen else None
    if frozen:
        new |= _frozen(cls, frozenset(f.name for f in fields))
    for name, value in new.items():
        # Python itself puts `__hash__ = None` into a class that defines `__eq__`.
        if name not in defined or (name == "__hash__" and defined[name] is None and "__eq__" in defined):
            setattr(cls, name, value)
    return cls


def _own_fields(cls: type[Any]) -> tuple[dict[str, Field[Any]], Any]:
    """Return the fields that are declared in `cls` itself, and the parameters that the standard decorator notes."""
    annotations: dict[str, Any] = inspect.get_annotations(cls)
    if all(isinstance(a, str) and not _SPECIAL.match(a) for a in annotations.values()):
        return _plain_fields(cls, annotations)
    body = {n: cls.__dict__[n] for n in annotations if n in cls.__dict__}
    body |= {"__annotations__": annotations, "__module__": cls.__module__, "__doc__": "fields", "__match_args__": ()}
    own: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), body))
    for name in annotations:
        if isinstance(cls.__dict__.get(name), Field):
            if name in own.__dict__:
                setattr(cls, name, own.__dict__[name])
            else:
                delattr(cls, name)
    return getattr(own, _FIELDS), getattr(own, _PARAMS)


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Sample:
    """A sample for `_plain_fields` of what the standard decorator makes of a field."""

    plain: int


_SPECIAL = re.compile(r"(\w+\.)?(ClassVar|InitVar|KW_ONLY)\b")


def _plain_fields(cls: type[Any], annotations: dict[str, object]) -> tuple[dict[str, Field[Any]], Any]:
    """Return the same for annotations without a special meaning, without the standard decorator."""
    known: dict[str, Field[Any]] = {}
    sample: Any = dataclasses.fields(_Sample)[0]
    for name, kind in annotations.items():
        given = cls.__dict__.get(name, MISSING)
        f: Any = cast("Any", given) if isinstance(given, Field) else field(default=given)
        if f.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(f.default)} for field {name} is not allowed: use default_factory")
        f.name, f.type, f._field_type = name, kind, sample._field_type
        f.kw_only = f.kw_only is True
        known[name] = f
        if given is f:
            if f.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, f.default)
    return known, copy.copy(getattr(_Sample, _PARAMS))


def _init(cls: type[object], fields: list[Field[Any]], frozen: bool) -> Callable[..., None]:
    """Return `__init__`, the one method that is compiled."""
    names: dict[str, Any] = {"set_": object.__setattr__, "missing": MISSING}
    arguments, lines = ["self"], list[str]()
    keywords = False
    for f in fields:
        name, value = f.name, f.name
        if f.default_factory is not MISSING:
            names[f"new_{name}"] = f.default_factory
            value = f"new_{name}() if {name} is missing else {name}" if f.init else f"new_{name}()"
        elif f.default is not MISSING:
            names[f"default_{name}"] = f.default
        if f.init:
            if f.kw_only and not keywords:
                keywords = True
                arguments.append("*")
            default = "missing" if f.default_factory is not MISSING else f"default_{name}"
            optional = f.default is not MISSING or f.default_factory is not MISSING
            if not optional and not keywords and arguments[-1].count("="):
                raise TypeError(f"non-default argument {name!r} follows default argument")
            arguments.append(f"{name}={default}" if optional else name)
        elif f.default_factory is MISSING:
            continue  # the default is an attribute of the class, or __post_init__ gives a value
        lines.append(f"set_(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return init


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that gives the values of the fields."""
    return attrgetter(*names) if names else lambda _: ()


def _eq(values: Callable[[object], object]) -> Callable[[Any, object], Any]:
    def eq(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return eq


def _hash(values: Callable[[object], object]) -> Callable[[Any], int]:
    def hash_(self: object) -> int:
        return hash(values(self))

    return hash_


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def repr_(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    return repr_


def _frozen(cls: type[object], names: frozenset[str]) -> dict[str, Any]:
    def set_(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_, "__delattr__": delete}
