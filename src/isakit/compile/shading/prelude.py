"""Functions with several results, written in the languages themselves and parsed where a shader calls them."""

from __future__ import annotations

from collections.abc import Collection

from isakit.compile.shading.language import Language
from isakit.compile.shading.lexer import tokens
from isakit.compile.shading.parser import Parser
from isakit.compile.shading.source import ShaderSources
from isakit.compile.shading.syntax import FunctionSyntax

_MODF = "{T} modf({T} x, out {T} whole) { whole = trunc(x); return x - whole; }"
_FUNCTIONS = {
    "cg": {"modf": _MODF, "sincos": "void sincos({T} x, out {T} s, out {T} c) { s = sin(x); c = cos(x); }"},
    "glsl": {"modf": _MODF},
}
_TYPES = {"cg": ("float", "float2", "float3", "float4"), "glsl": ("float", "vec2", "vec3", "vec4")}


def prelude(language: Language, used: Collection[str], sources: ShaderSources) -> list[FunctionSyntax]:
    """Return the functions that a shader uses by name, for every float type."""
    wanted = [text for name, text in _FUNCTIONS[language.name].items() if name in used]
    if not wanted:
        return []
    text = "\n".join(f.replace("{T}", kind) for f in wanted for kind in _TYPES[language.name])
    read = Parser(tokens(sources.add("<library>", text)), language).run()
    return [d for d in read if isinstance(d, FunctionSyntax)]
