"""The gallery: small programs, each with a task, and those exercises of the course that are assembly texts.

A lesson is a TOML file in the folder `lessons`; an exercise is one of `isakit.course`, and the page can check it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from isakit.course.exercises import exercises
from isakit.errors import IsakitError
from isakit.json_text import JsonObject

FOLDER = Path(__file__).parent / "lessons"


@cache
def lessons() -> list[dict[str, str]]:
    """Return names, titles, subjects and kinds (lesson, exercise) of all lessons, in their order."""
    names = [*_gallery(), *_exercises()]
    return [
        {k: str(found[k]) for k in ("name", "title", "about", "isa", "kind")}
        for name in names
        for found in [lesson(name)]
    ]


def lesson(name: str) -> JsonObject:
    """Return one lesson: title, about, task, isa, variant, language, source, launch. Raises IsakitError.

    An exercise has `hints`, too.
    """
    if name in _exercises():
        return _exercises()[name]
    if name not in _gallery():  # and no path is made of it
        raise IsakitError("there is no such lesson")
    return {"name": name, "kind": "lesson", **_read(name)}


@cache
def _gallery() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("*.toml"))


@cache
def _read(name: str) -> JsonObject:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _exercises() -> dict[str, JsonObject]:
    """Return the exercises that are assembly texts, as lessons, by their names here."""
    found: dict[str, JsonObject] = {}
    for e in exercises():
        if not e.file.endswith(".s"):
            continue
        isa, variant = ("vuc", "vp3") if ".isa vuc" in e.files[e.file].decode() else ("tesla", "gt200")
        scene = {} if e.scene is None else {"scene": e.scene, "program": e.file}
        others = {name: data.decode() for name, data in e.files.items() if name != e.file}
        found[f"exercise-{e.name}"] = {
            "name": f"exercise-{e.name}", "kind": "exercise", "title": e.title, "about": e.about, "task": e.task,
            "hints": list(e.hints), "isa": isa, "variant": variant, "language": "asm", "view": e.view,
            "source": e.files[e.file].decode(), "launch": e.launch, "arrays": e.arrays, "files": others, **scene,
        }  # fmt: skip
    return found
