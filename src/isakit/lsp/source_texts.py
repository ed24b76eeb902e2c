"""Kernels in CUDA C and OpenCL C, and shaders, while they are written: what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.lsp.texts import LARGEST, Text
from isakit.programs.sources import SHADER_ENDINGS


class SourceText(Text):
    """A text in a language of `programs.sources`; files that it includes are found where it lies."""

    def __init__(self, text: str, path: str, language: str) -> None:
        self._text, self._path, self._language = text, path, language

    def check(self) -> Iterator[list[Diagnostic]]:
        """Compile the text: a shader's language is looked at first, its program then."""
        if len(self._text) > LARGEST:
            return
        steps = self._shader() if self._language in SHADER_ENDINGS.values() else self._kernels()
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
            front_end(self._text, stage=s, language=self._language, path=self._path, resolver=resolver)
            yield []
        for s in STAGES if stage is None else (stage,):
            compile_shader(self._text, stage=s, language=self._language, path=self._path, resolver=resolver)
            yield []

    def _kernels(self) -> Iterator[list[Diagnostic]]:
        from isakit.compile.c import compile_c
        from isakit.compile.driver import CompileOptions, compile_in_steps

        folder = os.path.dirname(os.path.abspath(self._path))
        ptx = compile_c(self._path, self._text, self._language, [f"-I{folder}"] if Path(folder).is_dir() else [])
        yield []
        for compiled in compile_in_steps(ptx, CompileOptions(path=self._path, origin=self._text)):
            yield compiled.diagnostics


__all__ = ["SourceText"]
