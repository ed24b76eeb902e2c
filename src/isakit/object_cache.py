"""Compiled code kept between runs.

Objects are machine code that will be executed, so nothing is believed: the folder must belong to the user, be writable
for its owner only and not be a link, every object carries its length and the SHA-256 of its name and content, and
whatever is not as it should be is a miss and gets replaced. Folders are held open while something is done in them,
links are not followed, and what is removed begins as objects do: the folder may be one that holds other files. Objects
are synced before they get their name unless they are made in less time than that takes, and the least recently used
ones go when the cache is full. A cache that cannot be used only costs time.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

MARK = b"isakit object "
"""The first bytes of objects of every version. Files of the cache's folder without it are not the cache's."""
MAGIC = MARK + b"2\n"
HEADER_BYTES = len(MAGIC) + 8 + 32
DEFAULT_LIMIT = 512 << 20
"""Bytes the cache may take, unless $ISAKIT_CACHE_SIZE says another number of MiB."""
USED_AGAIN = 3600.0
"""Seconds after which a use of an object is noted again."""
STALE = 3600.0
"""Seconds after which an object under construction counts as left behind."""
_TRIM_PARTS = 64
"""Parts of the limit: after as many bytes have been written as one has, the cache is trimmed."""
_PARTIAL = ".partial-"
_LEVELS = 4
"""Levels of folders that are looked at; kinds have two at most."""
_PARTIAL_NAME = re.compile(r"\.partial-\d+-[0-9a-f]+")


class CacheWarning(UserWarning):
    """The cache of compiled code is not used; what is needed is compiled again in every process."""


def cache_folder() -> Path | None:
    """Return the folder for objects: $ISAKIT_CACHE, else the user's cache folder; None when caching is off."""
    given = os.environ.get("ISAKIT_CACHE")
    if given in ("", "off", "0"):
        return None
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "isakit"
    return base / "objects"


def size_limit() -> int:
    """Return bytes the cache may take."""
    with suppress(ValueError):
        return int(os.environ.get("ISAKIT_CACHE_SIZE", "")) << 20
    return DEFAULT_LIMIT


def refusal(folder: Path) -> str | None:
    """Return why objects in a folder are not trusted, or None; a folder that does not exist is fine."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return None
    except OSError as e:
        return e.strerror or str(e)
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    return _foreign(found)


def _foreign(found: os.stat_result) -> str | None:
    if not hasattr(os, "geteuid"):
        return None  # Windows: folders of a user are private
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & 0o022:
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):o})"
    return None


_told: set[tuple[Path, str]] = set()
_untrimmed = sys.maxsize
"""Bytes that this process has written since it trimmed the cache."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = {os.open, os.stat, os.unlink, os.mkdir, os.rmdir} <= os.supports_dir_fd


class _Folder:
    """A trusted folder of the cache, held open, so that what is done in it is done there and nowhere else.

    Systems without such calls go by the path.
    """

    def __init__(self, path: Path, within: _Folder | None = None) -> None:
        """Open a folder. Raises FileNotFoundError; other OSErrors, and PermissionError for one that is not trusted."""
        self.path, self._descriptor = path, None
        if not _BY_DESCRIPTOR:
            os.listdir(path)
            reason = refusal(path)
        else:
            name, place = (path, {}) if within is None else within.place(path.name)
            try:
                self._descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, **place)
                reason = _foreign(os.fstat(self._descriptor))
            except FileNotFoundError:
                raise
            except OSError as e:
                reason = refusal(path) or e.strerror or str(e)
        if reason is not None:
            self.close()
            _tell(path, reason)
            raise PermissionError(reason)

    def close(self) -> None:
        """Close the folder's descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def place(self, name: str) -> tuple[str | Path, dict[str, Any]]:
        """Return the arguments of functions of `os` for a name in it: the path, and the keyword `dir_fd`."""
        return (self.path / name, {}) if self._descriptor is None else (name, {"dir_fd": self._descriptor})

    def names(self) -> list[str]:
        """Return the names in it."""
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def stat(self, name: str) -> os.stat_result:
        """Return the status of a name in it; of a link, that of the link."""
        at, place = self.place(name)
        return os.stat(at, follow_symlinks=False, **place)

    def open(self, name: str, flags: int) -> BinaryIO:
        """Open a file in it that is not a link."""
        at, place = self.place(name)
        binary = getattr(os, "O_BINARY", 0)
        return open(os.open(at, flags | binary | _NO_LINK, 0o600, **place), "rb" if flags & 3 == os.O_RDONLY else "wb")

    def remove(self, name: str) -> None:
        """Remove a file."""
        at, place = self.place(name)
        os.unlink(at, **place)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        at, place = self.place(name)
        os.rmdir(at, **place)

    def replace(self, old: str, new: str) -> None:
        """Rename a file over another one."""
        if self._descriptor is None:
            os.replace(self.path / old, self.path / new)
        else:
            os.replace(old, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def used(self, name: str) -> None:
        """Note that a file has been used now."""
        at, place = self.place(name)
        os.utime(at, **place)

    def made(self, name: str) -> _Folder:
        """Make a folder in it, for the user alone whatever the umask is."""
        at, place = self.place(name)
        with suppress(FileExistsError):
            os.mkdir(at, 0o700, **place)
        return _Folder(self.path / name, self)

    def sync(self) -> None:
        """Flush the folder's entries to the disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)


def _tell(folder: Path, reason: str) -> None:
    if (folder, reason) not in _told:
        _told.add((folder, reason))
        warnings.warn(f"compiled code in {folder} is not used: {reason}", CacheWarning, stacklevel=6)


def _folder(kind: str, make: bool = False) -> _Folder:
    """Open the folder of a kind of objects. Raises OSError if there is none, or none that is trusted."""
    base = cache_folder()
    if base is None:
        raise FileNotFoundError
    if make:
        base.parent.mkdir(parents=True, exist_ok=True)
        base.mkdir(mode=0o700, exist_ok=True)
    found = _Folder(base)
    for part in kind.split("/"):
        with found:
            found = found.made(part) if make else _Folder(found.path / part, found)
    return found


def read_object(kind: str, key: str) -> bytes | None:
    """Return the object of a kind (a folder name) with a key (a file name), None if there is none to be trusted."""
    try:
        with _folder(kind) as folder:
            return _read(folder, key)
    except OSError:
        return None


def _read(folder: _Folder, key: str) -> bytes | None:
    """Read an object; a damaged one is removed. Raises OSError if it cannot be read."""
    with folder.open(key, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) as f:
        found = os.fstat(f.fileno())
        if not stat.S_ISREG(found.st_mode) or _foreign(found) is not None:
            return None
        data = _checked(folder.path / key, f, found.st_size)
    with suppress(OSError):
        if data is None:
            folder.remove(key)
        elif time.time() - found.st_mtime > USED_AGAIN:
            folder.used(key)
    return data


def _checked(path: Path, f: BinaryIO, size: int) -> bytes | None:
    """Return the content of an object if it is whole and under its own name; one of another length is not read."""
    if not HEADER_BYTES <= size <= HEADER_BYTES + max(DEFAULT_LIMIT, size_limit()):
        return None
    head = f.read(HEADER_BYTES)
    if not head.startswith(MAGIC + (size - HEADER_BYTES).to_bytes(8, "little")):
        return None
    data = f.read(size)
    return data if head == _header(path, data) else None


def _header(path: Path, data: bytes) -> bytes:
    found = hashlib.sha256(f"{path.parent.name}/{path.name}\0".encode())
    found.update(data)
    return MAGIC + len(data).to_bytes(8, "little") + found.digest()


def write_object(kind: str, key: str, data: bytes, lasting: bool = True) -> None:
    """Keep an object; other processes see all of it or nothing.

    `lasting`: also after a power cut, for which disks need tens of milliseconds. Others may be damaged then, and are
    missing.
    """
    partial = f"{_PARTIAL}{os.getpid()}-{os.urandom(8).hex()}"
    try:
        with _folder(kind, make=True) as folder:
            try:
                with folder.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as f:
                    f.write(_header(folder.path / key, data) + data)
                    f.flush()
                    if lasting:
                        os.fsync(f.fileno())
                folder.replace(partial, key)
                if lasting:
                    folder.sync()
            except OSError:
                with suppress(OSError):
                    folder.remove(partial)
                raise
    except OSError:  # read-only, full, gone, not trusted
        return
    global _untrimmed
    _untrimmed += HEADER_BYTES + len(data)
    if _untrimmed > size_limit() // _TRIM_PARTS:
        _untrimmed = 0
        trim()


def remembered(kind: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Return the result of `make`, from the cache if it is there; `key` covers everything it depends on."""
    name = hashlib.sha256(key.encode()).hexdigest()
    data = read_object(kind, name)
    if data is None:
        data = make()
        write_object(kind, name, data)
    return data


def keys(kind: str, suffix: str = "") -> list[str]:
    """Return the keys of a kind that end in `suffix`, in order."""
    try:
        with _folder(kind) as folder:
            return sorted(n for n in folder.names() if n.endswith(suffix) and not n.startswith(_PARTIAL))
    except OSError:
        return []


def remove_objects(kind: str, keys: Iterable[str]) -> None:
    """Remove the objects of a kind that have these keys; missing ones are skipped."""
    with suppress(OSError), _folder(kind) as folder:
        for key in keys:
            with suppress(OSError):
                folder.remove(key)


# --- the cache as a whole -------------------------------------------------------------------------------------
@cache
def content_key(*places: str) -> str:
    """Return a name for the content of modules and folders of this package, by their paths in it.

    Dates and places of the files do not matter: the same version installed anew finds what the old one has kept.
    """
    root = Path(__file__).parent
    h = hashlib.sha256(sys.version.encode())
    for place in places:
        for path in sorted((root / place).rglob("*.py")) or [root / place]:
            content = path.read_bytes()
            h.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return h.hexdigest()[:16]


@dataclass(frozen=True)
class Contents:
    """The content of the cache: objects and their bytes; `damaged` is known after `verify`."""

    objects: int = 0
    bytes: int = 0
    damaged: int = 0


class _Cache:
    """The cache's own files: objects, recognised by how they begin, and temporary files of unfinished ones.

    Whatever else is in its folders stays as it is, and links are not followed. Its folders are open until the `with`
    ends.
    """

    def __init__(self) -> None:
        self._folders: list[tuple[_Folder, _Folder | None]] = []
        self.files: list[tuple[_Folder, str, os.stat_result]] = []

    def __enter__(self) -> _Cache:
        base = cache_folder()
        with suppress(OSError):
            if base is not None:
                self._look(_Folder(base), None, _LEVELS)
        return self

    def _look(self, folder: _Folder, within: _Folder | None, levels: int) -> None:
        begun = len(self.files)
        self._folders.append((folder, within))
        try:
            for name in folder.names():
                with suppress(OSError):
                    found = folder.stat(name)
                    if stat.S_ISDIR(found.st_mode):
                        if levels:
                            self._look(_Folder(folder.path / name, folder), folder, levels - 1)
                    elif stat.S_ISREG(found.st_mode) and _own(folder, name):
                        self.files.append((folder, name, found))
        finally:
            if len(self.files) == begun:  # others' folders, of which there may be more than descriptors
                self._folders.pop()
                folder.close()

    def remove_folders(self) -> None:
        """Remove the folders that have held files of the cache and hold nothing now, but for the uppermost."""
        held = {folder.path for folder, _, _ in self.files}
        for folder, within in reversed(self._folders):
            if within is not None and folder.path in held:
                held.add(within.path)
                with suppress(OSError):
                    within.remove_folder(folder.path.name)

    def __exit__(self, *_: object) -> None:
        for folder, _within in self._folders:
            folder.close()


def _own(folder: _Folder, name: str) -> bool:
    if _PARTIAL_NAME.fullmatch(name):
        return True
    with folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) as f:
        return f.read(len(MARK)) == MARK


def contents() -> Contents:
    """Count the objects. Raises nothing: a cache that does not exist is empty."""
    with _Cache() as cache:
        return Contents(len(cache.files), sum(found.st_size for _, _, found in cache.files))


def verify() -> Contents:
    """Look at every object and remove those that are damaged. Other processes may add and remove some meanwhile."""
    good = damaged = size = 0
    now = time.time()
    with _Cache() as cache:
        for folder, name, found in cache.files:
            partial = name.startswith(_PARTIAL)
            if partial and now - found.st_mtime <= STALE:  # may still be being written
                continue
            try:
                if not partial and _read(folder, name) is not None:
                    good += 1
                    size += found.st_size
                    continue
            except FileNotFoundError:
                continue
            except OSError:
                pass
            damaged += 1
            with suppress(OSError):
                folder.remove(name)
    return Contents(good, size, damaged)


def clear() -> Contents:
    """Remove all objects; return their number and their bytes."""
    with _Cache() as cache:
        for folder, name, _ in cache.files:
            with suppress(OSError):
                folder.remove(name)
        cache.remove_folders()
        return Contents(len(cache.files), sum(found.st_size for _, _, found in cache.files))


def trim(limit: int | None = None) -> None:
    """Remove the objects used least recently until those that are left take four fifths of the limit."""
    limit = size_limit() if limit is None else limit
    now = time.time()
    with _Cache() as cache:
        for folder, name, found in cache.files:
            if name.startswith(_PARTIAL) and now - found.st_mtime > STALE:
                with suppress(OSError):
                    folder.remove(name)
        total = sum(found.st_size for _, _, found in cache.files)
        if total <= limit:
            return
        for folder, name, found in sorted(cache.files, key=lambda f: f[2].st_mtime):
            if total <= limit * 4 // 5:
                return
            with suppress(OSError):
                folder.remove(name)
                total -= found.st_size
