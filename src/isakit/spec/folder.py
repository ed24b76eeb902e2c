"""A folder of records: importing its package imports every file, so that none has to be listed."""

from __future__ import annotations

import importlib
from pathlib import Path


def import_folder(package: str, init: str) -> None:
    """Import all modules of a package in alphabetical order, those of its subpackages too; `init` is its `__file__`."""
    folder = Path(init).parent
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if not any(p.startswith("__") for p in parts):
            importlib.import_module(".".join((package, *parts)))
