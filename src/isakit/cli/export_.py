"""`isakit export`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast

import click

from isakit.cli.common import echo, isa_option, type_option, variant_option, write_bytes
from isakit.instruction_sets import isa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isakit.codec import Decoder

_FORMATS = ("json", "schema", "c", "pygments", "textmate")
_FOLDERS = ("sleigh", "rizin", "binaryninja")


@click.command(
    "export",
    epilog="""\b
Examples:
  isakit export -m tesla -V gt200 --format json -o tesla.json
  isakit export -m vuc -V vp2 --format c -o vuc_vp2.h
  isakit export -m usse --format textmate -o usse.tmLanguage.json
  isakit export -m vuc -V vp2 --format sleigh -o ghidra/data/languages
  isakit export -m tesla -V gt200 --format rizin -o rizin-tesla; make -C rizin-tesla install""",
)
@isa_option(required=True)
@variant_option
@type_option
@click.option(
    "--format", "kind", type=click.Choice([*_FORMATS, *_FOLDERS]),
    help="Records as JSON, the schema of that, a disassembler in a C header, a Pygments lexer, a TextMate grammar, "
         "and folders: a processor for Ghidra, plug-ins of rizin and Binary Ninja.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "--output", metavar="OUT", default="-", help="The file to write, or the folder.  [default: -]")
def command(
    isa_name: str, variant: str | None, program_type: str | None, kind: str | None, as_json: bool, output: str
) -> None:
    """Write an instruction set as data for other programs."""
    if (kind is None) != as_json:
        raise click.UsageError("say what to write with --format, or with --json")

    chosen = isa(isa_name, variant)
    if kind in _FOLDERS:
        from pathlib import Path

        if output == "-":
            raise click.UsageError(f"--format {kind} writes several files: name a folder with -o")
        folder = Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _files(chosen.decoder(program_type), kind).items():
            write_bytes(str(folder / name), content.encode())
            echo(str(folder / name))
        return
    if kind == "c":
        from isakit.export.c_header import c_header

        text = c_header(chosen.decoder(program_type))
    elif kind == "pygments":
        from isakit.export.lexing import pygments_source

        text = pygments_source(chosen)
    elif kind == "textmate":
        from isakit.export.lexing import textmate

        text = json.dumps(textmate(chosen), indent=1) + "\n"
    else:
        from isakit.export.json_ import SCHEMA, export_json

        data = SCHEMA if kind == "schema" else export_json(chosen)
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    write_bytes(output, text.encode())


def _files(decoder: Decoder, kind: str) -> Mapping[str, str]:
    """Return the files of a format that has several, by name. Raises CannotExport."""
    if kind == "sleigh":
        from isakit.export.sleigh import sleigh

        return sleigh(decoder).files
    from isakit.export.plugins import plugin

    return plugin(decoder, cast(Literal["rizin", "binaryninja"], kind))
