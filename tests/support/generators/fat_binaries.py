"""Fat binaries and their entries, made byte by byte."""

from __future__ import annotations

import struct

from isakit.formats import fatbin


def entry(kind: int, payload: bytes, arch: int = 10, name: bytes = b"", flags: int = 0, unpacked: int = 0) -> bytes:
    size = len(payload)
    payload += bytes(-len(payload) % 8)
    header = 64 + (len(name) + 7) // 8 * 8
    head = fatbin.FatEntryHeader(
        kind, 0x101, header, len(payload), size if flags else 0, arch, 64 if name else 0, len(name), flags, unpacked,
    )  # fmt: skip
    return fatbin.ENTRY.pack(vars(head)) + name + bytes(header - 64 - len(name)) + payload


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return fatbin.HEADER.pack(vars(fatbin.FatHeader(fatbin.MAGIC, 1, 16, len(body)))) + body


PTX = b".version 1.4\n.target sm_13\n.entry k ()\n{\n" + b"  bar.sync 0;\n" * 40 + b"  exit;\n}\n"


def packed(data: bytes) -> bytes:
    """An LZ4 block made by hand: the head as literals, one match of the line that repeats, literals again."""
    head, step, rest = data.index(b"  bar"), len(b"  bar.sync 0;\n"), data.index(b"  exit")
    first = head + step
    copied = rest - first

    def lengths(n: int, base: int) -> tuple[int, bytes]:
        n -= base
        return (n, b"") if n < 15 else (15, b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255]))

    a, more = lengths(first, 0)
    b, copies = lengths(copied, 4)
    c, last = lengths(len(data) - rest, 0)
    return (bytes([a << 4 | b]) + more + data[:first] + struct.pack("<H", step) + copies
            + bytes([c << 4]) + last + data[rest:])  # fmt: skip
