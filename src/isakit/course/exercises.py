"""The exercises: texts, hints and the files a student begins with."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from isakit.errors import IsakitError, did_you_mean
from isakit.json_text import JsonObject
from isakit.lean import cached_property, dataclass

FOLDER = Path(__file__).parent / "exercises"


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        name: its name on the command line.
        minutes: the time it takes a newcomer.
        about: the background.
        task: the task.
        page: the task in the workbench, if it differs.
        file: the file the student changes.
        hints: from a nudge to nearly the answer.
        texts: the files the student begins with that are texts here; `files` are all.
        launch: grid, block, arguments and textures to try it with, as `isakit run` takes them.
        arrays: files of arrays that the launch needs: name to contents, in the syntax of `--arg`.
        view: the view of the workbench that shows its subject.
        scene: the scene that the file is a program of.
    """

    name: str
    title: str
    minutes: int
    about: str
    task: str
    page: str
    file: str
    hints: tuple[str, ...]
    texts: dict[str, str]
    launch: JsonObject
    arrays: dict[str, str]
    view: str | None
    scene: str | None
    made: bool

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The files the student begins with; some of them are assembled first."""
        files = {name: text.encode() for name, text in self.texts.items()}
        if self.made:
            from isakit.course.given import made

            files |= made(self.name)
        return files


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return all exercises, in the order of the course."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.toml")))


def exercise(name: str) -> Exercise:
    """Return an exercise by its name, or its number from 1. Raises IsakitError."""
    found = {e.name: e for e in exercises()}
    if name.isdigit() and 1 <= int(name) <= len(found):
        return exercises()[int(name) - 1]
    if name not in found:
        (hint,) = did_you_mean(name, found) or (f"there are {', '.join(found)}",)
        raise IsakitError(f"no lesson {name!r}; {hint}")
    return found[name]


def start(found: Exercise, folder: Path) -> list[Path]:
    """Write the student's initial files into a new folder, and return the paths. Raises IsakitError, OSError."""
    if folder.exists():
        raise IsakitError(f"{folder} exists already; give another folder with -o")
    folder.mkdir(parents=True)
    paths: list[Path] = []
    for name, data in found.files.items():
        paths.append(folder / name)
        paths[-1].write_bytes(data)
    return paths


def _read(path: Path) -> Exercise:
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    name = path.stem.partition("-")[2]
    texts = {n: t.lstrip("\n") for n, t in text.get("files", {}).items()}
    about, task, page = (text.get(key, "").replace("\n", " ") for key in ("about", "task", "page"))
    return Exercise(name, text["title"], text["minutes"], about, task, page, text["file"], tuple(text["hints"]), texts,
                    text.get("launch", {}), text.get("arrays", {}), text.get("view"), text.get("scene"),
                    text.get("made", False))  # fmt: skip
