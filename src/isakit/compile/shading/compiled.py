"""Shaders from source text to shader modules, with line tables of their instructions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypedDict, Unpack

from isakit.compile.garbage import no_collections
from isakit.compile.shading.front import LANGUAGES, STAGES, Front, front_end, language_of, stage_of
from isakit.compile.shading.preprocessor import Resolver
from isakit.compile.shading.source import ShaderSources
from isakit.compile.shading.spirv.front import read_spirv, spirv_front
from isakit.compile.usse.shader_file import TARGETS, compile_shader_ir
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.formats import Shader
from isakit.formats.shader import read_gxp
from isakit.lean import dataclass
from isakit.line_table import LineTable, SourceLine

_BYTES = 8


@dataclass
class ShaderBuild:
    """A compiled shader: the module, the bytes of its file, and warnings for its author."""

    shader: Shader
    data: bytes
    stage: str
    language: str
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


class ShaderOptions(TypedDict, total=False):
    """Options of `compile_shader`, where they are described."""

    stage: str | None
    language: str | None
    path: str
    entry: str
    target: str
    defines: Mapping[str, str] | None
    varyings: Mapping[str, str] | None
    resolver: Resolver | None
    named: bool
    debug_build: bool


def compile_shader(text: str | bytes, **options: Unpack[ShaderOptions]) -> Shader:
    """Compile a shader for the Vita's SGX543.

    Args:
        text: Cg or GLSL; bytes are a SPIR-V module.
        stage: `vertex` or `fragment` (default: as the path or the text implies).
        language: `cg` or `glsl` (default: likewise), `spirv` for bytes.
        path: name of the text in messages.
        entry: the function that is the program (default: `main`; of SPIR-V the only one of the stage).
        target: the format of a fragment program's colour: `f16x4` (default), `f32x4`, or `u8x4` for the colour of the
            tile itself.
        defines: macros by name.
        varyings: semantics that connect inputs and outputs of GLSL, by name: `{"v_tint": "COLOR0"}`. Others get texture
            coordinates, in the order of their declarations.
        resolver: finds the files that the text includes: (name, path of the file that asks) to (path, text). Without
            it nothing is included.
        named: the line tables have the locations of the text's variables; the code is the same.
        debug_build: likewise, and a variable keeps its value until it is assigned, as far as there are registers.

    Returns:
        The module: it runs with `isakit.usse.run`, and its programs have line tables.

    Raises CompileError with everything that is wrong.
    """
    return build_shader(text, **options).shader


@no_collections()
def build_shader(text: str | bytes, **options: Unpack[ShaderOptions]) -> ShaderBuild:
    """Compile a shader, as `compile_shader` does, and keep the bytes of its file and the warnings."""
    unknown = options.keys() - ShaderOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"there is no option {min(unknown)!r} of a shader's compilation")
    path, target = options.get("path", "<text>"), options.get("target", "f16x4")
    if target not in TARGETS:
        raise IsakitError(f"{target!r} is not a target; there are {', '.join(TARGETS)}")
    if isinstance(text, bytes):
        module = read_spirv(text, path, options.get("stage"), options.get("entry", ""))
        front = spirv_front(module, target, options.get("varyings") or {})
        return _finished(front, module.stage, "spirv", path)
    language = options.get("language") or language_of(path, text)
    if language not in LANGUAGES:
        raise IsakitError(f"{language!r} is not a shading language; there are {' and '.join(LANGUAGES)}")
    stage = options.get("stage") or stage_of(path, text)
    if stage is None:
        notes = ("name the stage, vertex or fragment",)
        said = "the text does not say whether it is a vertex or a fragment program"
        raise CompileError([Diagnostic(1, 1, said, text.partition("\n")[0][:160], notes=notes, path=path)])
    if stage not in STAGES:
        raise IsakitError(f"{stage!r} is not a stage; there are {' and '.join(STAGES)}")
    front = front_end(text, stage=stage, language=language, path=path, entry=options.get("entry", "main"),
                      target=target, defines=options.get("defines"), varyings=options.get("varyings"),
                      resolver=options.get("resolver"), named=options.get("named", False),
                      debug_build=options.get("debug_build", False))  # fmt: skip
    return _finished(front, stage, language, path)


def _finished(front: Front, stage: str, language: str, path: str) -> ShaderBuild:
    """Compile what a front end read."""
    try:
        made = compile_shader_ir(front.function, front.interface, front.sources.path)
    except CompileError as e:
        raise CompileError([_placed(d, front.sources, path) for d in e.diagnostics]) from None
    shader = read_gxp(made.data, path if path != "<text>" else None)
    for name, lines in (("primary", made.lines), ("secondary", made.secondary_lines)):
        rows = ((_BYTES * at, SourceLine(0, front.sources.path(loc[1]), loc[0])) for at, loc in lines.items() if loc[0])
        shader.kernels[name].lines = LineTable(rows, "", made.variables if name == "primary" else ())
    return ShaderBuild(shader, made.data, stage, language, front.sources.warnings)


def _placed(d: Diagnostic, sources: ShaderSources, path: str) -> Diagnostic:
    """Return a message of the back end at its line; in the text at `path` if the line names no other."""
    return sources.at_line(d.line, d.message, d.notes, path if d.path == Diagnostic.path else d.path)


def beside(top: str, folders: Sequence[str] = (), above: bool = False) -> Resolver:
    """Return a function that finds files beside a file, in `folders`, and in folders below these, but nowhere else.

    `above`: `../` may leave these folders, as in a source that a makefile compiles.
    """
    roots = [os.path.realpath(f) for f in (os.path.dirname(os.path.abspath(top)), *folders)]

    def find(name: str, asking: str) -> tuple[str, str]:
        if os.path.isabs(name):
            raise OSError("only files beside the shader are included")
        outside = False
        for near in (os.path.dirname(asking) or ".", *folders):
            path = os.path.join(near, name)
            real = os.path.realpath(path)
            if not os.path.isfile(real):
                continue
            if above or any(os.path.commonpath([root, real]) == root for root in roots):
                with open(real, "rb") as f:
                    return path, f.read().decode("utf-8-sig", "replace")
            outside = True
        raise OSError("it does not lie beside the shader: name its folder with -I" if outside else
                      "there is no such file beside the shader")  # fmt: skip

    return find


__all__ = ["STAGES", "TARGETS", "ShaderBuild", "beside", "build_shader", "compile_shader"]
