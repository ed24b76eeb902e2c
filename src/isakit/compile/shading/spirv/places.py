"""Positions in the sources that a module was compiled from, for messages and line tables."""

from __future__ import annotations

from isakit.compile.shading.source import ShaderSources, SourceFile
from isakit.compile.shading.spirv.module import SpirvModule
from isakit.compile.shading.spirv.words import SpirvInstruction

_MOST_LINES = 1 << 17


class Places:
    """The sources that a module names: those it embeds, and empty lines for others.

    A message without a line is about the file itself, which was added first.
    """

    def __init__(self, module: SpirvModule, instructions: list[SpirvInstruction], sources: ShaderSources) -> None:
        lines: dict[int, int] = {}
        for i in instructions:
            if i.line is not None and i.line[0] in module.strings:
                lines[i.line[0]] = max(lines.get(i.line[0], 0), min(i.line[1], _MOST_LINES))
        self.files: dict[int, SourceFile] = {}
        for n, most in lines.items():
            text = _without_header(module.sources.get(n, ""))
            missing = most - text.count("\n")
            self.files[n] = sources.add(module.strings[n], text + "\n" * max(0, missing))

    def of(self, i: SpirvInstruction) -> int:
        """Return the position of an instruction, 0 if it has none."""
        if i.line is None or i.line[0] not in self.files:
            return 0
        file = self.files[i.line[0]]
        row = min(max(i.line[1], 1), len(file.starts)) - 1
        end = file.starts[row + 1] - 1 if row + 1 < len(file.starts) else len(file.text)
        return file.first + min(file.starts[row] + max(i.line[2] - 1, 0), max(end - 1, file.starts[row]))


def _without_header(text: str) -> str:
    """Return a source without the lines that a compiler inserted before it."""
    head, mark, rest = text.partition("#line 1\n")
    return rest if mark and all(line.startswith("//") for line in head.splitlines()) else text
