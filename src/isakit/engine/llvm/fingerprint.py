"""Fingerprint of compiled code: a key for the cache on disk."""

from __future__ import annotations

from isakit.object_cache import content_key
from isakit.sem.routine import other_texts


def fingerprint(instruction_set: str) -> str:
    """Return a key of everything that the compiled code of an instruction set depends on.

    That is the content of every file, and the text of routines that tests have rewritten.
    """
    return content_key("sem", "spec", f"arch/{instruction_set}", "engine", f"machine/{instruction_set}") + other_texts()
