"""`isakit info`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from isakit.cli.common import (
    NO,
    Dimensions,
    echo,
    echo_json,
    isa_option,
    json_option,
    named_code,
    read_bytes,
    shown,
    variant_option,
)
from isakit.errors import IsakitError
from isakit.hosts.drm import is_capture
from isakit.machine.tesla.occupancy import Occupancy, OccupancyRecord, occupancy
from isakit.registry import VARIANTS
from isakit.results import OMITTED, Omitted, Output, column, record, table

if TYPE_CHECKING:
    from isakit.description import InfoRecord, Kernel, Module, TextureSlot


@record
class TextureUse:
    """A texture, and the unit it is bound to if the file says so."""

    name: str
    unit: int | None


@record
class FileAttribute:
    """A note of the compiler; `data` in hexadecimal digits."""

    number: int
    name: str
    data: bytes


@record
class FileParameter:
    """A parameter of a kernel: offset and size in bytes, its place among the parameters."""

    name: str
    type: str
    offset: int
    size: int | None
    index: int


@record
class DeviceVariable:
    """A variable in device memory; its size in bytes, and whether the file has its first value."""

    name: str
    size: int
    initialised: bool


def _known(n: int | None) -> str:
    return "" if n is None else str(n)


def _listed(params: list[FileParameter]) -> str:
    return ", ".join(
        f"{p.type or ('?' if p.size is None else f'b{8 * p.size}')}{f' {p.name}' if p.name else ''} at {p.offset:#x}"
        for p in params
    )


@record
class FileKernel:
    """A kernel or program of a file; sizes in bytes, None if the file does not give them."""

    name: str = column("kernel")
    code_bytes: int = column("code", ">")
    registers: int | None = column("registers", ">", _known)
    shared_bytes: int | None = column("shared", ">", _known)
    local_bytes: int | None = column("local", ">", _known)
    barriers: int | None = column("barriers", ">", _known)
    params: list[FileParameter] = column("parameters", text=_listed)
    constants: dict[int, int]
    samplers: list[TextureUse]
    attributes: list[FileAttribute]
    occupancy: list[OccupancyRecord] | Omitted


@record
class ProgramFile:
    """A file with programs, or one of those in a larger file; `stage` and `parameters` of shaders."""

    path: str | None
    offset: int
    kind: str
    isa: str
    variant: str
    kernels: list[FileKernel]
    constants: dict[int, int]
    globals: list[DeviceVariable]
    samplers: list[TextureUse]
    attributes: list[FileAttribute]
    stage: str | Omitted
    parameters: list[object] | Omitted
    complaints: list[str] | Omitted


@record
class EmbeddedPtx:
    """A PTX text beside the machine code of a file."""

    kind: str
    offset: int
    size: int
    version: str
    target: str
    kernels: list[str]


@record
class GlCaptureFile:
    """A capture of `isakit gl`: bytes of memory in use at most, and written by the program; classes of its objects."""

    kind: str
    path: str
    chip: str
    memory_bytes: int
    written_bytes: int
    channels: int
    pushes: int
    classes: list[int]


OUTPUT = Output("info", 1, lambda: list[ProgramFile | EmbeddedPtx | GlCaptureFile])


@click.command(
    "info",
    epilog="""\b
Examples:
  isakit info kernel.cubin
  isakit info --block 16,16 kernel.cubin
  isakit info --check *.gxp
  isakit info frame.glc""",
)
@isa_option()
@variant_option
@json_option
@click.option(
    "--block",
    type=Dimensions(3),
    metavar="X[,Y[,Z]]",
    help="Show how many such blocks of threads a multiprocessor of each chip holds, and what limits them.",
)
@click.option(
    "--shared",
    type=click.IntRange(0, 1 << 14),
    default=0,
    help="With --block: shared memory that launches add, in bytes.",
)
@click.option("--check", is_flag=True, help="Look at shaders as a strict loader does; exit status 3 if it complains.")
@click.argument("files", metavar="FILE...|-", nargs=-1, required=True)
def command(
    isa_name: str | None,
    variant: str | None,
    as_json: bool,
    block: tuple[int, ...] | None,
    shared: int,
    check: bool,
    files: tuple[str, ...],
) -> None:
    """Show kernels, registers, memory, parameters and occupancy of program files, or the contents of GL captures."""
    from isakit.programs.reading import load_all

    threads = None if block is None else _threads(block)
    code = named_code(isa_name, variant)
    records: list[ProgramFile | EmbeddedPtx | GlCaptureFile] = []
    complained = False
    for file in files:
        if is_capture(Path(file)):
            capture = _capture(Path(file))
            records.append(capture)
            if not as_json:
                _show_capture(capture)
            continue
        data = read_bytes(file)
        modules = load_all(data, **code, path=shown(file))
        texts = _ptx_texts(data)
        found = [_complaints(m) if check else None for m in modules]
        complained |= any(found)
        if as_json:
            records += [_file(m, threads, shared, said) for m, said in zip(modules, found, strict=True)]
            records += texts
        elif check:
            for m, said in zip(modules, found, strict=True):
                for line in said or ["nothing to complain about"]:
                    _line(f"{m.path or '<stdin>'}: {line}")
        else:
            _show_file(modules, texts, threads, shared)
    if as_json:
        echo_json(records)
    if complained:
        click.get_current_context().exit(NO)


def _show_file(modules: Sequence[Module], texts: Sequence[EmbeddedPtx], threads: int | None, shared: int) -> None:
    """Print the contents of a file: its programs and its PTX texts."""
    for m in modules:
        _show(m)
        if threads is not None:
            _show_occupancy(m, threads, shared)
    for t in texts:
        count = len(t.kernels)
        _line(f"PTX at {t.offset:#x}: {t.size} bytes, {t.version}, for {t.target}; "
              f"{count or 'no'} kernel{'s' * (count != 1)}{':' * bool(count)}")  # fmt: skip
        for name in t.kernels:
            _line(f"  {name}")


def _capture(path: Path) -> GlCaptureFile:
    """Return the contents of a capture of a GL program. Raises FormatError for a damaged one."""
    from isakit.hosts.drm.capture import contents
    from isakit.hosts.drm.chips import CHIPS

    c = contents(path)
    chip = CHIPS[c.chip].name if c.chip in CHIPS else f"{c.chip:#x}"
    return GlCaptureFile(
        "gl capture", shown(str(path)), chip, c.memory_bytes, c.written_bytes, c.channels, c.pushes, list(c.classes)
    )


def _show_capture(c: GlCaptureFile) -> None:
    """Print the contents of a capture of a GL program."""
    _line(f"{c.path}: capture of a GL program on {c.chip}")
    _line(f"memory: {c.memory_bytes} bytes in use at most, {c.written_bytes} written by the program")
    _line(f"commands: {c.pushes} pushes on {c.channels} channel{'s' * (c.channels != 1)}")
    _line(f"engine objects: {', '.join(f'{n:#06x}' for n in c.classes)}")
    _line("draws: isakit replay --list")


def _complaints(m: Module) -> list[str]:
    """Return the complaints of a strict loader about a shader. Raises IsakitError for other files."""
    from isakit.formats import Shader

    if not isinstance(m, Shader):
        raise IsakitError(f"--check is for shader files (GXP), not for {m.kind}")
    return m.complaints()


_PTX = re.compile(r"\.version\s+([\d.]+).*?\.target\s+(\w+)", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")


def _ptx_texts(data: bytes) -> list[EmbeddedPtx]:
    """Return the PTX texts beside the machine code of a file."""
    from isakit.formats import find_embedded

    out: list[EmbeddedPtx] = []
    for f in find_embedded(data) if b".version" in data else ():
        m = _PTX.match(f.text)
        if m is not None:
            out.append(EmbeddedPtx("ptx", f.offset, f.size, m[1], m[2], _ENTRY.findall(f.text)))
    return out


def _threads(block: tuple[int, ...]) -> int:
    threads = math.prod(block)
    if threads > _MOST_THREADS:
        raise click.BadParameter(f"{threads} threads; a block has at most {_MOST_THREADS}", param_hint="--block")
    return threads


_MOST_THREADS = 512


def _occupancies(k: Kernel, threads: int, shared: int) -> list[Occupancy]:
    """Return the occupancy on each chip, none if the file does not give the kernel's number of registers."""
    if k.registers is None or k.module is None or k.module.isa != "tesla":
        return []
    return [occupancy(chip, threads, k.registers, (k.shared_bytes or 0) + shared) for chip in VARIANTS["tesla"]]


def _show_occupancy(m: Module, threads: int, shared: int) -> None:
    """Print a line per kernel and kind of chip."""
    for k in m.kernels.values():
        alike: dict[tuple[int, int, int, str], list[str]] = {}
        for o in _occupancies(k, threads, shared):
            alike.setdefault((o.blocks, o.warps, o.most, o.limit), []).append(o.chip)
        for (blocks, warps, most, limit), chips in alike.items():
            _line(f"occupancy of {k.name} in blocks of {threads} on {', '.join(chips)}: {blocks} blocks, "
                  f"{warps} of {most} warps ({100 * warps // most} %), limited by {limit}")  # fmt: skip


def _file(m: Module, threads: int | None, shared: int, complaints: list[str] | None = None) -> ProgramFile:
    from isakit.formats import Shader

    return ProgramFile(
        path=m.path,
        offset=m.offset,
        kind=m.kind,
        isa=m.isa,
        variant=m.variant,
        kernels=[_kernel(k, threads, shared) for k in m.kernels.values()],
        constants={bank: len(m.constant_bytes(bank)) for bank in m.constants},
        globals=[DeviceVariable(g.name, g.size, g.data is not None) for g in m.globals],
        samplers=_samplers(m.samplers),
        attributes=_attributes(m.info),
        stage=m.stage if isinstance(m, Shader) else OMITTED,
        parameters=list(m.parameters) if isinstance(m, Shader) else OMITTED,
        complaints=OMITTED if complaints is None else complaints,
    )


def _kernel(k: Kernel, threads: int | None, shared: int) -> FileKernel:
    return FileKernel(
        name=k.name,
        code_bytes=len(k.code),
        registers=k.registers,
        shared_bytes=k.shared_bytes,
        local_bytes=k.local_bytes,
        barriers=k.barriers,
        params=_params(k),
        constants={bank: len(k.constant_bytes(bank)) for bank in k.constants},
        samplers=_samplers(k.samplers),
        attributes=_attributes(k.info),
        occupancy=OMITTED if threads is None else [o.record(threads) for o in _occupancies(k, threads, shared)],
    )


def _params(k: Kernel) -> list[FileParameter]:
    """Return the parameters of a kernel; of files that list offsets only, the last one has no size."""
    from isakit.formats.nvinfo import param_offsets

    if k.params:
        return [FileParameter(p.name, p.kind, p.offset, p.size, n) for n, p in enumerate(k.params)]
    offsets = param_offsets(k.info)
    sizes = [*(max(0, end - start) for start, end in pairwise(offsets)), None]
    return [
        FileParameter("", "", offset, size, n) for n, (offset, size) in enumerate(zip(offsets, sizes, strict=False))
    ]


def _samplers(samplers: Iterable[TextureSlot]) -> list[TextureUse]:
    return [TextureUse(s.name, s.unit) for s in samplers]


def _attributes(records: list[InfoRecord]) -> list[FileAttribute]:
    """Return the compiler's notes besides registers, memory, parameters and textures."""
    from isakit.formats.nvinfo import ATTRIBUTES

    return [FileAttribute(r.attribute, ATTRIBUTES.get(r.attribute, f"{r.attribute:#x}"), r.data) for r in records]


def _show(m: Module) -> None:
    """Print lines for every kernel, whatever the width of the terminal: they are searched and copied from."""
    from isakit.formats import Shader

    where = f" at {m.offset:#x}" if m.offset else ""
    kind = f"{m.kind}, {m.isa or 'unknown instruction set'} {m.variant}".strip()
    _line(f"{m.path or '<data>'}{where}: {kind}")
    for row in table(FileKernel, [_kernel(k, None, 0) for k in m.kernels.values()], fit=True):
        _line(row)
    for bank in m.constants:
        _line(f"c{bank}: {len(m.constant_bytes(bank))} bytes")
    for g in m.globals:
        _line(f"variable {g.name}: {g.size} bytes")
    for s in m.samplers:
        _line(f"texture {s.name}" + ("" if s.unit is None else f" at unit {s.unit}"))
        for k in m.kernels.values():
            for used in (u for u in k.samplers if u.name == s.name):
                _line(f"  at unit {used.unit} in {k.name}")
    noted = [("the file", a) for a in _attributes(m.info)]
    noted += [(k.name, a) for k in m.kernels.values() for a in _attributes(k.info)]
    for what, a in noted:
        _line(f"attribute {a.name} of {what}: {a.data.hex()}".rstrip(": "))
    if isinstance(m, Shader):
        _line(f"stage: {m.stage}")
        for line in m.directives():
            if line.split()[0] in _INTERFACE:
                _line(line[1:])


_INTERFACE = {
    ".attribute", ".uniform", ".sampler", ".surface", ".buffer", ".parameter", ".varying", ".result", ".outputs"
}  # fmt: skip
"""Directives that declare the inputs and outputs of a shader."""


def _line(text: str) -> None:
    echo(text.replace("\n", "\\n"))
