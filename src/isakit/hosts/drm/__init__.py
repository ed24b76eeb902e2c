"""The part of the kernel and the card for Mesa's nv50 driver: GL programs run on a simulated chip."""

from pathlib import Path

CAPTURE_MAGIC = b"isakit gl capture"
"""The first bytes of captures of GL programs."""


def is_capture(path: Path) -> bool:
    """Return true if a file is a capture of a GL program."""
    if not path.is_file():
        return False
    with path.open("rb") as f:
        return f.read(len(CAPTURE_MAGIC)) == CAPTURE_MAGIC
