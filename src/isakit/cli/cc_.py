"""`isakit cc`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from isakit.cli.cc_shader import FORMATS, LANGUAGES, CompiledShaderFile, ShaderErrors, compile_file
from isakit.cli.common import (
    BAD_INPUT,
    echo,
    echo_json,
    json_option,
    read_bytes,
    read_text,
    shown,
    socket_place,
    variant_option,
    write_bytes,
)
from isakit.cli.shapes import Parameter, SourceError, parameters, source_errors
from isakit.errors import CompileError
from isakit.programs.sources import language_of, ptx_of_source
from isakit.results import OMITTED, Omitted, Output, record

if TYPE_CHECKING:
    from isakit.compile import Compiled

_LANGUAGES = ("ptx", "cuda", "opencl", "python", *LANGUAGES)


@record
class CompiledCode:
    """A compiled kernel; sizes in bytes."""

    name: str
    bytes: int
    registers: int | None
    shared_bytes: int | None
    local_bytes: int | None
    barriers: int | None
    params: list[Parameter]


@record
class CompiledFile:
    """The kernels of a file that compile, the errors of the others, and the chip they are for."""

    variant: str | Omitted
    kernels: list[CompiledCode]
    errors: list[SourceError]


OUTPUT = Output("cc", 1, lambda: CompiledFile | CompiledShaderFile | ShaderErrors)


@click.command(
    "cc",
    epilog="""\b
Examples:
  isakit cc kernel.ptx                      shows the code, with the PTX it comes from
  isakit cc kernel.cu -V gt200 -o kernel.cubin --emit elf
  isakit cc kernels.py --emit ptx
  isakit cc texture_f.cg -o texture_f.gxp   a shader for the Vita; --format c writes an array of C
  isakit cc --serve 4550                    compiles shaders for programs that ask for them, at this port""",
)
@variant_option
@click.option(
    "-x", "--language", type=click.Choice(_LANGUAGES), help="What FILE is written in.  [default: by its ending]"
)
@click.option("-o", "--output", metavar="OUT", default="-", help="The file to write.  [default: -]")
@click.option(
    "--emit", "--format", type=click.Choice(["ptx", "asm", "cubin", "elf", "gxp", "c"]),
    help="PTX, assembly, a text cubin, an ELF cubin; a shader file, or that as an array of C.  [default: asm; elf and "
    "gxp where OUT says so]",
)  # fmt: skip
@click.option("--stage", type=click.Choice(["vertex", "fragment"]), help="Of a shader.  [default: by its name or text]")
@click.option(
    "--target", default="f16x4", metavar="FORMAT", help="How a shader's colour leaves it: f16x4, f32x4, u8x4."
)
@click.option("--varying", "varyings", metavar="NAME=SEMANTIC", multiple=True,
              help="What connects an input or output of GLSL, as v_tint=COLOR0; repeatable.")  # fmt: skip
@click.option("--entry", metavar="NAME", help="The function of a shader that is its program.  [default: main]")
@click.option("-g", "lines", is_flag=True, help="Write the lines of a shader's source beside OUT, as OUT.lines.")
@click.option("--cost", is_flag=True, help="Say what a shader costs, and which lines cost more than they may need to.")
@click.option("-D", "macros", metavar="NAME[=TEXT]", multiple=True, help="Define a macro; repeatable.")
@click.option("--maxregs", type=click.IntRange(4, 124), help="Registers per thread to use at most.")
@click.option("-k", "--kernel", "kernels", metavar="NAME", multiple=True, help="Compile this kernel only; repeatable.")
@click.option(
    "--show", metavar="PASS", help="Print the code as PASS leaves it, to standard error; `all` for every pass."
)
@click.option(
    "-I",
    "includes",
    metavar="DIR",
    multiple=True,
    help="Look for headers of C, and files that a shader includes, in DIR; repeatable.",
)
@click.option("-U", "undefined", metavar="NAME", multiple=True, help="Undefine a macro; repeatable.")
@click.option("-include", "before", metavar="HEADER", multiple=True, help="Include HEADER first; repeatable.")
@click.option("-O", "level", type=click.Choice(["0", "1", "2", "3", "s"]), help="How C is optimised.  [default: 2]")
@click.option("--std", metavar="STANDARD", help="The C or C++ of FILE, such as c++14 or CL2.0.")
@click.option("-v", "--verbose", is_flag=True, help="Say which compiler of C is used.")
@click.option(
    "--serve",
    callback=socket_place,
    metavar="PORT|SOCKET",
    help="Compile shaders for programs that ask at a port of this machine (0: a free one) or socket.",
)
@json_option
@click.argument("file", metavar="FILE|-", required=False)
def command(
    variant: str | None,
    language: str | None,
    output: str,
    emit: str | None,
    stage: str | None,
    target: str,
    varyings: tuple[str, ...],
    cost: bool,
    entry: str | None,
    lines: bool,
    macros: tuple[str, ...],
    maxregs: int | None,
    kernels: tuple[str, ...],
    show: str | None,
    includes: tuple[str, ...],
    undefined: tuple[str, ...],
    before: tuple[str, ...],
    level: str | None,
    std: str | None,
    verbose: bool,
    serve: int | str | None,
    as_json: bool,
    file: str | None,
) -> None:
    """Compile kernels for g80, g84, gt200, gt215 or mcp77, and shaders for the Vita's sgx543.

    FILE is PTX, CUDA C (.cu), OpenCL C (.cl) or Python with @isakit.kernel functions (.py). C needs a clang that is
    installed, and may have code for the host as well, which `isakit nvcc` makes a program of: here it is only
    checked. Below sm_13 a double is a float. Python is read and not run: kernels are the decorated functions at the
    top of the file, constants are names that one assignment there gives a number. A kernel compiles as a whole or
    not at all: the others are still written, and the exit status is 1.

    A shader is Cg as the Vita's programs are written in (.cg), GLSL (.vert, .frag, .glsl), or SPIR-V (.spv) as other
    compilers make it of HLSL and desktop GLSL. Its stage is that of its name (x.frag, x_v.cg), or what only one stage
    has. Files are included from the shader's own folder.

    --serve compiles no FILE: programs of this machine send texts of shaders and get their files, until Ctrl-C.
    """
    if serve is not None:
        if file is not None:
            raise click.UsageError("--serve takes no FILE: programs send the texts")
        _serve(serve)
    if file is None:
        raise click.UsageError("Missing argument 'FILE|-'.")
    language = language or ("spirv" if file.endswith(".spv") else language_of(file)) or "ptx"
    if language in LANGUAGES:
        if emit not in (*FORMATS, None):
            raise click.UsageError(f"a shader is written as {', '.join(FORMATS)}, not as {emit}")
        compile_file(file, output, emit, as_json, language=language, stage=stage, target=target, defines=macros,
                     connected=varyings, folders=includes, cost=cost, entry=entry, lines=lines)  # fmt: skip
        return
    of_shaders = {
        "-g is for shaders: a cubin has the lines in it": lines,
        "--entry is for shaders; -k chooses a kernel": entry,
        "--cost is for shaders; `isakit profile` counts what a kernel does": cost,
        f"a kernel is not written as {emit}": emit in ("gxp", "c"),
    }
    if (why := next((text for text, given in of_shaders.items() if given), None)) is not None:
        raise click.UsageError(why)
    if emit is None:
        emit = "elf" if output.endswith((".cubin", ".elf")) else "asm"
    extra = [*(f"-I{os.path.abspath(v)}" for v in includes), *(f"-D{v}" for v in macros)]
    extra += [*(f"-U{v}" for v in undefined), *(x for v in before for x in ("-include", _found(v)))]
    extra += [f"-O{level}"] if level else []
    if extra and language not in ("cuda", "opencl"):
        raise click.UsageError("-I, -D, -U, -O and -include are for CUDA C and OpenCL C")
    if std:
        extra.append(f"-cl-std={std}" if language == "opencl" else f"-std={std}")
    if verbose and language in ("cuda", "opencl"):
        from isakit.compile.c import newest_clang

        echo(str(newest_clang()), err=True)
    text, path, origin = _ptx(file, language, extra, variant)
    if emit == "ptx":
        write_bytes(output, text.encode())
        return
    from isakit.compile import compile_ptx

    def watch(name: str, code: str) -> None:
        if show in (name, "all"):
            echo(f"--- {name}\n{code}", err=True)

    try:
        got = compile_ptx(
            text,
            variant,
            path=path,
            origin=origin,
            max_registers=maxregs or 0,
            kernels=kernels,
            watch=watch if show else None,
        )
    except CompileError as e:
        if as_json:
            echo_json(CompiledFile(OMITTED, [], source_errors(e.diagnostics, named=True)))
        raise
    if as_json:
        compiled = [
            CompiledCode(
                k.name, len(k.code), k.registers, k.shared_bytes, k.local_bytes, k.barriers, parameters(k.params)
            )
            for k in got.module.kernels.values()
        ]
        echo_json(CompiledFile(got.module.variant, compiled, source_errors(got.diagnostics, named=True)))
    else:
        write_bytes(output, _emitted(got, emit))
    if got.diagnostics:
        for d in got.diagnostics:
            echo(str(d), err=True)
        sys.exit(BAD_INPUT)


def _serve(place: int | str) -> NoReturn:
    """Serve programs until the process is interrupted."""
    from isakit.cli.cc_server import CompileServer, warm
    from isakit.debug.loopback import listener, place_of

    listening = listener(place)
    server = CompileServer(listening)
    warm()
    echo(f"shaders are compiled at {place_of(listening)}", err=True)
    server.run()


def _found(header: str) -> str:
    """Give a header its folder if it is a file here, since the compiler is started elsewhere."""
    return os.path.abspath(header) if os.path.exists(header) else header


def _ptx(file: str, language: str, extra: Sequence[str], variant: str | None) -> tuple[str, str, str | None]:
    """Return the PTX of a file for a chip, the file's name in messages, and its text if that is not the PTX."""
    path = shown(file)
    if language == "ptx":
        return read_text(file), path, None
    # The compiler of C takes comments in any encoding.
    text = read_bytes(file).decode("utf-8", "replace") if language != "python" and file != "-" else read_text(file)
    return ptx_of_source(text, path, language, variant, extra), path, text


def _emitted(got: Compiled, emit: str) -> bytes:
    from isakit import formats
    from isakit.compile.listing import listing

    if emit == "elf":
        return formats.write_elf_cubin(got.module)
    if emit == "cubin":
        return formats.write_text_cubin(got.module).encode()
    return listing(got.module).encode()
