"""Respelling, in the files of a program, of constructs that nvcc read differently from clang.

Line numbers do not change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_LAUNCH = re.compile(rb"<<([ \t]*)<([^;{}<>]*?)>>([ \t]*)>(?=\s*\()")
_BETWEEN = rb"(?:\s|static\b|inline\b|extern\b|\"C\")+"
_KERNEL = re.compile(rb"\b__global__" + _BETWEEN + rb"__device__\b|\b__device__" + _BETWEEN + rb"__global__\b")
_STRINGS = rb"\"(?:[^\"\\]|\\.|\"(?:\s|//[^\n]*\n)*\")*\""
_ASSEMBLY = re.compile(
    rb"\b(?:asm|__asm__|__asm)(?:\s|\bvolatile\b|\b__volatile__\b)*\(\s*" + _STRINGS + rb"\s*:", re.DOTALL
)
"""Assembly with operands, up to their colon: without operands, a % represents itself."""
_SPECIAL = re.compile(rb"(?<!%)%(?=(?:laneid|n?warpid|n?smid|gridid|clock(?:64)?|n?tid|n?ctaid|lanemask_\w+|pm\d)\b)")
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[\"<]([^\">\n]+)[\">]", re.MULTILINE)
_MOST_FILES = 2000
"""Largest number of files read for one source."""


def respelled(text: bytes) -> bytes:
    """Join launch brackets that contain spaces, and drop the `__device__` of a `__global__` function.

    Also double the % of special registers in assembly with operands, which shifts the rest of the line.
    """
    text = _LAUNCH.sub(rb"<<<\1\2>>>\3", text)
    text = _KERNEL.sub(lambda m: m[0].replace(b"__device__", b" " * len(b"__device__")), text)
    return _ASSEMBLY.sub(lambda m: _SPECIAL.sub(b"%%", m[0]), text)


def files_of(source: Path, folders: Sequence[str]) -> Iterator[tuple[Path, bytes]]:
    """Yield a source and the files it includes, with their text, as far as they are beside it or in these folders.

    Conditions are ignored: a file that is not included in the end is read in vain.
    """
    waiting, seen = [source], {os.path.abspath(source)}
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop()
        try:
            text = path.read_bytes()
        except OSError:
            continue
        yield path, text
        for m in _INCLUDE.finditer(text):
            name = os.fsdecode(m[1])
            found = next((p for f in (path.parent, *folders) if (p := Path(f, name)).is_file()), None)
            if found is not None and (place := os.path.abspath(found)) not in seen:
                seen.add(place)
                waiting.append(found)
