"""Python programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import isakit
from support.patience import PATIENCE

SOURCE = Path(isakit.__file__).parent.parent


def python(
    program: str, *, cache: Path | str, timeout: float = 2 * PATIENCE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with the package at hand and a cache of its own."""
    settings = {"PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parents[2]}", "ISAKIT_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        env={**os.environ, **settings, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
