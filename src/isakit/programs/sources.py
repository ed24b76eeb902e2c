"""Programs in source languages: which language a file is written in, by its ending, and its module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from isakit.description import Module
from isakit.errors import IsakitError
from isakit.registry import VARIANT_TO_ARCH

KERNEL_ENDINGS = {".cu": "cuda", ".cl": "opencl", ".py": "python"}
SHADER_ENDINGS = {".cg": "cg", ".hlsl": "cg", ".vert": "glsl", ".frag": "glsl", ".glsl": "glsl"}
ENDINGS = {**KERNEL_ENDINGS, **SHADER_ENDINGS}
"""The languages of source files by the endings of their names; files of other names are detected by their content."""


def language_of(path: str | None) -> str | None:
    """Return the source language that the ending of a file's name says, None for another ending."""
    return None if path is None else ENDINGS.get(os.path.splitext(path)[1].lower())


def ptx_of_source(
    text: str,
    path: str,
    language: str,
    variant: str | None = None,
    extra: Sequence[str] = (),
    named: bool = False,
    debug_build: bool = False,
) -> str:
    """Return the PTX of kernels in CUDA C, OpenCL C or Python, for a chip.

    `path` names the text in messages and lines; where it is a file, a compiler of C reads that in place of the text,
    so that files beside it are found. `extra` are options for that compiler; `named`: with marks of the values of
    variables, `debug_build`: one for debuggers. Raises CompileError, and NoCompilerError where C needs a compiler.
    """
    if language == "python":
        from isakit.compile.python import compile_text

        return compile_text(text, path, named, debug_build)[0]
    from isakit.compile.c import compile_c

    arch = int(VARIANT_TO_ARCH.get(variant or "", "sm_13").removeprefix("sm_"))
    given = None if Path(path).is_file() else text
    return compile_c(path, given, language, extra, arch=arch, named=named, debug_build=debug_build)


def compiled_source(
    text: str | bytes, path: str, language: str, variant: str | None = None, named: bool = False,
    macros: Mapping[str, str] | None = None, folders: Sequence[str] = (), debug_build: bool = False,
) -> Module:  # fmt: skip
    """Return the module of a source text in a language of `ENDINGS`, for a chip; a shader has no choice of one.

    Bytes are a shader as SPIR-V.

    Its programs have line tables; `named`: with the places of variables, which keep their values for longer in a
    `debug_build`. Of C and shaders `macros` are defined, and files are included from `folders`, too.
    Raises CompileError where something of it does not compile.
    """
    if (macros or folders) and (isinstance(text, bytes) or language == "python"):
        raise IsakitError("macros and folders of included files are for C and for texts of shaders")
    if isinstance(text, bytes):
        from isakit.compile.shading.compiled import compile_shader

        return compile_shader(text, path=path)
    if language in SHADER_ENDINGS.values():
        from isakit.compile.shading.compiled import beside, compile_shader

        return compile_shader(text, language=language, path=path, defines=macros or {},
                              resolver=beside(path, [os.path.abspath(f) for f in folders]),
                              named=named, debug_build=debug_build)  # fmt: skip
    if language not in KERNEL_ENDINGS.values():
        raise IsakitError(f"there is no source language {language!r}")
    from isakit.compile import compile_ptx

    extra = [*(f"-I{os.path.abspath(f)}" for f in folders), *(f"-D{n}={v}" for n, v in (macros or {}).items())]
    ptx = ptx_of_source(text, path, language, variant, extra, named, debug_build)
    return compile_ptx(ptx, variant, path=path, origin=text).module


__all__ = ["ENDINGS", "KERNEL_ENDINGS", "SHADER_ENDINGS", "compiled_source", "language_of", "ptx_of_source"]
