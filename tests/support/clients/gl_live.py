"""What the tests share that run OpenGL programs on the installed Mesa."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

MESA = (*Path("/usr/lib").glob("*/dri/nouveau_dri.so"), *Path("/usr/lib").glob("*/libgallium*.so"))


def require() -> None:
    """Skip the test where something for programs that draw is missing."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    if not Path("/usr/include/EGL/egl.h").exists() or not Path("/usr/include/GLES3/gl31.h").exists():
        pytest.skip("needs the headers of EGL and GLES (on Debian: apt install libegl-dev libgles-dev libopengl-dev)")
    if not MESA:
        pytest.skip("needs Mesa's nouveau driver (on Debian: apt install libgl1-mesa-dri libegl1)")


def compiled(source: Path, folder: Path, libraries: Sequence[str]) -> Path:
    """A C program, compiled; skips the test where something for it is missing."""
    require()
    program = folder / source.stem
    command = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source]
    subprocess.run([*command, *(f"-l{x}" for x in libraries)], check=True)
    return program


def ppm(path: Path) -> np.ndarray:
    """The pixels of a PPM file, int [h, w, 3]."""
    head, data = path.read_bytes().split(b"\n", 1)
    _, width, height, _ = head.split()
    return np.frombuffer(data, np.uint8).reshape(int(height), int(width), 3).astype(int)


def isakit(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line."""
    return subprocess.run([sys.executable, "-m", "isakit", *map(str, arguments)], capture_output=True, text=True)


def on_llvmpipe(*command: str | Path) -> str:
    """Run a program on Mesa's software renderer: what it prints."""
    env = {**os.environ, "LIBGL_ALWAYS_SOFTWARE": "1", "EGL_PLATFORM": "surfaceless"}
    return subprocess.run([*map(str, command)], env=env, check=True, capture_output=True, text=True).stdout
