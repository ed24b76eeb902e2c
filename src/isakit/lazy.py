"""Packages that import a part when one of its names is first used: a process pays for what it needs.

Such a package says its names twice, for the type checker under `if TYPE_CHECKING:` and for `lazy`;
tests/unit/test_lazy.py holds the two against each other.

So a thread may import at any time, and a process that is forked meanwhile would have the module half made and its lock
taken for ever: forks wait for imports of other threads.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in `typing`: the command line starts with this module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Args:
        package: its name.
        homes: module -> the names it has for the package, separated by blanks; a module without names is itself one.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    modules = {module.rpartition(".")[2]: module for module, names in homes.items() if not names}

    def get(name: str) -> Any:
        from importlib import import_module

        module = home.get(name) or modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = import_module(module)
        except AttributeError as e:  # `from` takes one for a name that is missing, and would import half a module again
            raise ImportError(f"{module} cannot be imported: {e}") from e
        value = getattr(value, name) if name in home else value
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *modules})

    return get, names


IMPORT_SECONDS = 10.0
"""A fork waits no longer: an import may wait for the thread that forks."""


def others_import() -> bool:
    """Return true if another thread is importing something."""
    import threading

    bootstrap = sys.modules.get("_frozen_importlib") or sys.modules.get("importlib._bootstrap")
    held = [known() for known in list(getattr(bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, threading.get_ident()) for lock in held)


def wait_for_imports() -> None:
    """Wait until no other thread is importing something."""
    import time

    end = time.monotonic() + IMPORT_SECONDS
    while others_import() and time.monotonic() < end:
        time.sleep(0.0005)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_imports)  # handlers of modules that are imported later run before this one
