"""The choice of the engine: whether compiled code can be had on this host, and whether it shall run a program."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

from isakit.errors import LaunchError, NotModelled

ENGINES = ("auto", "reference", "llvm")


class FallbackWarning(UserWarning):
    """The fast engine cannot be used on this host; everything runs, slower, on the reference engine."""


def missing() -> str | None:
    """Return why compiled code cannot run here, None if it can; found out without loading LLVM."""
    return "llvmlite is not installed" if find_spec("llvmlite") is None else None


def unusable() -> str | None:
    """Return why compiled code cannot run here, or None."""
    reason = missing()
    if reason is not None:
        return reason
    try:
        from isakit.engine.llvm import OLDEST_LLVM, host, llvm_version

        if llvm_version() < OLDEST_LLVM:
            return f"LLVM {llvm_version()} is too old, it must be {OLDEST_LLVM}"
        host()
    except (ImportError, OSError, RuntimeError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def chosen(engine: str, why_not: Callable[[], str | None] = unusable, depth: int = 3) -> bool:
    """Return true if the llvm engine is to run a program; `why_not` returns the reason why it is unavailable, if any.

    `auto` then does without it, with one warning per process that points `depth` callers up. Raises LaunchError for an
    unknown name, NotModelled for `llvm` if it is unavailable.
    """
    if engine not in ENGINES:
        raise LaunchError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")
    if engine == "reference":
        return False
    reason = why_not()
    if reason is None:
        return True
    if engine == "llvm":
        raise NotModelled("the llvm engine on this host", f"{reason}; use engine='reference'")
    if reason not in _told:
        _told.add(reason)
        warnings.warn(
            f"the llvm engine cannot be used ({reason}): running on the reference engine", FallbackWarning, depth
        )
    return False


_told: set[str] = set()
"""Reasons this process has warned of: they do not change from one device to the next."""
