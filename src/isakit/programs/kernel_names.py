"""Kernels that are asked for by name: as symbols have it, or as the C++ source does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from isakit.errors import IsakitError

T = TypeVar("T")


def source_name(symbol: str) -> str:
    """Return the name that C++ source has for a symbol, as people are shown it; another name as it is."""
    if not symbol.startswith("_Z"):
        return symbol
    from isakit.compile.ptx import syntax  # which loads the front end of PTX: most names are no such symbols

    return syntax.source_name(symbol)


def matching(name: str, names: Iterable[str], path: str) -> list[str]:
    """Return the kernels of a file that a name means: the symbol itself, else all that the source calls so.

    `reduce` is `_Z6reducePKfPfi`. Raises IsakitError where the file has none.
    """
    there = list(dict.fromkeys(names))
    if name in there:
        return [name]
    found = [n for n in there if source_name(n) == name]
    if not found:
        raise IsakitError(f"{path} has no kernel {name!r}; it has {', '.join(there) or 'none'}")
    return found


def chosen(name: str | None, programs: Iterable[tuple[str, T]], path: str) -> list[tuple[str, T]]:
    """Return the programs of a file, by the names of their kernels, that a name means; all where none is given.

    Raises IsakitError where the file has none of the name.
    """
    every = list(programs)
    wanted = None if name is None else matching(name, (n for n, _ in every), path)
    return [p for p in every if wanted is None or p[0] in wanted]


def only(name: str | None, names: Iterable[str], path: str) -> str:
    """Return the one kernel of a name, or of a file where no name is given.

    Raises IsakitError where there is none, or where it takes another name to tell several apart.
    """
    there = list(dict.fromkeys(names))
    found = there if name is None else matching(name, there, path)
    if not found:
        raise IsakitError(f"{path} has no kernels")
    if len(found) != 1:
        called = "" if name is None else f" that are called {name}"
        raise IsakitError(f"{path} has {len(found)} kernels{called}, name one with --kernel: {', '.join(found)}")
    return found[0]
