"""The budget of statements: what it counts, and when it is red (`tools/budget`)."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "budget"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"budget_{name.strip('_')}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def measure() -> ModuleType:
    return load("measure")


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch, measure: ModuleType) -> ModuleType:
    monkeypatch.setitem(sys.modules, "measure", measure)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return load("__main__")


def test_docstrings_are_free_and_statements_count(measure: ModuleType) -> None:
    tree = ast.parse('"""Text."""\n\n\ndef f():\n    """Text."""\n    x = 1; y = 2\n    return x + y\n')
    assert measure.count_statements(tree) - len(measure.docstring_lines(tree)) == 4


def test_a_circle_is_counted_once_and_a_chain_is_none(measure: ModuleType) -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str](), "f": {"g", "a"}, "g": {"f"}}
    assert sorted(sorted(group) for group in measure.components(arrows) if len(group) > 1) == [
        ["a", "b", "c"],
        ["f", "g"],
    ]


def test_only_growth_is_red(budget: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    table = {"statements": {"asm": 100, "cli": 50}}
    assert budget.compare({"statements": {"asm": 99, "cli": 50}}, table) == []
    assert budget.compare({"statements": {"asm": 101, "cli": 10}}, table) == [
        "statements, asm: 101, the table says 100"
    ]
    assert budget.compare({"statements": {"new": 1}}, table) == ["statements, new: 1, the table says 0"]
    assert "+1" in capsys.readouterr().out


def test_lines_may_be_a_little_denser_and_not_more(budget: ModuleType) -> None:
    table = {"tokens_per_statement": {"asm": 10.0}}
    assert budget.compare({"tokens_per_statement": {"asm": 10.4}}, table) == []
    assert budget.compare({"tokens_per_statement": {"asm": 10.6}}, table) != []
