"""Functions and variables that Cg and GLSL have without a declaration, and the instructions that a function becomes."""

from __future__ import annotations

from functools import cache

from isakit.compile.shading.builtins import FRAGMENT, UNIFORMS, VERTEX
from isakit.compile.shading.intrinsics import INTRINSICS
from isakit.compile.shading.language import LANGUAGES
from isakit.errors import IsakitError
from isakit.lsp.texts import KnownName

_LETTERS = {
    "glsl": {"F": "genType", "f": "float", "N": "genType", "n": "float", "I": "genIType", "B": "genBType", "b": "bool",
             "U": "genUType", "u": "uint", "2": "vec2", "3": "vec3", "4": "vec4", "S": "sampler2D", "C": "samplerCube",
             "M": "mat", "1": "sampler1D", "D": "sampler3D", "v": "void"},
    "cg": {"F": "floatN", "f": "float", "N": "floatN", "n": "float", "I": "intN", "B": "boolN", "b": "bool",
           "U": "uintN", "u": "uint", "2": "float2", "3": "float3", "4": "float4", "S": "sampler2D", "C": "samplerCUBE",
           "M": "floatNxN", "1": "sampler1D", "D": "sampler3D", "v": "void"},
}  # fmt: skip
_TRIED = {"F": "4", "N": "4", "n": "f"}
"""Letters of signatures to the letters of the types that a function is tried with."""


@cache
def shader_names(language: str) -> dict[str, KnownName]:
    """Return the names that `cg` or `glsl` has without a declaration."""
    letters, found = _LETTERS[language], dict[str, KnownName]()
    for name, ways in INTRINSICS[language].items():
        spelled = [
            f"{letters[result]} {name}({', '.join(letters[p] for p in parameters)})"
            for way in ways
            for result, _, parameters in (s.partition(":") for s in way.signatures if ":" in s)
        ]
        found[name] = KnownName("function", tuple(dict.fromkeys(spelled)) or (f"{name}(...)",))
    if language == "glsl":
        for variables, where in ((VERTEX, "vertex"), (FRAGMENT, "fragment"), (UNIFORMS, "uniform")):
            for name, v in variables.items():
                told = (
                    f"{LANGUAGES[language].say(v.type)} {name}",
                    f"{v.role} of {where} shaders" if where != "uniform" else where,
                )
                earlier = found.get(name)
                more = earlier.becomes + "; " if earlier is not None else ""
                found[name] = KnownName("variable", told[:1], more + told[1])
    found |= {name: KnownName("type", (name,)) for name in LANGUAGES[language].types if " " not in name}
    return found


@cache
def instructions(language: str, name: str) -> str:
    """Return the instructions that a call of a function becomes in a shader; "" for one without floats as result."""
    for way in INTRINSICS[language].get(name, ()):
        for signature in way.signatures:
            result, _, parameters = signature.partition(":")
            kinds = [_TRIED.get(p, p) for p in parameters]
            if _TRIED.get(result, result) in "f234" and set(kinds) <= set("f234SC"):
                return _listing(language, name, kinds)
    return ""


def _listing(language: str, name: str, kinds: list[str]) -> str:
    from isakit.compile.shading.compiled import compile_shader

    letters = _LETTERS[language]
    given = [(n, (k, letters[k])) for n, k in enumerate(kinds)]
    call = f"{name}({', '.join(f'x{k}' for k in range(len(kinds)))})"
    if language == "glsl":
        text = "".join(f"{'uniform' if k in 'SC' else 'varying'} {t} x{n};" for n, (k, t) in given)
        text += f"void main() {{ gl_FragColor = vec4({call}); }}"
    else:
        declared = [f"uniform {t} x{n}" if k in "SC" else f"{t} x{n} : TEXCOORD{n}" for n, (k, t) in given]
        text = f"float4 main({', '.join(declared)}) : COLOR {{ return {call}; }}"
    try:
        module = compile_shader(text, language=language, stage="fragment", path="<shader>")
    except IsakitError:
        return ""
    own = [i.text for i in module.kernels["primary"].program if not i.text.startswith("phas")]
    return "\n".join(own) or "(it is sampled before the program begins)"


__all__ = ["instructions", "shader_names"]
