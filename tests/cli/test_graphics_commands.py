"""`isakit draw`, texture headers in `isakit explain`, textures in `isakit run` and `isakit info`."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from conftest import shared_file
from isakit.tesla import Sampler, Texture
from support.clients.command_line import run

ROOT = Path(__file__).resolve().parents[2]
SCENES = sorted(p.parent for p in (ROOT / "examples/tesla-graphics").glob("*/scene.json"))

FETCH = """\
.kernel twice
.param out ptr
    cvt u32 $r1 u16 $r0l
    shl b32 $r2 $r1 0x2
    mov b32 $r3 b32 s[out]
    add b32 $r2 $r2 $r3
    texfetch live $r1:#:#:# $t3 $s0 $r1 0x0 0x0 0x0
    add b32 $r1 $r1 $r1
    exit st b32 g14[$r2] $r1
"""


def pixels(data: bytes) -> np.ndarray:
    """A PNG of unfiltered 8-bit rows, the way the specification says."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
        parts[name] = parts.get(name, b"") + body
        at += 12 + size
    width, height, bits, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    assert (bits, kind) == (8, 6)
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 4 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 4)


@pytest.mark.parametrize("scene", SCENES, ids=[s.name for s in SCENES])
def test_examples_look_as_in_the_documentation(scene: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    run("draw", str(scene / "scene.json"), "-o", str(out))
    expected = pixels((ROOT / f"docs/images/tesla-{scene.name}.png").read_bytes())
    assert (pixels(out.read_bytes()) == expected).all()


@pytest.mark.parametrize("chip", ["g80", "g84", "gt215", "mcp77"])
def test_examples_look_the_same_on_every_chip(chip: str, tmp_path: Path) -> None:
    for scene in SCENES:
        pictures = []
        for name in ("gt200", chip):
            out = tmp_path / f"{name}.bin"
            run("draw", str(scene), "-o", str(out), "--chip", name)
            pictures.append(out.read_bytes())
        assert pictures[0] == pictures[1]


def test_draw_tells_what_it_did(tmp_path: Path) -> None:
    out = str(tmp_path / "a.png")
    data = json.loads(run("draw", str(SCENES[0]), "-o", out, "--json").stdout)
    assert data[0]["fragments"] > 0
    assert "fragments" in run("draw", str(SCENES[0]), "-o", out, "--stats").stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": None}, "mode: a text is expected"),
        ({"attribs": 3}, "attribs: a list is expected"),
        ({"attribs": [{"data": [[1, 2]], "dtype": "f80"}]}, "f80"),
        ({"attribs": [{"file": "missing.bin", "shape": [1]}]}, "missing.bin"),
        ({"state": {"depth": "deeper"}}, "depth is one of never"),
        ({"state": {"blend": ["one", "two"]}}, "dst is one of zero"),
        ({"textures": [{"unit": 0}]}, "it lacks 'format'"),
        ({"code": {"any": {"VERT": {}, "FRAG": {}}}}, "it lacks 'asm'"),
    ],
)
def test_scenes_with_something_wrong_inside(change: dict[str, object], message: str, tmp_path: Path) -> None:
    source = ROOT / "examples/tesla-graphics/triangle"
    for name in ("vertex.s", "fragment.s"):
        (tmp_path / name).write_text((source / name).read_text())
    scene = json.loads((source / "scene.json").read_text())
    scene["draws"][0].update(change)
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    assert message in run("draw", str(tmp_path), "-o", str(tmp_path / "out.png"), code=1).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "is not JSON"),
        ("{}", "lacks 'width'"),
        ('{"width": 4, "height": 4, "draws": []}', "draws nothing"),
        ('{"draws": [{"mode": "points", "code": {"g80": {}}, "attribs": []}]}', "lacks 'width'"),
        (
            '{"width": 4, "height": 4, "draws": [{"code": {"g80": {}}, "mode": "points", "attribs": []}]}',
            "vertex program",
        ),
        (
            '{"width": 4, "height": 4, "draws": [{"mode": "points", "code": {"any": {"VERT": {"asm": "../x.s"}}}, '
            '"attribs": []}]}',
            "outside its folder",
        ),
    ],
)
def test_bad_scenes(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text(text)
    result = run("draw", str(path), "-o", str(tmp_path / "out.png"), code=1)
    assert message in result.stderr
    assert str(path) in result.stderr


def test_a_program_with_an_error_is_named(tmp_path: Path) -> None:
    scene = json.loads((SCENES[-1] / "scene.json").read_text())
    (tmp_path / "vertex.s").write_text("mov b32 o[0x0] a[0x0]\nnonsense $r0\n")
    (tmp_path / "fragment.s").write_text("exit (never) nop\n")
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    result = run("draw", str(tmp_path), "-o", "-", code=1)
    assert "vertex.s:2:1: error" in result.stderr


def test_explain_texture_headers() -> None:
    words = [f"{w:08x}" for w in Texture(np.zeros((4, 16, 4), np.uint8)).words]
    text = run("explain", "-m", "tesla", "-t", "tic", *words).stdout
    assert "A8B8G8R8" in text
    assert "unorm" in text
    rows = json.loads(run("explain", "-m", "tesla", "-t", "tic", "--json", *words).stdout)["rows"]
    assert {r["field"]: r["value"] for r in rows}["width"] == 16
    sampler = [f"{w:x}" for w in Sampler("mirror", "linear", border=(0.5, 0, 0, 1)).words]
    text = run("explain", "-m", "tesla", "-t", "tsc", *sampler).stdout
    assert "mirror" in text
    assert "0.5" in text
    assert "8 words" in run("explain", "-m", "tesla", "-t", "tsc", "1", "2", code=1).stderr


def test_run_with_a_texture(tmp_path: Path) -> None:
    (tmp_path / "k.s").write_text(FETCH)
    np.save(tmp_path / "t.npy", np.arange(100, 132, dtype=np.int32))
    result = run(
        "run", str(tmp_path / "k.s"), "--block", "32", "--arg", f"out:i32:32:{tmp_path / 'o.npy'}",
        "--texture", f"3={tmp_path / 't.npy'}",
    )  # fmt: skip
    assert "saved" in result.stdout
    assert np.load(tmp_path / "o.npy").tolist() == [2 * n for n in range(100, 132)]
    bad = run("run", str(tmp_path / "k.s"), "--arg", "out:i32:32", "--texture", "3", code=2)
    assert "NAME=FILE.npy" in bad.stderr
    assert "UNBOUND_TEXTURE" in run("run", str(tmp_path / "k.s"), "--arg", "out:i32:32", code=3).stderr


def test_info_lists_textures_of_each_kernel() -> None:
    path = str(shared_file("corpus/tesla/cubins/334be76b4abc.sm_10.cubin"))
    text = run("info", path).stdout
    assert "texture rgbaTex" in text
    assert "at unit 0 in _Z18d_boxfilter_rgba_xPjiii" in text
    kernels = {k["name"]: k["samplers"] for k in json.loads(run("info", "--json", path).stdout)[0]["kernels"]}
    assert kernels["_Z17d_boxfilter_x_texPfiii"] == [{"name": "tex", "unit": 0}]


def test_every_engine_draws_the_same_picture(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    scene = str(ROOT / "examples/tesla-graphics/julia/scene.json")
    for engine in ("reference", "llvm"):
        run("draw", scene, "-o", str(tmp_path / f"{engine}.bin"), "--engine", engine, "--tier", "interp")
    assert (tmp_path / "llvm.bin").read_bytes() == (tmp_path / "reference.bin").read_bytes()
    run("draw", scene, "-o", str(tmp_path / "x.png"), "--engine", "none", code=2)


def test_a_scene_of_shaders_looks_as_in_the_documentation(tmp_path: Path) -> None:
    out = tmp_path / "ring.png"
    run("draw", str(ROOT / "examples/usse/scene"), "-o", str(out))
    assert (pixels(out.read_bytes()) == pixels((ROOT / "docs/images/usse-ring.png").read_bytes())).all()


@pytest.mark.parametrize("option", [("--chip", "gt200"), ("--threads", "2"), ("--tier", "jit")])
def test_options_of_chips_are_refused_for_a_scene_of_shaders(option: tuple[str, str], tmp_path: Path) -> None:
    run("draw", str(ROOT / "examples/usse/scene"), "-o", str(tmp_path / "ring.png"), *option, code=2)


def test_a_scene_of_shaders_has_no_pixel_to_debug() -> None:
    found = run("debug", str(ROOT / "examples/usse/scene/scene.json"), "--pixel", "40,25", code=1)
    assert "no program for a Tesla chip" in found.stderr
