"""Records as bytes: the fields of Python objects to the places where compiled code has them, and back."""

from __future__ import annotations

from collections.abc import Collection
from struct import Struct
from typing import Any

from isakit.sem.records import Record, layout_of

_CODES = {1: "B", 8: "B", 16: "H", 32: "I", 64: "Q"}


class Bytes:
    """Copies fields of a record that are numbers or rows of numbers; all but those of `without`, and records."""

    def __init__(self, record: type[Record], without: Collection[str] = ()) -> None:
        layout = layout_of(record)
        self._plan: list[tuple[str, int]] = []
        text, end = "=", 0
        for f in layout.fields.values():
            if f.element is not None or f.name in without or (f.many is not None and f.many.behind):
                continue
            count = 0 if f.many is None else f.many.count
            text += f"{f.offset - end}x{count or 1}{_CODES[f.width]}"
            end = f.offset + f.size
            self._plan.append((f.name, count))
        self._struct = Struct(text)
        self.size = layout.size

    def put(self, thing: Any, buffer: Any, offset: int = 0) -> None:
        """The fields of an object into a buffer."""
        values: list[int] = []
        for name, count in self._plan:
            value = getattr(thing, name)
            if count:
                values += value
            else:
                values.append(value)
        self._struct.pack_into(buffer, offset, *values)

    def numbers(self, buffer: Any, offset: int = 0) -> tuple[int, ...]:
        """What is in a buffer, in the order of the fields."""
        return self._struct.unpack_from(buffer, offset)

    def take(self, thing: Any, buffer: Any, offset: int = 0) -> None:
        """The fields from a buffer into an object; lists keep their identity."""
        values = self.numbers(buffer, offset)
        at = 0
        for name, count in self._plan:
            if count:
                getattr(thing, name)[:] = values[at : at + count]
            else:
                setattr(thing, name, values[at])
            at += count or 1
