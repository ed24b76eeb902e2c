"""The sources of programs: files in folders and object stores, and members of archives, piece by piece.

Whatever sizes a file claims, no more than `WINDOW + OVERLAP` bytes of it are in memory at once.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from typing import IO, Any, cast

from isakit.errors import FormatError, IsakitError
from isakit.lean import dataclass

WINDOW = 1 << 26
"""Bytes of a file that are searched at once."""
OVERLAP = 1 << 23
"""Bytes after a window that are searched with it: a program that begins in one is whole up to this size."""
_DEEPEST = 3
"""Deepest nesting of archives."""
_MOST_MEMBERS = 1 << 20
_MOST_UNPACKED = 1 << 36
"""Limit in bytes of unpacked data of one archive, nested archives included."""
_MOST_OF_UNPACKER = 1 << 28
"""Memory limit of an unpacker in bytes: 65 MiB are usual for the highest setting of `xz`."""
_PACKED_STEP = 1 << 12
"""Bytes that are unpacked at once if the library does not limit the output."""

READ_ERRORS = (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, KeyError, IndexError, AttributeError,
               zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, FormatError)  # fmt: skip
"""The exceptions of the libraries that read archives, for damaged ones."""


@dataclass(frozen=True)
class FileSource:
    """A file to search: a path or a URL, and its size in bytes if the listing has it, else 0."""

    path: str
    size: int


@dataclass(frozen=True)
class Piece:
    """Part of a file, or of a member of an archive.

    Attributes:
        member: path inside the archive, parts joined by `!/` for archives in archives; empty for the file itself.
        offset: where the piece starts in it.
        data: its bytes; programs that start at `fresh` or later belong to the next piece.
        fresh: length of the part that no later piece contains again.
        last: no piece of this member follows.
        error: why the rest of it cannot be read.
    """

    member: str
    offset: int
    data: bytes
    fresh: int
    last: bool
    error: str = ""


def sources(paths: Sequence[str], leave_out: Collection[str] = ()) -> Iterator[FileSource]:
    """Yield all files below some paths or URLs, in the order given, folders in alphabetical order.

    Links to folders are not followed, and folders in `leave_out` are not entered. Raises IsakitError for a path that
    does not exist.
    """
    left_out = {os.path.abspath(p) for p in leave_out}
    for path in paths:
        if "://" in path:
            yield from _remote(path, [f"{p.rstrip('/')}/" for p in leave_out])
        elif os.path.isdir(path):
            yield from _folder(path, left_out)
        elif os.path.exists(path):
            yield FileSource(path, os.path.getsize(path))
        else:
            raise IsakitError(f"{path}: no such file or folder")


def _folder(path: str, left_out: Collection[str]) -> Iterator[FileSource]:
    for folder, names, files in os.walk(path):
        names[:] = sorted(n for n in names if os.path.abspath(os.path.join(folder, n)) not in left_out)
        for name in sorted(files):
            full = os.path.join(folder, name)
            try:
                found = os.lstat(full)
            except OSError:
                continue
            if os.path.isfile(full):  # no pipes, no devices
                yield FileSource(full, found.st_size)


def _remote(url: str, left_out: Collection[str]) -> Iterator[FileSource]:
    """Yield the files of a web server or store: on a server, what ends in `/` is a page that lists files."""
    fs, root = filesystem(url)
    web = url.startswith(("http://", "https://"))
    try:
        if fs.isfile(root) and not (web and url.endswith("/")):
            yield FileSource(url, int(fs.size(root) or 0))
            return
        found: dict[str, dict[str, Any]] = fs.find(root, detail=True)
        if not found:
            fs.info(root)  # which says why
    except FileNotFoundError as e:
        said = e.__cause__  # where the store could not be asked
        raise IsakitError(f"{url}: {'nothing is there' if said is None else _why(said)}") from None
    except READ_ERRORS as e:
        raise IsakitError(f"{url}: {_why(e)}") from None
    if not found:
        raise IsakitError(f"{url}: nothing is there")
    for name in sorted(found):
        full = str(fs.unstrip_protocol(name))
        if not full.startswith(tuple(left_out)):
            yield FileSource(full, int(found[name].get("size") or 0))


def filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it, from fsspec. Raises IsakitError."""
    try:
        from fsspec.core import url_to_fs  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        raise IsakitError("URLs need the package fsspec: pip install 'isakit[distributed]'") from None
    try:
        return url_to_fs(url)  # pyright: ignore[reportUnknownVariableType]
    except (ImportError, ValueError) as e:
        raise IsakitError(f"{url}: {e}") from None


def _opened(path: str) -> IO[bytes]:
    if "://" in path:
        fs, name = filesystem(path)
        return fs.open(name, "rb")
    return open(path, "rb")


def pieces(source: FileSource) -> Iterator[Piece]:
    """Yield the content of a file, and of the members of archives in it. Never raises for the content of a file."""
    try:
        with _opened(source.path) as f:
            yield from _unpacked(f, "", 0, [_MOST_UNPACKED])
    except READ_ERRORS as e:
        yield Piece("", 0, b"", 0, True, _why(e))
    except IsakitError as e:
        yield Piece("", 0, b"", 0, True, str(e))


def _why(e: BaseException) -> str:
    return getattr(e, "strerror", None) or str(e) or type(e).__name__


def _unpacked(f: IO[bytes], member: str, depth: int, left: list[int]) -> Iterator[Piece]:
    """Yield the pieces of an open file, then those of its members if it is an archive."""
    head = _read(f, 1 << 16)
    kind = _archive(head) if depth < _DEEPEST else ""
    if not kind:
        yield from _windows(f, head, member, left)
        return
    yield Piece(member, 0, head[:512], 0, True)
    prefix = f"{member}!/" if member else ""
    try:
        f.seek(0)
        for name, inner in _members(f, kind):
            if left[0] <= 0:
                raise FormatError(None, 0, "the archive is too large when unpacked; the rest of it was not read")
            try:
                with inner() as opened:
                    yield from _unpacked(opened, prefix + name, depth + 1, left)
            except READ_ERRORS as e:
                yield Piece(prefix + name, 0, b"", 0, True, _why(e))
    except READ_ERRORS as e:
        yield Piece(member, 0, b"", 0, True, _why(e))


def _read(f: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, fewer only at the end."""
    out = f.read(size)
    if len(out) == size or not out:
        return out
    parts = [out]
    size -= len(out)
    while size and (more := f.read(size)):
        parts.append(more)
        size -= len(more)
    return b"".join(parts)


def _windows(f: IO[bytes], head: bytes, member: str, left: list[int]) -> Iterator[Piece]:
    at = 0
    data = head + _read(f, WINDOW + OVERLAP - len(head))
    while True:
        left[0] -= len(data)
        last = len(data) < WINDOW + OVERLAP
        yield Piece(member, at, data, len(data) if last else WINDOW, last)
        if last:
            return
        at += WINDOW
        data = data[WINDOW:] + _read(f, WINDOW)


def _archive(head: bytes) -> str:
    """Return the kind of archive that begins like this, "" for none."""
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if head[:2] == b"\x1f\x8b":
        return "gz"
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        return "bz2"
    if head[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if head[257:262] == b"ustar":
        return "tar"
    if head[0x8001:0x8006] == b"CD001":
        return "iso"
    return ""


def _members(f: IO[bytes], kind: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, function that opens it) of each member of an archive."""
    if kind in ("gz", "bz2", "xz"):
        unpack: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": _open_xz}
        yield "", lambda: unpack[kind](f)
    elif kind == "zip":
        with zipfile.ZipFile(cast("IO[bytes]", _Claims(f))) as archive:
            for n, info in enumerate(archive.infolist()):
                if n >= _MOST_MEMBERS:
                    raise FormatError(None, 0, f"more than {_MOST_MEMBERS} members")
                if not info.is_dir():
                    yield info.filename, lambda info=info: _zip_member(archive, info)
    elif kind == "tar":
        with tarfile.open(fileobj=cast("IO[bytes]", _Claims(f)), mode="r:") as archive:
            for n, info in enumerate(archive):
                if n >= _MOST_MEMBERS:
                    raise FormatError(None, 0, f"more than {_MOST_MEMBERS} members")
                if info.isfile():
                    yield info.name, lambda info=info: archive.extractfile(info)
                archive.members.clear()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
    else:
        yield from _iso_members(f)


class _Claims:
    """An archive for a library that trusts the sizes of names and tables in it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """Read bytes, all remaining ones for -1. Raises FormatError if they exceed the limit."""
        most = WINDOW + OVERLAP
        if size <= most and len(data := self._file.read(size if size >= 0 else most + 1)) <= most:
            return data
        raise FormatError(None, 0, f"the archive names or lists something of more than {most >> 20} MiB")


def _open_xz(file: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_Xz(file))


class _Xz(io.RawIOBase):
    """Content of an xz file. Unlike `lzma.open`, it limits the memory that the file may require."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begin()

    def _begin(self) -> None:
        self._file.seek(0)
        self._unpack: lzma.LZMADecompressor | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Unpack into the buffer. Raises LZMAError for a damaged file and one that requires too much memory."""
        data = b""
        while not data:
            if self._unpack is None or self._unpack.eof:
                given = self._unpack.unused_data if self._unpack is not None else b""
                given = (given or self._file.read(io.DEFAULT_BUFFER_SIZE)).lstrip(b"\0")  # which may lie between two
                if not given:
                    return 0
                self._unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_OF_UNPACKER)
            elif self._unpack.needs_input:
                given = self._file.read(io.DEFAULT_BUFFER_SIZE)
                if not given:
                    raise EOFError("the packed file ends early")
            else:
                given = b""
            data = self._unpack.decompress(given, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Seek by unpacking the bytes before the position."""
        step = bytearray(io.DEFAULT_BUFFER_SIZE)
        if whence == io.SEEK_END:
            while self.readinto(step):
                pass
        to = max(0, offset + (0 if whence == io.SEEK_SET else self._at))
        if to < self._at:
            self._begin()
        while self._at < to and self.readinto(memoryview(step)[: to - self._at]):
            pass
        return self._at


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member so that hardly more of it is unpacked than is read."""
    if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return archive.open(info)
    packed = copy.copy(info)
    packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
    packed.CRC = None  # pyright: ignore[reportAttributeAccessIssue]  # that of what it holds; None: do not look
    if info.compress_type == zipfile.ZIP_BZIP2:
        return bz2.open(archive.open(packed))
    if info.compress_type == zipfile.ZIP_LZMA:
        with archive.open(packed) as f:
            said = int.from_bytes(f.read(9)[5:], "little")
        if said > _MOST_OF_UNPACKER:
            raise FormatError(None, 0, f"unpacking it takes {said} bytes of memory")
    return io.BufferedReader(_InSteps(archive.open(info)), _PACKED_STEP)


class _InSteps(io.RawIOBase):
    """A packed file that is read in small steps, so that the data unpacked from each fit into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._file.read(min(len(buffer), _PACKED_STEP))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _iso_members(f: IO[bytes]) -> Iterator[tuple[str, Any]]:
    try:
        pycdlib: Any = import_module("pycdlib")
        errors: Any = import_module("pycdlib.pycdlibexception")
    except ImportError:
        raise FormatError(None, 0, "images of discs need the package pycdlib: pip install pycdlib") from None
    iso: Any = pycdlib.PyCdlib()
    try:
        iso.open_fp(f)
        facet = "joliet_path" if iso.has_joliet() else "rr_path" if iso.has_rock_ridge() else "iso_path"
        for folder, _, names in iso.walk(**{facet: "/"}):
            for name in sorted(names):
                path = f"{folder.rstrip('/')}/{name}"
                yield path.lstrip("/"), lambda path=path: _Iso(iso, facet, path)
    except errors.PyCdlibException as e:
        raise FormatError(None, 0, f"{e}") from None


class _Iso:
    """A file of a disc image, opened with a `with`."""

    def __init__(self, iso: Any, facet: str, path: str) -> None:
        self._manager = iso.open_file_from_iso(**{facet: path})

    def __enter__(self) -> Any:
        return self._manager.__enter__()

    def __exit__(self, *what: object) -> None:
        self._manager.__exit__(*what)
