"""Listings written by compiled code: the exported disassembler of a view, and C code that formats lines.

The lines are those of `asm.printer`, character by character. A wheel carries the libraries of the usual views where a C
compiler was there when it was made; elsewhere a listing is long before one is compiled for it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from isakit.asm.printer import Before, Notes, instruction_lines
from isakit.asm.program import Program
from isakit.asm.units import address_scale
from isakit.c_library import CLibrary, compiler
from isakit.codec import Decoder
from isakit.errors import HostError, IsakitError
from isakit.instruction_sets import isa
from isakit.registry import VARIANTS

SHORTEST = 2_000
"""Units of code from which on an existing library is used."""
BUILT_FROM = 500_000
"""Units of code from which on a library is compiled, which takes as long as half a million lines without it."""
_ROOM = 1 << 20
"""Bytes of lines that are copied at once."""
_HIGHEST = 1 << 56
"""Addresses from which on C's integers would overflow."""
_HERE = Path(__file__).parent
_PACKAGE = _HERE.parent


class PlainLines(str):
    """Lines written by compiled code, which have no control characters but line ends."""

    __slots__ = ()


def in_wheels() -> list[CLibrary]:
    """Return the libraries that a wheel carries: all variants in the program type that they have by default."""
    return [library_of(isa(name, variant).decoder()) for name, variants in VARIANTS.items() for variant in variants]


@cache
def library_of(decoder: Decoder) -> CLibrary:
    """Return the library of a view."""
    view = decoder.view
    folders = (_PACKAGE / "arch" / decoder.isa.name, _PACKAGE / "spec", _PACKAGE / "codec", _HERE)
    sources = tuple(sorted(p for folder in folders for p in folder.rglob("*.py")))
    flags = ("-O1",)  # hardly slower than -O2, and compiling takes half the time
    name = "-".join(n for n in ("libisakit", view.isa.name, view.variant.name, view.program) if n) + ".so"
    return CLibrary(name, "isakit dis", _HERE / "listing", flags, lambda: {"view.h": _view(decoder)}, sources)


def _view(decoder: Decoder) -> str:
    """Return the C code that `listing.c` includes."""
    from isakit.export.c_header import c_header, c_prefix

    name, view = c_prefix(decoder), decoder.view
    step = 1 if decoder.isa.word_addressed else view.variant.unit_bytes
    return "\n".join([
        "#define ISAKIT_IMPLEMENTATION", "#define ISAKIT_TEXT_ONLY", c_header(decoder),
        f"#define TEXT_MAX {name.upper()}_TEXT_MAX", f"#define FORM {name}_form", f"#define DECODE {name}_decode",
        f"#define UNIT_BITS {view.variant.unit_bits}", f"#define STEP {step}",
        f'#define MISALIGNED "{decoder.isa.misaligned}"', "",
    ])  # fmt: skip


@cache
def _is_built(decoder: Decoder) -> bool:
    """Return whether a library is built already, cached: checking reads every source."""
    return library_of(decoder).is_built


@cache
def _loaded(decoder: Decoder) -> ctypes.CDLL | None:
    """Return the library of a view in this process; None if it is not available."""
    try:
        library = ctypes.CDLL(str(library_of(decoder).path()))
    except (OSError, HostError):
        return None
    library.isakit_listing_open.restype = ctypes.c_void_p
    library.isakit_listing_open.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint64, *[ctypes.c_int] * 4,
    ]  # fmt: skip
    library.isakit_listing_read.restype = ctypes.c_size_t
    library.isakit_listing_read.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.isakit_listing_close.restype = None
    library.isakit_listing_close.argtypes = [ctypes.c_void_p]
    return library


def _library(program: Program) -> ctypes.CDLL | None:
    """Return the library for a program; None if it would not help or is not available."""
    decoder, units = program.decoder, program.unit_count
    variant = decoder.view.variant
    if units < SHORTEST or variant.unit_bits > 64 or program.address % variant.unit_bytes:
        return None
    if not 0 <= program.address < _HIGHEST:
        return None
    if decoder.view.program != decoder.isa.default_program:
        return None  # of vertex programs some texts with two memory operands get a `long` that need not be there
    try:
        if not _is_built(decoder) and (units < BUILT_FROM or compiler() is None):
            return None
        return _loaded(decoder)
    except IsakitError:  # the view cannot be exported
        return None


def code_lines(
    program: Program,
    *,
    words: bool = True,
    labels: bool = True,
    notes: Notes | None = None,
    before: Before | None = None,
    collapse: bool = True,
) -> Iterator[str]:
    """Yield the lines of `instruction_lines`, many in one text where compiled code has written them."""
    library = None if notes is not None or before is not None else _library(program)
    if library is None:
        yield from instruction_lines(program, words=words, labels=labels, notes=notes, before=before, collapse=collapse)
        return
    variant = program.decoder.view.variant
    count = program.unit_count
    end = program.address + count * variant.unit_bytes
    width = max(4, len(f"{end // address_scale(program.decoder):x}"))
    size, first = variant.unit_bytes, program.address // variant.unit_bytes
    listing = library.isakit_listing_open(program.code_bytes, count, size, first, words, labels, collapse, width)
    if not listing:
        raise MemoryError
    try:
        room = ctypes.create_string_buffer(_ROOM)
        while size := library.isakit_listing_read(listing, room, _ROOM):
            yield PlainLines(memoryview(room)[: size - 1], "ascii")
    finally:
        library.isakit_listing_close(listing)
