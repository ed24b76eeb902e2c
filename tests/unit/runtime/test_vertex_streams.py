"""Vertex streams: every attribute format with all its values, offsets, strides, and what registers get of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.errors import LaunchError
from isakit.programs import write

SOURCE = """
.gxp vertex
.attribute value {ty}x{n} pa0{raw}
.outputs position
.program primary
    or.u32 o0 pa0 #0x0
    or.u32 o1 pa1 #0x0
    or.u32 o2 pa2 #0x0
    or.u32 o3 pa3 #0x0
    emit end
"""


def registers(stream: usse.VertexStream, ty: str = "f32", n: int = 4, raw: str = "") -> np.ndarray:
    """pa0 to pa3 of a shader that takes the stream as its attribute."""
    text = SOURCE.format(ty=ty, n=n, raw=raw)
    shader = isakit.load(write(isakit.isa("usse").assemble(text), "gxp"))
    return np.ascontiguousarray(usse.run(shader, attributes={"value": stream}).position).view(np.uint32)


INTEGERS = {"U8": ("B", 0, 255), "S8": ("b", -128, 127), "U16": ("H", 0, 65535), "S16": ("h", -32768, 32767)}


@pytest.mark.parametrize("form", INTEGERS)
def test_every_integer_arrives_as_its_number(form: str) -> None:
    letter, low, high = INTEGERS[form]
    numbers = range(low, high + 1)
    data = b"".join(struct.pack(f"<{letter}", v) for v in numbers)
    found = registers(usse.VertexStream(data, form, 1), n=1)[:, 0].view(np.float32)
    np.testing.assert_array_equal(found, np.array(numbers, np.float32))


@pytest.mark.parametrize("form", INTEGERS)
def test_every_normalised_integer_arrives_as_its_fraction(form: str) -> None:
    letter, low, high = INTEGERS[form]
    data = b"".join(struct.pack(f"<{letter}", v) for v in range(low, high + 1))
    found = registers(usse.VertexStream(data, f"{form}N", 1), n=1)[:, 0].view(np.float32)
    exact = [max(v / high, -1.0) for v in range(low, high + 1)]
    np.testing.assert_array_equal(found, np.array(exact).astype(np.float32))


def test_every_half_arrives_exactly() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(np.float16)
    found = registers(usse.VertexStream(bits, "F16", 1), n=1)[:, 0].view(np.float32)
    np.testing.assert_array_equal(found, halves.astype(np.float32))


def test_untyped_words_arrive_as_they_are() -> None:
    words = np.array([0x7FC00001, 0x80000000, 0xFFFFFFFF, 1], np.uint32)
    np.testing.assert_array_equal(registers(usse.VertexStream(words, "UNTYPED", 4), raw=" raw")[0], words)


def test_floats_in_untyped_registers_keep_their_bits() -> None:
    found = registers(usse.VertexStream(np.float32([1.5, -2, 0, 4]), "F32", 4), raw=" raw")[0]
    assert found.view(np.float32).tolist() == [1.5, -2, 0, 4]


def test_missing_components_are_zero_and_the_fourth_one() -> None:
    found = registers(usse.VertexStream(np.float32([5, 6]), "F32", 2))
    assert found[0].view(np.float32).tolist() == [5, 6, 0, 1]


@pytest.mark.parametrize(("ty", "form", "expected"), [
    ("f16", "F32", struct.pack("<4e", 1.5, -2, 0.25, 8)),
    ("s16", "S16", struct.pack("<4h", -3, 4, 500, -600)),
    ("u8", "U8", bytes([1, 2, 254, 255])),
    ("s32", "S8", struct.pack("<4i", -1, 2, -128, 127)),
])  # fmt: skip
def test_registers_hold_what_the_type_of_the_parameter_asks_for(ty: str, form: str, expected: bytes) -> None:
    values = {"F32": np.float32([1.5, -2, 0.25, 8]), "S16": np.int16([-3, 4, 500, -600]),
              "U8": np.uint8([1, 2, 254, 255]), "S8": np.int8([-1, 2, -128, 127])}[form]  # fmt: skip
    found = registers(usse.VertexStream(values, form, 4), ty)[0].tobytes()
    assert found[: len(expected)] == expected


def test_attributes_are_taken_from_between_others() -> None:
    vertex = np.dtype([("before", "<u2"), ("value", "i1", 3), ("gap", "u1", 4)])
    stream = np.zeros(7, vertex)
    stream["value"] = np.arange(21).reshape(7, 3) - 10
    found = registers(usse.VertexStream(stream, "S8", 3, offset=2, stride=vertex.itemsize), n=3)
    np.testing.assert_array_equal(found[:, :3].view(np.float32), stream["value"])


def test_the_last_vertex_need_not_have_its_gap() -> None:
    stream = usse.VertexStream(bytes(16 + 4), "F32", 1, stride=16)
    assert stream.values().shape == (2, 1)


def test_a_stride_of_zero_gives_all_vertices_the_same() -> None:
    stream = usse.VertexStream(np.float32([1, 2]), "F32", 2, stride=0, count=3)
    assert stream.values().tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("wrong", [
    {"format": "F64"}, {"components": 5}, {"components": 0}, {"offset": -1}, {"stride": -4}, {"offset": 60},
    {"count": 9}, {"count": 0},
])  # fmt: skip
def test_what_does_not_fit_is_refused(wrong: dict[str, int]) -> None:
    given = {"data": bytes(64), "format": "F32", "components": 2} | wrong
    with pytest.raises(LaunchError):
        usse.VertexStream(**given).values()
