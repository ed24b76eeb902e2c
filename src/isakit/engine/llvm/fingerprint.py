"""Fingerprint of compiled code: a key for the cache on disk."""

from __future__ import annotations

from isakit.object_cache import content_key


def fingerprint(instruction_set: str) -> str:
    """Changes with the content of every file that the compiled code of an instruction set depends on."""
    return content_key("sem", "spec", f"arch/{instruction_set}", "engine", f"machine/{instruction_set}")
