"""Node and its packages, for tests of what editors run. Packages are found in NODE_PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE

NODE = shutil.which("node")


def needs_node(*packages: str) -> Callable[[Any], Any]:
    """Marks a test that needs node and some packages; it is skipped where they are missing."""
    folders = [Path(p) for p in os.environ.get("NODE_PATH", "").split(os.pathsep) if p]
    missing = [p for p in packages if not any((f / p).is_dir() for f in folders)]
    if NODE is None:
        missing.insert(0, "node")
    reason = f"missing: {', '.join(missing)} (packages are looked for in NODE_PATH)"

    def mark(test: Any) -> Any:
        return pytest.mark.node(pytest.mark.skipif(bool(missing), reason=reason)(test))

    return mark


def node(*arguments: str, timeout: float = PATIENCE) -> str:
    """What node prints."""
    assert NODE is not None
    done = subprocess.run([NODE, *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
