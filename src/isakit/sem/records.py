"""Records: the state of a machine as declared fields, from which its Python objects and its places in memory follow.

A record is a class whose annotations say how many bits its fields have:

    class Entry(Record):
        pc: u32
        mask: u32

    class Warp(Record):
        active: u32
        depth: u32
        stack: Annotated[list[Entry], ArrayField(16)]

Python code and the routines of `sem.routine` use its objects; compiled code finds the same fields at the offsets of
`layout_of(Warp)`. Fields follow each other in the order of declaration, each at a multiple of its size, unless its
`ArrayField` asks for more. A field may be a record itself, at a multiple of 8 bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from isakit.errors import DefinitionError
from isakit.lean import dataclass


@dataclass(frozen=True)
class Unsigned:
    """An unsigned number of `width` bits."""

    width: int


@dataclass(frozen=True)
class ArrayField:
    """`count` elements in a row, from a multiple of `align` bytes on.

    With `behind` the field holds a pointer to the elements; they are `stride` bytes apart, a field of the same record,
    or as many as an element has.
    """

    count: int = 0
    align: int = 1
    behind: bool = False
    stride: str = ""


u8 = Annotated[int, Unsigned(8)]
u16 = Annotated[int, Unsigned(16)]
u32 = Annotated[int, Unsigned(32)]
u64 = Annotated[int, Unsigned(64)]

R = TypeVar("R", bound="StateRecord")


@dataclass(frozen=True)
class RecordField:
    """A field of a record: its offset in bytes and its type.

    `width`: bits of a number, or of each number where there are `many`; `element`: the record that the elements are, or
    that the field is where there are not `many`.
    """

    name: str
    offset: int
    size: int
    width: int = 0
    element: type[StateRecord] | None = None
    many: ArrayField | None = None


@dataclass(frozen=True)
class RecordLayout:
    """Fields by name, and the size of the record in bytes."""

    fields: dict[str, RecordField]
    size: int

    def __getitem__(self, name: str) -> RecordField:
        return self.fields[name]

    def at(self, name: str) -> int:
        """Return the offset of a field."""
        return self.fields[name].offset


class Elements(dict[int, R], Generic[R]):
    """The elements of a field, as Python sees them, created on first access so that unused stacks cost nothing."""

    def __init__(self, kind: type[R]) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, k: int) -> R:
        made = self[k] = self.kind()
        return made


class StateRecord:
    """The base of declared records. Objects begin with all fields 0."""

    __slots__ = ()

    def __init__(self) -> None:
        for f in layout_of(type(self)).fields.values():
            if f.element is not None:
                setattr(self, f.name, f.element() if f.many is None else Elements(f.element))
            elif f.many is not None:
                setattr(self, f.name, [0] * f.many.count)
            else:
                setattr(self, f.name, 0)


def width_of(annotation: object) -> int | None:
    """Return the bits of an annotated number, 1 for a bool; None for another type."""
    if annotation is bool:
        return 1
    if get_origin(annotation) is Annotated:
        return next((x.width for x in get_args(annotation)[1:] if isinstance(x, Unsigned)), None)
    return None


def array_field_of(annotation: Any) -> tuple[Any, ArrayField] | None:
    """Return (type of the elements, their number) of an annotated list; None for another type."""
    if get_origin(annotation) is Annotated:
        inner, *extra = get_args(annotation)
        many = next((x for x in extra if isinstance(x, ArrayField)), None)
        if many is not None and get_origin(inner) is list:
            return get_args(inner)[0], many
    return None


@cache
def layout_of(record: type[StateRecord]) -> RecordLayout:
    """Return the layout of a record. Raises DefinitionError for a field that is not a number, record or row."""
    fields: dict[str, RecordField] = {}
    end = 0
    declared = next(c for c in record.__mro__ if StateRecord in c.__bases__)  # classes below it are views of the same
    for name, annotation in get_type_hints(declared, include_extras=True).items():
        f = _field(f"{record.__name__}.{name}", name, annotation, end)
        fields[name] = f
        end = f.offset + f.size
    if not fields:
        raise DefinitionError(f"{record.__name__} declares no fields")
    return RecordLayout(fields, end)


def _field(where: str, name: str, annotation: object, end: int) -> RecordField:
    width = width_of(annotation)
    if width is not None:
        size = max(1, width // 8)
        return RecordField(name, -(-end // size) * size, size, width)
    if isinstance(annotation, type) and issubclass(annotation, StateRecord):
        return RecordField(name, -(-end // 8) * 8, layout_of(annotation).size, element=annotation)
    several = array_field_of(annotation)
    if several is None:
        raise DefinitionError(f"{where} is neither a number, nor a record, nor many of a kind")
    kind, many = several
    if many.behind:
        return RecordField(name, -(-end // 8) * 8, 8, width_of(kind) or 0, None if width_of(kind) else kind, many)
    width, element = width_of(kind), None
    if width is None:
        element, size = kind, layout_of(kind).size
    else:
        size = width // 8
    start = -(-end // many.align) * many.align
    return RecordField(name, start, size * many.count, width or 0, element, many)
