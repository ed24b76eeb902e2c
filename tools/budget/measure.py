"""The figures of the budget, measured from the sources and from five walks through the package."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "isakit"
MANY_METHODS = 10

Figures = dict[str, dict[str, float]]
"""Group -> name -> value."""

_FREE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


def measure() -> Figures:
    """Return all figures."""
    statements: dict[str, int] = {}
    tokens: dict[str, int] = {}
    wide = any_lines = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        docstrings = docstring_lines(tree)
        room = room_of(path)
        statements[room] = statements.get(room, 0) + count_statements(tree) - len(docstrings)
        found = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in _FREE]
        tokens[room] = tokens.get(room, 0) + sum(t.start[0] not in docstrings for t in found)
        wide += sum(public_methods(node) > MANY_METHODS for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        any_lines += len({t.start[0] for t in found if t.string == "Any"})
    return {
        "statements": dict(statements),
        "tokens_per_statement": {room: round(tokens[room] / max(1, n), 2) for room, n in statements.items()},
        "shape": {
            "circles": circles(),
            "exceptions": exceptions(),
            "wide_classes": wide,
            "lines_with_any": any_lines,
        },
        "walks": {name: walk(name) for name in ("disassemble", "compile", "launch", "draw", "redraw")},
    }


def room_of(path: Path) -> str:
    """Return the folder of the package that a file lies in, `root` for the files beside the folders."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "root"


def count_statements(tree: ast.AST) -> int:
    """Return the number of statements, docstrings included."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the first lines of the statements that are nothing but a text."""
    return {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def public_methods(node: ast.ClassDef) -> int:
    """Return the number of methods and properties of a class whose names do not begin with `_`."""
    return sum(isinstance(n, ast.FunctionDef) and not n.name.startswith("_") for n in node.body)


def circles() -> int:
    """Return the number of groups of modules that import each other in a circle, imports for types included."""
    import grimp

    graph = grimp.build_graph("isakit", exclude_type_checking_imports=False, cache_dir=None)
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    return sum(len(group) > 1 for group in components(arrows))


def components(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_nodes: set[str] = set()
    found: list[list[str]] = []
    for root in arrows:
        if root in index:
            continue
        work = [(root, iter(sorted(arrows[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        open_nodes.add(root)
        while work:
            node, following = work[-1]
            after = next(following, None)
            if after is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    open_nodes.difference_update(stack[at:])
                    del stack[at:]
            elif after not in index:
                index[after] = low[after] = len(index)
                stack.append(after)
                open_nodes.add(after)
                work.append((after, iter(sorted(arrows[after]))))
            elif after in open_nodes:
                low[node] = min(low[node], index[after])
    return found


def exceptions() -> int:
    """Return the number of imports that `pyproject.toml` excepts from the rules about layers and circles."""
    import tomllib

    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return len({line for contract in contracts for line in contract.get("ignore_imports", ())})


def walk(name: str) -> int:
    """Return how many functions of the package a walk calls; launches and draws find their code in the cache."""
    script = Path(__file__).with_name("walks.py")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ISAKIT_CACHE": folder}
        for _ in range(2 if name in ("launch", "redraw") else 1):
            done = subprocess.run(
                [sys.executable, str(script), name], capture_output=True, text=True, check=True, env=environment
            )
    return int(json.loads(done.stdout)["functions"])
