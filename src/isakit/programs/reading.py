"""Reading files of programs."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

from isakit import formats
from isakit.description import Module
from isakit.errors import AsmError, CompileError, Diagnostic, FormatError, IsakitError, NoSuchFile
from isakit.instruction_sets import isa as instruction_set
from isakit.instruction_sets import isa_of_text
from isakit.line_table import unpack
from isakit.programs.needs import completed, module_of
from isakit.programs.sources import compiled_source, language_of
from isakit.registry import SPIRV_MAGIC

LINES_ENDING = ".lines"
"""The end of the name of a file with the lines of a shader, after the name of the shader's file."""
_LARGEST_LINES = 1 << 24


def load(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "", kernel: str = "") -> Module:
    """Read a file of any supported format, detected by its content; of several programs in it the first that fits.

    What it left out is in `Module.beside`; `load_all` gives every program of a file.

    A PTX text is compiled, for the chip it is written for or for `variant`; so are the PTX texts in a host program or
    fat binary that has no machine code for these chips, and sources, which the ending of the name tells: CUDA C,
    OpenCL C, Python, Cg, GLSL. So are shaders as SPIR-V.

    Args:
        source: a path, or the content as bytes.
        isa: the instruction set, for files that do not say it (raw words, hexadecimal words, microcode).
        variant: its variant, for the same files.
        kernel: the name of a kernel that the program has to have.

    Raises FormatError for what cannot be read or does not have the kernel, NoSuchFile where there is none,
    UnknownIsaError for names that do not exist, CompileError for a PTX text of which nothing compiles.
    """
    try:
        modules = load_all(source, isa=isa, variant=variant)
    except NoSuchFile as e:
        path = e.path or ""
        if not _WRITTEN.search(path):
            raise NoSuchFile(path, _TAKEN) from None
        raise FormatError(path.strip().partition("\n")[0][:40], 0, _A_TEXT) from None
    found = next((m for m in modules if not kernel or kernel in m.kernels), None)
    if found is None:
        names = ", ".join(dict.fromkeys(name for m in modules for name in m.kernels))
        raise FormatError(modules[0].path, 0, f"there is no kernel {kernel!r}; there are {names or 'none'}")
    found.beside = tuple(dict.fromkeys(n for m in modules if m is not found for n in m.kernels))
    return found


_WRITTEN = re.compile(r"\n|\s[$#%]\w|^\s*\.\w+\s")
"""Matches what is in a text and hardly in a path."""


_A_TEXT = (
    'this is a text and not the path of a file; assemble it with `isakit.isa("tesla").assemble(text)`, or give '
    "`text.encode()`, as a file would hold it"
)
_TAKEN = "a program is given as the path of its file, or as the content of it, in bytes"


def load_all(
    source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "", path: str | None = None
) -> list[Module]:
    """Return all programs of a file, at least one: an executable or a fat binary may embed many, most files hold one.

    A source text that begins with `.isa`, as listings do, is assembled, and a mistake in it is an AsmError; with `isa`
    other texts are, too.
    Programs that cannot be read are left out as long as one can. Arguments and errors as of `load`, and IsakitError for
    what is neither a path nor bytes; `path` is the name for messages where `source` is bytes.
    """
    if not isinstance(source, str | bytes | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise IsakitError(f"a program is given as a path or as bytes, not as {type(source).__name__}")
    if isa:
        chosen = instruction_set(isa, variant or None)
        isa, variant = chosen.name, chosen.variant
    name = path or (None if isinstance(source, bytes) else os.fspath(source))
    module = _spirv(source)
    if module is not None:
        return [compiled_source(module, name or "<bytes>", "spirv")]
    language = language_of(name)
    if language is not None and name is not None:
        text = _source_text(source)
        if text is not None:
            return [compiled_source(text, name, language, variant or None)]
    ptx = _ptx(source)
    if ptx is not None:
        from isakit.compile import compile_ptx  # here: no other file needs the compiler

        return [compile_ptx(ptx, variant or None, path=name or "<text>").module]
    try:
        return _with_lines(formats.load_images(source, isa=isa, variant=variant, path=path), source, name)
    except FormatError as e:
        try:
            data = source if isinstance(source, bytes) else Path(source).read_bytes()
        except (OSError, ValueError):
            raise e from None
        modules = _assembled(data, isa, variant, name)
        if not modules and isa in ("", "tesla"):
            modules = _compiled(data, variant, name)
        if not modules:
            raise
        return modules


def _with_lines(modules: list[Module], source: str | PathLike[str] | bytes, name: str | None) -> list[Module]:
    """Give a shader the lines that `isakit cc -g` has written beside its file, if they are of that file."""
    if name is None or len(modules) != 1 or not isinstance(modules[0], formats.Shader):
        return modules
    beside = Path(f"{name}{LINES_ENDING}")
    try:
        if beside.is_file() and beside.stat().st_size <= _LARGEST_LINES:
            data = source if isinstance(source, bytes) else Path(source).read_bytes()
            for program, lines in unpack(beside.read_bytes(), data).items():
                if program in modules[0].kernels:
                    modules[0].kernels[program].lines = lines
    except (OSError, ValueError):
        pass
    return modules


def _spirv(source: str | PathLike[str] | bytes) -> bytes | None:
    """Return the content of a file that holds SPIR-V; None for others, and for what can be read only once."""
    if isinstance(source, bytes):
        return source if source[:4] in SPIRV_MAGIC else None
    try:
        if not os.path.isfile(source):
            return None
        with open(source, "rb") as f:
            head = f.read(4)
            return head + f.read() if head in SPIRV_MAGIC else None
    except (OSError, ValueError):
        return None


def _source_text(source: str | PathLike[str] | bytes) -> str | None:
    """Return a source text; None for other files, of which the readers of files say more."""
    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
    except (OSError, ValueError):
        return None
    return None if b"\0" in data else data.decode("utf-8-sig", "replace")


def _assembled(data: bytes, isa: str, variant: str, name: str | None) -> list[Module]:
    """Assemble a source text that names its instruction set, as listings do, or is for the given one.

    Raises AsmError for a text that says what it is and has mistakes.
    """
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        return []
    if "\0" in text:  # a binary file of nothing but ASCII, as a host file that holds PTX may be
        return []
    from isakit.asm import declared
    from isakit.programs.like import split_text

    out: list[Module] = []
    for part in (split_text(text) or {0: text}).values():
        chosen = isa_of_text(part, isa or None, variant or None)
        if chosen is None:
            return []
        try:
            program = chosen.assemble(part, path=name or "<text>")
        except AsmError:
            if declared(part):
                raise
            return []
        module = completed(module_of(program))
        module.path = name
        out.append(module)
    return out


def _compiled(data: bytes, variant: str, name: str | None) -> list[Module]:
    """Compile the PTX texts in a file that are for the oldest chip, since newer ones say the same once more.

    Raises CompileError if there are some and none compiles.
    """
    found = [f for f in formats.find_embedded(data, name) if f.what == "ptx"]
    if not found:
        return []
    from isakit.compile import compile_ptx

    oldest = min(_target(f.text) for f in found)
    out: list[Module] = []
    errors: list[Diagnostic] = []
    for f in found:
        if _target(f.text) != oldest:
            continue
        try:
            module = compile_ptx(f.text, variant or None, path=f"{name or '<data>'} at {f.offset:#x}").module
        except CompileError as e:
            errors += e.diagnostics
            continue
        module.path, module.offset, module.size = name, f.offset, f.size
        out.append(module)
    if not out:
        raise CompileError(errors)
    return out


def _target(text: str) -> int:
    """Return the number of the architecture a PTX text is for."""
    m = re.search(r"\.target\s+(?:sm|compute)_(\d{1,4})", text)
    return int(m[1]) if m else 0


_LARGEST_PTX = 1 << 28


def _ptx(source: str | PathLike[str] | bytes) -> str | None:
    """Return the content if it is a PTX text."""
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
