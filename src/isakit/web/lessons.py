"""The gallery: small programs, each with a task, and the exercises of the course.

A lesson is a TOML file in the folder `lessons`; an exercise is one of `isakit.course`, and the page can check it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from isakit.course.exercises import Exercise, exercises
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
    if name not in _gallery():  # checked before a path is made of it
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
    """Return the exercises as lessons, by their names here."""
    return {f"exercise-{e.name}": _exercise(e) for e in exercises()}


def _exercise(e: Exercise) -> JsonObject:
    source, language, machine, variant = _text(e)
    others = {name: data.decode() for name, data in e.files.items() if name != e.file}
    scene = {} if e.scene is None else {"scene": e.scene, "program": e.file}
    return {
        "name": f"exercise-{e.name}", "kind": "exercise", "title": e.title, "about": e.about,
        "task": e.page or e.task, "hints": list(e.hints), "isa": machine, "variant": variant, "language": language,
        "view": e.view, "source": source, "launch": e.launch, "arrays": e.arrays, "files": others, **scene,
    }  # fmt: skip


def _text(e: Exercise) -> tuple[str, str, str, str]:
    """Return an exercise's text for the editor, its language, instruction set and variant."""
    data = e.files[e.file]
    if e.file.endswith(".cubin"):
        from isakit.asm.printer import lines
        from isakit.formats import load_image

        (kernel,) = load_image(data).kernels.values()
        return "\n".join(lines(kernel.program)) + "\n", "asm", "tesla", "gt200"
    text = data.decode()
    if e.file.endswith(".s"):
        return (text, "asm", "vuc", "vp3") if ".isa vuc" in text else (text, "asm", "tesla", "gt200")
    if e.file.endswith(".cg"):
        return text, "cg", "usse", "sgx543"
    return text, "text", "tesla", "gt200"


def handed_in(e: Exercise, text: str) -> bytes:
    """Return the file that a text of the editor stands for. Raises AsmError, FormatError."""
    if not e.file.endswith(".cubin"):
        return text.encode()
    from isakit.programs import put_back
    from isakit.web.source import assembled

    return put_back(assembled(text, "tesla", "gt200"), e.files[e.file], e.file).data
