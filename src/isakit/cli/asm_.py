"""`isakit asm`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    echo,
    echo_json,
    isa_option,
    json_option,
    project_for,
    project_option,
    read_bytes,
    read_text,
    shown,
    type_option,
    variant_option,
    write_bytes,
)
from isakit.cli.shapes import Parameter, SourceError, parameters, source_errors
from isakit.errors import AsmError, IsakitError
from isakit.instruction_sets import isa_of_text
from isakit.results import Output, record

if TYPE_CHECKING:
    from isakit.asm import Program


@record
class AssembledKernel:
    """A kernel of an assembled text; None for a number that neither the text nor the code gives."""

    name: str
    registers: int | None
    shared_bytes: int | None
    local_bytes: int | None
    barriers: int | None
    code: bytes
    params: list[Parameter]


@record
class Assembled:
    """The result of assembling a text; `tail`: bytes after the last whole word."""

    isa: str
    variant: str
    words: list[int]
    tail: bytes
    kernels: list[AssembledKernel]


@record
class AssemblyErrors:
    """All errors of a text."""

    errors: list[SourceError]


OUTPUT = Output("asm", 1, lambda: Assembled | AssemblyErrors)


@click.command(
    "asm",
    epilog="""\b
Examples:
  isakit asm -m tesla -V gt200 saxpy.s -o saxpy.cubin --format cubin
  echo 'exit nop' | isakit asm -m tesla - --format hex
  isakit dis shader.gxp > shader.s; isakit asm shader.s -o new.gxp --format gxp
  isakit dis k.cubin > k.s; isakit asm k.s --like k.cubin -o new.cubin
  isakit asm patch.s --project lost.json --like lost.cubin -o new.cubin""",
)
@isa_option()
@variant_option
@type_option
@click.option("-o", "--output", metavar="OUT", default="-", help="The file to write.  [default: -]")
@click.option(
    "--format", "kind", type=click.Choice(["raw", "hex", "cubin", "elf", "gxp"]),
    help="raw words, a text of words, a text cubin, an ELF cubin, a shader file.  [default: raw; hex on a terminal]",
)  # fmt: skip
@click.option("--like", metavar="FILE", help="Write a file like this one: what the source does not change stays.")
@json_option
@project_option
@click.argument("source", metavar="SRC|-")
def command(
    isa_name: str | None,
    variant: str | None,
    program_type: str | None,
    output: str,
    kind: str | None,
    like: str | None,
    as_json: bool,
    project: str | None,
    source: str,
) -> None:
    """Assemble a source text.

    All errors of the text are reported. `--json` writes words, kernels and errors instead of a file.
    """
    from isakit.asm import declared
    from isakit.formats import load_image
    from isakit.programs import completed, module_of, split_text, write

    if like is not None and kind is not None:
        raise click.UsageError("--like says the format of the file; leave --format out")
    text = read_text(source)
    parts = split_text(text)
    if like is None and len(parts) > 1:
        raise IsakitError(f"the text has the programs of {len(parts)} files; put them back with --like FILE")

    known = project_for(project, None if like is None else read_bytes(like))
    names = known.names_of_code() if known is not None else None
    original = b"" if like is None else read_bytes(like)
    default = isa_name or ("usse" if kind == "gxp" else None)
    if like is not None and default is None and not declared(text):
        default = load_image(original, path=shown(like)).isa

    def assembled(text: str) -> Program:
        chosen = isa_of_text(text, None if declared(text) and isa_name is None else default, variant)
        if chosen is None:
            raise click.UsageError(
                "name the instruction set with --isa ISA (-m ISA), or in the text: `.isa tesla gt200`"
            )
        return chosen.assemble(text, program_type, shown(source), names=names)

    try:
        programs = {n: assembled(t) for n, t in parts.items()} or {0: assembled(text)}
    except AsmError as e:
        if as_json:
            echo_json(AssemblyErrors(source_errors(e.diagnostics)))
        raise
    program = next(iter(programs.values()))
    if as_json:
        module = completed(module_of(program))
        kernels = [
            AssembledKernel(
                k.name, k.registers, k.shared_bytes, k.local_bytes, k.barriers, k.code, parameters(k.params)
            )
            for k in module.kernels.values()
        ]
        echo_json(Assembled(program.isa, program.variant, list(program.words), program.tail, kernels))
        return
    if like is not None:
        from isakit.programs import put_back

        written = put_back(programs if parts else program, original, shown(like))
        for note in written.notes:
            echo(f"note: {note}", err=True)
        write_bytes(output, written.data)
        return
    if kind is None:
        kind = "hex" if output == "-" and sys.stdout.isatty() else "raw"
    write_bytes(output, write(program, kind))
