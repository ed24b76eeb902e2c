"""Nothing outside of `engine.llvm` writes LLVM text: it is written with the typed builder."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "src" / "isakit"
ROOMS = ("machine", "texture", "graphics", "debug", "hosts", "runtime")
"""Rooms whose code is compiled, or that compile code."""

LLVM = re.compile(
    r"\b(getelementptr|icmp|fcmp|bitcast|phi|extractelement|insertelement|shufflevector|unreachable|alloca)\b"
    r"|^\s*(br|switch|ret|store|call|define) "
    r"|\b(load|store|call|select|xor|and|or|add|sub|mul|lshr|shl|zext|sext|trunc|udiv|urem) (volatile )?(i\d+|ptr|<|\{)"
)


def writes_llvm(text: str) -> bool:
    """Whether some string of a module, other than what documents it, has an instruction of LLVM."""
    tree = ast.parse(text)
    documented: set[int] = set()
    for n in ast.walk(tree):
        for one in getattr(n, "body", []) if isinstance(getattr(n, "body", []), list) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                documented.add(id(one.value))
    return any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in documented and LLVM.search(n.value)
        for n in ast.walk(tree)
    )


def test_no_room_writes_llvm_text() -> None:
    files = [p for room in ROOMS for p in (SOURCES / room).rglob("*.py")]
    assert len(files) > 200
    found = {p.relative_to(SOURCES).as_posix() for p in files if writes_llvm(p.read_text())}
    assert not found


def test_llvm_text_is_recognised() -> None:
    assert writes_llvm('x = f"br i1 {bad}, label %{on}"')
    assert writes_llvm('def f():\n    """Doc."""\n    return "  %u = getelementptr i8, ptr %ws, i64 8"')
    assert not writes_llvm('def f():\n    """It does `store i32 0, ptr %p`."""\n    return "add up"')
