"""The files of one page: what was dropped on it, in a folder of its own, and names that may reach nothing else."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from isakit.errors import IsakitError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+ -]{0,99}")


class Folder:
    """A private folder; `most`: bytes it may hold. It goes with `close`."""

    def __init__(self, most: int) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="isakit-web-")
        self.path = Path(self._made.name)
        self.most = most
        self._held: int | None = None

    def close(self) -> None:
        """Remove it with all it holds."""
        self._made.cleanup()

    def store(self, name: str, data: bytes) -> Path:
        """Keep a file. Raises IsakitError for a name that is a path, or when the folder would be too full."""
        return self._store(self.path / checked(name), data)

    def store_part(self, folder: str, file: str, data: bytes) -> Path:
        """Keep a file of a capture; `folder` and `file` are those of `captures.part`, which has checked them."""
        path = self.path / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._store(path, data)

    def _store(self, path: Path, data: bytes) -> Path:
        """Write a file. What the folder holds is counted once, and then kept up to date by what is written here."""
        if self._held is None:
            self._held = sum(f.stat().st_size for f in self.path.rglob("*") if f.is_file())
        now = self._held + len(data) - (path.stat().st_size if path.is_file() else 0)
        if now > self.most:
            raise IsakitError(f"{path.name}: the files of a page may have {self.most >> 20} MB together")
        path.write_bytes(data)
        self._held = now
        return path

    def names(self) -> list[str]:
        """Return names of the files, sorted."""
        return sorted(f.name for f in self.path.iterdir() if f.is_file())

    def enter(self) -> None:
        """Make it the working folder, so that names of dropped files are found."""
        os.chdir(self.path)


def checked(name: str) -> str:
    """Check a file's name. Raises IsakitError for anything that could lead elsewhere."""
    if not _NAME.fullmatch(name) or name.endswith((" ", ".")):
        raise IsakitError(f"{name[:60]!r} is not a name for a file: letters, digits and _ . + - only")
    return name


def checked_spec(spec: str) -> str:
    """Check an argument, as `isakit run` takes it: its files can only be dropped ones. Raises IsakitError."""
    if re.search(r"[/\\~\0]|\.\.", spec) or re.search(r"(^|[:=])-($|[,:@])", spec):
        raise IsakitError(f"{spec[:60]!r}: files are named as they were dropped, without a folder")
    return spec
