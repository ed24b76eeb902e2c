"""Texts from the editor: assembly, PTX, CUDA C, OpenCL C, Python and Cg become programs.

A page may come from another person, so that opening it must not run anything on the host: Python texts are
translated, never executed, and C texts may not name files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.errors import AsmError, Diagnostic, IsakitError
from isakit.json_text import JsonObject
from isakit.web.limits import SOURCE

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.description import Module
    from isakit.formats import Shader

LANGUAGES = {"asm": ".s", "ptx": ".ptx", "python": ".py", "cuda": ".cu", "opencl": ".cl", "cg": ".cg", "text": ".txt"}
"""Languages of the editor, and how their files end; a `text` is no program."""


def assembled(text: str, isa_name: str, variant: str) -> Program:
    """Assemble a text; its own `.isa` counts before what the page chose."""
    from isakit.asm import declared
    from isakit.instruction_sets import isa, isa_of_text

    _check_size(text)
    chosen = isa_of_text(text, None, None) if declared(text) else None
    if chosen is not None and chosen.name == isa_name and variant:
        said = declared(text)
        chosen = chosen if said is not None and said.variant else isa(isa_name, variant)
    return (chosen or isa(isa_name, variant or None)).assemble(text, path=_path("asm"))


def compiled(text: str, language: str, variant: str) -> tuple[Module, str, list[Diagnostic]]:
    """Compile a text: the module, its PTX, and what is wrong with kernels that are not in it.

    Raises CompileError with places in the text, IsakitError where no compiler for the language is installed.
    """
    from isakit.compile import compile_ptx
    from isakit.compile.debug_records import without_marks

    _check_size(text)
    if language == "asm" or language not in LANGUAGES:
        raise IsakitError(f"there is no language {language!r}; there are {', '.join(LANGUAGES)}")
    params: JsonObject = {}
    path = _path(language)
    if language == "ptx":
        ptx = text
    elif language == "python":
        from isakit.compile.python import compile_text

        ptx, params = compile_text(text, path, named=True)
    else:
        from isakit.compile.c import compile_c

        ptx = compile_c(path, text, language, alone=True, named=True)
    own = language == "ptx"
    got = compile_ptx(ptx, variant or "gt200", path=path, origin=None if own else text, named=own)
    for name, given in params.items():
        if name in got.module.kernels:
            got.module.kernels[name].params = given
    return got.module, without_marks(ptx)[0], got.diagnostics


def shaded(text: str) -> Shader:
    """Compile a shader in Cg. Raises CompileError with places in the text."""
    from isakit import compile_shader

    _check_size(text)
    return compile_shader(text, language="cg", path=_path("cg"), named=True)


def diagnostics(error: AsmError) -> list[JsonObject]:
    """Return errors as plain data; lines and columns count from 1."""
    return [diagnostic_data(d) for d in error.diagnostics]


def diagnostic_data(d: Diagnostic) -> JsonObject:
    """Return one error as plain data."""
    return {"line": d.line, "column": d.column, "width": d.width, "message": d.message, "notes": list(d.notes)}


def _path(language: str) -> str:
    """Return the name of the editor's text in messages."""
    return f"kernel{LANGUAGES[language]}"


def _check_size(text: str) -> None:
    if len(text) > SOURCE:
        raise IsakitError(f"the text has {len(text)} characters; the workbench takes {SOURCE}")
