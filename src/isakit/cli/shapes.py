"""Records that the JSON of several verbs has in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isakit.results import OMITTED, Omitted, record

if TYPE_CHECKING:
    from isakit.description import Param
    from isakit.errors import Diagnostic


@record
class Parameter:
    """A parameter of a kernel: offset and size in bytes."""

    name: str
    type: str
    offset: int
    size: int


@record
class SourceError:
    """An error in a source text; lines and columns count from 1."""

    path: str | Omitted
    line: int
    column: int
    message: str
    notes: list[str]


def parameters(params: Iterable[Param]) -> list[Parameter]:
    """Return the records of parameters."""
    return [Parameter(p.name, p.kind, p.offset, p.size) for p in params]


def source_errors(diagnostics: Iterable[Diagnostic], *, named: bool = False) -> list[SourceError]:
    """Return the records of diagnostics, with the paths of their files if `named`."""
    return [SourceError(d.path if named else OMITTED, d.line, d.column, d.message, list(d.notes)) for d in diagnostics]
