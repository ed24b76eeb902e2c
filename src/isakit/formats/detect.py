"""Find out what a file is, by its content, and read it."""

from __future__ import annotations

import os
from pathlib import Path

from isakit.description import Module
from isakit.errors import FormatError, NoSuchFile
from isakit.formats.cubin_elf import read_elf_cubin
from isakit.formats.cubin_text import read_text_cubin
from isakit.formats.elf import ELF_MAGIC, EM_CUDA, elf_extent, elf_machine
from isakit.formats.embedded import Found, find_embedded, find_in_source
from isakit.formats.gxp import MAGIC as GXP_MAGIC
from isakit.formats.raw import is_textual, read_hex, read_raw
from isakit.formats.shader import read_gxp
from isakit.formats.vuc_image import read_vuc, recognise_vuc

Source = str | os.PathLike[str] | bytes

_TRIED = "ELF cubin, text cubin, GXP, microcode, programs inside another file, C array, hexadecimal words"


def load_image(source: Source, *, isa: str = "", variant: str = "", path: str | None = None) -> Module:
    """Load the program in a file: the first one where there are several.

    Args:
        source: a path, or the content as bytes.
        isa: "tesla", "vuc" or "usse", for files that do not say it (raw words, hexadecimal words, microcode).
        variant: chip of that instruction set, for the same files.
        path: name for messages when `source` is bytes.

    Raises:
        FormatError: for a file that is damaged, unreadable, or of no known format; then it lists what was tried.
    """
    return load_images(source, isa=isa, variant=variant, path=path)[0]


def load_images(source: Source, *, isa: str = "", variant: str = "", path: str | None = None) -> list[Module]:
    """Load all programs in a file, at least one; arguments and errors as for `load_image`.

    In a host file programs that cannot be read are left out as long as one can; `find_embedded` reports them.
    """
    if isinstance(source, bytes):
        data = source
    else:
        path = os.fspath(source)
        try:
            data = Path(source).read_bytes()
        except FileNotFoundError:
            raise NoSuchFile(path) from None
        except (OSError, ValueError) as e:
            raise FormatError(path, 0, f"cannot be read: {getattr(e, 'strerror', None) or e}") from e
    if not data:
        raise FormatError(path, 0, "the file is empty")
    if elf_machine(data) == EM_CUDA:
        return [read_elf_cubin(data, path)]
    if data[:4] == GXP_MAGIC:
        return [read_gxp(data, path)]
    textual = is_textual(data)
    if textual and data.lstrip().startswith(b"architecture"):
        return [read_text_cubin(data, path)]
    found = find_embedded(data, path)
    if not any(f.module for f in found) and textual:
        found += find_in_source(data.decode("latin-1"), path)
    modules = [f.module for f in found if f.module]
    if modules:
        return modules
    return [_bare(data, textual, found, isa, variant, path)]


def _bare(data: bytes, textual: bool, found: list[Found], isa: str, variant: str, path: str | None) -> Module:
    """Load a file that has no structure of its own, or none that was recognised."""
    errors = [f.error for f in found if f.error]
    if not errors and data.startswith(ELF_MAGIC):
        elf_extent(data, 0, path)
        raise FormatError(path, 0, "an ELF file without any device program in it")
    # One word per instruction, except on Tesla where long instructions take two.
    size = 8 if isa == "usse" or (isa == "vuc" and variant in ("", "vp2")) else 4
    if textual:
        try:
            return read_hex(data, path, isa=isa, variant=variant, word_size=size)
        except FormatError as e:
            errors.append(e)
    if isa and not (textual and data.isascii()):
        if isa == "vuc" and variant:
            return read_vuc(data, variant, path)
        return read_raw(data, path, isa=isa, variant=variant, word_size=size)
    guess = None if isa or textual else recognise_vuc(data)
    if guess is not None:
        return read_vuc(data, guess[0], path, data_size=guess[1])
    seen = "; ".join(f"{e.offset:#x}: {e.reason}" for e in errors[:4])
    what = (
        "for assembly name the instruction set, or write `.isa` in its first line"
        if textual
        else "for raw words name the instruction set"
    )
    hint = "" if isa else f"; {what}"
    raise FormatError(path, 0, f"no known format (tried {_TRIED}{hint})" + (f"; found at {seen}" if seen else ""))
