"""What compiled code was made from: a key for the cache on disk."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def fingerprint(instruction_set: str) -> str:
    """Changes with the content of every file that the compiled code of an instruction set depends on.

    Dates and places of the files do not matter: the same version installed anew finds what the old one compiled.
    """
    root = Path(__file__).parents[2]
    h = hashlib.sha256()
    for folder in ("sem", "spec", f"arch/{instruction_set}", "engine", f"machine/{instruction_set}"):
        for path in sorted((root / folder).rglob("*.py")):
            content = path.read_bytes()
            h.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return h.hexdigest()[:16]
