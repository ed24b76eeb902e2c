"""Colours of fragment shaders in the formats of the output register."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.errors import LaunchError
from isakit.formats import Shader
from isakit.programs import write
from isakit.runtime.usse_output import OUTPUT_FORMATS, OutputRegister

COLORS = np.float32([[0, 0.25, 0.5, 1], [-0.5, 1.5, 1 / 3, 0.2], [np.nan, -2, 70000, 1e-8]])


def shader(flags: str = "", ty: str = "f32x4", code: str = "nop") -> Shader:
    text = f".gxp fragment\n{flags}\n.varying texcoord0 f32x4\n.result {ty}\n.program primary\n{code}\n"
    found = isakit.load(write(isakit.isa("usse").assemble(text), "gxp"))
    assert isinstance(found, Shader)
    return found


def packed(output: str, colors: np.ndarray = COLORS, **how: str) -> np.ndarray:
    return usse.run(shader(**how), varyings={"texcoord0": colors}, output=output).packed


def integers(colors: np.ndarray, scale: int, low: int) -> np.ndarray:
    return np.rint(np.clip(np.nan_to_num(colors.astype(np.float64), nan=0.0), low, 1) * scale).astype(np.int64)


@pytest.mark.parametrize(("name", "letter", "count", "scale"), [
    ("uchar4", "B", 4, 255), ("char4", "b", 4, 127), ("ushort2", "H", 2, 65535), ("short2", "h", 2, 32767),
])  # fmt: skip
def test_integers_are_rounded_fractions(name: str, letter: str, count: int, scale: int) -> None:
    rows = integers(COLORS[:, :count], scale, -1 if letter in "bh" else 0)
    expected = [struct.pack(f"<{count}{letter}", *row.tolist()) for row in rows]
    assert [row.tobytes() for row in packed(name)] == expected


@pytest.mark.parametrize(("name", "kind", "count"), [
    ("half4", np.float16, 4), ("half2", np.float16, 2), ("float2", np.float32, 2), ("float", np.float32, 1),
])  # fmt: skip
def test_floats_are_converted(name: str, kind: type, count: int) -> None:
    with np.errstate(over="ignore"):
        expected = np.ascontiguousarray(COLORS[:, :count].astype(kind)).view(np.uint32)
    np.testing.assert_array_equal(packed(name), expected)


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_what_a_register_holds_comes_back(name: str) -> None:
    register = OutputRegister(*OUTPUT_FORMATS[name])
    low = -1 if register.ty[0] == "s" else 0
    scale = {"u8": 255, "s8": 127, "u16": 65535, "s16": 32767}.get(register.ty, 64)
    colors = (np.arange(low * scale, scale + 1)[:, None] / np.float32(scale)).astype(np.float32)
    colors = np.repeat(colors, register.components, axis=1)
    np.testing.assert_array_equal(register.unpacked(register.packed(colors)), colors)


def test_declared_is_the_type_of_the_file() -> None:
    np.testing.assert_array_equal(packed("declared")[:2], COLORS[:2].view(np.uint32))


def test_native_colours_reach_the_register_as_the_program_writes_them() -> None:
    code = "    vpck.u8.f16 o0.xyzw pa4.xyzw scale\n"
    code = "    vpck.f16.f32 pa4.xyzw pa0.xyzw pa2\n" + code
    found = packed("uchar4", COLORS[:2], flags=".flags native_color", ty="u8x4", code=code)
    expected = integers(COLORS[:2].astype(np.float16), 255, 0).astype(np.uint8).view(np.uint32)
    np.testing.assert_array_equal(found, expected)


def test_native_colours_have_one_format() -> None:
    with pytest.raises(LaunchError, match="writes its colours itself"):
        packed("half4", flags=".flags native_color", ty="u8x4", code="or.u32 o0 pa0 #0x0")


def test_other_names_are_refused() -> None:
    with pytest.raises(LaunchError, match="no output format 'rgba8'; there are: declared, uchar4"):
        packed("rgba8")


def test_a_vertex_shader_has_no_output_register() -> None:
    text = ".gxp vertex\n.attribute position f32x4\n.outputs position\n.program primary\nemit end\n"
    found = isakit.load(write(isakit.isa("usse").assemble(text), "gxp"))
    with pytest.raises(LaunchError, match="only fragment shaders"):
        usse.run(found, attributes={"position": [[0, 0, 0, 1]]}, output="uchar4")
