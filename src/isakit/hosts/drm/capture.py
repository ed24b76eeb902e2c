"""Captures: self-contained recordings of a program's commands to the card, for replays without the program.

A file is a header and records, compressed. The program's changes of memory are recorded: before a push, pages that
differ from their state after the previous one are written. Numbers are little-endian.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from isakit.errors import FormatError, FormatWarning
from isakit.hosts.drm import CAPTURE_MAGIC
from isakit.hosts.drm.memory import BASE, FILE_BYTES, MemoryObject, VideoMemory
from isakit.hosts.drm.memory import PAGE as VIDEO_PAGE

MAGIC = CAPTURE_MAGIC + b"\n"
VERSION = 1
PAGE = 4096
HEADER = struct.Struct("<II")
"""Version, chip number."""
RECORD = struct.Struct("<BI")
"""Kind, number of bytes that follow."""
ALLOCATE = struct.Struct("<IQQ")
"""handle, offset, size."""
WRITE = struct.Struct("<Q")
PAIR = struct.Struct("<II")
SEGMENT = struct.Struct("<QQ")
"""Of a push, after the number of the channel: address, number of bytes."""
MOST_RECORD = 1 << 24
FLUSH_SECONDS = 1.0
"""Seconds after which a capture is flushed up to its last push: it may never be closed."""
Kind = Literal["allocate", "free", "write", "object", "channel", "push"]
KINDS: tuple[Kind, ...] = ("allocate", "free", "write", "object", "channel", "push")


@dataclass(frozen=True)
class CapturedEvent:
    """A recorded event. `numbers` by kind; `data` of a write."""

    kind: Kind
    numbers: tuple[int, ...]
    data: bytes = b""


class Recorder:
    """Writes the capture of one process."""

    def __init__(self, path: Path, chip: int) -> None:
        self._file: BinaryIO = path.open("wb")
        self._file.write(MAGIC + HEADER.pack(VERSION, chip))
        self._packer = zlib.compressobj(6)
        self._known: dict[int, int] = {}
        self._lock = threading.Lock()
        self._flushed = time.monotonic()

    def _write(self, kind: Kind, data: bytes) -> None:
        with self._lock:
            self._file.write(self._packer.compress(RECORD.pack(KINDS.index(kind), len(data)) + data))

    def allocated(self, o: MemoryObject) -> None:
        """Record a new memory object."""
        self._write("allocate", ALLOCATE.pack(o.handle, o.offset, o.size))

    def freed(self, handle: int) -> None:
        """Record that a memory object is freed."""
        self._write("free", PAIR.pack(handle, 0))

    def object(self, handle: int, number: int) -> None:
        """Record a new engine object."""
        self._write("object", PAIR.pack(handle, number))

    def channel(self, number: int) -> None:
        """Record a new channel."""
        self._write("channel", PAIR.pack(number, 0))

    def push(self, channel: int, segments: list[tuple[int, int]], memory: VideoMemory) -> None:
        """Record a push that is about to be executed, and the memory that the program has changed before it."""
        for page, digest in _pages(memory):
            if self._known.get(page, 0) != digest:
                self._known[page] = digest
                self._write("write", WRITE.pack(page * PAGE) + memory.bytes[page * PAGE : (page + 1) * PAGE].tobytes())
        flat = [n for s in segments for n in s]
        self._write("push", struct.pack(f"<I{len(flat)}Q", channel, *flat))
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            with self._lock:
                self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
                self._file.flush()
            self._flushed = time.monotonic()

    def settled(self, memory: VideoMemory) -> None:
        """Record the content of memory after a push: changes up to now are the card's, not the program's."""
        self._known = dict(_pages(memory))

    def close(self) -> None:
        """Finish the file."""
        with self._lock:
            self._file.write(self._packer.flush())
            self._file.close()


def _pages(memory: VideoMemory) -> Iterator[tuple[int, int]]:
    """Yield (page, digest) of all pages of live objects that are not all zero."""
    everything = memory.bytes  # with what waited to be stored, before pages are looked for
    for o in sorted(memory.objects.values(), key=lambda o: o.offset):
        at, end = o.offset, o.offset + o.size
        while at < end:
            try:
                at = os.lseek(memory.descriptor, at, os.SEEK_DATA)
            except OSError:
                break
            if at >= end:
                break
            stop = min(os.lseek(memory.descriptor, at, os.SEEK_HOLE), end)
            block = everything[at : at + (stop - at) // PAGE * PAGE].reshape(-1, PAGE)
            some = np.flatnonzero(block.any(axis=1))
            first = at // PAGE
            for k in some.tolist():
                yield first + k, zlib.crc32(block[k].tobytes()) | 1 << 32
            at = stop


@dataclass(frozen=True)
class CaptureContents:
    """Statistics of a capture.

    Attributes:
        chip: number of the chip it was captured on.
        memory_bytes: peak memory of the program in bytes.
        written_bytes: bytes it wrote there.
        channels, pushes: how many channels it had, and how often it sent commands.
        classes: numbers of the classes of its engine objects.
    """

    chip: int
    memory_bytes: int
    written_bytes: int
    channels: int
    pushes: int
    classes: tuple[int, ...]


def contents(path: Path) -> CaptureContents:
    """Return the statistics of a capture, without drawing it. Raises FormatError."""
    chip, records = read(path)
    sizes: dict[int, int] = {}
    classes: set[int] = set()
    channels: set[int] = set()
    used = most = written = pushes = 0
    for r in records:
        if r.kind == "allocate":
            sizes[r.numbers[0]] = r.numbers[2]
            used += r.numbers[2]
            most = max(most, used)
        elif r.kind == "free":
            used -= sizes.pop(r.numbers[0], 0)
        elif r.kind == "write":
            written += len(r.data)
        elif r.kind == "object":
            classes.add(r.numbers[1])
        else:
            channels.add(r.numbers[0])
            pushes += r.kind == "push"
    return CaptureContents(chip, most, written, len(channels), pushes, tuple(sorted(classes)))


def extent(path: Path) -> int:
    """Return the size in bytes of the card's memory that a capture uses, from the first byte on. Raises FormatError."""
    end = VIDEO_PAGE
    for r in read(path)[1]:
        if r.kind == "allocate":
            end = max(end, r.numbers[1] + r.numbers[2])
        elif r.kind == "write":
            end = max(end, r.numbers[0] + len(r.data))
    return -(-end // VIDEO_PAGE) * VIDEO_PAGE


def read(path: Path) -> tuple[int, Iterator[CapturedEvent]]:
    """Return (chip number, records).

    A truncated file, as after a crash, yields its complete records, with a FormatWarning. Raises FormatError.
    """
    with path.open("rb") as f:
        head = f.read(len(MAGIC) + HEADER.size)
        body = f.read()
    if not head.startswith(MAGIC) or len(head) != len(MAGIC) + HEADER.size:
        raise FormatError(str(path), 0, "no capture of a GL program")
    version, chip = HEADER.unpack_from(head, len(MAGIC))
    if version != VERSION:
        raise FormatError(str(path), len(MAGIC), f"version {version}; this isakit reads {VERSION}")
    return chip, _records(path, body)


def _records(path: Path, body: bytes) -> Iterator[CapturedEvent]:
    unpacker = zlib.decompressobj()
    buffer = bytearray()
    at = 0

    def more(n: int) -> bool:
        nonlocal at
        while len(buffer) < n and (at < len(body) or unpacker.unconsumed_tail):
            part = unpacker.unconsumed_tail or body[at : at + (1 << 16)]
            if not unpacker.unconsumed_tail:
                at += len(part)
            try:
                buffer.extend(unpacker.decompress(part, 1 << 20))
            except zlib.error as e:
                raise FormatError(str(path), at, f"damaged: {e}") from e
        return len(buffer) >= n

    while more(RECORD.size):
        kind, count = map(int, RECORD.unpack_from(buffer))
        if kind >= len(KINDS) or count > MOST_RECORD:
            raise FormatError(str(path), at, "a record is damaged")
        if not more(RECORD.size + count):
            break
        data = bytes(buffer[RECORD.size : RECORD.size + count])
        del buffer[: RECORD.size + count]
        yield _record(path, KINDS[kind], data)
    if not unpacker.eof:  # the program that wrote it was killed
        warnings.warn(f"{path}: the capture is cut off; what is whole of it is used", FormatWarning, stacklevel=2)
    elif buffer:
        raise FormatError(str(path), at, "a record is longer than the file")


def _record(path: Path, kind: Kind, data: bytes) -> CapturedEvent:
    try:
        if kind == "allocate":
            handle, offset, size = ALLOCATE.unpack(data)
            if offset + size > FILE_BYTES:
                raise FormatError(str(path), 0, "a memory object beyond the card's memory")
            return CapturedEvent(kind, (handle, offset, size))
        if kind == "write":
            (offset,) = WRITE.unpack_from(data)
            if offset + len(data) > FILE_BYTES:
                raise FormatError(str(path), 0, "a write beyond the card's memory")
            return CapturedEvent(kind, (offset,), data[WRITE.size :])
        if kind == "push":
            if len(data) % SEGMENT.size != 4:
                raise FormatError(str(path), 0, f"a push of {len(data)} bytes")
            return CapturedEvent(kind, struct.unpack(f"<I{(len(data) - 4) // 8}Q", data))
        return CapturedEvent(kind, PAIR.unpack(data))
    except struct.error as e:
        raise FormatError(str(path), 0, f"a record of kind {kind} has {len(data)} bytes") from e


__all__ = ["BASE", "CapturedEvent", "Recorder", "read"]
