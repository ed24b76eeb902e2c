"""The programs of `examples/` as modules."""

from __future__ import annotations

import importlib.util
from functools import cache
from types import ModuleType

from conftest import ROOT


@cache
def example(name: str) -> ModuleType:
    """The module of a program, by its path below `examples/` without the suffix."""
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name.replace('/', '_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
