"""The files of the page: all that a browser loads."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def files() -> dict[str, Path]:
    """Return the files of the page by the end of their address. Nothing else of this machine can be read."""
    return {f.relative_to(STATIC).as_posix(): f for f in sorted(STATIC.rglob("*")) if f.is_file()}
