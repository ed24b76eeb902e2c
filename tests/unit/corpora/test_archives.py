"""Archives of strangers: what they hold is read, and they do not decide how much memory that takes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from isakit.corpora import sources
from isakit.corpora.sources import FileSource, Piece, pieces

CONTENT = random.Random(1).randbytes(50_000) + bytes(50_000)


def read(data: bytes, folder: Path) -> list[Piece]:
    path = folder / "archive"
    path.write_bytes(data)
    return list(pieces(FileSource(str(path), len(data))))


def members(found: list[Piece]) -> dict[str, bytes]:
    """What archives hold; empty where it is an archive itself."""
    out: dict[str, bytes] = {}
    for p in found:
        out[p.member] = out.get(p.member, b"") + p.data[: p.fresh]
    return out


def errors(found: list[Piece]) -> str:
    return " ".join(p.error for p in found if p.error)


def zipped(method: int, content: bytes = CONTENT, level: int | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=level) as z:
        z.writestr("one", content)
        z.writestr("two", b"2")
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("one")
        info.size = len(CONTENT)
        t.addfile(info, io.BytesIO(CONTENT))
    return out.getvalue()


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)  # fmt: skip
def test_members_are_read_however_they_are_packed(method: int, tmp_path: Path) -> None:
    found = members(read(zipped(method), tmp_path))
    assert (found["one"], found["two"]) == (CONTENT, b"2")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("inner", [tarred, lambda: zipped(zipfile.ZIP_BZIP2)], ids=["tar", "zip"])
def test_archives_in_packed_files_are_read(
    pack: Callable[[bytes], bytes], inner: Callable[[], bytes], tmp_path: Path
) -> None:
    found = read(pack(inner()), tmp_path)
    assert next(data for name, data in members(found).items() if name.endswith("one")) == CONTENT
    assert not errors(found)


def test_xz_files_of_several_parts_are_read_and_damaged_ones_said(tmp_path: Path) -> None:
    whole = lzma.compress(CONTENT) + bytes(8) + lzma.compress(b"more") + bytes(4)
    assert members(read(whole, tmp_path))[""].endswith(CONTENT + b"more")
    assert "ends early" in errors(read(whole[:-40], tmp_path))
    assert errors(read(whole[:3000] + b"\xff" + whole[3001:], tmp_path))


def test_unpacking_takes_no_more_memory_than_allowed(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(b"x"))
    data[data.index(b"\x21\x01") + 2] = 38  # the block's head asks for 2 GiB
    data[20:24] = struct.pack("<I", zlib.crc32(data[12:20]))
    assert "limit" in errors(read(bytes(data), tmp_path))


def test_a_packed_member_takes_no_more_memory_than_allowed(tmp_path: Path) -> None:
    data = bytearray(zipped(zipfile.ZIP_LZMA))
    at = 30 + len("one") + 4  # behind the head of the member, and that of the method
    data[at + 1 : at + 5] = struct.pack("<I", 1 << 31)
    found = read(bytes(data), tmp_path)
    assert "memory" in errors(found)
    assert members(found)["two"] == b"2"


def test_a_small_member_that_unpacks_to_much_is_unpacked_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "WINDOW", 1 << 16)
    monkeypatch.setattr(sources, "OVERLAP", 1 << 12)
    data = zipped(zipfile.ZIP_BZIP2, bytes(16 << 20))
    path = tmp_path / "archive"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        total = sum(p.fresh for p in pieces(FileSource(str(path), len(data))) if p.member == "one")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 16 << 20
    assert peak < 4 << 20


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_name_in_an_archive_is_not_read_when_it_is_said_to_be_gigabytes(kind: bytes, tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 3 << 30
    found = read(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096)), tmp_path)
    assert "more than 72 MiB" in errors(found)
