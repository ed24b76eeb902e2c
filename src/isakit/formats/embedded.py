"""Device programs inside other files: host executables, objects, fat binaries, C sources, any bytes.

Programs are found by their content in one pass per signature, so it does not matter what the host is. Fat binary
containers add what only they know: entries that are compressed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from isakit.description import Module
from isakit.errors import FormatError
from isakit.formats import fatbin
from isakit.formats.cubin_elf import read_elf_cubin
from isakit.formats.cubin_text import read_text_cubin
from isakit.formats.elf import ELF_MAGIC, EM_CUDA, ElfImage, elf_extent, elf_machine, read_elf
from isakit.formats.gxp import MAGIC as GXP_MAGIC
from isakit.formats.gxp import gxp_extent
from isakit.formats.lz4 import unpack_block
from isakit.formats.shader import read_gxp

_PTX_START = re.compile(rb"\.version[ \t]+\d{1,2}\.\d{1,2}\b")
_PTX_BODY = re.compile(rb"[^\0]*")
_PTX_HEAD = 0x2000
"""A text is PTX if it names its target so soon."""
_TEXT_START = re.compile(rb"architecture\s{0,64}\{\s{0,64}sm_\d\d")
_TEXT_BODY = re.compile(rb"[\t\n\r\x20-\x7e]*")
_VALUES = rb"\s*+(?:[\w.]++\s*+=\s*+[^\s{}=]++\s*+)*+"
_BEFORE_ANY = re.compile(_VALUES + rb"[A-Za-z_]\w*+\s*+")
_BEFORE_KNOWN = re.compile(_VALUES + rb"(?:architecture|abiversion|modname|code|consts|reloc|sampler)\s*+")
"""The text in front of a block of a text cubin: values by name, and the name of the block."""
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})[uUlL]{0,3}")
# An unterminated comment ends with the text: searching on from each of many would take quadratic time.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_BRACE = re.compile(r"[{}]")

# Possessive, and closed by the end of the line if by nothing else: a literal is gone through once.
_STRING = re.compile(r'"((?:[^"\\\n]|\\[\s\S])*+)(?:"|\n|\\?\Z)')
_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}

_MAX_DAMAGED = 64
"""Signatures that lead to nothing readable; more of one kind in a file are not looked at, to bound the time."""

_MIN_ARRAY = 16


@dataclass(frozen=True)
class Found:
    """One thing found in a larger file: the module, the text, or why it could not be read.

    `what` is "elf-cubin", "text-cubin", "gxp", "ptx" (which has a `text`) or "fat binary entry"; `offset` and `size`
    are bytes in the host (in the text for a C array). `name` is what the host calls it, where it does: usually the name
    of a source file.
    """

    what: str
    offset: int
    size: int
    module: Module | None = None
    error: FormatError | None = None
    name: str = ""
    text: str = ""


def find_embedded(data: bytes, path: str | None = None) -> list[Found]:
    """Find all device programs in `data`, in order of their place. Takes time linear in its length; never raises."""
    names, packed = _fat_binaries(data, path)
    found = [*packed]
    for finder in (_elf_cubins, _text_cubins, _gxps, _ptx_texts):
        found += [replace(f, name=names.get(f.offset, "")) for f in finder(data, path)]
    return sorted(found, key=lambda f: f.offset)


def _positions(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)


def _elf_cubins(data: bytes, path: str | None) -> Iterator[Found]:
    end = damaged = 0
    for at in _positions(data, ELF_MAGIC):
        if at < end or damaged == _MAX_DAMAGED or elf_machine(data, at) != EM_CUDA:
            continue
        size = 0
        try:
            size = elf_extent(data, at, path)
            end = at + size
            yield Found("elf-cubin", at, size, read_elf_cubin(data[at:end], path, at))
        except FormatError as e:
            damaged += not size  # a program that is whole but unsupported has been stepped over
            yield Found("elf-cubin", at, size, error=e)


def _text_cubins(data: bytes, path: str | None) -> Iterator[Found]:
    starts = [m.start() for m in _TEXT_START.finditer(data)]
    for at, following in itertools.pairwise([*starts, len(data)]):
        body = _TEXT_BODY.match(data, at, following)
        yield _text_cubin(body[0] if body else b"", at, path)


def _text_cubin(body: bytes, at: int, path: str | None) -> Found:
    """Return the program at the start of some text, which goes on with other text of the host."""
    text = _blocks(body, _BEFORE_ANY)
    try:
        module = read_text_cubin(text, path, at)
    except FormatError as e:
        text = _blocks(body, _BEFORE_KNOWN)  # what followed looked like a block, and was none
        try:
            module = read_text_cubin(text, path, at)
        except FormatError:
            return Found("text-cubin", at, len(text), error=e)
    if not module.kernels and not module.constants:
        reason = "the text looks like a cubin, but has no code block"
        return Found("text-cubin", at, len(text), error=FormatError(path, at, reason))
    return Found("text-cubin", at, len(text), module)


def _blocks(text: bytes, before: re.Pattern[bytes]) -> bytes:
    """Return the part of the text that is blocks, each closed and with `before` in front of it."""
    depth = end = 0
    for match in re.finditer(rb"[{}]", text):
        if depth == 0 and (match[0] == b"}" or not before.fullmatch(text, end, match.start())):
            break
        depth += 1 if match[0] == b"{" else -1
        if depth == 0:
            end = match.end()
    return text[:end]


def _ptx_texts(data: bytes, path: str | None) -> Iterator[Found]:
    starts = [m.start() for m in _PTX_START.finditer(data)]
    for at, following in itertools.pairwise([*starts, len(data)]):
        if data.find(b".target", at, min(following, at + _PTX_HEAD)) < 0:
            continue
        body = _PTX_BODY.match(data, at, following)
        text = body[0].rstrip() if body else b""
        if not text.endswith(b"}"):  # what is no PTX after it: bytes of the host up to the next zero
            text = text[: text.rfind(b"}") + 1]
        if text:
            yield Found("ptx", at, len(text), text=text.decode("utf-8", "replace"))


def _gxps(data: bytes, path: str | None) -> Iterator[Found]:
    end = damaged = 0
    for at in _positions(data, GXP_MAGIC):
        if at < end or damaged == _MAX_DAMAGED:
            continue
        size = gxp_extent(data, at)
        if size is None:
            continue
        try:
            module = read_gxp(data[at : at + size], path, at)
        except FormatError as e:
            damaged += 1
            yield Found("gxp", at, size, error=e)
        else:
            end = at + size
            yield Found("gxp", at, size, module)


def _fat_binaries(data: bytes, path: str | None) -> tuple[dict[int, str], list[Found]]:
    """Find what a search for programs cannot see: their names by offset, and the content of compressed entries."""
    names: dict[int, str] = {}
    packed: list[Found] = []
    room = fatbin.LARGEST_UNPACKED
    end = damaged = 0
    for at in _positions(data, fatbin.MAGIC.to_bytes(4, "little")):
        if at < end or damaged == _MAX_DAMAGED:
            continue
        try:
            entries, size = fatbin.parse_fatbin(data, at, path)
        except FormatError:
            damaged += 1  # the number occurs in code that handles fat binaries, too
            continue
        end = at + size
        for entry in entries:
            names[entry.offset] = entry.name
            if entry.compressed:
                got, room = _unpacked(data, entry, room, path)
                packed += got
    starts = list(itertools.islice(_positions(data, fatbin.OLD_MAGIC.to_bytes(4, "little")), _MAX_DAMAGED))
    host = _host(data) if starts else None
    for at in starts:
        if host is None:
            break
        try:
            ident, entries = fatbin.parse_old_fatbin(data, at, host.file_offset, path, wide=host.elfclass == 64)
        except FormatError:
            continue
        names.update((e.offset, ident) for e in entries)
    return names, packed


def _unpacked(data: bytes, entry: fatbin.FatEntry, room: int, path: str | None) -> tuple[list[Found], int]:
    """Find programs in a packed entry, as if they lay where the entry does, and return the room left for others."""
    reason = f"{entry.kind} for {entry.arch} is compressed"
    try:
        if entry.packing != "lz4" or entry.kind != "ptx":  # no machine code of these chips is, so nothing can edit it
            raise FormatError(path, entry.offset, f"{reason} with {entry.packing}; only PTX in LZ4 is read")
        block = data[entry.offset : entry.offset + entry.size]
        text = unpack_block(block, room, path, entry.offset)
        if entry.unpacked not in (0, len(text)):
            raise FormatError(path, entry.offset, f"{reason} to {entry.unpacked} bytes, {len(text)} come out")
    except FormatError as e:
        return [Found("fat binary entry", entry.offset, entry.size, error=e, name=entry.name)], room
    return [replace(f, offset=entry.offset, size=entry.size, name=entry.name) for f in _ptx_texts(text, path)], (
        room - len(text)
    )


def _host(data: bytes) -> ElfImage | None:
    try:
        return read_elf(data)
    except FormatError:
        return None


def c_arrays(text: str) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of every array initialiser in a C source, and of a text that is nothing but numbers.

    Elements of more than 8 bits are taken as little-endian words of the smallest size that holds them all.
    """
    text = _COMMENT.sub(lambda m: " " * len(m[0]), text)  # blanks keep the offsets true
    braces = [(m.start(), m[0]) for m in _BRACE.finditer(text)]
    bodies = [
        (a, text[a + 1 : b]) for (a, left), (b, right) in itertools.pairwise(braces) if (left, right) == ("{", "}")
    ]
    for offset, body in bodies or [(0, text)]:
        data = _array_bytes(body)
        if len(data) >= _MIN_ARRAY:
            yield offset, data


def _array_bytes(body: str) -> bytes:
    """Return bytes of a comma-separated list of numbers; nothing when it contains anything else."""
    matches = [_NUMBER.fullmatch(t) for t in body.replace(",", " ").split()]
    numbers = [m[1] for m in matches if m]
    if not numbers or len(numbers) != len(matches):
        return b""
    values = [int(n, 16 if n[:2] in ("0x", "0X") else 10) for n in numbers]
    top = max(values)
    size = next((s for s in (1, 2, 4, 8) if top < 1 << 8 * s), 0)
    return b"".join(v.to_bytes(size, "little") for v in values) if size else b""


def c_strings(text: str) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of every string literal in a C source; adjacent literals count as one."""
    start = end = 0
    parts: list[str] = []
    for match in _STRING.finditer(text):
        if parts and text[end : match.start()].strip():
            yield start, "".join(parts).encode("latin-1", "replace")
            parts = []
        if not parts:
            start = match.start()
        end = match.end()
        parts.append(_ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), match[1]))
    if parts:
        yield start, "".join(parts).encode("latin-1", "replace")


def find_in_source(text: str, path: str | None = None) -> list[Found]:
    """Return the device programs in the arrays and strings of a C source.

    Offsets are those of the array or the first string.
    """
    out: list[Found] = []
    for offset, data in itertools.chain(c_arrays(text), c_strings(text)):
        for f in find_embedded(data, path):
            if f.module is not None:
                f.module.offset = offset
            out.append(replace(f, offset=offset))
    return out
