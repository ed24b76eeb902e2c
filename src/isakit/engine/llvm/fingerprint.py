"""What compiled code was made from: a key for the cache on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import isakit


@cache
def fingerprint(instruction_set: str) -> str:
    """Changes with every file that the compiled code of an instruction set depends on."""
    root = Path(isakit.__file__).parent
    h = hashlib.sha256()
    for folder in ("sem", "spec", f"arch/{instruction_set}", "engine", f"machine/{instruction_set}"):
        for path in sorted((root / folder).rglob("*.py")):
            s = path.stat()
            h.update(f"{path.relative_to(root)} {s.st_size} {s.st_mtime_ns}\n".encode())
    return h.hexdigest()[:16]
