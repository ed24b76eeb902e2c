"""Reading files of programs."""

from __future__ import annotations

from os import PathLike

from isakit import formats
from isakit.description import Module
from isakit.instruction_sets import isa as instruction_set


def load(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "") -> Module:
    """Read a file of any supported format, detected by its content; of several programs in it the first.

    Args:
        source: a path, or the content as bytes.
        isa: the instruction set, for files that do not say it (raw words, hexadecimal words, microcode).
        variant: its variant, for the same files.

    Raises FormatError for what cannot be read, UnknownIsaError for names that do not exist.
    """
    return load_all(source, isa=isa, variant=variant)[0]


def load_all(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "") -> list[Module]:
    """All programs of a file, at least one: an executable or a fat binary may embed many, most files hold one.

    Programs that cannot be read are left out as long as one can. Arguments and errors as of `load`.
    """
    if isa:
        chosen = instruction_set(isa, variant or None)
        isa, variant = chosen.name, chosen.variant
    return formats.load_images(source, isa=isa, variant=variant)
