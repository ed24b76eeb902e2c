"""Docstrings say what a thing does or is; error texts say what is wrong in plain words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "isakit"
OPENERS = ("What", "How", "Who", "Where", "Which", "Whether")
"""Words that make a clause of a docstring's first sentence: a function's begins with a verb, others with a noun."""
NONE = re.compile(r"(?<!here )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b)\w")
ROOMS = sorted({p.relative_to(SOURCE).parts[0].removesuffix(".py") for p in SOURCE.rglob("*.py")})


@cache
def nodes(room: str) -> list[tuple[str, ast.AST]]:
    folder = SOURCE / room
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    trees = [(str(p.relative_to(SOURCE)), ast.parse(p.read_text("utf-8"))) for p in paths]
    return [(name, n) for name, tree in trees for n in ast.walk(tree)]


def docstrings(room: str) -> Iterator[tuple[str, str]]:
    """Docstrings of modules, classes and functions, and the texts behind names that are given a value."""
    for name, n in nodes(room):
        if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(n):
                yield f"{name}:{n.body[0].lineno}", text
            for value, behind in pairwise(n.body):
                if isinstance(value, ast.Assign | ast.AnnAssign) and isinstance(behind, ast.Expr):
                    said = behind.value
                    if isinstance(said, ast.Constant) and isinstance(said.value, str):
                        yield f"{name}:{behind.lineno}", said.value


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_a_verb_or_a_noun(room: str) -> None:
    assert [place for place, text in docstrings(room) if text.split()[0].strip(",:") in OPENERS] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_thing_is_not_another_instead_of_being_none(room: str) -> None:
    """`x is not a type`, never `x is no type`; `there is no type x` is plain."""
    prose = {n.value for _, n in nodes(room) if isinstance(n, ast.Expr)}
    texts = [
        (f"{name}:{n.lineno}", n.value) for name, n in nodes(room) if isinstance(n, ast.Constant) and n not in prose
    ]
    assert [place for place, text in texts if isinstance(text, str) and NONE.search(text)] == []
