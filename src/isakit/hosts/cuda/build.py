"""The C library that replaces libcudart, libcuda, libcublas, libcufft and libcurand for CUDA programs.

Needs only the standard library, since it also runs while a wheel is built.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from isakit.c_library import CLibrary
from isakit.errors import HostError


def _from_tables() -> dict[str, str]:
    from isakit.hosts.cuda.generate import c_files

    return c_files()


_HERE = Path(__file__).parent
LIBRARY = CLibrary(
    "libisakit-cuda.so",
    "isakit cuda",
    _HERE / "library",
    (
        "-g1",
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        "-pthread",
        "-Wno-missing-field-initializers",
        "-Wl,-Bsymbolic",
        "-Wl,-z,defs",
        "-Wl,--no-as-needed",
        "-ldl",
    ),
    _from_tables,
    (_HERE / "generate.py", _HERE / "table.py", _HERE / "codes.py", *sorted((_HERE / "api").glob("*.txt"))),
)
NARROW = replace(LIBRARY, name="libisakit-cuda-32.so", bits=32)
"""The same for programs of 32 bits."""
_VERSIONS = ("", ".2", ".3", ".4", ".5.0", ".5.5", ".6.0", ".6.5")
NAMES = (
    *(f"lib{name}.so{v}" for name in ("cudart", "cublas", "cufft", "curand") for v in _VERSIONS),
    "libcuda.so",
    "libcuda.so.1",
)
"""Names under which programs look for the library."""
DEVICE_RUNTIME = "libcudadevrt.a"
"""An empty archive that build systems link with; kernels of these chips do not need it."""


def library_folder(bits: int = 64) -> Path:
    """Return a folder with the library for programs of 64 or 32 bits under all its names, built if need be.

    Flags in $ISAKIT_CUDA_CFLAGS, such as `-fsanitize=address`, select a separate build. Raises HostError if it is
    neither in the wheel nor can be built.
    """
    flags = shlex.split(os.environ.get("ISAKIT_CUDA_CFLAGS", ""))
    try:
        library = (NARROW if bits == 32 else LIBRARY).path(flags)
    except HostError as e:
        if bits == 64:
            raise
        raise HostError(
            "a 32-bit program needs a C compiler that builds for 32 bits once (gcc-multilib on Debian, or "
            "`pip install 'isakit[c]'`): " + str(e).splitlines()[0]
        ) from e
    for name in NAMES:
        with suppress(FileExistsError):
            (library.parent / name).symlink_to(library.name)
    with suppress(FileExistsError), (library.parent / DEVICE_RUNTIME).open("xb") as archive:
        archive.write(b"!<arch>\n")
    return library.parent
