"""Bytes of code to units and back."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import Literal, cast

from isakit.codec import Decoder
from isakit.errors import FormatError
from isakit.spec import Variant

_STRUCT: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


def split_units(data: bytes, variant: Variant) -> tuple[Sequence[int], bytes]:
    """Return the units of `data`, and the bytes at the end that fill no unit.

    Raises FormatError for a unit with bits that no instruction of the variant has, because they could not be written
    back.
    """
    size = variant.unit_bytes
    count = len(data) // size
    code = _STRUCT.get(size)
    units: Sequence[int]
    if code and sys.byteorder == "little":
        units = cast("Sequence[int]", memoryview(data)[: count * size].cast(code))
    elif code:
        units = struct.unpack_from(f"<{count}{code}", data)
    else:
        units = [int.from_bytes(data[i : i + size], "little") for i in range(0, count * size, size)]
    check_units(units, variant)
    return units, data[count * size :]


def check_units(units: Sequence[int], variant: Variant) -> None:
    """Raise FormatError for a unit that is negative or wider than the variant's."""
    if not units or (isinstance(units, memoryview) and units.itemsize * 8 <= variant.unit_bits):
        return
    limit = 1 << variant.unit_bits
    if max(units) < limit and min(units) >= 0:
        return
    for i, u in enumerate(units):
        if not 0 <= u < limit:
            raise FormatError(
                None, i * variant.unit_bytes, f"word {u:#x} does not fit the {variant.unit_bits} bits of {variant.name}"
            )


def pack_units(units: Sequence[int], variant: Variant) -> bytes:
    """Return little-endian bytes of units."""
    size = variant.unit_bytes
    code = _STRUCT.get(size)
    if code:
        return struct.pack(f"<{len(units)}{code}", *units)
    return b"".join(u.to_bytes(size, "little") for u in units)


def address_scale(decoder: Decoder) -> int:
    """Return the bytes per step of a code address."""
    return decoder.view.variant.unit_bytes if decoder.isa.word_addressed else 1
