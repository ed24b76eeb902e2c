"""Packages that import a part when one of its names is first used: a process pays for what it needs.

Such a package says its names twice, for the type checker under `if TYPE_CHECKING:` and for `lazy`;
tests/unit/test_lazy.py holds the two against each other.
"""

from __future__ import annotations

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

        if name in home:
            value = getattr(import_module(home[name]), name)
        elif name in modules:
            value = import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *modules})

    return get, names
