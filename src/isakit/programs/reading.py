"""Reading files of programs."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from isakit import formats
from isakit.description import Module
from isakit.errors import FormatError
from isakit.instruction_sets import isa as instruction_set


def load(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "", kernel: str = "") -> Module:
    """Read a file of any supported format, detected by its content; of several programs in it the first that fits.

    A PTX text is compiled, for the chip it is written for or for `variant`.

    Args:
        source: a path, or the content as bytes.
        isa: the instruction set, for files that do not say it (raw words, hexadecimal words, microcode).
        variant: its variant, for the same files.
        kernel: the name of a kernel that the program has to have.

    Raises FormatError for what cannot be read or does not have the kernel, UnknownIsaError for names that do not exist,
    CompileError for a PTX text of which nothing compiles.
    """
    modules = load_all(source, isa=isa, variant=variant)
    found = next((m for m in modules if not kernel or kernel in m.kernels), None)
    if found is None:
        names = ", ".join(dict.fromkeys(name for m in modules for name in m.kernels))
        raise FormatError(modules[0].path, 0, f"there is no kernel {kernel!r}; there are {names or 'none'}")
    return found


def load_all(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "") -> list[Module]:
    """All programs of a file, at least one: an executable or a fat binary may embed many, most files hold one.

    Programs that cannot be read are left out as long as one can. Arguments and errors as of `load`.
    """
    if isa:
        chosen = instruction_set(isa, variant or None)
        isa, variant = chosen.name, chosen.variant
    ptx = _ptx(source)
    if ptx is not None:
        from isakit.compile import compile_ptx  # here: no other file needs the compiler

        path = "<text>" if isinstance(source, bytes) else os.fspath(source)
        return [compile_ptx(ptx, variant or None, path=path).module]
    return formats.load_images(source, isa=isa, variant=variant)


_LARGEST_PTX = 1 << 28


def _ptx(source: str | PathLike[str] | bytes) -> str | None:
    """The content, if it is a PTX text."""
    if isinstance(source, bytes):
        data = source
    else:
        try:
            with Path(source).open("rb") as f:
                data = f.read(0x4000)
        except (OSError, ValueError):
            return None  # the reader of files says what is wrong
    if b".version" not in data[:0x4000]:
        return None
    from isakit.compile.ptx import is_ptx

    if not is_ptx(data):
        return None
    if not isinstance(source, bytes):
        data = Path(source).read_bytes()
    return data[:_LARGEST_PTX].decode("utf-8", "replace")
