"""Kernels in CUDA C and OpenCL C, and shaders, while they are written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from isakit.asm.source import SourceSpan
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.lean import cached_property
from isakit.lsp.c_names import CNames
from isakit.lsp.texts import LARGEST, Completion, Definition, Hover, KnownName, Text
from isakit.programs.sources import SHADER_ENDINGS

_WORDS = (
    "break case char const continue default do double else enum extern float for if int long return short signed "
    "sizeof static struct switch typedef union unsigned void volatile while"
)
_SHADER_WORDS = "break const continue discard do else false for if in inout out return struct true uniform void while"
_KEYWORDS = {
    "cuda": f"{_WORDS} bool class false inline namespace size_t template this true typename using",
    "opencl": f"{_WORDS} bool false inline true __kernel __global __constant __local __private kernel global local",
    "cg": f"{_SHADER_WORDS} static",
    "glsl": f"{_SHADER_WORDS} attribute highp layout lowp mediump precision varying",
}


PAUSE = 0.4
"""Seconds without a change after which a text whose types have been checked is compiled."""


_INCLUDE = re.compile(r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]")
_MOST_FILES, _LONGEST_FILE = 32, 1 << 20
"""Most included files that are read, and most characters of each."""


class _Included(NamedTuple):
    """A name of an included file: where it is defined, and how."""

    path: str
    definition: Definition
    declaration: str


class SourceText(Text):
    """A text in a language of `programs.sources`; files that it includes are found where it lies.

    `earlier` is the text before a change: what is known of its kernels is kept.
    """

    def __init__(self, text: str, path: str, language: str, earlier: SourceText | None = None) -> None:
        self._text, self._path, self.language = text, path, language
        self.pause = PAUSE
        self._includes = re.search(r"(?m)^[ \t]*#[ \t]*include\b", text) is not None
        self._good: set[str] = set() if earlier is None else earlier._good

    @cached_property
    def names(self) -> CNames:
        """The names in the text."""
        return CNames(self._text if len(self._text) <= LARGEST else "")

    def elsewhere(self, line: int, column: int) -> tuple[str, SourceSpan] | None:
        """Return the included file and the place in it where a name is defined; None for one of this text."""
        word = self.names.word_at(line, column)
        found = None if word is None or self.names.at(line, column) else self._included.get(word[0])
        return None if found is None else (found.path, found.definition.place)

    @cached_property
    def _included(self) -> dict[str, _Included]:
        """The names at the top of files that lie beside this one, or among our headers, and are included."""
        from isakit.compile.c.clang import CUDA_HEADERS

        found: dict[str, _Included] = {}
        todo, met = [(os.path.dirname(os.path.abspath(self._path)), self._text)], set[str]()
        while todo:
            folder, text = todo.pop()
            for m in _INCLUDE.finditer(text):
                there = [os.path.normpath(os.path.join(f, m[1])) for f in (folder, str(CUDA_HEADERS))]
                path = next((p for p in there if os.path.isfile(p)), None)
                if path is None or path in met or len(met) >= _MOST_FILES:
                    continue
                met.add(path)
                own, names = _names_of(path, os.stat(path).st_mtime_ns)
                todo.append((os.path.dirname(path), own))
                for n in names:
                    found.setdefault(n.definition.name, n)
        return found

    def prepare(self) -> None:
        """Collect the names of the language and of included files: half a second for CUDA C."""
        self._known()
        _ = self._included

    def _known(self) -> dict[str, KnownName]:
        from isakit.lsp.c_functions import c_names
        from isakit.lsp.shader_functions import shader_names

        return shader_names(self.language) if self.language in ("cg", "glsl") else c_names(self.language)

    def hover(self, line: int, column: int) -> Hover | None:
        """Return the declaration of a name, and for a function of the language its body or instructions."""
        word = self.names.word_at(line, column)
        if word is None:
            return None
        at = column - (self.names.column(line, column) - word.start())
        if (found := self.names.at(line, column)) is not None:
            d = found[0]
            text = f"```c\n{self.names.declaration(d)}\n```\n{d.kind}, line {d.place.line}"
        elif not self.names.is_access(word.start()) and (other := self._included.get(word[0])) is not None:
            d = other.definition
            where = f"{os.path.basename(other.path)}, line {d.place.line}"
            text = f"```c\n{other.declaration}\n```\n{d.kind}, {where}"
        elif (known := self._known().get(word[0])) is not None and not self.names.is_access(word.start()):
            text = "\n".join(["```c", *known.spellings, "```"])
            if known.becomes:
                text += f"\n\n```c\n{known.becomes}\n```" if known.kind == "function" else f"\n\n{known.becomes}"
            if self.language in ("cg", "glsl") and known.kind == "function":
                from isakit.lsp.shader_functions import instructions

                if shown := instructions(self.language, word[0]):
                    text += f"\n\n```\n{shown}\n```"
        else:
            return None
        return Hover(text, at, len(word[0]))

    def completions(self, line: int, column: int) -> list[Completion]:
        """Return the members of structures behind a point or an arrow, else the names that can be used here."""
        names = self.names
        offset = names.column(line, column)
        if names.is_inside_comment(offset):
            return []
        if names.is_access(names.word_start(offset)):
            found = dict.fromkeys(d.name for d in names.members())
            axes = ("x", "y", "z", "w")
            return [Completion(n, "variable", "member") for n in dict.fromkeys((*found, *axes))]
        own = {d.name: Completion(d.name, d.kind, names.declaration(d)) for d in reversed(names.visible(line))}
        for name, i in self._included.items():
            own.setdefault(name, Completion(name, i.definition.kind, i.declaration))
        of_language = [Completion(n, k.kind, k.spellings[0]) for n, k in self._known().items() if n not in own]
        words = [Completion(w, "word") for w in _KEYWORDS[self.language].split()]
        return [*reversed(own.values()), *of_language, *words]

    def check(self) -> Iterator[list[Diagnostic]]:
        """Compile the text: a shader's language is looked at first, its program then."""
        if len(self._text) > LARGEST:
            return
        steps = self._shader() if self.language in SHADER_ENDINGS.values() else self._kernels()
        try:
            for found in steps:
                yield self._here(found)
        except CompileError as e:
            yield self._here(e.diagnostics)
        except IsakitError as e:
            yield [Diagnostic(1, 1, str(e), path=self._path)]

    def _here(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return mistakes in the order of lines; those in other files stand in the first line."""
        own = [d for d in found if d.path == self._path]
        others = [Diagnostic(1, 1, f"{d.path}:{d.line}: {d.message}", path=self._path) for d in found if d not in own]
        return sorted(own + others, key=lambda d: (d.line, d.column))

    def _shader(self) -> Iterator[list[Diagnostic]]:
        from isakit.compile.shading.compiled import beside, compile_shader
        from isakit.compile.shading.front import STAGES, front_end, stage_of

        stage = stage_of(self._path, self._text)
        resolver = beside(self._path, [])
        for s in STAGES if stage is None else (stage,):
            front_end(self._text, stage=s, language=self.language, path=self._path, resolver=resolver)
            yield []
        for s in STAGES if stage is None else (stage,):
            compile_shader(self._text, stage=s, language=self.language, path=self._path, resolver=resolver)
            yield []

    def _kernels(self) -> Iterator[list[Diagnostic]]:
        """Compile the kernels that have not compiled without a mistake before, and yield the mistakes of each step.

        They are recognised by their PTX without its line numbers, of which compiling for a chip takes most of the time.
        """
        from isakit.compile.c import compile_c
        from isakit.compile.c.clang import check_c
        from isakit.compile.driver import CompileOptions, compile_in_steps
        from isakit.lsp.ptx_texts import kernels_apart

        folder = os.path.dirname(os.path.abspath(self._path))
        options = [f"-I{folder}"] if self._includes and Path(folder).is_dir() else []
        check_c(self._path, self._text, self.language, options)
        yield []
        ptx = compile_c(self._path, self._text, self.language, options)
        yield []
        apart = kernels_apart(ptx)
        shown, new = ptx, dict[str, str]()
        if apart is not None:
            outside = _without_lines(apart.outside)
            keys = {name: f"{outside}\0{_without_lines(text)}" for name, text in apart.kernels.items()}
            self._good &= set(keys.values())
            new = {name: key for name, key in keys.items() if key not in self._good}
            shown = apart.without(keys.keys() - new.keys())
        for compiled in compile_in_steps(shown, CompileOptions(path=self._path, origin=self._text)):
            self._good |= {key for name, key in new.items() if name in compiled.module.kernels}
            yield compiled.diagnostics


@lru_cache(maxsize=64)
def _names_of(path: str, changed: int) -> tuple[str, list[_Included]]:
    """Return the text of a file and the names at its top; `changed`, the file's time in ns, is a key of the cache."""
    try:
        text = Path(path).read_text("utf-8", "replace")[:_LONGEST_FILE]
    except OSError:
        return "", []
    names = CNames(text)
    return text, [_Included(path, d, names.declaration(d)) for d in names.definitions if not d.section]


_LINES = re.compile(r"(?m)^\s*(?:\.loc|\.file|//)[^\n]*\n")


def _without_lines(ptx: str) -> str:
    return _LINES.sub("", ptx)


__all__ = ["SourceText"]
