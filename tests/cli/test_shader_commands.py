"""Shaders on the command line: textures, saved results, comparisons."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.programs import write
from support.clients.command_line import run

SOURCE = """
.gxp fragment
.uniform tint f32x4
.sampler tex f32x4 unit 0
.texture unit 0 sa4
.varying texcoord0 f32x2
.result f16x4
.program primary
    smp2d.f32 f32 r0 pa0 sa4 drc0
    vpck.f32.f32 i0.xyzw r0.xyzw r2
    vmul.f32 i0.xyzw i0.xyzw sa0.xyzw
    vpck.f16.f32 pa0.xyzw i0.xyzw #0x0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    usse = isakit.isa("usse")
    (tmp_path / "a.gxp").write_bytes(write(usse.assemble(SOURCE), "gxp"))
    (tmp_path / "b.gxp").write_bytes(write(usse.assemble(SOURCE.replace("sa0.xyzw\n", "sa0.zxyw\n")), "gxp"))
    y, x = (np.mgrid[:4, :6] + 0.5).astype(np.float32)
    np.save(tmp_path / "uv.npy", np.stack([x / 6, y / 4], -1))
    np.save(tmp_path / "tex.npy", np.random.default_rng(0).integers(0, 256, (4, 6, 4)).astype(np.uint8))
    np.save(tmp_path / "tint.npy", np.ones(4, np.float32))
    return tmp_path


def test_a_texture_and_a_saved_result(folder: Path) -> None:
    result = run(
        "run", str(folder / "a.gxp"), "--arg", f"texcoord0=in:{folder}/uv.npy", "--arg", f"tint=in:{folder}/tint.npy",
        "--texture", f"tex={folder}/tex.npy,nearest", "--arg", f"color=out:{folder}/c.npy",
    )  # fmt: skip
    assert "color: saved as" in result.stdout
    expected = np.load(folder / "tex.npy") / np.float32(255)
    np.testing.assert_array_equal(np.load(folder / "c.npy"), expected.astype(np.float16).astype(np.float32))


def test_a_result_as_a_picture(folder: Path) -> None:
    run(
        "run", str(folder / "a.gxp"), "--arg", f"texcoord0=in:{folder}/uv.npy", "--arg", f"tint=in:{folder}/tint.npy",
        "--texture", f"tex={folder}/tex.npy,nearest", "--arg", f"color=out:{folder}/c.png",
    )  # fmt: skip
    data = (folder / "c.png").read_bytes()
    assert struct.unpack(">2I", data[16:24]) == (6, 4)


def test_mistakes_about_textures_and_results(folder: Path) -> None:
    common = ["run", str(folder / "a.gxp"), "--arg", f"texcoord0=in:{folder}/uv.npy"]
    assert "give NAME=FILE" in run(*common, "--texture", "tex", code=2).stderr
    assert "give NAME=FILE" in run(*common, "--texture", f"tex={folder}/tex.npy,blurred", code=2).stderr
    assert "no sampler 'image'" in run(*common, "--texture", f"image={folder}/tex.npy", code=1).stderr
    texture = ["--texture", f"tex={folder}/tex.npy"]
    assert "no attribute or result 'colour'" in run(*common, *texture, "--arg", "colour=out:x.npy", code=1).stderr


def test_compare_says_equal_or_where_values_part(folder: Path) -> None:
    a, b = str(folder / "a.gxp"), str(folder / "b.gxp")
    assert run("compare", a, a).stdout.startswith("equal: color")
    text = run("compare", a, b, code=3).stdout
    assert "color: " in text
    assert "=> 0x0010  vmul.f32 i0.xyzw i0.xyzw sa0.xyzw" in text
    assert "=> 0x0010  vmul.f32 i0.xyzw i0.xyzw sa0.zxyw" in text
    found = json.loads(run("compare", "--json", a, b, code=3).stdout)
    assert (found["equal"], found["parting"]["instructions"][0]["number"]) == (False, 2)
    white = ["--arg", f"tint=in:{folder}/tint.npy", "--texture", f"tex={folder}/tex.npy"]
    assert run("compare", a, b, *white).stdout.startswith("equal")


def test_compare_takes_two_files_of_a_kind(folder: Path) -> None:
    kernel = folder / "k.cubin"
    program = isakit.isa("tesla", "gt200").assemble(
        ".kernel k\n.param out ptr\n    mov b32 $r1 b32 s[0x10]\n    exit nop\n"
    )
    kernel.write_bytes(write(program, "cubin"))
    assert "give two shaders or two cubins" in run("compare", str(folder / "a.gxp"), str(kernel), code=1).stderr
    text = run("compare", str(kernel), str(kernel), "--arg", "zeros:f32:4", "--block", "4").stdout
    assert text.startswith("equal: argument 0")


def test_expressions_and_glsl_of_a_shader(folder: Path) -> None:
    assert run("dis", "--expr", str(folder / "a.gxp")).stdout == "color = f16(texture(tex, texcoord0) * tint);\n"
    glsl = run("dis", "--glsl", str(folder / "a.gxp")).stdout.splitlines()
    assert glsl[0] == "#version 420"
    assert "uniform sampler2D tex;" in glsl
    assert "    color_out = f16(texture(tex, texcoord0) * tint);" in glsl


def test_expressions_are_for_shaders(tmp_path: Path) -> None:
    (tmp_path / "k.bin").write_bytes(bytes(8))
    result = run("dis", "-m", "tesla", "--expr", str(tmp_path / "k.bin"), code=1)
    assert "holds no shader file" in result.stderr
