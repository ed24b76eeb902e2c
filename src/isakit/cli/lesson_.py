"""`isakit lesson`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isakit.cli.common import NO, echo, echo_json, json_option
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from isakit.course.exercises import Exercise


@record
class LessonRecord:
    """A lesson of the course; `minutes` is the time that a newcomer needs."""

    name: str
    title: str
    minutes: int
    file: str
    about: str
    task: str
    hints: list[str]


@record
class CheckRecord:
    """The result of one requirement of a check."""

    asked: str
    passed: bool
    found: str


@record
class Lessons:
    """Result of `isakit lesson`: lessons, files that were written, or the outcome of a check."""

    lessons: list[LessonRecord]
    written: list[str] | Omitted = OMITTED
    checks: list[CheckRecord] | Omitted = OMITTED


OUTPUT = Output("lesson", 1, lambda: Lessons)
ACTIONS = ("list", "start", "hint", "check")


@click.command(
    "lesson",
    epilog="""\b
Examples:
  isakit lesson
  isakit lesson start diverge
  isakit lesson check diverge
  isakit lesson hint diverge --number 2""",
)
@click.option("-o", "--output", type=Path, metavar="DIR", help="The folder of the files.  [default: the lesson's name]")
@click.option("--number", type=click.IntRange(1), default=1, metavar="N", help="Of the hint.  [default: 1]")
@json_option
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
def command(action: str, name: str | None, output: Path | None, number: int, as_json: bool) -> None:
    """Learn these machines by twelve exercises, each with a check.

    `start` writes an exercise's files into a folder of its name and says what to do; `check` runs what you made of
    them, on inputs you have not seen; `hint` helps. NAME is a name or a number. The exit code of `check` is 3 while
    something is missing.
    """
    from isakit.course.exercises import exercise, exercises, start

    if action == "list":
        if as_json:
            echo_json(Lessons([_record(e) for e in exercises()]))
        else:
            _overview(exercises())
        return
    if name is None:
        raise click.UsageError(f"{action} which lesson? `isakit lesson` lists them")
    chosen = exercise(name)
    folder = output or Path(chosen.name)
    if action == "start":
        written = start(chosen, folder)
        if as_json:
            echo_json(Lessons([_record(chosen)], written=[str(p) for p in written]))
        else:
            _begin(chosen, written)
    elif action == "hint":
        if number > len(chosen.hints):
            raise click.BadParameter(f"{chosen.name} has {len(chosen.hints)} hints", param_hint="--number")
        if as_json:
            echo_json(Lessons([_record(chosen)]))
        else:
            echo(f"{number} of {len(chosen.hints)}: {chosen.hints[number - 1]}")
    else:
        from isakit.course.checks import check

        found = check(chosen, folder)
        if as_json:
            checks = [CheckRecord(v.asked, v.passed, v.found) for v in found]
            echo_json(Lessons([_record(chosen)], checks=checks))
        else:
            for v in found:
                echo(f"{'ok ' if v.passed else 'no '} {v.asked}{f' ({v.found})' if v.found else ''}")
        if not all(v.passed for v in found):
            if not as_json:
                echo(f"not yet: `isakit lesson hint {chosen.name}` helps", err=True)
            click.get_current_context().exit(NO)


def _record(e: Exercise) -> LessonRecord:
    return LessonRecord(e.name, e.title, e.minutes, e.file, e.about, e.task, list(e.hints))


def _overview(lessons: tuple[Exercise, ...]) -> None:
    """List the lessons with their times."""
    wide = max(len(e.name) for e in lessons)
    for number, e in enumerate(lessons, 1):
        echo(f"{number:2}  {e.name:{wide}}  {e.minutes:2} min  {e.title}")
    echo("\nBegin with `isakit lesson start diverge`.")


def _begin(chosen: Exercise, written: list[Path]) -> None:
    """Print the task of the lesson and the commands that follow."""
    echo(f"{chosen.title} ({chosen.minutes} minutes)\n")
    for text in (chosen.about, chosen.task):
        echo(textwrap.fill(text, 100) + "\n")
    echo(f"written: {', '.join(str(p) for p in written)}")
    file = written[0].parent / chosen.file
    if "grid" in chosen.launch and not chosen.arrays:
        block = ",".join(str(n) for n in chosen.launch["block"])
        echo(f"try it: isakit run {file} --block {block}{''.join(f' --arg {a}' for a in chosen.launch['args'])}")
    echo(f"change {file}, then: isakit lesson check {chosen.name}")


__all__ = ["command"]
