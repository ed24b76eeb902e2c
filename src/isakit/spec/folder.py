"""A folder of records: importing its package imports every file, so that none has to be listed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator


def import_folder(package: str, init: str) -> None:
    """Import all modules of a package in alphabetical order, those of its subpackages too; `init` is its `__file__`."""
    for name in sorted(_modules(package, os.path.dirname(init))):
        importlib.import_module(name)


def _modules(package: str, folder: str) -> Iterator[str]:
    """Yield the full names of the modules of a folder and of the folders in it."""
    for entry in os.scandir(folder):
        name, ending = os.path.splitext(entry.name)
        if name.startswith("__"):
            continue
        if entry.is_dir():
            yield from _modules(f"{package}.{name}", entry.path)
        elif ending == ".py":
            yield f"{package}.{name}"
