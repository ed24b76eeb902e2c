"""C++ names as their source spells them, by the library `itanium-demangler` (extra `names`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from isakit.errors import IsakitError

_LONGEST = 4000
"""Characters of a name that is read: the library takes time and stack in proportion."""
_BOOL = re.compile(r"\(bool\)([01])")
_INT = re.compile(r"\((unsigned )?int\)(-?\d+)")


@lru_cache(maxsize=4096)
def demangled(name: str) -> str:
    """Return the demangled C++ name of a symbol, or the symbol itself if it cannot be demangled.

    Raises IsakitError if the library is missing.
    """
    parse = _library()
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return name
    try:
        found = str(parse(name) or name)
    except (NotImplementedError, ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError):
        return name
    found = _BOOL.sub(lambda m: "true" if m[1] == "1" else "false", found)
    return _INT.sub(lambda m: m[2] + ("u" if m[1] else ""), found)


def _library() -> Callable[[str], object]:
    try:
        import itanium_demangler  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise IsakitError("C++ names need the package itanium-demangler: pip install 'isakit[names]'") from None
    return itanium_demangler.parse  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
