"""Binary records, declared once for both directions: numbers, arrays, bit fields and offsets, little-endian, unpadded.

    ENTRY = Layout("u16 kind, version;  u32 header_size;  u32 flags:12, arch:20, *name;  char tag[4];")
    ENTRY.read(data, at)["kind"]
    ENTRY.pack({"kind": 1, ...}, at)

A declaration is that of a C structure. Neighbouring bit fields of one type share a number, the lowest bits first; those
without a name are 0 in what is written. A `*` is an offset from its own place: reading gives the place it leads to,
None for zero.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar, overload

from isakit.errors import FormatError

T = TypeVar("T")
Values = dict[str, Any]
"""Fields by name: int, bytes (`char`), tuple (arrays) or a place (offsets)."""

_CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q", "char": "s"}
_FIELD = re.compile(r"(\*?)(\w+)(?:\[(\d+)\])?|(\w*):(\d+)")


class LayoutField(NamedTuple):
    """A field of a record: its name, its place in bytes, and how its number or numbers are stored.

    A bit field has `bits` bits from `shift` on of the number at its place.
    """

    name: str
    at: int
    form: struct.Struct
    is_array: bool = False
    is_pointer: bool = False
    shift: int = 0
    bits: int = 0

    @property
    def end(self) -> int:
        """The place after the last byte."""
        return self.at + self.form.size


class Layout(Generic[T]):
    """The fields of a record by name, and its size in bytes.

    `make` gets them as keywords and builds what reading returns, a dictionary unless it is given. Raises ValueError for
    a text that declares nothing, and for a data class that lacks one of the fields.
    """

    @overload
    def __init__(self: Layout[Values], text: str) -> None: ...
    @overload
    def __init__(self, text: str, make: Callable[..., T]) -> None: ...
    def __init__(self, text: str, make: Callable[..., Any] = dict) -> None:
        self._make = make
        fields, self.size = _declared(text)
        self.fields = {f.name: f for f in fields}
        known = getattr(make, "__dataclass_fields__", self.fields)
        if missing := [name for name in self.fields if name not in known]:
            raise ValueError(f"{make.__name__} has no field {', '.join(missing)}")
        row = struct.Struct("<" + "".join(f.form.format[1:] for f in fields))
        plain = row.size == self.size and not any(f.is_array or f.is_pointer or f.bits for f in fields)
        self._row = row if plain else None  # reads many records at once

    def read(self, data: bytes, at: int = 0, size: int | None = None) -> T:
        """Return the record at an offset of `data`.

        Where only its first `size` bytes are there, the fields that reach further are 0. Raises FormatError where the
        data ends before the record.
        """
        size = self.size if size is None else min(size, self.size)
        if not 0 <= at <= len(data) - size:
            raise FormatError(None, min(max(at, 0), len(data)), f"the file ends inside a record of {size} bytes")
        whole = max((f.end for f in self.fields.values() if f.end <= size), default=0)
        content = data[at : at + whole].ljust(self.size, b"\0")
        values: Values = {}
        for f in self.fields.values():
            found = f.form.unpack_from(content, f.at)
            value: Any = found if f.is_array else found[0]
            if f.is_pointer:
                value = at + f.at + value if value else None
            elif f.bits:
                value = value >> f.shift & (1 << f.bits) - 1
            values[f.name] = value
        return self._make(**values)

    def array(self, data: bytes, at: int, count: int) -> list[T]:
        """Return `count` records that follow each other. Raises FormatError where the data ends before them."""
        content = data[at : at + count * self.size] if at >= 0 else b""
        if self._row and len(content) == count * self.size:
            return [self._make(**dict(zip(self.fields, row, strict=True))) for row in self._row.iter_unpack(content)]
        return [self.read(data, at + k * self.size) for k in range(count)]

    def pack(self, values: Mapping[str, object], at: int = 0, size: int | None = None) -> bytes:
        """Return the first `size` bytes of a record that will stand at the offset `at`.

        Raises FormatError, with the place of the field, for a value that does not fit it.
        """
        out = bytearray(self.size)
        for f in self.fields.values():
            value: Any = values[f.name]
            if f.is_pointer:
                value = 0 if value is None else value - (at + f.at)
            elif f.bits:
                if not 0 <= value < 1 << f.bits:
                    raise FormatError(None, at + f.at, f"{f.name} is {value:#x}, which does not fit {f.bits} bits")
                value = f.form.unpack_from(out, f.at)[0] | value << f.shift
            numbers: tuple[Any, ...] = value if f.is_array else (value,)
            try:
                f.form.pack_into(out, f.at, *numbers)
            except struct.error:
                reason = f"lies {value:#x} bytes from its offset" if f.is_pointer else f"is {value}"
                raise FormatError(None, at + f.at, f"{f.name} {reason}, which does not fit the field") from None
        return bytes(out[:size])


def _declared(text: str) -> tuple[list[LayoutField], int]:
    """Return the fields of a declaration in their order, and the size of all."""
    fields: list[LayoutField] = []
    at = 0
    for statement in filter(None, (s.strip() for s in text.split(";"))):
        kind, _, names = statement.partition(" ")
        shift = 0
        for text_of_field in names.split(","):
            m = _FIELD.fullmatch(text_of_field.strip())
            if m is None or kind not in _CODES:
                raise ValueError(f"`{kind} {text_of_field.strip()}` does not declare a field")
            star, name, count, bits = m[1], m[2] or m[4], m[3], m[5]
            form = struct.Struct(f"<{count or ''}{_CODES[kind]}")
            if shift and (not bits or shift + int(bits) > 8 * form.size):
                at, shift = at + form.size, 0
            is_array = count is not None and kind != "char"
            if name:
                fields.append(LayoutField(name, at, form, is_array, bool(star), shift, int(bits or 0)))
            shift += int(bits or 0)
            at += 0 if bits else form.size
        at += struct.calcsize(_CODES[kind]) if shift else 0
    return fields, at
