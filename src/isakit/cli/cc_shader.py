"""`isakit cc` for shaders."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from isakit.cli.arguments import macros
from isakit.cli.common import echo, echo_json, read_bytes, read_text, shown, write_bytes
from isakit.cli.shapes import SourceError, source_errors
from isakit.compile.usse.shader_cost import ShaderCost
from isakit.errors import CompileError
from isakit.results import OMITTED, Omitted, record

if TYPE_CHECKING:
    from isakit.compile.shading.compiled import ShaderBuild
    from isakit.formats import Shader

LANGUAGES = ("cg", "glsl", "spirv")
FORMATS = ("gxp", "asm", "c")


@record
class CompiledShaderFile:
    """A compiled shader: the bytes of its file, and the instructions of its two programs."""

    stage: str
    language: str
    bytes: int
    primary_instructions: int
    secondary_instructions: int
    parameters: list[str]
    warnings: list[SourceError]
    cost: ShaderCost | Omitted


@record
class ShaderErrors:
    """The errors of a shader that was not compiled."""

    errors: list[SourceError]


def varyings(given: Sequence[str]) -> dict[str, str]:
    """Return the semantics of `--varying NAME=SEMANTIC` options. Raises click.BadParameter."""
    out: dict[str, str] = {}
    for text in given:
        name, mark, semantic = text.partition("=")
        if not mark or not name or not semantic:
            raise click.BadParameter(f"{text!r}: write NAME=SEMANTIC, as v_tint=COLOR0", param_hint="--varying")
        out[name] = semantic
    return out


def compile_file(
    file: str, output: str, emit: str | None, as_json: bool, *, language: str, stage: str | None, target: str,
    defines: Sequence[str], connected: Sequence[str], folders: Sequence[str] = (), cost: bool = False,
    entry: str | None = None, lines: bool = False,
) -> None:  # fmt: skip
    """Compile a shader and write it. Raises CompileError."""
    from isakit.compile.shading.compiled import beside, build_shader

    binary = language == "spirv"
    if binary and (defines or folders):
        raise click.UsageError("-D and -I apply to source texts only")
    text = read_bytes(file) if binary else read_text(file)
    try:
        made = build_shader(text, stage=stage, language=language, path=shown(file), target=target,
                            entry=entry or ("" if binary else "main"),
                            defines=macros(defines), varyings=varyings(connected),
                            resolver=None if file == "-" else beside(file, folders))  # fmt: skip
    except CompileError as e:
        if as_json:
            echo_json(ShaderErrors(source_errors(e.diagnostics, named=True)))
        raise
    for d in made.warnings:
        echo(str(d).replace(": error: ", ": warning: ", 1), err=True)
    if as_json:
        echo_json(_result(made, cost))
        return
    kind = emit or _format_of(output)
    if lines and (output == "-" or kind != "gxp"):
        raise click.UsageError("-g writes beside the shader file that -o names")
    if cost:
        echo(cost_lines(made.shader, shown(file)), nl=False)
    if not cost or output != "-":
        write_bytes(output, _emitted(made, kind, file))
    if lines:
        from isakit.line_table import pack
        from isakit.programs.reading import LINES_ENDING

        tables = {name: k.lines for name, k in made.shader.kernels.items() if k.lines is not None}
        write_bytes(f"{output}{LINES_ENDING}", pack(tables, made.data))


def _format_of(output: str) -> str:
    ending = os.path.splitext(output)[1].lower()
    return {".gxp": "gxp", ".c": "c", ".h": "c"}.get(ending, "asm" if output == "-" else "gxp")


def cost_lines(shader: Shader, path: str) -> str:
    """Return the cost of a shader as text."""
    from isakit.compile.usse.cost import cost_of

    c = cost_of(shader)
    most = "any number, as a loop has no bound" if c.most_issues is None else str(c.most_issues)
    each = "vertex" if shader.stage == "vertex" else "pixel"
    rows = [
        (f"instructions per {each}", str(c.least_issues) if most == str(c.least_issues) else
         f"{c.least_issues} to {most}"),
        ("instructions", f"{c.primary_instructions}, and {c.secondary_instructions} once per draw"),
        ("textures", f"{c.texels_before} read before the program, {c.samples} by it"),
        ("arithmetic", f"{c.f32_operations} operations f32, {c.f16_operations} f16"),
        ("registers", f"{c.primary_registers} for inputs, {c.temporary_registers} temporary, {c.shared_registers} for "
         "uniforms and constants"),
    ]  # fmt: skip
    width = max(len(name) for name, _ in rows)
    out = [f"{name:{width}}  {value}\n" for name, value in rows]
    out += [f"{path}{f':{n.line}' if n.line else ''}: note: {n.message}\n" for n in c.notes]
    return "".join(out)


def _result(made: ShaderBuild, cost: bool) -> CompiledShaderFile:
    from isakit.compile.usse.cost import cost_of

    s = made.shader
    return CompiledShaderFile(
        made.stage, made.language, len(made.data), len(s.primary), len(s.secondary),
        [p.name for p in s.parameters], source_errors(made.warnings, named=True), cost_of(s) if cost else OMITTED,
    )  # fmt: skip


def _emitted(made: ShaderBuild, emit: str, file: str) -> bytes:
    if emit == "gxp":
        return made.data
    if emit == "c":
        return c_array(made.data, os.path.splitext(os.path.basename(file))[0] if file != "-" else "shader").encode()
    return _listing(made.shader).encode()


def _listing(shader: Shader) -> str:
    """Return the whole file as a text that assembles to it, with the lines of the source between the instructions."""
    from isakit.asm.source_listing import source_listing

    out = shader.directives()
    for name, program in (("primary", shader.primary), ("secondary", shader.secondary)):
        if len(program):
            out += [f".program {name}", *source_listing(program, header=False)]
    return "".join(f"{line}\n" for line in out)


def c_array(data: bytes, stem: str) -> str:
    """Return a file as an array of C, aligned as the system wants a program."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    name = f"_{name}" if name[:1].isdigit() or not name else name
    rows = [", ".join(f"0x{b:02x}" for b in data[k : k + 16]) for k in range(0, len(data), 16)]
    body = "".join(f"    {row},\n" for row in rows)
    return f"static const unsigned char {name}_gxp[{len(data)}] __attribute__((aligned(16))) = {{\n{body}}};\n"
