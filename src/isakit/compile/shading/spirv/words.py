"""The words of a SPIR-V file as instructions, with their source lines."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from isakit.compile.shading.source import ShadingError
from isakit.registry import SPIRV_MAGIC

_HEADER = 5
_MOST_IDS = 1 << 22
LINE, NO_LINE = 8, 317


@dataclass(frozen=True)
class SpirvInstruction:
    """An instruction: its number, its words after the first, its place in the file in words, and its line.

    `line`: (id of the string that names the file, line, column), None if there is no debug information.
    """

    op: int
    words: tuple[int, ...]
    at: int
    line: tuple[int, int, int] | None = None

    def word(self, k: int) -> int:
        """Return a word. Raises ShadingError where the instruction is too short."""
        if k >= len(self.words):
            raise ShadingError(0, f"the instruction at word {self.at} (operation {self.op}) is too short")
        return self.words[k]

    def rest(self, k: int) -> tuple[int, ...]:
        """Return the words from `k` on."""
        return self.words[k:]

    def text(self, k: int) -> tuple[str, int]:
        """Return the string that begins at a word, and the index of the word after it. Raises ShadingError."""
        data = struct.pack(f"<{len(self.words) - k}I", *self.words[k:]) if k < len(self.words) else b""
        end = data.find(b"\0")
        if end < 0:
            raise ShadingError(0, f"the string at word {self.at} has no end")
        return data[:end].decode("utf-8", "replace"), k + end // 4 + 1


def read_words(data: bytes) -> list[SpirvInstruction]:
    """Return the instructions of a file. Raises ShadingError for a truncated one."""
    if data[:4] not in SPIRV_MAGIC:
        raise ShadingError(0, "the file does not begin as SPIR-V does")
    if len(data) % 4 or len(data) < 4 * _HEADER:
        raise ShadingError(0, f"SPIR-V consists of words; {len(data)} bytes do not")
    order = "<" if data[:4] == SPIRV_MAGIC[0] else ">"
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    if words[3] > _MOST_IDS:
        raise ShadingError(0, f"the module says that it has {words[3]} ids; {_MOST_IDS} at most")
    out: list[SpirvInstruction] = []
    at, line = _HEADER, None
    while at < len(words):
        op, n = words[at] & 0xFFFF, words[at] >> 16
        if not n or at + n > len(words):
            raise ShadingError(0, f"the instruction at word {at} has {n} words; {len(words) - at} are left")
        i = SpirvInstruction(op, words[at + 1 : at + n], at, line)
        if op == LINE:
            line = i.word(0), i.word(1), i.word(2)
        elif op == NO_LINE:
            line = None
        out.append(i)
        at += n
    return out
