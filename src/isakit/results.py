"""Results as records: JSON, its schema and a table in a terminal follow from one dataclass.

A field of a record is a key of the JSON object, in the order of the fields. A key that may be missing has `Omitted` in
its type and `OMITTED` as its value. `hidden()` keeps a field out of the JSON, `column(...)` shows it in tables.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeGuard, TypeVar, Union, cast

from isakit.errors import did_you_mean
from isakit.lean import dataclass

T = TypeVar("T")
ResultType = type[object] | types.UnionType
"""The type of an output: a record, a list of records, or a union of such."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_HIDDEN, _COLUMN = "isakit hidden", "isakit column"


class Omitted(enum.Enum):
    """The type of `OMITTED`."""

    OMITTED = "omitted"


OMITTED = Omitted.OMITTED
"""The value of a field whose key is missing from the JSON."""


@dataclass(frozen=True)
class Column:
    """The display of a field in tables: the head of the column, a format such as `>9`, and the text of a value."""

    head: str
    format: str = "<"
    text: Callable[[Any], str] = str


def hidden(**more: Any) -> Any:
    """Declare a field that the JSON does not have; `more` goes to `dataclasses.field`."""
    return dataclasses.field(metadata={_HIDDEN: True}, **more)


def column(head: str, format: str = "<", text: Callable[[Any], str] = str, **more: Any) -> Any:
    """Declare a field that tables show; `more` goes to `dataclasses.field`."""
    return dataclasses.field(metadata={_COLUMN: Column(head, format, text)}, **more)


@typing.dataclass_transform(frozen_default=True, field_specifiers=(column, hidden, dataclasses.field))
def record(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a record: a frozen dataclass whose fields may be `column(...)` or `hidden()`."""
    return dataclass(frozen=True)(cls)


# --- JSON ---


def plain(value: object) -> Any:
    """Return a value as plain data: records become dictionaries, sets sorted lists, bytes hexadecimal digits."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.value if isinstance(value, enum.Enum) else value
    if is_record(value):
        return {f.name: plain(v) for f in _shown(value.__class__) if (v := getattr(value, f.name)) is not OMITTED}
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (set, frozenset)):
        return [plain(v) for v in sorted(cast("Iterable[Any]", value))]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in cast("Sequence[Any]", value)]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    return value


def is_record(value: object) -> TypeGuard[Any]:
    """Return whether a value is an object of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _key(key: object) -> str:
    return str(key.value if isinstance(key, enum.Enum) else key)


def _shown(kind: type[Any]) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(kind) if _HIDDEN not in f.metadata]


def read(kind: type[T], value: object) -> T:
    """Return the record that plain data describe: the inverse of `plain`, for data of untrusted files.

    Missing keys have the defaults of their fields, numbers that are keys are written as `0x40` or `64`. Raises
    ValueError, which names the place, for data of another shape and for keys that the record does not have.
    """
    for mismatch in mismatches(kind, value):
        raise ValueError(str(mismatch))
    return cast("T", _made(kind, value))


def _made(kind: Any, value: Any) -> object:
    """Return the object described by checked JSON data."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if _is_class_of_records(kind):
        types, _ = _keys(kind)
        return kind(**{k: _made(types[k], v) for k, v in value.items()})
    if origin is list:
        return [_made(inner[0], v) for v in value]
    if origin is dict:
        return {int(k, 0) if inner[0] is int else k: _made(inner[1], v) for k, v in value.items()}
    return value


@dataclass(frozen=True)
class Mismatch:
    """A `place` in plain data that does not fit its type; `unknown` where it is a key that the type does not have."""

    place: str
    text: str
    unknown: bool = False

    def __str__(self) -> str:
        return f"{self.place or 'the whole'}: {self.text}"


def mismatches(kind: object, value: object, place: str = "") -> Iterator[Mismatch]:
    """Yield the places where plain data do not fit a type.

    Types are those of the fields of records. Where no record is made, `{"key": type}` stands for an object whose keys
    may be missing (`*`: any key), and `[type]` for a list.
    """
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)
    fitting = next((k for k in kinds if _fits(k, value)), None)
    if fitting is None:
        yield Mismatch(place, f"{' or '.join(dict.fromkeys(_NAMES[_class_of(k)] for k in kinds))} is expected")
    elif isinstance(value, list):
        inner = cast("list[object]", fitting) if isinstance(fitting, list) else typing.get_args(fitting)
        for n, v in enumerate(cast("list[object]", value)) if inner else ():
            yield from mismatches(inner[0], v, f"{place}[{n}]")
    elif isinstance(value, dict):
        yield from _key_mismatches(fitting, cast("dict[str, object]", value), place)


def _key_mismatches(kind: object, given: dict[str, object], place: str) -> Iterator[Mismatch]:
    keys, required = _keys(kind)
    for key in required:
        if key not in given:
            yield Mismatch(_inside(place, key), "missing")
    for key, v in given.items():
        at = _inside(place, key)
        if typing.get_args(kind)[:1] == (int,) and not _is_number(key):
            yield Mismatch(at, "a number is expected as key")
        elif (inner := keys.get(key, keys.get("*"))) is not None:
            yield from mismatches(inner, v, at)
        else:
            (hint,) = did_you_mean(key, keys) or (f"there are {', '.join(keys)}",)
            yield Mismatch(at, f"not known here; {hint}", unknown=True)


def _keys(kind: object) -> tuple[dict[str, object], list[str]]:
    """Return the keys of an object with the types of their values, and those that may not be missing."""
    if isinstance(kind, dict):
        return cast("dict[str, object]", kind), []
    if not _is_class_of_records(kind):
        return {"*": typing.get_args(kind)[1] if typing.get_args(kind) else object}, []
    hints, shown = typing.get_type_hints(kind), _shown(kind)
    required = [f.name for f in shown if f.default is f.default_factory is dataclasses.MISSING]
    return {f.name: hints[f.name] for f in shown}, required


_NAMES: dict[object, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip


def _fits(kind: object, value: object) -> bool:
    """Return whether a value is of a type, whatever its elements are."""
    found = _class_of(kind)
    return found is object or type(value) in ((int, float) if found is float else (found,))


def _class_of(kind: Any) -> type[Any]:
    """Return the class that a JSON parser makes for values of a type."""
    for notation in (dict, list):
        if isinstance(kind, notation):
            return notation
    return dict if _is_class_of_records(kind) else typing.get_origin(kind) or kind


def _is_class_of_records(kind: object) -> TypeGuard[type[Any]]:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _is_number(key: str) -> bool:
    try:
        int(key, 0)
    except ValueError:
        return False
    return True


def _inside(place: str, key: str) -> str:
    return f"{place}.{key[:_LONGEST_KEY]}" if place else key[:_LONGEST_KEY]


_LONGEST_KEY = 80
"""Characters of a key that a message shows."""


# --- its schema ---

_SIMPLE: dict[object, dict[str, object]] = {
    str: {"type": "string"},
    bytes: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


def records_at(*places: str) -> Callable[[], ResultType]:
    """Return a function that imports records: `module:Name` each, or `module:Name[]` for a list of them."""

    def imported(place: str) -> object:
        module, name = place.removesuffix("[]").split(":")
        kind = getattr(import_module(module), name)
        return list[kind] if place.endswith("[]") else kind

    def shape() -> ResultType:
        return Union[tuple(imported(place) for place in places)]  # noqa: UP007

    return shape


@dataclass(frozen=True)
class Output:
    """The JSON output of a verb: its `version`, which grows when a key changes its meaning or goes, and its shape.

    `shape` returns the type: a function, as `records_at` makes it, so that naming an output loads nothing.
    """

    verb: str
    version: int
    shape: Callable[[], ResultType]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the output."""
        name = f"isakit-{self.verb}-{self.version}"
        return {"$schema": DIALECT, "$id": name, "title": f"isakit {self.verb} --json", **schema_of(self.shape())}


def schema_of(kind: object) -> dict[str, Any]:
    """Return the JSON schema of the values of a type, as `plain` writes them. Raises TypeError for what has none."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if origin in (Union, types.UnionType):
        choices = [schema_of(k) for k in inner if k is not Omitted]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin is Literal:
        return {"enum": [plain(v) for v in inner]}
    if origin in (list, set, frozenset) or (origin is tuple and inner[1:] == (...,)):
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is tuple:
        items = schema_of(inner[0]) if len(set(inner)) == 1 else {"anyOf": [schema_of(k) for k in dict.fromkeys(inner)]}
        return {"type": "array", "items": items}
    if origin in (dict, Mapping):
        return {"type": "object", "properties": {}, "required": [], "additionalProperties": schema_of(inner[1])}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        shown = [f.name for f in _shown(kind)]
        return {
            "type": "object",
            "properties": {name: schema_of(hints[name]) for name in shown},
            "required": [name for name in shown if Omitted not in typing.get_args(hints[name])],
        }
    raise TypeError(f"{kind!r} has no JSON schema")


# --- tables ---


def table(kind: type[Any], rows: Sequence[object], *, fit: bool = False) -> list[str]:
    """Return a table of records as lines: a head, then a line per row.

    Args:
        kind: the class of the records, whose fields declared with `column` are shown.
        rows: the records.
        fit: make each column as wide as its longest cell; else as its format says.
    """
    shown = [(f.name, cast("Column", f.metadata[_COLUMN])) for f in dataclasses.fields(kind) if _COLUMN in f.metadata]
    cells = [[c.head for _, c in shown], *([c.text(getattr(r, name)) for name, c in shown] for r in rows)]
    widths = [max(len(row[n]) for row in cells) if fit else 0 for n in range(len(shown))]
    formats = [c.format + (str(w) if fit else "") for (_, c), w in zip(shown, widths, strict=True)]
    return ["  ".join(f"{cell:{how}}" for cell, how in zip(row, formats, strict=True)).rstrip() for row in cells]


__all__ = [
    "OMITTED",
    "Column",
    "Mismatch",
    "Omitted",
    "Output",
    "column",
    "hidden",
    "is_record",
    "mismatches",
    "plain",
    "read",
    "record",
    "schema_of",
    "table",
]
