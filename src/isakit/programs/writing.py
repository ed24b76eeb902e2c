"""Programs to files."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from isakit import formats
from isakit.asm import Program
from isakit.asm.program import hex_words
from isakit.description import Module
from isakit.errors import FormatError
from isakit.programs.needs import completed, module_of


def write(program: Program, kind: str) -> bytes:
    """A program as the content of a file: `raw`, `hex`, `cubin` (text), `elf`, or `gxp` for a text with `.gxp`.

    Raises FormatError for a format that cannot hold it.
    """
    if kind == "raw":
        return program.to_bytes()
    if kind == "hex":
        return "".join(f"{line}\n" for line in _hex_lines(program)).encode()
    if kind == "gxp":
        return _gxp(program)
    if kind not in ("cubin", "elf"):
        raise FormatError(None, 0, f"there is no output format {kind!r}; there are raw, hex, cubin, elf, gxp")
    if program.isa != "tesla":
        raise FormatError(None, 0, f"a cubin holds Tesla code, not {program.isa} code")
    module = completed(module_of(program))
    return formats.write_elf_cubin(module) if kind == "elf" else formats.write_text_cubin(module).encode()


def _gxp(program: Program) -> bytes:
    if program.isa != "usse":
        raise FormatError(None, 0, f"a GXP file holds USSE code, not {program.isa} code")
    if not isinstance(program.file, formats.GxpBuilder):
        raise FormatError(None, 0, "the text does not say what the file holds besides code: begin it with `.gxp`")
    parts = program.by_type
    return program.file.to_bytes(parts.get("primary"), parts.get("secondary"))


def write_like(program: Program, original: Module) -> bytes:
    """A file like `original`, a GXP file, with the programs of a text in place of those it has.

    A program the text does not have stays as it is. The header's number of phases follows the program, and its number
    of temporaries grows with it; everything else is the original's. Raises FormatError for files of other kinds.
    """
    if not isinstance(original, formats.Shader):
        raise FormatError(original.path, 0, f"programs can be put into GXP files, this is {original.kind}")
    if program.isa != original.isa:
        raise FormatError(original.path, 0, f"this file holds {original.isa} code, not {program.isa} code")
    if program.kernels:
        raise FormatError(original.path, 0, "a GXP file has programs, no kernels")
    gxp = copy(original.file)
    for kind, part in program.by_type.items():
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")
        setattr(gxp, kind, part.words)
        gxp.temp_registers = max(gxp.temp_registers, _temporaries(part))
        if kind == "primary":
            old, new = _phases(original.primary), _phases(part)
            gxp.phase_count += len(new) - len(old)
            if gxp.phases == (tuple(old) or (0,)):
                gxp.phases = tuple(new) or (0,)
    return formats.write_gxp(gxp)


def _phases(program: Program) -> list[int]:
    """Numbers of the instructions that phases begin with."""
    return [k for k, i in enumerate(program) if i.mnemonic == "phas"]


def _temporaries(program: Program) -> int:
    """One more than the highest temporary the code names."""
    return max((r.index + 1 for i in program for r in i.registers if r.file == "r"), default=0)


def _hex_lines(program: Program) -> Iterator[str]:
    for i in program:
        yield hex_words(i)
    for part in program.parts or (program,):
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")
