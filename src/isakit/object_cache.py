"""Compiled code kept between runs.

Objects are machine code that will be executed, so nothing is believed: the folder must belong to the user and be
writable for its owner only, every object carries its length and the SHA-256 of its name and content, and whatever is
not as it should be is a miss and gets replaced. Objects are synced before they get their name, and the least recently
used ones go when the cache is full. A cache that cannot be used only costs time.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

MAGIC = b"isakit object 2\n"
HEADER_BYTES = len(MAGIC) + 8 + 32
DEFAULT_LIMIT = 512 << 20
"""Bytes the cache may take, unless $ISAKIT_CACHE_SIZE says another number of MiB."""
USED_AGAIN = 3600.0
"""Seconds after which a use of an object is noted again."""
STALE = 3600.0
"""Seconds after which an object under construction counts as left behind."""
_TRIM_EVERY = 64
_PARTIAL = ".partial-"


class CacheWarning(UserWarning):
    """The cache of compiled code is not used; what is needed is compiled again in every process."""


def cache_folder() -> Path | None:
    """Where objects are kept: $ISAKIT_CACHE, else the user's cache folder; None when caching is off."""
    given = os.environ.get("ISAKIT_CACHE")
    if given in ("", "off", "0"):
        return None
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "isakit"
    return base / "objects"


def size_limit() -> int:
    """Bytes the cache may take."""
    with suppress(ValueError):
        return int(os.environ.get("ISAKIT_CACHE_SIZE", "")) << 20
    return DEFAULT_LIMIT


def refusal(folder: Path) -> str | None:
    """Why objects in a folder are not trusted, or None; a folder that does not exist is fine."""
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        return None
    except OSError as e:
        return e.strerror or str(e)
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
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
_writes = itertools.count()


def _trusted(folder: Path) -> bool:
    reason = refusal(folder)
    if reason is not None and (folder, reason) not in _told:
        _told.add((folder, reason))
        warnings.warn(f"compiled code in {folder} is not used: {reason}", CacheWarning, stacklevel=4)
    return reason is None


def read_object(kind: str, key: str) -> bytes | None:
    """The object of a kind (a folder name) with a key (a file name), or None where there is none to be trusted."""
    folder = cache_folder()
    if folder is None or not _trusted(folder) or not _trusted(folder / kind):
        return None
    return _read(folder / kind / key)


def _read(path: Path) -> bytes | None:
    """The content of an object; one that is damaged is removed."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as f:
            found = os.fstat(f.fileno())
            if not stat.S_ISREG(found.st_mode) or _foreign(found) is not None:
                return None
            data = _checked(path, f, found.st_size)
    except OSError:
        return None
    with suppress(OSError):
        if data is None:
            path.unlink()
        elif time.time() - found.st_mtime > USED_AGAIN:
            os.utime(path)
    return data


def _checked(path: Path, f: BinaryIO, size: int) -> bytes | None:
    """What an object holds, if it is whole and under its own name; what says another length is not read."""
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


def write_object(kind: str, key: str, data: bytes) -> None:
    """Keep an object; other processes see all of it or nothing, also after a power cut."""
    base = cache_folder()
    if base is None or not _trusted(base):
        return
    folder = base / kind
    partial = folder / f"{_PARTIAL}{os.getpid()}-{os.urandom(8).hex()}"
    try:
        _make_private(base, folder)
        if not _trusted(folder):
            return
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
            f.write(_header(folder / key, data) + data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(partial, folder / key)
        _sync(folder)
    except OSError:  # read-only, full, gone
        with suppress(OSError):
            partial.unlink()
        return
    if next(_writes) % _TRIM_EVERY == 0:
        trim()


def _make_private(base: Path, folder: Path) -> None:
    """Make a folder of the cache, and those above it, for the user alone whatever the umask is."""
    base.parent.mkdir(parents=True, exist_ok=True)
    made = base
    for part in (None, *folder.relative_to(base).parts):
        made = made if part is None else made / part
        made.mkdir(mode=0o700, exist_ok=True)


def _sync(folder: Path) -> None:
    """Make the names in a folder last."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def keys(kind: str, suffix: str = "") -> list[str]:
    """The keys of a kind that end in `suffix`, in order."""
    base = cache_folder()
    if base is None or not _trusted(base) or not _trusted(base / kind):
        return []
    with suppress(OSError):
        return sorted(n for n in os.listdir(base / kind) if n.endswith(suffix) and not n.startswith(_PARTIAL))
    return []


# --- the cache as a whole -------------------------------------------------------------------------------------
@cache
def content_key(*places: str) -> str:
    """A name for the content of modules and folders of this package, by their paths in it.

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
    """What is in the cache: objects and their bytes; `damaged` is known after `verify`."""

    objects: int = 0
    bytes: int = 0
    damaged: int = 0


def _files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    out: list[tuple[Path, os.stat_result]] = []
    for path in folder.rglob("*"):
        with suppress(OSError):
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode):
                out.append((path, found))
    return out


def contents() -> Contents:
    """Count the objects. Raises nothing: a cache that does not exist is empty."""
    base = cache_folder()
    files = [] if base is None else _files(base)
    return Contents(len(files), sum(s.st_size for _, s in files))


def verify() -> Contents:
    """Look at every object and remove those that are damaged."""
    base = cache_folder()
    files = [] if base is None or not _trusted(base) else _files(base)
    good = damaged = size = 0
    for path, found in files:
        if path.name.startswith(_PARTIAL) or _read(path) is None:
            damaged += 1
            with suppress(OSError):
                path.unlink()
        else:
            good += 1
            size += found.st_size
    return Contents(good, size, damaged)


def clear() -> Contents:
    """Remove everything; returns what was there."""
    base = cache_folder()
    if base is None:
        return Contents()
    before = contents()
    for path in sorted(base.rglob("*"), reverse=True):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()
    return before


def trim(limit: int | None = None) -> None:
    """Remove the objects used least recently until those that are left take four fifths of the limit."""
    base = cache_folder()
    if base is None:
        return
    limit = size_limit() if limit is None else limit
    files = _files(base)
    now = time.time()
    for path, found in files:
        if path.name.startswith(_PARTIAL) and now - found.st_mtime > STALE:
            with suppress(OSError):
                path.unlink()
    total = sum(s.st_size for _, s in files)
    if total <= limit:
        return
    for path, found in sorted(files, key=lambda f: f[1].st_mtime):
        if total <= limit * 4 // 5:
            return
        with suppress(OSError):
            path.unlink()
            total -= found.st_size
