"""Bare code: little-endian words in a binary file, or words written as hexadecimal text.

Neither says which instruction set it is for, so `isa` and `variant` of the result are what the caller gave.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from isakit.description import Kernel, Module, bytes_of, words_of_number
from isakit.errors import FormatError

_COMMENT = re.compile(r"//[^\n]*|[#;][^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(r"[^\s,]+")
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})[uU]?[lL]{0,2}")
_DUMPED = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/)?\s*/\*(0x[0-9a-f]{8}(?:[0-9a-f]{8})?)\*/", re.MULTILINE)
_TEXTUAL = re.compile(rb"[\t\n\r\f\v\x20-\x7e\x80-\xff]*")


def read_raw(
    data: bytes, path: str | None = None, *, isa: str = "", variant: str = "", word_size: int = 4, name: str = "main"
) -> Module:
    """Read a file of nothing but code. Raises FormatError when it is empty or not whole words of `word_size` bytes."""
    if not data or len(data) % word_size:
        raise FormatError(path, len(data), f"{len(data)} bytes are not a whole number of {word_size}-byte words")
    return _module("raw", data, path, isa, variant, name, len(data))


def write_raw(module: Module, kernel: str | None = None) -> bytes:
    """Return the code bytes of one kernel (the only one unless named)."""
    return _pick(module, kernel).code


def parse_hex(text: str, path: str | None = None, *, word_size: int = 4) -> list[int]:
    """Parse words of a hexadecimal text, separated by blanks or commas, with or without 0x.

    Comments start with `//`, `#` or `;`, or are enclosed in `/* */`. Two 32-bit words may be written as one of 16
    digits, the first word in front, as old versions of cuobjdump do; of a listing of theirs, with the words in comments
    before the text, the words are taken. Raises FormatError for anything else.
    """
    dumped = _DUMPED.findall(text)
    if dumped and not _TOKEN.fullmatch(_COMMENT.sub("", text).strip()):
        text = " ".join(dumped)

    def blank(match: re.Match[str]) -> str:
        if match[0].startswith("/*") and not (match[0].endswith("*/") and len(match[0]) > 3):
            raise FormatError(path, match.start(), "a comment is not closed")
        return " " * len(match[0])  # keeps the offsets of what follows

    text = _COMMENT.sub(blank, text)
    words: list[int] = []
    limit = 1 << 8 * word_size
    for token in _TOKEN.finditer(text):
        match = _HEX.fullmatch(token[0])
        if match is None:
            raise FormatError(path, token.start(), f"{token[0][:40]!r} is not a hexadecimal word")
        written = words_of_number(match[1], word_size)
        if any(word >= limit for word in written):
            raise FormatError(path, token.start(), f"{token[0]} does not fit {word_size * 8} bits")
        words += written
    if not words:
        raise FormatError(path, 0, "no words in the text")
    return words


def replace_hex(text: str, words: Sequence[int], path: str | None = None, *, word_size: int = 4) -> str:
    """Replace the words of a text by as many others; what is not a word, and words that are equal, stay.

    Raises FormatError for another number of words, and for texts that have words in comments or two in one number.
    """
    old = parse_hex(text, path, word_size=word_size)
    if list(words) == old:
        return text
    blank = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    tokens = list(_TOKEN.finditer(blank))
    if len(words) != len(old) or len(tokens) != len(old):
        raise FormatError(path, 0, f"a text of {len(old)} words keeps them where they are: give as many, one a number")
    out: list[str] = []
    end = 0
    for token, word, before in zip(tokens, words, old, strict=True):
        digits = _HEX.fullmatch(token[0])
        if word != before and digits is not None:
            start = token.start() + digits.start(1)
            out += [text[end:start], f"{word:0{len(digits[1])}x}"]
            end = token.start() + digits.end(1)
    return "".join([*out, text[end:]])


def read_hex(
    data: bytes | str, path: str | None = None, *, isa: str = "", variant: str = "", word_size: int = 4,
    name: str = "main",
) -> Module:  # fmt: skip
    """Read a hexadecimal text as a module with one kernel; `word_size` is the size of its words in bytes."""
    if isinstance(data, bytes):
        if not is_textual(data):
            raise FormatError(path, 0, "not a text")
        data = data.decode("latin-1")
    code = bytes_of(parse_hex(data, path, word_size=word_size), word_size)
    return _module("hex", code, path, isa, variant, name, len(data))


def write_hex(words: Sequence[int], *, word_size: int = 4, per_line: int = 4) -> str:
    """Write words as text, `per_line` in a line; `read_hex` gives them back."""
    cells = [f"0x{w:0{2 * word_size}x}" for w in words]
    lines = (" ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line))
    return "".join(f"{line}\n" for line in lines)


def is_textual(data: bytes) -> bool:
    """Return whether the bytes could be a text: no control characters but white space."""
    return _TEXTUAL.fullmatch(data) is not None


def _module(kind: str, code: bytes, path: str | None, isa: str, variant: str, name: str, size: int) -> Module:
    return Module(kind, isa, variant, path=path, size=size, kernels={name: Kernel(name, code)})


def _pick(module: Module, kernel: str | None) -> Kernel:
    if kernel is None and len(module.kernels) == 1:
        return next(iter(module.kernels.values()))
    if kernel is None or kernel not in module.kernels:
        raise FormatError(module.path, 0, f"name one of the kernels {', '.join(module.kernels) or '(none)'}")
    return module.kernels[kernel]
