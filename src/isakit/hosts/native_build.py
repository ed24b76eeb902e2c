"""Small C libraries of the hosts: taken from the wheel, or compiled at first use and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from isakit.engine.llvm.object_cache import cache_folder
from isakit.errors import HostError

FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
LIMIT = 120.0
"""Seconds a compiler may take."""


def library(name: str, folder: Path, *, libraries: Sequence[str] = (), flags: Sequence[str] = ()) -> Path:
    """The shared library made of the C files in `folder`.

    Args:
        name: of the library, without an ending.
        folder: its sources, *.c and *.h. A file `name`.so in it, as a wheel has it, is used as it is.
        libraries: what it is linked with.
        flags: more options for the compiler.

    Raises HostError where there is neither a library nor a C compiler, or the compiler fails.
    """
    if not sys.platform.startswith("linux"):
        raise HostError(f"{name} is a library for Linux; this is {sys.platform}")
    built = folder / f"{name}.so"
    if built.exists() and not flags:
        return built
    sources = sorted(folder.glob("*.c"))
    digest = hashlib.sha256(repr((FLAGS, tuple(flags), tuple(libraries), os.uname().machine)).encode())
    for path in (*sources, *sorted(folder.glob("*.h"))):
        digest.update(path.name.encode() + path.read_bytes())
    cache = cache_folder() or Path(tempfile.gettempdir()) / f"isakit-{os.getuid()}"
    kept = cache / "hosts" / f"{name}-{digest.hexdigest()[:20]}.so"
    if kept.exists():
        return kept
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise HostError(f"{name} has to be compiled once: install a C compiler (on Debian: apt install gcc libc6-dev)")
    kept.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=kept.parent, suffix=".so")
    os.close(handle)
    try:
        command = [
            *compiler.split(),
            *FLAGS,
            *flags,
            "-o",
            temporary,
            *map(str, sources),
            *(f"-l{n}" for n in libraries),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode:
            raise HostError(f"{compiler} cannot compile {name}:\n{done.stderr.strip()}")
        os.replace(temporary, kept)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise HostError(f"{compiler} cannot compile {name}: {e}") from e
    finally:
        Path(temporary).unlink(missing_ok=True)
    return kept
