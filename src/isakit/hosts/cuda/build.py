"""Building the C library: from the wheel's build hook, or at first use where there is a C compiler.

Needs nothing but the standard library, since it also runs while a wheel is made.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from isakit.errors import IsakitError

SOURCES = Path(__file__).parent / "library"
BUILT = SOURCES / "libisakit-cuda.so"
"""Where a wheel carries the finished library."""
FLAGS = [
    "-std=c11",
    "-O2",
    "-g1",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
    "-Wl,-Bsymbolic",
    "-Wl,-z,defs",
]
NAMES = (
    *(f"libcudart.so{v}" for v in ("", ".2", ".3", ".4", ".5.0", ".5.5", ".6.0", ".6.5")),
    "libcuda.so",
    "libcuda.so.1",
)
"""Names under which programs look for the library."""


class BuildError(IsakitError):
    """The C library cannot be built; the message says what is missing."""


def compiler() -> list[str] | None:
    """The command of the C compiler, from $CC or as `cc`; None where there is none."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return command if shutil.which(command[0]) else None


def sources() -> list[Path]:
    """The C files."""
    return sorted(SOURCES.glob("*.c"))


def compile_library(target: Path, extra: Sequence[str] = ()) -> None:
    """Build the library. Raises BuildError."""
    command = compiler()
    if command is None:
        raise BuildError("`isakit cuda` needs a C compiler once, to build its library: install gcc or clang, or set CC")
    from isakit.hosts.cuda.generate import c_files

    with tempfile.TemporaryDirectory() as folder:
        for name, text in c_files().items():
            Path(folder, name).write_text(text, "utf-8")
        made = Path(folder, target.name)
        line = [*command, *FLAGS, *extra, "-I", folder, "-I", str(SOURCES), "-o", str(made), *map(str, sources())]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"the library of `isakit cuda` does not build:\n{done.stderr.strip()}")
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another process may do the same: whoever comes last replaces a file that is equal.
        other = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copyfile(made, other)
        os.replace(other, target)


def cache_folder() -> Path:
    """Where what is built once is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base, "isakit", "cuda")


def _key(extra: Sequence[str]) -> str:
    digest = hashlib.sha256(repr((FLAGS, tuple(extra), compiler())).encode())
    here = SOURCES.parent
    made_from = [here / name for name in ("generate.py", "table.py", "codes.py")]
    for path in [*sources(), *sorted(SOURCES.glob("*.h")), *made_from, *sorted((here / "api").glob("*.txt"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def library_folder() -> Path:
    """A folder in which the library lies under all its names; built if need be. Raises BuildError.

    Flags in $ISAKIT_CUDA_CFLAGS, such as `-fsanitize=address`, make another build of it.
    """
    extra = shlex.split(os.environ.get("ISAKIT_CUDA_CFLAGS", ""))
    folder = cache_folder() / _key(extra)
    library = folder / BUILT.name
    if not library.exists():
        if BUILT.exists() and not extra:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(BUILT, library)
        else:
            compile_library(library, extra)
    for name in NAMES:
        link = folder / name
        if not link.is_symlink():
            with suppress(FileExistsError):  # another process was quicker
                link.symlink_to(library.name)
    return folder
