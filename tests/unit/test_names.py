"""A word has one meaning in the package: no two of its classes have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import isakit

SHARED = {
    "Core": "isakit.vuc.Core and isakit.usse.Core: what every instruction set has is named alike in its public face",
    "Machine": "isakit.tesla.Machine and isakit.usse.Machine, likewise",
    "Memory": "isakit.usse.Memory is what the machine has, spec.operands.Memory the operand that names a place in it",
    "Texture": "isakit.tesla.Texture and isakit.usse.Texture, likewise",
    "Ref": "a reference to a document in records, a reference to a value in generated LLVM text; both written often",
    "Session": "of a debugger, and of the connection to a CUDA program",
    "Stop": "why a run ended: isakit.vuc.Stop, and in the debugger with the place where it stands",
}
"""Name -> why several classes share it."""


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    root = Path(isakit.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(root)}:{node.lineno}")
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: places for name, places in several.items() if name not in SHARED} == {}
    assert set(SHARED) <= set(several), "a name that is no longer shared needs no reason"
