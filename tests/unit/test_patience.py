"""Tests have patience: what comes within a second on an idle machine may take a minute on a busy one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LEAST = 60.0
"""Seconds that no limit is below."""
WAITS = {"wait", "join", "communicate", "settimeout", "create_connection", "wait_for", "until"}
SHORT = {
    "unit/web/test_server.py": {0.4},  # between two interrupts
    "unit/graphics/test_graphics_engines.py": {0.5},  # a run that is still there afterwards
}
"""Waits that are meant to be over before what they wait for."""


def _number(node: ast.AST | None) -> float | None:
    value = getattr(node, "value", None)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _limits(tree: ast.AST) -> Iterator[tuple[int, float]]:
    """Limits of time that are written out: (line, seconds)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [k.value for k in node.keywords if k.arg in ("timeout", "within")]
            given += node.args[-1:] if name in WAITS else []
            yield from ((node.lineno, n) for v in given if (n := _number(v)) is not None)
        elif isinstance(node, ast.Compare) and re.match(r"time\.monotonic\(\) - ", ast.unparse(node.left)):
            yield from ((node.lineno, n) for v in node.comparators if (n := _number(v)) is not None)


@pytest.mark.parametrize("path", sorted(p.relative_to(TESTS).as_posix() for p in TESTS.rglob("*.py")))
def test_no_limit_of_time_is_short(path: str) -> None:
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    short = {(line, n) for line, n in _limits(tree) if n < LEAST and n not in SHORT.get(path, ())}
    assert not short, f"{path}: (line, seconds) {sorted(short)}: wait for `support.patience.PATIENCE`"


@pytest.mark.parametrize(
    "text", ["p.wait(20)", "run(x, timeout=5)", "assert time.monotonic() - start < 1.5", "t.join(3)", "until(f, 10)"]
)
def test_a_short_limit_is_seen(text: str) -> None:
    assert len([*_limits(ast.parse(text))]) == 1
