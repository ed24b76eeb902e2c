"""Records as bytes: copies the fields of Python objects to the memory of compiled code, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from struct import Struct
from typing import Any

from isakit.sem.records import StateRecord, layout_of

_CODES = {1: "B", 8: "B", 16: "H", 32: "I", 64: "Q"}


class Bytes:
    """Copies fields of a record that are numbers or rows of numbers; all but those of `without`, and records.

    Both directions are functions generated once from the declaration, because a copy is a large part of a short run.
    """

    def __init__(self, record: type[StateRecord], without: Collection[str] = ()) -> None:
        layout = layout_of(record)
        text, end, at = "=", 0, 0
        given: list[str] = []
        taken: list[str] = []
        for f in layout.fields.values():
            if f.element is not None or f.name in without or (f.many is not None and f.many.behind):
                continue
            count = 0 if f.many is None else f.many.count
            text += f"{f.offset - end}x{count or 1}{_CODES[f.width]}"
            end = f.offset + f.size
            given.append(f"*thing.{f.name}" if count else f"thing.{f.name}")
            taken.append(f"thing.{f.name}[:] = v[{at}:{at + count}]" if count else f"thing.{f.name} = v[{at}]")
            at += count or 1
        packing = Struct(text)
        made: dict[str, Any] = {"pack_into": packing.pack_into}
        lines = [f"def pack(thing, buffer, offset=0):\n    pack_into(buffer, offset, {', '.join(given)})"]
        lines += ["def fill(thing, v):", *(f"    {line}" for line in taken)]
        exec("\n".join(lines), made)
        self.size = layout.size
        self.numbers: Callable[..., tuple[int, ...]] = packing.unpack_from
        """`numbers(buffer, offset=0)`: what is in a buffer, in the order of the fields."""
        self.pack: Callable[..., None] = made["pack"]
        """`pack(thing, buffer, offset=0)`: the fields of an object into a buffer."""
        self._fill: Callable[[Any, tuple[int, ...]], None] = made["fill"]

    def unpack(self, thing: object, buffer: object, offset: int = 0) -> None:
        """Copy the fields from a buffer into an object; lists keep their identity."""
        self._fill(thing, self.numbers(buffer, offset))
