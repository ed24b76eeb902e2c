"""The kernels of a Python text, from its syntax tree alone: nothing of the text is run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from isakit.compile.python.constants import ConstantFolding, NotFoldable
from isakit.compile.python.llvm import one_text, ptx_of
from isakit.compile.python.translate import parsed, translate
from isakit.compile.python.types import parameters
from isakit.compile.python.writer import FunctionSource, source_lines
from isakit.description import Param
from isakit.errors import CompileError, Diagnostic

_PACKAGE = "isakit"


def compile_text(text: str, path: str, named: bool = False) -> tuple[str, dict[str, list[Param]]]:
    """Return the PTX of the kernels of a Python text, and their parameters by name; `named`: with marks for variables.

    Kernels are the functions at the top of the text that `isakit.kernel` decorates, whatever it is imported as.
    They see the functions at the top of the text, and its constants: names that get a number or a text by one
    assignment there, and nothing otherwise. Raises CompileError where there is no kernel, or one that cannot be
    translated.
    """
    tree = parsed(text, path)
    constants, decorators, lines = _constants(tree), _decorators(tree), source_lines(text)
    bound = Counter(_bound(tree))
    for node in tree.body:  # other functions, which kernels may call
        if isinstance(node, ast.FunctionDef) and bound[node.name] == 1 and node.name not in constants:
            text_of = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            constants[node.name] = FunctionSource(text_of, path, node.lineno, constants)
    texts: list[str] = []
    params: dict[str, list[Param]] = {}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not any(_dotted(d) in decorators for d in node.decorator_list):
            continue
        first = node.decorator_list[0].lineno
        source = FunctionSource("\n".join(lines[first - 1 : node.end_lineno]), path, first, constants)
        _, ir, given = translate(source, named)
        texts.append(ptx_of(ir, named=named))
        params[node.name] = parameters(given)
    if not texts:
        message = "there is no function with @isakit.kernel at the top of the text, which is read and not run"
        raise CompileError([Diagnostic(1, 1, message, path=path)])
    return one_text(texts), params


def _decorators(tree: ast.Module) -> set[str]:
    """Return the names of the decorator: as it is imported, or the usual ones where nothing is."""
    found = {f"{_PACKAGE}.kernel", "kernel"}
    for node in tree.body:
        match node:
            case ast.Import(names=names):
                found |= {f"{n.asname}.kernel" for n in names if n.name == _PACKAGE and n.asname}
            case ast.ImportFrom(module="isakit", names=names):
                found |= {n.asname for n in names if n.name == "kernel" and n.asname}
            case _:
                pass
    return found


def _dotted(decorator: ast.expr) -> str:
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case ast.Name(id=name):
            return name
        case _:
            return ""


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Return constants by name; one that is given a value in more than one place could be either and is left out."""
    values: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                values[name] = value
            case _:
                pass
    bound = Counter(_bound(tree))
    out: dict[str, Any] = {}
    for name, value in values.items():  # in their order: one may use those before it
        if bound[name] == 1:
            out |= {} if (constant := _constant(value, out)) is None else {name: constant}
    return out


def _constant(value: ast.expr, before: dict[str, Any]) -> int | float | str | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    try:
        return ConstantFolding(before).fold(value)
    except (NotFoldable, RecursionError):  # a kernel that uses it complains
        return None


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield every place that may give a name of the text a value. What functions assign is their own."""
    rest: list[tuple[ast.AST, bool]] = [(tree, True)]
    while rest:
        node, outside = rest.pop()
        match node:
            case ast.Global(names=names):
                yield from names
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if outside:
                yield name
            case ast.alias(name=name, asname=other) if outside:
                yield other or name.split(".")[0]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                if outside:
                    yield name
                outside = False
            case _:
                pass
        rest += ((child, outside) for child in ast.iter_child_nodes(node))


__all__ = ["compile_text"]
