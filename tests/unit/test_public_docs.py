"""Every public name says what it is, and every function that raises says what it raises."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

FACES = ("isakit", "isakit.tesla", "isakit.vuc", "isakit.usse", "isakit.errors")
PRIVATE_ERRORS = {"StopIteration", "KeyError", "AttributeError", "NotImplementedError", "AssertionError"}
"""What a protocol of Python asks for needs no words."""


def _public() -> dict[str, Any]:
    """Everything the public modules export, with the methods of classes, by the name it is defined under."""
    found: dict[str, Any] = {}
    for face in FACES:
        module = importlib.import_module(face)
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]:
            thing = getattr(module, name)
            if not getattr(thing, "__module__", "").startswith("isakit"):
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
            if inspect.isclass(thing):
                found |= dict(_methods(thing))
    return found


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(cls).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        function = getattr(function, "func", function)  # a cached property
        if name[0] != "_" and inspect.isfunction(function) and function.__module__.startswith("isakit"):
            yield f"{cls.__module__}.{function.__qualname__}", function


PUBLIC = _public()


def test_there_is_a_public_interface() -> None:
    assert len(PUBLIC) > 200


@pytest.mark.parametrize("module", sorted({name.split(".")[1] for name in PUBLIC}))
def test_every_public_name_is_documented(module: str) -> None:
    silent = [
        n for n, thing in PUBLIC.items() if n.split(".")[1] == module and not (inspect.getdoc(thing) or "").strip()
    ]
    assert not silent


def _raised(function: Any) -> set[str]:
    """Classes of the exceptions that the function itself raises, not those of functions inside it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    out: set[str] = set()
    todo: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            out.add(node.exc.func.id)
        todo += ast.iter_child_nodes(node)
    return out - PRIVATE_ERRORS


@pytest.mark.parametrize("module", sorted({name.split(".")[1] for name in PUBLIC}))
def test_what_a_function_raises_is_in_its_text(module: str) -> None:
    missing: dict[str, set[str]] = {}
    for name, thing in PUBLIC.items():
        if name.split(".")[1] == module and inspect.isfunction(thing):
            said = inspect.getdoc(thing) or ""
            unsaid = {e for e in _raised(thing) if e not in said}
            if unsaid:
                missing[name] = unsaid
    assert not missing
