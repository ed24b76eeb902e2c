"""The gallery: small programs, each with a task. A lesson is a TOML file in the folder `lessons`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from isakit.errors import IsakitError
from isakit.json_text import JsonObject

FOLDER = Path(__file__).parent / "lessons"


@cache
def lessons() -> list[dict[str, str]]:
    """Return names, titles and subjects of all lessons, in their order."""
    return [
        {"name": name, "title": found["title"], "about": found["about"], "isa": found["isa"]}
        for name in sorted(p.stem for p in FOLDER.glob("*.toml"))
        for found in [_read(name)]
    ]


def lesson(name: str) -> JsonObject:
    """Return one lesson: title, about, task, isa, variant, language, source, launch. Raises IsakitError."""
    if not re.fullmatch(r"[\w-]+", name) or not (FOLDER / f"{name}.toml").is_file():
        raise IsakitError("there is no such lesson")
    return {"name": name, **_read(name)}


@cache
def _read(name: str) -> JsonObject:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
