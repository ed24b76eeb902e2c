"""`isakit dis`."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    echo,
    echo_json,
    isa_option,
    json_option,
    machine_of,
    named_code,
    output_option,
    printable,
    progress,
    project_for,
    project_option,
    read_bytes,
    shown,
    type_option,
    variant_option,
)
from isakit.errors import IsakitError
from isakit.instruction_sets import isa
from isakit.programs.kernel_names import chosen
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from isakit.annotations import Project
    from isakit.asm import Program
    from isakit.codec import Instruction
    from isakit.description import Module

_BATCH = 1 << 20
_LONG = _BATCH // 2
"""Length in characters from which lines in one text are written unchanged."""
_MANY = 200_000
"""Instructions from which on a progress bar is shown."""


@record
class ListedInstruction:
    """An instruction; `error`: why it cannot be decoded, `unknown_bits`: set bits that no field explains."""

    address: int
    size: int
    words: list[int]
    text: str
    mnemonic: str
    operands: list[str]
    reads: list[str]
    writes: list[str]
    error: str | Omitted
    unknown_bits: int | Omitted


@record
class ListedProgram:
    """A program of a file; `tail`: bytes after the last whole word."""

    name: str
    isa: str
    variant: str
    program_type: str
    tail: bytes
    instructions: list[ListedInstruction]


OUTPUT = Output("dis", 1, lambda: list[ListedProgram])


@click.command(
    "dis",
    epilog="""\b
Examples:
  isakit dis kernel.cubin
  isakit dis --kernel saxpy kernel.cubin
  isakit dis --expr shader.gxp
  isakit dis --source kernel.ptx
  isakit dis --blocks --live --symbols kernel.cubin
  isakit dis --symbols --project lost.json lost.cubin
  echo 10000001 0423c780 | isakit dis -m tesla -V g80 --hex -""",
)
@isa_option()
@variant_option
@type_option
@click.option("--hex", "as_hex", is_flag=True, help="FILE is a text of hexadecimal words, with or without 0x.")
@json_option
@click.option("--kernel", metavar="NAME", help="Only this kernel.")
@click.option("--address", metavar="ADDRESS", default="0", help="Byte address of the first word of raw or hex input.")
@click.option("--words/--no-words", default=True, help="Show addresses and words as comments.  [default: words]")
@click.option("--expr", "sketch", is_flag=True, help="Show shaders as one expression per result.")
@click.option("--glsl", "as_glsl", is_flag=True, help="Show a shader as GLSL.")
@click.option("--source", is_flag=True, help="Show the lines of source and PTX the instructions come from.")
@click.option("--ptx", is_flag=True, help="Show the PTX texts in the file instead of its code.")
@click.option(
    "--symbols", is_flag=True, help="Say which parameter, constant, variable or register of the launch an access is to."
)
@click.option("--live", is_flag=True, help="Draw the live ranges of registers as columns.")
@click.option("--blocks", is_flag=True, help="Set basic blocks apart and say where each comes from.")
@click.option("--demangle", is_flag=True, help="Show C++ names of kernels as their source spells them.")
@click.option("--labels/--no-labels", default=True, help="Show branch targets as labels.  [default: labels]")
@click.option(
    "--collapse/--no-collapse", default=True, help="Show a long run of equal words as one line.  [default: collapse]"
)
@project_option
@click.argument("file", metavar="FILE|-")
@output_option
def command(
    isa_name: str | None,
    variant: str | None,
    program_type: str | None,
    as_hex: bool,
    as_json: bool,
    kernel: str | None,
    address: str,
    words: bool,
    source: bool,
    ptx: bool,
    symbols: bool,
    live: bool,
    blocks: bool,
    demangle: bool,
    labels: bool,
    collapse: bool,
    sketch: bool,
    as_glsl: bool,
    project: str | None,
    file: str,
) -> None:
    """Disassemble a file: cubin, GXP, host program with kernels in it, microcode, raw words.

    The kind of file is told by its content. The listing assembles back to the same bytes; of a shader file
    to the same file (`isakit asm --format gxp`).
    """
    if as_hex and not isa_name:
        raise click.UsageError("--hex needs -m ISA: words do not say what they are for")
    try:
        start = int(address, 0)
    except ValueError:
        raise click.BadParameter(f"{address!r} is not a number", param_hint="--address") from None
    if ptx:
        _ptx(read_bytes(file), shown(file))
        return
    files: list[Module] = []
    data = read_bytes(file)
    known = project_for(project, data)
    isa_name, variant = machine_of(known, isa_name, variant)
    found = _programs(data, shown(file), isa_name, variant, program_type, as_hex, start, files, known)
    programs = chosen(kernel, found, shown(file))
    if sketch or as_glsl:
        _decompile(files, shown(file), as_glsl)
        return
    if as_json:
        echo_json([_listed(name, p) for name, p in programs])
        return
    if kernel is None and len(files) == 1:
        from isakit.formats import Shader

        shader = files[0]
        if isinstance(shader, Shader):
            programs = [p for p in programs if len(p[1])]
            for line in shader.directives():
                echo(line, painted=_paint)
    heads = _FileHeadings(files)
    for number, (name, program) in enumerate(programs):
        if number:
            echo()
        module = program.kernel.module if program.kernel is not None else None
        described = module is not None and heads.show(module)
        if program.kernel is None and len(programs) > 1:
            echo(f"// {name}")
        beside = _ListingOptions(program, symbols, live, blocks, demangle)
        _write(program, words, labels, source, beside, header=not described, collapse=collapse)
    if kernel is None:
        for module in files:
            if not module.kernels:
                heads.show(module)


def _ptx(data: bytes, path: str) -> None:
    """Write the PTX of a file: its own text, or the texts it embeds."""
    from isakit.formats import find_embedded

    texts = [f.text for f in find_embedded(data, path) if f.what == "ptx"]
    if not texts:
        raise IsakitError(f"{path} has no PTX in it")
    echo("\n\n".join(texts))


def _decompile(files: list[Module], path: str, as_glsl: bool) -> None:
    """Print the shaders of a file as expressions or as GLSL."""
    from isakit.decompile import expressions, glsl
    from isakit.formats import Shader

    shaders = [f for f in files if isinstance(f, Shader)]
    if not shaders:
        raise IsakitError(f"{path} holds no shader file (GXP); expressions are made of shaders only")
    for shader in shaders:
        echo(glsl(shader) if as_glsl else expressions(shader), nl=False)


class _FileHeadings:
    """The headings above the kernels of each file, each printed once."""

    def __init__(self, files: list[Module]) -> None:
        self.files = files
        self.shown: set[int] = set()

    def show(self, module: Module) -> bool:
        """Print the heading of a file once, if it has one (Tesla); return whether it has one."""
        from isakit.asm.printer import module_header

        if module.isa != "tesla":
            return False
        if id(module) not in self.shown:
            self.shown.add(id(module))
            if len(self.files) > 1:
                place = next(n for n, m in enumerate(self.files) if m is module)
                echo(f".file {place} {module.kind} at {module.offset:#x}")
            for line in (f".isa {module.isa} {module.instruction_set.variant}", *module_header(module)):
                echo(line, painted=_paint)
        return True


def _programs(
    data: bytes,
    path: str,
    isa_name: str | None,
    variant: str | None,
    program_type: str | None,
    as_hex: bool,
    address: int,
    files: list[Module],
    project: Project | None,
) -> Iterator[tuple[str, Program]]:
    """Yield (name, program) of everything in the input; the files found are added to `files`."""
    if as_hex:
        from isakit.formats import parse_hex

        chosen = isa(isa_name or "", variant)
        unit = chosen.decoder().view.variant.unit_bytes
        found = parse_hex(data.decode("utf-8-sig", "replace"), path, word_size=unit)
        program = chosen.disassemble(found, address, program_type)
        program.annotations = project.programs.get("main") if project is not None else None
        yield "main", program
        return
    from isakit.programs.reading import load_all

    for image in load_all(data, **named_code(isa_name, variant), path=path):
        if project is not None:
            image = image.annotated(project)
        files.append(image)
        yield from _of_module(image, isa_name, variant, program_type, address)


def _of_module(
    m: Module, isa_name: str | None, variant: str | None, program_type: str | None, address: int
) -> Iterator[tuple[str, Program]]:
    if isa_name and m.isa and isa_name != m.isa:
        raise IsakitError(f"{m.path} holds {m.isa} code, not {isa_name}")
    if variant:
        m.variant = variant
    for name, kernel in m.kernels.items():
        if kernel.address == 0 and m.kind in ("raw", "hex", "vuc"):
            kernel.address = address
            program = m.instruction_set.disassemble(kernel.code, address, program_type)
            program.annotations = kernel.annotations
            yield name, program
        else:
            yield name, m.disassemble(kernel, program_type)


def _listed(name: str, program: Program) -> ListedProgram:
    instructions = [_listed_instruction(i) for i in program]
    return ListedProgram(name, program.isa, program.variant, program.program_type, program.tail, instructions)


def _listed_instruction(i: Instruction) -> ListedInstruction:
    return ListedInstruction(
        i.address,
        i.size,
        list(i.words),
        i.text,
        i.mnemonic,
        [str(o) for o in i.operands],
        list(i.reads),
        list(i.writes),
        OMITTED if i.error is None else i.error,
        i.unknown_bits or OMITTED,
    )


class _ListingOptions:
    """The options of a listing: the columns and notes it shows besides the instructions."""

    def __init__(self, program: Program, symbols: bool, live: bool, blocks: bool, demangle: bool) -> None:
        self.program = program
        self._demangle = demangle
        self._names = self._live = self._headings = None
        if not (symbols or live or blocks):
            return
        from isakit.analysis import KernelNames, control_flow
        from isakit.analysis.columns import BlockHeadings, LiveColumns

        flow = control_flow(program)
        kernel = program.kernel
        self._names = KernelNames(kernel, flow) if symbols and kernel is not None else None
        self._live = LiveColumns(flow) if live else None
        self._headings = BlockHeadings(flow) if blocks else None

    def heads(self) -> Iterator[str]:
        """Yield comments before the program."""
        kernel = self.program.kernel
        if self._demangle and kernel is not None:
            from isakit.analysis.cpp_names import demangled

            yield f"// {printable(demangled(kernel.name))}"
        if self._live is not None:
            from isakit.asm.printer import note_column

            room = max(0, note_column(self.program) - len("//"))
            yield from (f"//{'':{room}}{line}" for line in self._live.heads())

    @property
    def notes(self) -> Callable[[Instruction], str] | None:
        """The function that returns the text after the words of an instruction, if any."""
        live, names = self._live, self._names
        if live is None:
            return None if names is None else lambda i: ", ".join(names.of(i.address))
        if names is None:
            return live.of
        return lambda i: f"{live.of(i)}  {', '.join(names.of(i.address))}".rstrip()

    @property
    def before(self) -> Callable[[Instruction], Iterable[str]] | None:
        """Lines before an instruction."""
        return None if self._headings is None else self._headings.of


def _write(
    program: Program, words: bool, labels: bool, source: bool, beside: _ListingOptions, header: bool, collapse: bool
) -> None:
    from isakit.asm.printer import lines
    from isakit.asm.source_listing import source_listing
    from isakit.export.listing_library import PlainLines, code_lines

    if source and program.lines is None:
        echo("// this program does not know its source lines", err=True)
    total = program.unit_count
    shown = total > _MANY and not sys.stdout.isatty() and sys.stderr.isatty()
    with progress("disassembling", total, wanted=shown) as bar:
        rows: Iterable[str] = lines(
            program, words=words, labels=labels, header=header, notes=beside.notes, before=beside.before,
            collapse=collapse and beside.before is None, code=code_lines,
        )  # fmt: skip
        if source:
            rows = source_listing(program, labels=labels, header=header)
        written = 0
        for text in _batches(itertools.chain(beside.heads(), rows)):
            echo(text, painted=_painted, plain=isinstance(text, PlainLines))
            if shown:  # to count the lines takes as long as to write them
                written += 1 + text.count("\n")
                bar(completed=min(written, total))


def _batches(rows: Iterable[str]) -> Iterator[str]:
    """Yield lines, some of which may be several in one text, in texts of about a million characters."""
    batch: list[str] = []
    size = 0
    for row in rows:
        if len(row) < _LONG:
            batch.append(row)
            size += len(row)
        if batch and (size >= _BATCH or len(row) >= _LONG):
            yield "\n".join(batch)
            batch, size = [], 0
        if len(row) >= _LONG:
            yield row
    if batch:
        yield "\n".join(batch)


_COLOURS = re.compile(
    r"(?P<comment>//.*)|(?P<label>^\w+:)|(?P<directive>^\s*\.\w+)|(?P<register>\$\w+)|(?P<number>\b0x[0-9a-f]+\b)|"
    r"(?P<name>^\s+(?:\([^)]*\) )?(?:(?:exit|join|long) )*[a-z]\w*)"
)
_CODES = {"comment": "90", "label": "33", "directive": "35", "register": "36", "number": "32", "name": "1"}


def _painted(lines: str) -> str:
    return "\n".join(map(_paint, lines.split("\n")))


def _paint(line: str) -> str:
    return _COLOURS.sub(lambda m: f"\x1b[{_CODES[m.lastgroup or 'name']}m{m[0]}\x1b[0m", line)
