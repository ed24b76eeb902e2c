"""Read the kernels of a Python text from its syntax tree; nothing of the text is executed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isakit.compile.python.constants import ConstantFolding, NotFoldable
from isakit.compile.python.llvm import one_text, ptx_of
from isakit.compile.python.translate import parsed, translate
from isakit.compile.python.types import parameters
from isakit.compile.python.writer import FunctionSource, source_lines
from isakit.description import Param
from isakit.errors import CompileError, Diagnostic

_PACKAGE = "isakit"


def compile_text(
    text: str, path: str, named: bool = False, debug_build: bool = False
) -> tuple[str, dict[str, list[Param]]]:
    """Return the PTX of the kernels of a Python text, and their parameters by name; `named`: with marks for variables.

    `debug_build`: compile for debuggers as well.

    Kernels are the functions at the top of the text that `isakit.kernel` decorates, whatever it is imported as. They
    see the functions at the top of the text, and its constants: names that are bound by one assignment of a number or
    string there, and nowhere else. Raises CompileError where there is no kernel, or one that cannot be translated.
    """
    texts: list[str] = []
    params: dict[str, list[Param]] = {}
    for source in kernel_sources(text, path):
        name, ir, given = translate(source, named or debug_build)
        texts.append(ptx_of(ir, named=named, debug_build=debug_build))
        params[name] = parameters(given)
    return one_text(texts), params


class TopStatement(NamedTuple):
    """A statement at the top of a text; in its tree lines count from `above` lines into the text."""

    node: ast.stmt
    above: int


def kernel_sources(text: str, path: str, statements: Sequence[TopStatement] | None = None) -> list[FunctionSource]:
    """Return the kernels of a Python text, decorators included, with the names they can use.

    `statements` are those of the text, where they are known. Raises CompileError where the text is not Python's or
    there is no kernel.
    """
    if statements is None:
        statements = [TopStatement(node, 0) for node in parsed(text, path).body]
    nodes, lines = [s.node for s in statements], source_lines(text)
    decorators = _decorators(nodes)
    bound = Counter(name for s in statements for name in _bound(s, lines))
    constants = _constants(nodes, bound)
    functions = [(s.node, s.above) for s in statements if isinstance(s.node, ast.FunctionDef)]
    for node, above in functions:  # kernels may call them
        if bound[node.name] == 1 and node.name not in constants:
            constants[node.name] = _function_source(node, node.lineno, above, lines, path, constants)
    found = [
        _function_source(node, node.decorator_list[0].lineno, above, lines, path, constants)
        for node, above in functions
        if any(_dotted(d) in decorators for d in node.decorator_list)
    ]
    if not found:
        message = "there is no function with @isakit.kernel at the top of the text, which is read and not run"
        raise CompileError([Diagnostic(1, 1, message, path=path)])
    return found


def _function_source(
    node: ast.FunctionDef, first: int, above: int, lines: list[str], path: str, names: dict[str, object]
) -> FunctionSource:
    """Return a function from one of its lines on."""
    text = "\n".join(lines[above + first - 1 : above + (node.end_lineno or first)])
    return FunctionSource(text, path, above + first, names)


def _decorators(nodes: Sequence[ast.stmt]) -> set[str]:
    """Return the names of the decorator: the usual ones, and those it is imported as."""
    found = {f"{_PACKAGE}.kernel", "kernel"}
    for node in nodes:
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


def _constants(nodes: Sequence[ast.stmt], bound: Counter[str]) -> dict[str, object]:
    """Return constants by name; one assigned in more than one place is ambiguous and left out."""
    values: dict[str, ast.expr] = {}
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                values[name] = value
            case _:
                pass
    out: dict[str, object] = {}
    for name, value in values.items():  # in their order: one may use those before it
        if bound[name] == 1:
            out |= {} if (constant := _constant(value, out)) is None else {name: constant}
    return out


def _constant(value: ast.expr, before: dict[str, object]) -> int | float | str | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    try:
        return ConstantFolding(before).fold(value)
    except (NotFoldable, RecursionError):  # a kernel that uses it complains
        return None


def _bound(statement: TopStatement, lines: Sequence[str]) -> Iterator[str]:
    """Yield the names that a statement may bind, once for each place. Names assigned in functions are local to them."""
    top, above = statement
    rest: list[tuple[ast.AST, bool]] = [(top, True)]
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
                if not any(
                    "global" in line for line in lines[above + node.lineno - 1 : above + (node.end_lineno or 0)]
                ):
                    continue
                outside = False
            case _:
                pass
        rest += ((child, outside) for child in ast.iter_child_nodes(node))


__all__ = ["TopStatement", "compile_text", "kernel_sources"]
