"""A folder that looks like an installed CUDA toolkit, for makefiles and CMake that require one."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from isakit.compile.c.clang import CUDA_HEADERS
from isakit.errors import HostError
from isakit.hosts.cuda.build import DEVICE_RUNTIME, NAMES, library_folder

_MARK = """\
#!/bin/sh
# `nvcc` for programs that look for it by name.
"""
"""The first lines of our `nvcc`: a folder with a different one is a real toolkit."""
_DRIVER = "libcuda.so"
_PROGRAM = f"""\
{_MARK}exec {{python}} -P -m isakit nvcc "$@"
"""


def lay_out(folder: Path) -> None:
    """Create `bin/nvcc`, `include`, `lib64`, `lib` and an empty `nvvm` in a folder; foreign files in it stay.

    Raises HostError if that cannot be written, and for a folder with a foreign `nvcc` or links.
    """
    try:
        _refuse_others(folder)
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        program = folder / "bin" / "nvcc"
        program.write_text(_PROGRAM.format(python=shlex.quote(sys.executable)))
        program.chmod(0o755)
        libraries = library_folder()
        for name in ("lib64", "lib"):
            (folder / name / "stubs").mkdir(parents=True, exist_ok=True)
            for library in (*NAMES, DEVICE_RUNTIME):
                _link(folder / name / library, libraries / library)
            _link(folder / name / "stubs" / _DRIVER, libraries / _DRIVER)  # where samples of CUDA 5.5 and later look
        _link(folder / "include", CUDA_HEADERS)
        (folder / "nvvm" / "libdevice").mkdir(parents=True, exist_ok=True)  # by its name CMake knows a toolkit
    except OSError as e:
        raise HostError(f"the toolkit in {folder} cannot be laid out: {e}") from e


def _refuse_others(folder: Path) -> None:
    """Raise HostError for a folder in which files of another toolkit would be replaced."""
    program = folder / "bin" / "nvcc"
    if program.is_symlink() or program.exists():
        regular = program.is_file() and not program.is_symlink()
        if regular and program.read_bytes().startswith(_MARK.encode()):
            return
        raise HostError(f"{program} is another toolkit's; give a new folder")
    if (folder / "include").is_symlink() and os.readlink(folder / "include") != str(CUDA_HEADERS):
        raise HostError(f"{folder / 'include'} is another toolkit's; give a new folder")


def _link(place: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        if os.readlink(place) == str(target):
            return
        place.unlink()
    place.symlink_to(target)
