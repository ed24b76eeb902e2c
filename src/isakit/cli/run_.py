"""`isakit run`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from isakit.cli.arguments import FORMS, Argument, macros, parse, place_shared, plain
from isakit.cli.common import (
    UTF16_MARKS,
    Dimensions,
    Options,
    echo,
    echo_json,
    engine_options,
    isa_option,
    json_option,
    named_code,
    progress,
    read_bytes,
    shown,
    text_of,
    variant_option,
)
from isakit.errors import FormatError, IsakitError, MachineFault
from isakit.instruction_sets import isa, isa_of_text
from isakit.programs.kernel_names import only
from isakit.registry import SPIRV_MAGIC
from isakit.results import OMITTED, Omitted, Output, record, records_at

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.cli.microcode import MicrocodeRun
    from isakit.description import Module, Param
    from isakit.runtime import Device
    from isakit.runtime.kernel import LoadedKernel
    from isakit.texture import Sampler, Texture

_FOR_KERNELS = ("kernel", "grid", "block", "chip", "tier", "threads", "registers", "shared", "local")
_SOURCE = re.compile(rb"^[ \t]*\.(kernel|isa|program|regs|param)\b", re.MULTILINE)


@record
class ReturnedArgument:
    """An output argument: its elements, or the file they were saved in."""

    index: int
    dtype: str
    shape: list[int]
    file: str | Omitted
    values: list[object] | Omitted


@record
class KernelCost:
    """The cost of a launch."""

    instructions: int
    warp_instructions: int
    seconds: float
    instructions_per_second: int
    engine: str


@record
class KernelRun:
    """A launch that ended."""

    kernel: str | None
    stats: KernelCost
    arguments: list[ReturnedArgument]


@record
class SavedResult:
    """A shader's result that was saved."""

    file: str
    shape: list[int]


@record
class ShaderCost:
    """The cost of a shader."""

    instructions: int


@record
class ShaderRun:
    """A shader that ended; results that were not saved are lists of numbers."""

    stats: ShaderCost
    outputs: dict[str, SavedResult | list[object]]


@record
class FaultedRun:
    """The fault that ended a run: its kind, and its location as far as known."""

    fault: dict[str, Any]


OUTPUT = Output(
    "run",
    1,
    records_at(
        "isakit.cli.run_:KernelRun",
        "isakit.cli.run_:ShaderRun",
        "isakit.cli.microcode:MicrocodeRun",
        "isakit.cli.run_:FaultedRun",
    ),
)


@click.command(
    "run",
    epilog=f"""\b
Examples:
  isakit run kernel.cubin --kernel saxpy --grid 4 --block 256 --arg inout:y.npy --arg in:x.npy --arg f32:2.0
  isakit run saxpy.s --grid 1 --block 32 --arg out:f32:32 --stats
\b
An argument is one of: {FORMS} shared:BYTES
A texture is NAME=FILE.npy, then any of ,linear ,normalized ,scaled ,repeat ,mirror ,border ,edge.
A shader takes arrays by name, --arg position=in:p.npy, and textures from pictures and arrays, --texture
NAME=FILE, then any of ,nearest ,linear ,clamp ,repeat ,mirror. --arg color=out:FILE saves a result: .png, .npy.
Microcode takes files: --arg data=FILE[@CELL] --arg ring=FILE --arg trace=- --arg save_data=FILE ...""",
)
@click.option("--kernel", metavar="NAME", help="The kernel, where the file has several.")
@click.option("--grid", type=Dimensions(2), default="1", metavar="X[,Y]", help="Blocks.  [default: 1]")
@click.option("--block", type=Dimensions(3), default="1", metavar="X[,Y[,Z]]", help="Threads of a block.  [default: 1]")
@click.option("--arg", "specs", multiple=True, metavar="SPEC", help="An argument of the kernel; see below.")
@click.option("--chip", default="gt200", metavar="CHIP", help="The simulated chip.  [default: gt200]")
@engine_options()
@click.option("--texture", "textures", multiple=True, metavar="SPEC", help="A texture of the kernel; see below.")
@click.option("--registers", type=click.IntRange(1, 128), help="Registers per thread, in place of what the file says.")
@click.option("--shared", type=click.IntRange(0), default=0, help="Shared bytes per block beside what the file says.")
@click.option("--local", type=click.IntRange(0), help="Local bytes per thread, in place of what the file says.")
@click.option("--max", "limit", type=click.IntRange(1), metavar="N", help="Stop after N warp instructions, or cycles.")
@click.option("-D", "macros", multiple=True, metavar="NAME[=TEXT]", help="Define a macro of a C or shader source.")
@click.option("-I", "folders", multiple=True, metavar="DIR", help="Look for included files in DIR, too.")
@click.option("--stats", is_flag=True, help="Show what the run took.")
@isa_option()
@variant_option
@json_option
@click.argument("file", metavar="FILE|-")
def command(file: str, isa_name: str | None, variant: str | None, as_json: bool, **options: Any) -> None:
    """Run a kernel, shader or microcode on a simulated chip.

    FILE may also be an assembly text that says `.kernel`, PTX, or a source: CUDA C (.cu), OpenCL C (.cl), Python (.py),
    a shader (.cg, .vert, .frag, .glsl).
    """
    if os.path.isdir(file):
        raise FormatError(file, 0, "it is a folder; `isakit replay` runs a capture again")
    source = load_source(read_bytes(file), shown(file), isa_name, variant, options["chip"], options["kernel"],
                         defines=macros(options["macros"]), folders=options["folders"])  # fmt: skip
    arguments = [(spec, *split_spec(spec)) for spec in options["specs"]]
    run = {"tesla": _tesla, "vuc": _vuc, "usse": _usse}[source.isa or "tesla"]
    if run is not _tesla:
        refuse_kernel_options("microcode" if run is _vuc else "a shader", () if run is _usse else ("textures",))
    options["as_json"] = as_json
    try:
        result, texts = run(source, arguments, options)
    except MachineFault as e:
        if as_json:
            echo_json(FaultedRun({k: v for k, v in vars(e).items() if v is not None and v != ""}))
        raise
    if as_json:
        echo_json(result)
        return
    for text in texts:
        echo(text)
    if options["stats"]:
        for name, value in vars(result.stats).items():
            echo(f"{name}: {value}")


def refuse_kernel_options(what: str, more: tuple[str, ...]) -> None:
    """Raise click.UsageError if an option was given that only kernels have, or one of `more`."""
    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        if name in (*_FOR_KERNELS, *more) and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{what} takes no {option.opts[0]}; that is for Tesla kernels", context)


def split_spec(spec: str) -> tuple[str, str]:
    """Return (name, rest) of `NAME=SPEC`."""
    m = re.match(r"([A-Za-z_][\w.\[\]]*)=", spec)
    return (m[1], spec[m.end() :]) if m else ("", spec)


def load_source(
    data: bytes,
    path: str,
    isa_name: str | None,
    variant: str | None,
    chip: str,
    kernel: str | None,
    named: bool = False,
    defines: Mapping[str, str] | None = None,
    folders: Sequence[str] = (),
    debug_build: bool = False,
) -> Module | Program:
    """Return the program in a file's content, as `run` loads it; with `named`, with the locations of its variables.

    `debug_build`: compile for debuggers, so that variables keep their values. `defines` (macros) and `folders` (of
    included files) are for sources in C and shaders. Raises IsakitError.
    """
    from isakit.asm import declared
    from isakit.programs.sources import compiled_source, language_of

    if data[:4] in SPIRV_MAGIC:
        return compiled_source(data, path, "spirv", macros=defines, folders=folders)
    if data[:2] in UTF16_MARKS:
        data = text_of(data).encode()
    language = language_of(path)
    if language is not None and b"\0" not in data:
        return compiled_source(text_of(data), path, language, variant or chip, named, defines, folders, debug_build)
    if defines or folders:
        raise IsakitError(f"{path}: -D and -I are for sources in C and texts of shaders")
    if _is_ptx(data):
        from isakit.compile import compile_ptx
        from isakit.compile.debug_records import as_debug_build

        text = as_debug_build(text_of(data)) if debug_build else text_of(data)
        return compile_ptx(text, variant or chip, path=path, named=named).module
    binary = data[:1] == b"\x7f"  # an ELF file may hold a source text
    if not binary and _SOURCE.search(data) and not data.lstrip().startswith(b"architecture"):
        text = text_of(data)
        name = (isa_name or "tesla").lower()
        # A text that does not say its chip is for the simulated one.
        chosen = isa_of_text(text, isa_name, variant) if declared(text) else None
        return (chosen or isa(name, variant or (chip if name == "tesla" else None))).assemble(text, path=path)
    if isa_name is not None and not binary and (program := _listing(data, path, isa_name, variant)) is not None:
        return program
    from isakit.programs import load_all

    return _choose(load_all(data, **named_code(isa_name, variant), path=path), kernel, chip)


def _listing(data: bytes, path: str, isa_name: str, variant: str | None) -> Program | None:
    """Return the program of an assembly text for a named instruction set; None for words, and for other files."""
    try:
        program = isa(isa_name, variant).assemble(text_of(data), path=path)
    except IsakitError:  # readers of files say more
        return None
    return program if program.units else None


def _is_ptx(data: bytes) -> bool:
    if b".version" not in data[:0x4000]:
        return False
    from isakit.compile.ptx import is_ptx

    return is_ptx(data)


def _choose(modules: list[Module], kernel: str | None, chip: str) -> Module:
    """Return the program in a file that has the kernel, if possible for the chip.

    Raises IsakitError if the kernel is in none of them, or has to be named.
    """
    if len(modules) == 1:
        return modules[0]
    name = only(kernel, (name for m in modules for name in m.kernels), "the file")
    having = [m for m in modules if name in m.kernels]
    return next((m for m in having if m.variant == chip), having[0])


@contextmanager
def _busy(what: str) -> Generator[None]:
    """Show on a terminal that a run is in progress."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def _progress(what: str) -> Generator[None]:
    """Show on a terminal how many blocks of a launch are done, if the engine reports it, once it takes a while."""
    from isakit.machine.progress import watching

    with progress(what) as bar, watching(lambda done, total: bar(completed=done, total=total)):
        yield


Result = tuple["KernelRun | ShaderRun | MicrocodeRun", list[str]]


def prepared_kernel(
    source: Module | Program, specs: list[tuple[str, str, str]], options: Options
) -> tuple[Device, LoadedKernel, list[Argument]]:
    """Prepare the device, the kernel and the arguments that options of `run` name.

    Raises IsakitError, click.UsageError.
    """
    from isakit.runtime import Device

    for spec, name, _ in specs:
        if name:
            raise click.BadParameter(f"{spec!r}: a kernel takes its arguments in order", param_hint="--arg")
    arguments = [parse(spec, shared=True) for spec, _, _ in specs]
    device = Device(options["chip"], engine=options["engine"], tier=options["tier"], threads=options["threads"])
    sizes = {k: options[k] for k in ("registers", "local")}
    kernels = device.load(source, **sizes)
    kernel = kernels[only(options["kernel"], kernels, "the file")]
    for spec in options["textures"]:
        kernel.bind(*_texture(spec))
    if kernel.params is not None and len(kernel.params) != len(arguments):
        names = ", ".join(p.name or f"#{i}" for i, p in enumerate(kernel.params))
        given = " ".join(f"--arg {_example(p)}" for p in kernel.params)
        raise click.UsageError(
            f"{kernel.name} takes {len(kernel.params)} arguments ({names or 'none'}), got {len(arguments)}"
            + (f"; for instance: {given}" if given else "")
        )
    options["shared"] = place_shared(kernel, arguments, options["shared"])
    return device, kernel, arguments


def _tesla(source: Module | Program, specs: list[tuple[str, str, str]], options: Options) -> Result:
    device, kernel, arguments = prepared_kernel(source, specs, options)
    # What the kernel prints must not end up before the JSON.
    printed = redirect_stdout(sys.stderr) if options["as_json"] else nullcontext()
    with _progress(f"running {kernel.name}"), printed:
        stats = kernel.launch(
            options["grid"], options["block"], *(a.value for a in arguments), max_instructions=options["limit"],
            dynamic_shared=options["shared"],
        )  # fmt: skip
    outputs, texts = outputs_of(list(enumerate(arguments)), options["as_json"])
    rate = round(stats.instructions / stats.seconds) if stats.seconds else 0
    took = KernelCost(stats.instructions, stats.warp_instructions, stats.seconds, rate, device.engine)
    return KernelRun(kernel.name, took, outputs), texts


def _example(p: Param) -> str:
    """Return a --arg for a parameter, to be copied and filled in."""
    if p.kind in ("f32", "f64"):
        return f"{p.kind}:1.0"
    if p.is_shared:
        return "shared:1024"
    if p.is_pointer or (not p.kind and p.size == 4):
        return f"zeros:{p.element or 'f32'}:1024"  # what only has a size may be an address
    return f"i{8 * p.size}:1" if p.size in (4, 8) else f"in:{p.name or 'data'}.npy"


_WRAPS = ("repeat", "mirror", "border", "edge")


def _texture(spec: str) -> tuple[str | int, Texture, Sampler]:
    """Return (name or number, texture, sampler) of a --texture."""
    from isakit.runtime import Sampler, Texture
    from isakit.runtime.npy import load_array

    name, sep, rest = spec.partition("=")
    path, *words = rest.split(",")
    unknown = [w for w in words if w not in ("linear", "normalized", "scaled", *_WRAPS)]
    if not sep or not path or unknown:
        raise click.BadParameter(f"{spec!r}: give NAME=FILE.npy, then linear, normalized, scaled or "
                                 f"{', '.join(_WRAPS)}", param_hint="--texture")  # fmt: skip
    array = load_array(path)
    target: Any = {1: "1d", 2: "2d", 3: "3d"}.get(array.ndim)
    if target is None:
        raise FormatError(path, 0, f"has {array.ndim} axes; a texture has one to three")
    texture = Texture(
        array[..., None], target=target, read="normalized" if "scaled" in words else "element",
        normalized="normalized" in words,
    )  # fmt: skip
    smooth: Any = "linear" if "linear" in words else "nearest"
    wrap: Any = next((w for w in words if w in _WRAPS), "edge")
    return int(name) if name.isdigit() else name, texture, Sampler(wrap=wrap, mag=smooth, min=smooth)


def outputs_of(arguments: list[tuple[int, Argument]], as_json: bool) -> tuple[list[ReturnedArgument], list[str]]:
    """Return the results: saved if a file was named, else as plain data for JSON, or as text."""
    import numpy as np

    outputs: list[ReturnedArgument] = []
    texts: list[str] = []
    for index, a in arguments:
        if not a.returned:
            continue
        shape = "x".join(str(n) for n in a.value.shape)
        head = f"argument {index} ({a.value.dtype}, {shape})"
        saved: str | Omitted = OMITTED
        values: Any = OMITTED
        if a.path is not None:
            with open(a.path, "wb") as f:  # a name without .npy stays as it is
                np.save(f, a.value, allow_pickle=False)
            saved = str(a.path)
            texts.append(f"{head}: saved as {a.path}")
        elif as_json:
            values = plain(a.value)
        else:
            texts.append(f"{head}:\n{np.array2string(a.value, threshold=64, max_line_width=110)}")
        outputs.append(ReturnedArgument(index, str(a.value.dtype), list(a.value.shape), saved, values))
    return outputs, texts


def _vuc(source: Module | Program, specs: list[tuple[str, str, str]], options: Options) -> Result:
    from isakit.cli.microcode import run_image

    with _busy("running"):
        return run_image(source, [spec for spec, _, _ in specs], max_cycles=options["limit"], engine=options["engine"])


def _usse(source: Module | Program, specs: list[tuple[str, str, str]], options: Options) -> Result:
    import numpy as np

    import isakit
    from isakit.cli.shader_inputs import save_result, shader_to_run

    shader, given = shader_to_run(source, specs, options["textures"])
    limit = {} if options["limit"] is None else {"max_instructions": options["limit"]}
    with _busy("running"):
        out = isakit.usse.run(shader, engine=options["engine"], **given.inputs, **limit)
    arrays = {name: np.asarray(value) for name, value in dict(out).items()}
    for name in given.outputs:
        if name not in arrays:
            raise IsakitError(f"the shader has no attribute or result {name!r}; its results are {', '.join(arrays)}")
    texts: list[str] = []
    outputs: dict[str, Any] = {}
    for n, v in arrays.items():
        path = given.outputs.get(n)
        if path is not None:
            save_result(path, n, v)
            outputs[n] = SavedResult(str(path), list(v.shape))
            texts.append(f"{n}: saved as {path}")
        elif options["as_json"]:
            outputs[n] = plain(v)
        else:
            texts.append(f"{n}:\n{np.array2string(v, threshold=64, max_line_width=110)}")
    return ShaderRun(ShaderCost(out.instructions), outputs), texts


__all__ = ["command", "load_source", "outputs_of", "prepared_kernel", "refuse_kernel_options", "split_spec"]
