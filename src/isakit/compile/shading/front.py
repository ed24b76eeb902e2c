"""From the text of a shader to a function of the IR and the shader's interface."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from isakit.compile.ir import Function
from isakit.compile.shader import ShaderInterface
from isakit.compile.shading.builtins import built_ins
from isakit.compile.shading.check import Check
from isakit.compile.shading.entry import Program
from isakit.compile.shading.language import LANGUAGES
from isakit.compile.shading.parser import Parser
from isakit.compile.shading.prelude import prelude
from isakit.compile.shading.preprocessor import Preprocessed, Preprocessor, Resolver
from isakit.compile.shading.source import ShaderSources, ShadingError
from isakit.compile.shading.syntax import FunctionSyntax
from isakit.compile.shading.typed import CheckedShader, TypedFunction

STAGES = ("vertex", "fragment")
_NAMES = {".vert": ("vertex", "glsl"), ".frag": ("fragment", "glsl"), ".glsl": ("", "glsl"), ".cg": ("", "cg"),
          ".hlsl": ("", "cg"), ".vs": ("vertex", "glsl"), ".fs": ("fragment", "glsl")}  # fmt: skip
ENDINGS = tuple(_NAMES)
"""Endings of the names of shader files."""
_TAIL = re.compile(r"(?:^|[._-])(?:v|vs|vp|vert|vertex)$|(?:^|[._-])(f|fs|fp|ps|frag|fragment|pixel)$", re.I)


class Front(NamedTuple):
    """A shader as the back end takes it: the function before SSA form, and its interface."""

    function: Function
    interface: ShaderInterface
    sources: ShaderSources


def language_of(path: str, text: str) -> str:
    """Return the language of a file, by the ending of its name, else by its content."""
    ending = path[path.rfind(".") :].lower() if "." in path else ""
    if ending in _NAMES:
        return _NAMES[ending][1]
    return "glsl" if re.search(r"^\s*#\s*version\b|\bgl_(?:Position|FragColor|FragData)\b", text, re.M) else "cg"


def stage_of(path: str, text: str) -> str | None:
    """Return the stage of a file, by its name or by features that only one stage has; None if neither decides."""
    stem, dot, ending = path.rpartition(".")
    found = _NAMES.get(f".{ending.lower()}", ("", ""))[0] if dot else ""
    if found:
        return found
    if all(re.search(rf"\bmain_{stage}\s*\(", text) for stage in STAGES):
        return None
    m = _TAIL.search((stem if dot else path).replace("\\", "/").rpartition("/")[2])
    if m:
        return "fragment" if m[1] else "vertex"
    if re.search(
        r"\bgl_(?:Position|PointSize|Vertex|VertexID|InstanceID)\b|\battribute\b|:\s*(?:HPOS|CLP[0-7]|PSIZE?)\b", text
    ):
        return "vertex"
    if re.search(
        r"\bgl_Frag\w+|\bdiscard\b|\bgl_FrontFacing\b|\bgl_PointCoord\b|:\s*(?:WPOS|SPRITECOORD|DEPTH)\b", text
    ):
        return "fragment"
    outputs = set(re.findall(r"\bout\s+(?:\w+\s+)*?\w+\s*:\s*([A-Z]+)|\)\s*:\s*([A-Z]+)", text))
    names = {a or b for a, b in outputs}
    if "POSITION" in names:
        return "vertex"
    if names & {"COLOR", "SV_TARGET"}:
        return "fragment"
    return None


def front_end(
    text: str,
    *,
    stage: str,
    language: str = "cg",
    path: str = "<text>",
    entry: str = "main",
    target: str = "f16x4",
    defines: Mapping[str, str] | None = None,
    varyings: Mapping[str, str] | None = None,
    resolver: Resolver | None = None,
    named: bool = False,
    debug_build: bool = False,
) -> Front:
    """Read a shader.

    Args:
        text: the text.
        stage: `vertex` or `fragment`.
        language: `cg` or `glsl`.
        path: name of the text in messages.
        entry: the function that is the program.
        target: how a colour leaves a fragment program.
        defines: macros by name.
        varyings: semantics of inputs and outputs of GLSL between the programs, by name.
        resolver: finds included files; without it there are none.
        named: marks record the values of the text's variables.
        debug_build: likewise, and these values are computed even if nothing else needs them.

    Raises CompileError with everything that is wrong.
    """
    sources, of = ShaderSources(), LANGUAGES[language]
    try:
        got = Preprocessor(sources, defines or {}, resolver, glsl=of.product).run(sources.add(path, text))
        declarations = Parser(got.tokens, of).run()
        own = {d.name for d in declarations if isinstance(d, FunctionSyntax)}
        declarations = [*prelude(of, {t.text for t in got.tokens} - own, sources), *declarations]
        check = Check(of, stage, sources, built_ins(stage))
        check.columns = _packs_columns(got)
        shader = check.run(declarations)
        for v in shader.variables:
            if ("isakit", "raw", "(", v.name, ")") in got.pragmas:
                v.qualifiers |= {"__regformat"}
        interface = ShaderInterface(stage, target=target, file_names=_file_names(got))
        program = Program(shader, of, interface, sources, varyings or {})
        program.named = named or debug_build
        program.function.debugged = debug_build
        program.lower(_entry(shader, entry, stage, got, sources))
    except ShadingError as e:
        raise sources.failure([e]) from None
    except RecursionError:
        raise sources.failure([ShadingError(sources.files[-1].first, "this is nested too deeply")]) from None
    return Front(program.function, interface, sources)


def _packs_columns(got: Preprocessed) -> bool:
    """Return whether the last `#pragma pack_matrix` selects column_major."""
    columns = False
    for p in got.pragmas:
        if p[:1] == ("pack_matrix",):
            columns = "column_major" in p
    return columns


def _file_names(got: Preprocessed) -> dict[str, str]:
    """Return the names of parameters in the file that `#pragma isakit name(variable) name` gives."""
    found: dict[str, str] = {}
    for p in got.pragmas:
        if p[:3] == ("isakit", "name", "(") and p[4:5] == (")",) and len(p) > 5:
            found.setdefault(p[3], "".join(p[5:]))
    return found


def _entry(
    shader: CheckedShader, name: str, stage: str, got: Preprocessed, sources: ShaderSources
) -> TypedFunction:  # fmt: skip
    """Return the function that is the program: without a `main`, that of the stage (`main_vertex`)."""
    there = {n: found for n, known in shader.functions.items() if (found := [f for f in known if f.body is not None])}
    known = there.get(name, [])
    if not known and name == "main" and len(there.get(f"main_{stage}", [])) == 1:
        name = f"main_{stage}"
        known = there[name]
        sources.warn(known[0].pos, f"there is no `main`: `{name}` is the program", len(name))
    if not known:
        last = list(there)[-3:]
        notes = (f"there {'is' if len(last) == 1 else 'are'} {', '.join(f'`{n[:40]}`' for n in last)}",) if last else ()
        raise ShadingError(got.tokens[-1].pos, f"there is no function `{name[:40]}`", notes=notes)
    if len(known) > 1:
        raise ShadingError(known[1].pos, f"there are several functions `{name[:40]}`", len(name))
    return known[0]


__all__ = ["ENDINGS", "LANGUAGES", "STAGES", "Front", "front_end", "language_of", "stage_of"]
