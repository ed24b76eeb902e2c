"""Output of kernels: formatting the records they write to a buffer.

The buffer is a variable of the module; `compile/c/headers/cuda/printing.h` describes its content, and
`compile/python/output.py` writes one record more, that of Python's `print`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from isakit.description import words_of
from isakit.float_bits import bits_of_float, float_of_bits
from isakit.sem.value import mask, signed

BUFFER = "__isakit_printed"
"""The start or end of the variable's name, which compilers may decorate."""
_PRINT, _ASSERTION, _PYTHON = 1, 2, 3
_UNSIGNED, _FLOAT, _DOUBLE, _BOOLEAN = 0, 2, 3, 4
_VALUE = b"\1"
"""Placeholder of a value in the text of Python's `print`. Kinds of such a record have four bits each."""
_CONVERSION = re.compile(rb"%([-+ #0]*)(\*|\d*)(?:\.(\*|-?\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")
_WIDEST = 4096
"""Characters that one conversion makes at most."""
LONGEST_TEXT = 1 << 16
"""Longest text in bytes."""
TextAt = Callable[[int], bytes]
"""Gives the text at an address of the device's memory."""


class Printed(NamedTuple):
    """Output of a kernel.

    Attributes:
        text: for standard output.
        assertions: those that failed.
        lost: some records have found no room.
    """

    text: bytes
    assertions: list[str]
    lost: bool

    @property
    def failed(self) -> str:
        """The assertion that failed first, the empty text if none has."""
        return self.assertions[0] if self.assertions else ""


def take_printed(buffer: memoryview, text_at: TextAt) -> Printed:
    """Return the text that the records in a buffer print, and empty the buffer."""
    room = len(buffer) // 4
    used = 1 + int.from_bytes(buffer[:4], "little")
    at, out, assertions = 1, bytearray(), list[str]()
    while at + 5 <= min(used, room):
        head = int.from_bytes(buffer[4 * at : 4 * at + 4], "little")
        kind, words = head >> 24, head & 0xFF_FFFF
        if kind not in (_PRINT, _ASSERTION, _PYTHON) or words < 5 or at + words > room:
            break  # it found no room
        record = bytes(buffer[4 * at : 4 * (at + words)])
        text, kinds = int.from_bytes(record[4:12], "little"), int.from_bytes(record[12:20], "little")
        arguments = words_of(record[20:], 8)
        if kind == _PRINT:
            out += formatted(text_at(text), [(kinds >> 2 * k & 3, v) for k, v in enumerate(arguments)], text_at)
        elif kind == _PYTHON:
            values = [_shown(kinds >> 4 * k & 15, v) for k, v in enumerate(arguments)]
            parts = text_at(text).split(_VALUE)
            out += parts[0] + b"".join(v + part for v, part in zip(values, parts[1:], strict=False))
        elif len(arguments) == 9:
            assertions.append(_assertion(text_at(text), arguments, text_at))
        at += words
    if used > 1:
        buffer[: 4 * min(used, room)] = bytes(4 * min(used, room))
    return Printed(bytes(out), assertions, used > room)


def _shown(kind: int, bits: int) -> bytes:
    """Return a number as Python shows it: floats by the fewest digits that tell them from others of their type."""
    if kind == _FLOAT:
        return str(np.uint32(bits & 0xFFFF_FFFF).view(np.float32)).encode()
    if kind == _DOUBLE:
        return repr(float_of_bits(bits, "f64")).encode()
    if kind == _BOOLEAN:
        return b"True" if bits & 1 else b"False"
    return str(bits if kind == _UNSIGNED else signed(bits, 64)).encode()


def _assertion(what: bytes, arguments: list[int], text_at: TextAt) -> str:
    file, line, function, *place = arguments
    block, thread = (",".join(str(n & 0xFFFF_FFFF) for n in place[k : k + 3]) for k in (0, 3))
    texts = [t.decode("utf-8", "replace") for t in (text_at(file), text_at(function), what)]
    return f"{texts[0]}:{line & 0xFFFF_FFFF}: {texts[1]}: block [{block}], thread [{thread}]: `{texts[2]}` failed"


def formatted(text: bytes, arguments: list[tuple[int, int]], text_at: TextAt) -> bytes:
    """Return a text with its conversions done as in C; those without an argument stay as they are.

    Args:
        text: the format.
        arguments: kind (1: an integer or address, 2: a float, 3: a double) and bits of each.
        text_at: gives the text at an address, for `%s`.
    """
    left = iter(arguments)

    def number(field: bytes) -> str:
        if field == b"*":
            _, bits = next(left)
            return str(max(-_WIDEST, min(signed(bits & mask(32), 32), _WIDEST)))
        return str(min(int(field), _WIDEST)) if field.isdigit() else ""

    def made(m: re.Match[bytes]) -> bytes:
        flags, width, precision, size, conversion = m.groups()
        letter = conversion.decode()
        if letter == "%":
            return b"%"
        try:
            wide, exact = number(width), number(precision) if precision is not None else None
            kind, bits = next(left)
        except StopIteration:
            return m[0]
        if wide.startswith("-"):
            flags, wide = flags + b"-", wide[1:]
        if exact is not None and exact.startswith("-"):
            exact = None
        return _converted(flags.decode(), wide, exact, (size or b"").decode(), letter, kind, bits, text_at)

    return _CONVERSION.sub(made, text)


_SIZES = {"hh": 8, "h": 16, "": 32}


def _converted(
    flags: str, width: str, precision: str | None, size: str, letter: str, kind: int, bits: int, text_at: TextAt
) -> bytes:
    dot = "" if precision is None else f".{precision or 0}"
    if letter == "s":
        return f"%{flags}{width}{dot}s".encode() % text_at(bits)
    if letter == "c":
        return f"%{flags}{width}c".encode() % bytes([bits & 0xFF])
    if letter == "p":
        return f"%{flags}{width}s".encode() % (f"0x{bits:x}".encode() if bits else b"(nil)")
    if letter in "aA":
        value = _real(kind, bits).hex()
        return f"%{flags.replace('0', '')}{width}s".encode() % (value.upper() if letter == "A" else value).encode()
    if letter in "eEfFgG":
        real = _real(kind, bits)
        flags = flags if math.isfinite(real) else flags.replace("0", "")
        return (f"%{flags}{width}{dot}{letter}" % real).encode()
    if kind != 1:
        bits = bits_of_float(_real(kind, bits), "f64")
    return _integer(flags, int(width or 0), precision, letter, bits, _SIZES.get(size, 64)).encode()


def _integer(flags: str, width: int, precision: str | None, letter: str, value: int, n: int) -> str:
    value = signed(value & mask(n), n) if letter in "di" else value & mask(n)
    sign = ""
    if letter in "di":
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    digits = format(abs(value), letter if letter in "oxX" else "d")
    if precision is not None:
        digits = "" if not value and not int(precision or 0) else digits.zfill(int(precision or 0))
    if "#" in flags and letter in "xX" and value:
        sign = "0" + letter
    if "#" in flags and letter == "o" and not digits.startswith("0"):
        digits = "0" + digits
    if "-" in flags:
        return (sign + digits).ljust(width)
    if "0" in flags and precision is None:
        digits = digits.zfill(width - len(sign))
    return (sign + digits).rjust(width)


def _real(kind: int, bits: int) -> float:
    if kind == _FLOAT:
        return float_of_bits(bits)
    if kind == _DOUBLE:
        return float_of_bits(bits, "f64")
    return float(signed(bits & mask(64), 64))


__all__ = ["BUFFER", "Printed", "formatted", "take_printed"]
