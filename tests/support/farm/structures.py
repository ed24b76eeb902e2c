"""Damage to files that knows their structure: the numbers of headers and tables, records of packed files, JSON.

A number is found through the file's own structure, so that a change hits what a reader believes: counts, offsets,
sizes, relocations. What readers check against a hash is hashed again after the change.
"""

from __future__ import annotations

import copy
import struct
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from isakit.formats import fatbin, gxp
from isakit.formats.elf import HEADERS, SECTIONS, SYMBOLS
from isakit.formats.layout import Layout
from isakit.hosts.drm import capture as drm

Number = tuple[int, int]
"""Where a number is in a file, and its bytes."""
EDGES = (0, 1, 2, 3, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000,
         0xFFFF_FFFC, 0xFFFF_FFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)  # fmt: skip
"""Numbers at which readers go wrong."""
_MOST = 64
"""Entries of a table whose numbers are listed."""


def fields(layout: str | struct.Struct | Layout[Any], at: int) -> Iterator[Number]:
    """The numbers of a record that begins somewhere."""
    if isinstance(layout, Layout):
        yield from ((at + f.at, f.form.size) for f in layout.fields.values())
        return
    text = layout.format if isinstance(layout, struct.Struct) else layout
    count = ""
    for letter in text.lstrip("<"):
        if letter.isdigit():
            count += letter
            continue
        size = struct.calcsize("<" + letter)
        for _ in range(int(count or 1)):
            yield at, size
            at += size
        count = ""


def _elf(data: bytes, start: int) -> Iterator[Number]:
    """Header, sections, symbols, relocations, and the 32-bit words of notes and `.nv.info`."""
    kind = {1: 32, 2: 64}.get(data[start + 4])
    if kind is None or len(data) < start + 16 + HEADERS[kind].size:
        return
    yield from fields(HEADERS[kind], start + 16)
    head = HEADERS[kind].unpack_from(data, start + 16)
    for k in range(min(head[11], _MOST)):
        at = start + head[5] + k * SECTIONS[kind].size
        if at + SECTIONS[kind].size > len(data):
            return
        yield from fields(SECTIONS[kind], at)
        _, type_, _, _, offset, size, *_ = SECTIONS[kind].unpack_from(data, at)
        layouts = {2: SYMBOLS[kind], 4: "<III" if kind == 32 else "<QII", 9: "<II" if kind == 32 else "<QI"}
        layout = layouts.get(type_, "<I" if type_ >= 0x7000_0000 or size <= 64 else None)
        if layout is not None and start + offset + size <= len(data):
            step = layout.size if isinstance(layout, struct.Struct) else struct.calcsize(layout)
            for entry in range(min(size // step, _MOST)):
                yield from fields(layout, start + offset + entry * step)


def _gxp(data: bytes, start: int) -> Iterator[Number]:
    """Header and the tables it points at."""
    yield from fields(gxp.HEADER, start)
    if len(data) < start + gxp.HEADER.size:
        return
    head = gxp.HEADER.read(data, start)
    for kind, records in gxp.TABLES.items():
        for k in range(min(head[f"{kind}_count"], _MOST)):
            entry = (head[kind] or start) + k * records.size
            if entry + records.size <= len(data):
                yield from fields(records, entry)
    yield from fields(gxp.VERTEX, head["varyings"] or start)


def _fat(data: bytes, start: int) -> Iterator[Number]:
    """The container's header and those of its entries."""
    yield from fields("<IHHQ", start)
    try:
        found, _ = fatbin.parse_fatbin(data, start)
    except Exception:
        return
    for e in found:
        yield from fields("<HHIQIIIIIIQQQ", e.offset - 64 - (len(e.name) + 7) // 8 * 8)


def _texture(_: bytes, start: int) -> Iterator[Number]:
    """The header of a texture file: 32-bit words."""
    yield from fields("<40I", start)


_MAGIC: dict[bytes, Callable[[bytes, int], Iterator[Number]]] = {
    b"\x7fELF": _elf, gxp.MAGIC: _gxp, struct.pack("<I", fatbin.MAGIC): _fat, b"DDS ": _texture,
    b"\xabKTX": _texture, b"GXT\0": _texture,
}  # fmt: skip


def numbers(data: bytes) -> list[Number]:
    """The numbers of all structures in a file."""
    out: list[Number] = []
    for magic, read in _MAGIC.items():
        at = data.find(magic)
        while at >= 0:
            out += [(p, n) for p, n in read(data, at) if p >= 0 and p + n <= len(data)]
            at = data.find(magic, at + 1)
    return out


def other_number(old: int, size: int, r: Random, length: int, at: int) -> int:
    """What takes the place of a number of a file of so many bytes."""
    new = r.choice((r.choice(EDGES), old + r.choice((-1, 1, 4, -4, 8)), old << 1, old >> 1, length, length - at,
                    old ^ 1 << r.randrange(8 * size)))  # fmt: skip
    return new & (1 << 8 * size) - 1


def with_other_numbers(data: bytes, r: Random) -> bytes:
    """A file with some numbers of its structures changed."""
    out, places = bytearray(data), numbers(data)
    for at, size in r.sample(places, min(len(places), r.choice((1, 1, 1, 2, 3)))):
        old = int.from_bytes(out[at : at + size], "little")
        out[at : at + size] = other_number(old, size, r, len(out), at).to_bytes(size, "little")
    return bytes(out)


# --- JSON -------------------------------------------------------------------------------------------------------------
LEAVES: tuple[Any, ...] = (
    0, 1, -1, 3, 255, 1 << 16, 1 << 31, -(1 << 31), 1 << 32, 1 << 64, 10**30, 0.5, 1e39, float("nan"), float("inf"),
    True, None, "", "x", "0", "\0", "../x", [], {}, [[]], "f32", [1, 2], {"x": 1},
)  # fmt: skip
"""What takes the place of a value."""


def _keys(value: Any, leave: tuple[str, ...]) -> list[Any]:
    """The keys of an object without those in `leave`, the indices of a list, none of other values."""
    if isinstance(value, dict):
        return [k for k in value if k not in leave]
    return list(range(len(value))) if isinstance(value, list) else []


def with_other_values(value: Any, r: Random, leave: tuple[str, ...] = ()) -> Any:
    """A copy of a JSON value in which some are changed, missing, or doubled, those under the keys `leave` excepted."""
    value = copy.deepcopy(value)
    for _ in range(r.choice((1, 1, 2, 3))):
        # Long arrays have most of the places and the least to say: the place is chosen level by level.
        at, key = value, None
        while True:
            inner = at if key is None else at[key]
            keys = _keys(inner, leave)
            if not keys or (key is not None and r.random() < 0.25):
                break
            at, key = inner, r.choice(keys)
        if key is None:
            continue
        kind, old = r.random(), at[key]
        if kind < 0.1:
            del at[key]
        elif kind < 0.2 and isinstance(at, list):
            at.insert(key, copy.deepcopy(old))
        elif kind < 0.5 and isinstance(old, int | float):
            at[key] = r.choice((old + 1, old - 1, -old, old * 2, old * 1000, float(old)))
        elif kind < 0.5 and isinstance(old, str) and old:
            k = r.randrange(len(old))
            at[key] = old[:k] + r.choice("0zf-9 ") + old[k + 1 :]
        else:
            at[key] = copy.deepcopy(r.choice(LEAVES))
    return value


# --- captures of GL programs ------------------------------------------------------------------------------------------
HEAD = len(drm.MAGIC) + drm.HEADER.size


def records(data: bytes) -> list[tuple[int, bytes]]:
    """(kind, content) of the records of a capture."""
    body, out, at = zlib.decompressobj().decompress(data[HEAD:]), [], 0
    while at + drm.RECORD.size <= len(body):
        kind, count = drm.RECORD.unpack_from(body, at)
        at += drm.RECORD.size
        out.append((kind, body[at : at + count]))
        at += count
    return out


def capture(head: bytes, found: list[tuple[int, bytes]], r: Random | None = None) -> bytes:
    """The file of records; with `r` some records say another length than they have."""
    out = b""
    for kind, content in found:
        count = len(content)
        if r is not None and r.random() < 0.02:
            count = other_number(count, 4, r, count, 0)
        out += drm.RECORD.pack(kind, count) + content
    return head + zlib.compress(out, 1)


def with_other_records(data: bytes, r: Random) -> bytes:
    """A capture with records changed, missing, doubled, or in another order."""
    found = records(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        k = r.randrange(len(found))
        kind, content = found[k]
        what = r.random()
        if what < 0.1:
            del found[k]
        elif what < 0.15:
            found.insert(r.randrange(len(found)), found[k])
        elif what < 0.2:
            j = r.randrange(len(found))
            found[k], found[j] = found[j], found[k]
        elif what < 0.25:
            found[k] = r.randrange(8), content
        elif what < 0.3:
            found[k] = kind, content[: r.randrange(len(content) + 1)]
        elif content:
            # The numbers in front say where; of the pages the words that are not zero are what the card reads.
            at = r.randrange(0, min(len(content), 24), 4)
            if kind == drm.KINDS.index("write") and r.random() < 0.85:
                some = [i for i in range(8, len(content) - 3, 4) if any(content[i : i + 4])]
                at = r.choice(some or [at])
            size = min(r.choice((4, 4, 8)), len(content) - at)
            old = int.from_bytes(content[at : at + size], "little")
            new = other_number(old, size, r, len(content), at).to_bytes(size, "little")
            found[k] = kind, content[:at] + new + content[at + size :]
        if not found:
            break
    return capture(data[:HEAD], found, r if r.random() < 0.3 else None)
