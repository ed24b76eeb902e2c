"""What the machines share about compiled code: whether it can be had, and what it was made from."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import isakit
from isakit.errors import LaunchError, NotModelled

ENGINES = ("auto", "reference", "llvm")


class FallbackWarning(UserWarning):
    """The fast engine cannot be used on this host; everything runs, slower, on the reference engine."""


def unusable() -> str | None:
    """Why compiled code cannot run here, or None."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    try:
        from isakit.engine.llvm import OLDEST_LLVM, host, llvm_version

        if llvm_version() < OLDEST_LLVM:
            return f"LLVM {llvm_version()} is too old, it must be {OLDEST_LLVM}"
        host()
    except (ImportError, OSError, RuntimeError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def chosen(engine: str, why_not: Callable[[], str | None] = unusable, depth: int = 3) -> bool:
    """Whether the llvm engine shall run what a user asked for; `why_not` says why it cannot be used here, if so.

    `auto` does without, with one warning per process that points `depth` callers up. Raises LaunchError for an
    unknown name, NotModelled for `llvm` where it cannot be had.
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
