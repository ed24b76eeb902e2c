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

    def close(self) -> None:
        """Remove it with all it holds."""
        self._made.cleanup()

    def put(self, name: str, data: bytes) -> Path:
        """Keep a file. Raises IsakitError for a name that is a path, or when the folder would be too full."""
        path = self.path / checked(name)
        others = sum(f.stat().st_size for f in self.path.iterdir() if f != path)
        if others + len(data) > self.most:
            raise IsakitError(f"{name}: the files of a page may have {self.most >> 20} MB together")
        path.write_bytes(data)
        return path

    def names(self) -> list[str]:
        """Names of the files, sorted."""
        return sorted(f.name for f in self.path.iterdir())

    def enter(self) -> None:
        """Make it the working folder, so that names of dropped files are found."""
        os.chdir(self.path)


def checked(name: str) -> str:
    """A file's name as it may be used. Raises IsakitError for anything that could lead elsewhere."""
    if not _NAME.fullmatch(name) or name.endswith((" ", ".")):
        raise IsakitError(f"{name[:60]!r} is no name for a file: letters, digits and _ . + - only")
    return name


def checked_spec(spec: str) -> str:
    """An argument's text, as `isakit run` takes it, whose files can only be dropped ones. Raises IsakitError."""
    if re.search(r"[/\\~\0]|\.\.", spec) or re.search(r"(^|[:=])-($|[,:@])", spec):
        raise IsakitError(f"{spec[:60]!r}: files are named as they were dropped, without a folder")
    return spec
