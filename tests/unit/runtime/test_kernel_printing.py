"""What kernels print, against the C library's own printf."""

from __future__ import annotations

import ctypes
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit.runtime.printing import formatted, take_printed

INTEGER, FLOAT, DOUBLE = 1, 2, 3


def nothing(address: int) -> bytes:
    raise AssertionError(address)


def c_printf(text: bytes, *arguments: object) -> bytes:
    room = ctypes.create_string_buffer(4096)
    ctypes.CDLL(None).snprintf(room, ctypes.c_size_t(len(room)), text, *arguments)
    return room.value


FLAGS = st.text("-+ #0", max_size=3)
WIDTH = st.sampled_from(["", "1", "7", "20"])
PRECISION = st.sampled_from(["", ".0", ".", ".3", ".12"])


@given(FLAGS, WIDTH, PRECISION, st.sampled_from(["hh", "h", "", "l", "ll"]), st.sampled_from("diuxXo"),
       st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 300))  # fmt: skip
def test_integers_are_those_of_the_c_library(
    flags: str, width: str, precision: str, size: str, letter: str, value: int
) -> None:
    text = f"<%{flags}{width}{precision}{size}{letter}>".encode()
    assert formatted(text, [(INTEGER, value & (1 << 64) - 1)], nothing) == c_printf(text, ctypes.c_longlong(value))


@given(FLAGS, WIDTH, PRECISION, st.sampled_from("eEfFgG"), st.floats(width=32))
def test_floats_are_those_of_the_c_library(flags: str, width: str, precision: str, letter: str, value: float) -> None:
    text = f"<%{flags}{width}{precision}{letter}>".encode()
    if value != value:
        value = abs(value)
        struct_value = 0x7FF8 << 48
    else:
        struct_value = int.from_bytes(struct.pack("<d", value), "little")
    assert formatted(text, [(DOUBLE, struct_value)], nothing) == c_printf(text, ctypes.c_double(value))
    if value == value:
        word = int.from_bytes(struct.pack("<f", value), "little")
        assert formatted(text, [(FLOAT, word)], nothing) == c_printf(text, ctypes.c_double(value))


@pytest.mark.parametrize(("text", "values", "expected"), [
    (b"%*d|%-*d|%.*f", [(1, 5), (1, 42), (1, 5), (1, 42), (1, 2), (3, 0x400921FB54442D18)], b"   42|42   |3.14"),
    (b"%d %d", [(1, 1)], b"1 %d"),
    (b"100%% %q %", [], b"100% %q %"),
    (b"%c%c", [(1, 65), (1, 0x1FF)], b"A\xff"),
    (b"%p %p", [(1, 0), (1, 0x1234)], b"(nil) 0x1234"),
    (b"%99999999999d", [(1, 1)], b" " * 4095 + b"1"),
])  # fmt: skip
def test_conversions(text: bytes, values: list[tuple[int, int]], expected: bytes) -> None:
    assert formatted(text, values, nothing) == expected


def test_texts_come_from_memory() -> None:
    assert formatted(b"<%6s|%.2s>", [(1, 8), (1, 8)], lambda at: b"text" if at == 8 else b"") == b"<  text|te>"


def test_records_that_found_no_room_end_the_buffer() -> None:
    record = struct.pack("<5I2I", 1 << 24 | 7, 64, 0, 1, 0, 5, 0)
    buffer = bytearray(struct.pack("<I", 3 * 7) + record * 2 + bytes(12))
    got = take_printed(memoryview(buffer), lambda at: b"%d;" if at == 64 else b"")
    assert (got.text, got.assertions, got.lost) == (b"5;5;", [], True)
    assert buffer == bytes(len(buffer))


@given(st.binary(min_size=4, max_size=400))
def test_any_bytes_are_taken(data: bytes) -> None:
    take_printed(memoryview(bytearray(data[: len(data) & ~3])), lambda at: b"%s %d %e %c %p %x")
