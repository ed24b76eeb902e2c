"""Functions that CUDA C and OpenCL C have without a declaration, as our headers define them."""

from __future__ import annotations

import re
from functools import cache

from isakit.compile.c.clang import CUDA_HEADERS, OPENCL_HEADER
from isakit.compile.shading.preprocessor import Preprocessor
from isakit.compile.shading.source import ShaderSources
from isakit.lsp.c_names import CNames
from isakit.lsp.texts import KnownName

_LONGEST = 400
"""Most characters of a body that is shown."""
_DEFINED = {"__CUDACC__": "1", "__cplusplus": "201103", "__clang__": "1", "__clang_major__": "19"}
_OWN = re.compile(r"_*(?i:isakit|nvvm)|.*_H_*\Z|__CUDA|__cplusplus|__clang|GL_ES|__[A-Z_]+\Z|__dv\Z")
_SPECIAL = re.compile(r"const __isakit_(\w+) \1\Z")
"""Variables whose parts are special registers."""
_ATTRIBUTES = re.compile(r"\b(?:static|inline|extern)\b|__attribute__ \( \( (?:[^()]|\( [^()]* \))* \) \)")
_TIDY = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"(?<!return) (?=\()| (?=[,;\]).\[>])|(?<=[(\[.~!<]) |(?<=[*&]) (?=[\w*&])"), ""),
)


@cache
def c_names(language: str) -> dict[str, KnownName]:
    """Return the names that `cuda` or `opencl` has without a declaration; takes half a second the first time."""
    sources = ShaderSources()
    path = OPENCL_HEADER if language == "opencl" else CUDA_HEADERS / "cuda_runtime.h"

    def header(name: str, _: str) -> tuple[str, str]:
        file = path.parent / name
        text = file.read_text("utf-8") if file.is_file() else ""  # of the host: nothing there runs on a chip
        return str(file), text

    pre = Preprocessor(sources, _DEFINED if language == "cuda" else {}, header)
    text = " ".join(t.text for t in pre.run(sources.add(str(path), header(path.name, "")[1])).tokens)
    text = text.replace(": :", "::")
    found: dict[str, KnownName] = {}
    names = CNames(text)
    for d in names.definitions:
        if d.section or _OWN.match(d.name):
            continue
        declared = _SPECIAL.sub(r"uint3 \1", _tidy(names.declaration(d)))
        known = found.get(d.name)
        if known is None:
            found[d.name] = KnownName(d.kind, (declared,), _body(text, names.offset(d)) if d.kind == "function" else "")
        elif declared not in known.spellings:
            found[d.name] = known._replace(spellings=(*known.spellings, declared))
    for name, macro in pre.macros.items():
        if not _OWN.match(name) and macro.body:
            given = "" if macro.parameters is None else f"({', '.join(macro.parameters)})"
            body = _tidy(" ".join(t.text for t in macro.body))
            kind = "value" if macro.parameters is None else "function"
            found.setdefault(name, KnownName(kind, (name + given,), body))
    return found


def _body(text: str, at: int) -> str:
    """Return the body of a function that is declared at an offset; empty for a long one, and for none."""
    begin = re.compile(r"[;{]").search(text, at)
    if begin is None or begin[0] == ";":
        return ""
    depth = 0
    for m in re.compile(r"[{}]").finditer(text, begin.start(), begin.start() + _LONGEST):
        depth += 1 if m[0] == "{" else -1
        if not depth:
            return _tidy(text[begin.start() : m.end()])
    return ""


def _tidy(text: str) -> str:
    text = _ATTRIBUTES.sub(" ", text)
    for pattern, by in _TIDY:
        text = pattern.sub(by, text)
    return text.strip()


__all__ = ["c_names"]
