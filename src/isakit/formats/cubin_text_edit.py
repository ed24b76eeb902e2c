"""Edits of a text cubin: only what an edit asks for changes, byte for byte. Source: [tesla] 11."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isakit.description import words_of
from isakit.errors import FormatError
from isakit.formats.cubin_text import Pair, TextBlock, parse_tree
from isakit.formats.edits import Edits, KernelEdit

_WORD = re.compile(r"[^\s{}=]+")
_PER_LINE = 4
"""Words in a line as NVIDIA's compilers wrote them."""


def edit_text_cubin(data: bytes, edits: Edits, path: str | None = None) -> bytes:
    """Apply the edits to a file and return it.

    Raises FormatError for a kernel, bank or variable the file does not have, and for what has no place in it.
    """
    text = data.decode("latin-1")
    editor = _Editor(text, parse_tree(text, path), path)
    for name, edit in edits.kernels.items():
        editor.kernel(name, edit)
    for bank, content in edits.constants.items():
        editor.constants(editor.root, "consts", bank, content, f"c{bank}[] of the module")
    for name, content in edits.variables.items():
        editor.variable(name, content)
    return editor.result().encode("latin-1")


class _Editor:
    def __init__(self, text: str, root: TextBlock, path: str | None) -> None:
        self.text, self.root, self.path = text, root, path
        self.changes: list[tuple[int, int, str]] = []

    def error(self, reason: str) -> FormatError:
        return FormatError(self.path, 0, reason)

    def result(self) -> str:
        out: list[str] = []
        done = 0
        for start, end, new in sorted(self.changes):
            out += [self.text[done:start], new]
            done = end
        return "".join([*out, self.text[done:]])

    def named(self, kind: str, name: str) -> TextBlock:
        found = next((b for b in self.root.blocks(kind) if b.get("name") == name), None)
        if found is None:
            raise self.error(f"the file has no {kind} block {name!r}")
        return found

    def number(self, block: TextBlock, key: str, value: int) -> None:
        """Change `key = value`; a key the block does not have is put in front."""
        pair = next((i for i in block.items if isinstance(i, Pair) and i.key == key), None)
        if pair is not None:
            self.changes.append((pair.offset, pair.offset + len(pair.value), str(value)))
        else:
            self.changes.append((block.offset + 1, block.offset + 1, f"\n\t{key} = {value}"))

    def kernel(self, name: str, edit: KernelEdit) -> None:
        block = self.named("code", name)
        if edit.params or edit.info or edit.max_threads is not None:
            raise self.error(f"{name}: a text cubin says nothing about parameters or limits, so they cannot change")
        numbers = {"reg": edit.registers, "smem": edit.shared_bytes, "lmem": edit.local_bytes, "bar": None}
        if edit.barriers is not None:
            numbers["bar"] = max(edit.barriers - 1, 0)
        for key, value in numbers.items():
            if value is not None:
                self.number(block, key, value)
        if edit.code is not None:
            parts = list(block.blocks("bincode"))
            if not parts:
                raise self.error(f"{name}: the file has no code that could be replaced")
            sizes = [4 * len(b.items) for b in parts]
            for k, (b, at) in enumerate(zip(parts, _starts(sizes), strict=True)):
                self.words(b, edit.code[at:] if k == len(parts) - 1 else edit.code[at : at + sizes[k]])
        for bank, content in edit.constants.items():
            if not any(b.get("segnum") == str(bank) for b in block.blocks("const")):
                self.new_bank(block, bank, content)
            else:
                self.constants(block, "const", bank, content, f"c{bank}[] of {name}")
        for sampler, unit in edit.units.items():
            self.number(self.named("sampler", sampler), "texunit", unit)

    def new_bank(self, block: TextBlock, bank: int, content: bytes) -> None:
        """Put a bank before the code."""
        code = next(block.blocks("bincode"), None)
        at = self.text.rfind("\n", 0, code.offset) + 1 if code else block.end
        rows = "".join(f"\t\t\t0x{w:08x}\n" for w in words_of(content + bytes(-len(content) % 4)))
        self.changes.append((at, at, (
            f"\tconst {{\n\t\tsegname = const\n\t\tsegnum = {bank}\n\t\toffset = 0\n\t\tbytes = {len(content)}\n"
            f"\t\tmem {{\n{rows}\t\t}}\n\t}}\n"
        )))  # fmt: skip

    def constants(self, owner: TextBlock, kind: str, bank: int, content: bytes, what: str) -> None:
        """Change the words of the segments of a bank, which keep their places."""
        blocks = [b for b in owner.blocks(kind) if b.get("segnum") == str(bank)]
        spans = [(_int(b, "offset"), _int(b, "bytes"), b) for b in blocks]
        covered = bytearray(max((o + n for o, n, _ in spans), default=0))
        if len(content) != len(covered):
            raise self.error(f"{what} has {len(covered)} bytes in segments, {len(content)} do not fit them")
        for offset, size, b in spans:
            self.memory(b, content[offset : offset + size], what)
            covered[offset : offset + size] = b"\1" * size
        if any(value and not there for value, there in zip(content, covered, strict=True)):
            raise self.error(f"{what}: no segment has the bytes that changed")

    def memory(self, block: TextBlock, content: bytes, what: str) -> None:
        parts = list(block.blocks("mem"))
        room = sum(4 * len(b.items) for b in parts)
        if room < len(content) and any(content[room:]):
            raise self.error(f"{what}: a segment has no content that could be replaced")
        sizes = [4 * len(b.items) for b in parts]
        for b, at, size in zip(parts, _starts(sizes), sizes, strict=True):
            piece = content[at : at + size]
            # Bytes past the end of the segment fill its last word; they stay.
            tail = _bytes(b)[len(piece) :]
            self.words(b, piece + tail)

    def variable(self, name: str, content: bytes) -> None:
        block = self.named("reloc", name)
        if not any(block.blocks("mem")):
            raise self.error(f"the file has no content of {name!r} that could be replaced")
        self.memory(block, content, name)

    def words(self, block: TextBlock, content: bytes) -> None:
        """Give a block of words other words: those that stay keep their spelling, the layout stays."""
        new = words_of(content + bytes(-len(content) % 4))
        places = [(block.offset + 1 + m.start(), m[0]) for m in _WORD.finditer(self.text[block.offset + 1 : block.end])]
        for (at, old), word in zip(places, new, strict=False):
            if int(old, 16) != word:
                self.changes.append((at, at + len(old), f"0x{word:08x}"))
        if len(new) < len(places):
            start = places[len(new)][0] if new else places[0][0]
            last, text = places[-1]
            keep = self.text.rfind("\n", block.offset, start) if not len(new) % 4 else start
            self.changes.append((max(keep, block.offset + 1), last + len(text), ""))
        elif len(new) > len(places):
            at = places[-1][0] + len(places[-1][1]) if places else block.offset + 1
            line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
            indent = line[: len(line) - len(line.lstrip())]
            more = [
                (f"\n{indent}" if k % _PER_LINE == 0 else " ") + f"0x{word:08x}"
                for k, word in enumerate(new[len(places) :], len(places))
            ]
            self.changes.append((at, at, "".join(more)))


def _int(block: TextBlock, key: str) -> int:
    text = block.get(key) or "0"
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def _bytes(block: TextBlock) -> bytes:
    """Return the words of a block as bytes."""
    return b"".join(int(w, 16).to_bytes(4, "little") for w in block.items if isinstance(w, str))


def _starts(sizes: list[int]) -> Iterator[int]:
    at = 0
    for size in sizes:
        yield at
        at += size
