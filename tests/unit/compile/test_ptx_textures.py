"""Textures in PTX: arrays, cube maps, sizes and texels by number, against the arrays they were made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.runtime import Device
from isakit.tesla import Texture

LANES = 8
HEAD = """.version 2.3
.target sm_13
.tex .u64 t;
.entry k (.param .u64 out)
{
  .reg .u64 %o, %at; .reg .u32 %x, %r<4>; .reg .f32 %fx, %y, %z, %f<4>;
  ld.param.u64 %o, [out]; mov.u32 %x, %tid.x; cvt.rn.f32.u32 %fx, %x; mul.wide.u32 %at, %x, 4; add.u64 %o, %o, %at;
"""
IMAGE = np.arange(3 * 4 * LANES, dtype=np.float32).reshape(3, 4, LANES)


def read(body: str, texture: Texture, chip: str = "gt200") -> Any:
    """What lane 0, 1, 2 ... stores."""
    module = compile_ptx(HEAD + body + "\n  exit;\n}\n", chip).module
    kernel = Device(chip).load(module)["k"]
    kernel.bind("t", texture)
    out = np.zeros(LANES, np.float32)
    kernel[1, LANES](out)
    return out


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_the_layer_of_an_array_stands_in_front_of_the_coordinates(chip: str) -> None:
    body = "mov.u32 %r0, 1; mov.f32 %y, 0f40000000; tex.a2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%r0, %fx, %y, %y}];"
    got = read(body + "st.global.f32 [%o], %f0;", Texture(IMAGE, target="2d_array", normalized=False), chip)
    assert list(got) == list(IMAGE[1, 2])


def test_a_one_dimensional_array_has_layers() -> None:
    body = "mov.u32 %r0, 2; tex.a1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%r0, %fx}]; st.global.f32 [%o], %f0;"
    assert list(read(body, Texture(IMAGE[0], target="1d_array", normalized=False))) == list(IMAGE[0, 2])


@pytest.mark.parametrize(
    ("geometry", "coordinates", "target", "want"),
    [
        ("a2d", "{%r0, %x, %r1, %r1}", "2d_array", IMAGE[2, 3]),
        ("3d", "{%x, %r1, %r0, %r0}", "3d", IMAGE[2, 3]),
        ("a1d", "{%r0, %x}", "1d_array", IMAGE[0, 2]),
        ("2d", "{%x, %r1}", "2d", IMAGE[0, 3]),
    ],
)
def test_texels_are_read_by_number(geometry: str, coordinates: str, target: Any, want: Any) -> None:
    image = {"2d": IMAGE[0], "1d_array": IMAGE[0]}.get(target, IMAGE)
    body = f"mov.u32 %r0, 2; mov.u32 %r1, 3; tex.{geometry}.v4.f32.s32 {{%f0, %f1, %f2, %f3}}, [t, {coordinates}];"
    assert list(read(body + "st.global.f32 [%o], %f0;", Texture(image, target=target, normalized=False))) == list(want)


FACES = np.arange(6, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), np.float32)


@pytest.mark.parametrize(
    ("axis", "sign", "face"), [("x", "", 0), ("x", "-", 1), ("y", "", 2), ("y", "-", 3), ("z", "", 4), ("z", "-", 5)]
)
def test_a_direction_of_any_length_meets_the_face_of_its_longest_component(axis: str, sign: str, face: int) -> None:
    # the lane's number from 0 to 7, so that the other components lie between 0 and 7, and the longest one is 10
    long = "0fc1200000" if sign else "0f41200000"
    parts = ["%fx", "%fx", "%fx"]
    parts["xyz".index(axis)] = long
    body = f"tex.cube.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [t, {{{', '.join(parts)}, %fx}}]; st.global.f32 [%o], %f0;"
    assert list(read(body, Texture(FACES, target="cube"))) == [face] * LANES


@pytest.mark.parametrize(("query", "size"), [("width", 8), ("height", 4), ("depth", 3)])
def test_the_size_of_a_texture_is_told(query: str, size: int) -> None:
    body = f"txq.{query}.b32 %r0, [t]; st.global.u32 [%o], %r0;"
    assert list(read(body, Texture(IMAGE, target="3d")).view(np.uint32)) == [size] * LANES


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_a_register_may_say_which_texture_is_meant(chip: str) -> None:
    text = HEAD.replace(".tex .u64 t;", ".tex .u64 t; .global .texref u; .tex .u32 w;")
    text = text.replace(".reg .u32", ".reg .pred %p; .reg .u64 %h<4>; .reg .u32")
    text += """
  mov.u64 %h0, t; mov.u64 %h1, u; mov.u64 %h2, w;
  and.b32 %r0, %x, 1; setp.ne.u32 %p, %r0, 0; selp.b64 %h3, %h0, %h1, %p;
  setp.gt.u32 %p, %x, 4; selp.b64 %h3, %h2, %h3, %p;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%h3, {%fx}]; txq.width.b32 %r1, [%h3]; cvt.rn.f32.u32 %y, %r1;
  fma.rn.f32 %f0, %y, 0f447A0000, %f0; st.global.f32 [%o], %f0; exit;
}
"""
    if chip == "g80":
        exact = "mul.rn.f32 %y, %y, 0f447A0000; add.rn.f32 %f0, %f0, %y;"
        text = text.replace("fma.rn.f32 %f0, %y, 0f447A0000, %f0;", exact)
    kernel = Device(chip).load(compile_ptx(text, chip).module)["k"]
    content = {"t": np.arange(8) + 10, "u": np.arange(16) + 100, "w": np.arange(32) + 500}
    for name, values in content.items():
        kernel.bind(name, Texture(values.astype(np.float32)[:, None], target="1d", normalized=False))
    out = np.zeros(LANES, np.float32)
    kernel[1, LANES](out)
    which = ["w" if x > 4 else "t" if x & 1 else "u" for x in range(LANES)]
    assert out.tolist() == [content[n][x] + 1000 * len(content[n]) for x, n in enumerate(which)]
