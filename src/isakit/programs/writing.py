"""Programs to files."""

from __future__ import annotations

from collections.abc import Iterator

from isakit import formats
from isakit.asm import Program
from isakit.asm.module_directives import omitted
from isakit.asm.program import hex_words
from isakit.errors import FormatError
from isakit.programs.needs import completed, module_of


def write(program: Program, kind: str) -> bytes:
    """Return a program as the content of a file: `raw`, `hex`, `cubin` (text), `elf`, or `gxp` for a text with `.gxp`.

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
    module = module_of(program)
    lost = omitted(module)
    if lost:
        raise FormatError(
            None, 0, f"the text does not carry all of its file: {'; '.join(lost)}. Give the file with --like; or leave "
            "the .omitted lines out to do without",
        )  # fmt: skip
    module = completed(module)
    return formats.write_elf_cubin(module) if kind == "elf" else formats.write_text_cubin(module).encode()


def _gxp(program: Program) -> bytes:
    if program.isa != "usse":
        raise FormatError(None, 0, f"a GXP file holds USSE code, not {program.isa} code")
    if not isinstance(program.file, formats.GxpBuilder):
        raise FormatError(None, 0, "the text does not say what the file holds besides code: begin it with `.gxp`")
    parts = program.by_type
    return program.file.to_bytes(parts.get("primary"), parts.get("secondary"))


def _hex_lines(program: Program) -> Iterator[str]:
    for i in program:
        yield hex_words(i)
    for part in program.parts or (program,):
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")
