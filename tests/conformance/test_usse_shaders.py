"""Real shaders of GXP files: all run, and those with known sources give what the source says.

The sources are small: a clear colour, a colour, a texture, a tinted texture, and the vertex transforms that go with
them. Their formulas are written here in NumPy. Larger shaders exist in two builds by different compilers, and as one
program with several modes next to single-purpose ones: these are held against each other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.formats.gxp import parse_gxp, write_gxp
from isakit.programs import write_like

LANES = 512


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "corpus" / "usse" / "gxp"


def index(folder: Path) -> list[dict[str, str]]:
    lines = (folder / "index.tsv").read_text().splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"), strict=False)) for line in lines[1:]]


def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def uniforms_of(sh, r) -> dict[str, np.ndarray]:
    return {p.name: r.uniform(0.1, 1, (max(1, p.array_size), p.component_count)).astype(np.float32)
            for p in sh.parameters if p.category == 1}  # fmt: skip


def textures_of(sh, r) -> dict[str, usse.Texture]:
    return {p.name: usse.Texture(r.uniform(0, 1, (8, 8, 4)).astype(np.float32), filter="nearest")
            for p in sh.parameters if p.category == 2}  # fmt: skip


def varyings_of(sh, r) -> dict[str, np.ndarray]:
    out = {}
    for d in sh.file.varyings.inputs:  # straight from the format's description
        source, coordinate = d.info >> 12 & 15, d.info & 15
        if source != 15:
            out[{10: "color0", 11: "color1"}.get(source, f"texcoord{source}")] = 4
        if coordinate != 15:
            out[f"texcoord{coordinate}"] = 4
    return {name: r.uniform(0.02, 0.98, (LANES, n)).astype(np.float32) for name, n in out.items()}


def attributes_of(sh, r) -> dict[str, np.ndarray]:
    return {p.name: r.uniform(-1, 1, (LANES, p.component_count)).astype(np.float32)
            for p in sh.parameters if p.category == 0}  # fmt: skip


def inputs_of(sh) -> dict[str, dict]:
    r = rng()
    out = {"uniforms": uniforms_of(sh, r)}
    if sh.stage == "vertex":
        return out | {"attributes": attributes_of(sh, r)}
    return out | {"varyings": varyings_of(sh, r), "textures": textures_of(sh, r)}


def test_every_file_loads_comes_back_and_runs(folder):
    rows = index(folder)
    assert len(rows) == 55
    for row in rows:
        data = (folder / row["file"]).read_bytes()
        assert write_gxp(parse_gxp(data)) == data
        sh = isakit.load(folder / row["file"])
        assert sh.stage == row["stage"]
        assert len(sh.primary) == int(row["primary_instr"])
        assert len(sh.secondary) == int(row["secondary_instr"])
        assert sum(i.mnemonic == "phas" for i in sh.primary) == sh.file.phase_count
        out = usse.run(sh, **inputs_of(sh))
        assert out
        assert out.instructions >= len(sh.secondary)


def test_listings_assemble_to_the_same_files(folder):
    isa = isakit.isa("usse")
    for row in index(folder):
        sh = isakit.load(folder / row["file"])
        whole = "\n".join(str(k.program) for k in sh.kernels.values())
        program = isa.assemble(whole)
        assert [p.words for p in program.by_type.values()] == [sh.primary.words, sh.secondary.words]
        assert write_like(program, sh) == (folder / row["file"]).read_bytes(), row["file"]


@pytest.mark.slow
@pytest.mark.parametrize("portable", [False, True])
def test_compiled_code_gives_the_same_bits(folder, portable, monkeypatch):
    pytest.importorskip("llvmlite")
    from isakit.engine import llvm

    best = llvm.host
    monkeypatch.setattr(llvm, "host", lambda: best(portable))
    for row in index(folder):
        sh = isakit.load(folder / row["file"])
        inputs = inputs_of(sh)
        one, other = (usse.run(sh, **inputs, engine=e) for e in ("reference", "llvm"))
        assert list(one) == list(other)
        for name, values in one.items():
            assert values.tobytes() == other[name].tobytes(), (row["file"], name)
        assert (one.notes, one.instructions) == (other.notes, other.instructions)


def named(folder, word: str, stage: str) -> list[tuple[str, isakit.Module]]:
    return [(row["file"], isakit.load(folder / row["file"])) for row in index(folder)
            if word in row["name"] and row["stage"] == stage and row["source"]]  # fmt: skip


def half(x) -> np.ndarray:
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


def test_clear_colour(folder):
    shaders = [s for s in named(folder, "clear_f", "fragment") if s[1].parameters]
    assert shaders
    for name, sh in shaders:
        colour = rng().uniform(0, 1, 4).astype(np.float32)
        out = usse.run(sh, uniforms={"uClearColor": colour}, count=5)
        assert out.color.shape == (5, 4)
        assert (out.color == half(colour)).all(), name


def test_interpolated_colour(folder):
    shaders = named(folder, "color_f", "fragment")
    assert shaders
    for name, sh in shaders:
        colour = rng().uniform(-2, 2, (LANES, 4)).astype(np.float32)
        assert (usse.run(sh, varyings={"color0": colour}).color == half(colour)).all(), name


def nearest(data: np.ndarray, uv: np.ndarray) -> np.ndarray:
    h, w = data.shape[:2]
    x = np.clip((uv[:, 0].astype(np.float64) * w).astype(int), 0, w - 1)
    y = np.clip((uv[:, 1].astype(np.float64) * h).astype(int), 0, h - 1)
    return data[y, x]


def test_textures(folder):
    shaders = [s for s in named(folder, "texture", "fragment") if "tint" not in s[0]]
    assert len(shaders) >= 4
    for name, sh in shaders:
        r = rng()
        data = r.uniform(0, 1, (8, 4, 4)).astype(np.float32)
        uv = r.uniform(0, 1, (LANES, 2)).astype(np.float32)
        varyings, uniforms = {"texcoord0": uv}, {}
        texel = nearest(data, uv)
        if any(p.name == "uTintColor" for p in sh.parameters):
            tint = uniforms["uTintColor"] = r.uniform(0, 1, 4).astype(np.float32)
            expected = half(texel * tint)
        elif "color0" in varyings_of(sh, rng()):
            tint = varyings["color0"] = r.uniform(0, 1, (LANES, 4)).astype(np.float32)
            expected = half(texel * tint)
        else:
            expected = half(texel)
        out = usse.run(sh, varyings=varyings, uniforms=uniforms,
                       textures={"tex": usse.Texture(data, filter="nearest")})  # fmt: skip
        assert (out.color == expected).all(), name


def test_vertex_transforms(folder):
    checked = 0
    for row in index(folder):
        sh = isakit.load(folder / row["file"])
        if sh.stage != "vertex" or not any(p.name == "aPosition" for p in sh.parameters):
            continue
        r = rng()
        attributes, uniforms = attributes_of(sh, r), uniforms_of(sh, r)
        out = usse.run(sh, attributes=attributes, uniforms=uniforms)
        p = attributes["aPosition"].astype(np.float64)
        one = np.ones(LANES)
        if "wvp" not in uniforms:
            expected = np.c_[p[:, :2], one, one]
        else:
            # Which components the shader reads is in its file; SDL's newer sources put z at one half.
            reads_z = sh.file.varyings.attribute_registers >> 2 & 1
            position = np.c_[p[:, :2], p[:, 2] if reads_z else 0.5 * one, one]
            expected = position @ uniforms["wvp"].astype(np.float64)
        np.testing.assert_allclose(out.position, expected, rtol=1e-6, atol=1e-6, err_msg=row["file"])
        if "aColor" in attributes:
            assert (out.color0 == attributes["aColor"]).all()
        if "aTexcoord" in attributes:
            assert (out.texcoord0 == attributes["aTexcoord"][:, :2]).all()
        if "pointsize" in out:
            assert (out.pointsize == 1).all()
        checked += 1
    assert checked >= 13


def test_view_transform(folder):
    for name in ("3c3abe7f93012884", "84338bdb5337bc20"):
        sh = isakit.load(folder / f"{name}.gxp")
        r = rng()
        attributes, size = attributes_of(sh, r), np.array([960.0, 544.0], np.float32)
        out = usse.run(sh, attributes=attributes, uniforms={"viewSize": size})
        v = attributes["vertex"].astype(np.float64)
        expected = np.c_[2 * v[:, 0] / size[0] - 1, 1 - 2 * v[:, 1] / size[1], np.ones(LANES), np.ones(LANES)]
        np.testing.assert_allclose(out.position, expected, atol=1e-6)
        assert (out.texcoord0 == attributes["tcoord"][:, :2]).all()
        assert (out.texcoord1 == attributes["vertex"][:, :2]).all()


def test_colour_in_memory(folder):
    sh = isakit.load(folder / "5819577fefc7b55e.gxp")  # its uniform lives in a buffer that ldr reads
    colour = np.array([0.1, 0.7, 0.3, 0.9], np.float32)
    out = usse.run(sh, uniforms={"color": colour}, count=3)
    assert (out.color == half(colour)).all()
    assert any("ldr" in note for note in out.notes)


def test_native_colour_is_bytes(folder):
    sh = isakit.load(folder / "862aae3c03e43c7c.gxp")
    colour = np.array([0.1, 0.72, 0.33, 0.91], np.float32)
    out = usse.run(sh, uniforms={"color": colour}, count=3)
    np.testing.assert_allclose(out.color, np.tile(np.rint(colour * 255) / 255, (3, 1)), atol=1e-7)


# --- the larger shaders against each other -------------------------------------------------------------------------
BUILDS = [("ad052afb1b17aafa", "fac5939db4932a88"), ("e55e50ed30718dcb", "ed4ec071de2a8dad"),
          ("a7ad22f9a6771f2f", "f4611ee8b58cc50c"), ("9b7a0156625dfef9", "d9c58ae98b958ae1"),
          ("af752ad973840742", "cefd204f53c160a6"), ("dc9cbd7cd10a8bdf", "f32849a48c4822b6"),
          ("d81d8c4a7f497f1b", "ec69c58a470b3f53")]  # fmt: skip


def paint(folder, name: str, tex_type: float = 1.0, mode: float = 1.0) -> usse.Result:
    """Run one of the paint shaders with the same inputs whatever the file."""
    sh = isakit.load(folder / f"{name}.gxp")
    r = rng()
    frag = r.uniform(0.1, 1, (11, 4)).astype(np.float32)
    frag[10] = [0.4, 0.2, tex_type, mode]
    texture = usse.Texture(r.uniform(0, 1, (16, 16, 4)).astype(np.float32))
    values = {"texcoord0": r.uniform(-0.2, 1.2, (LANES, 2)), "texcoord1": r.uniform(0, 1, (LANES, 2))}
    names = varyings_of(sh, rng())
    samplers = {p.name for p in sh.parameters if p.category == 2}
    return usse.run(sh, varyings={k: v for k, v in values.items() if k in names}, uniforms={"frag": frag},
                    textures={"tex": texture} if samplers else {})  # fmt: skip


@pytest.mark.parametrize(("one", "other"), BUILDS)
def test_two_builds_of_a_shader_agree(folder, one, other):
    for tex_type in (0.0, 1.0):
        a, b = paint(folder, one, tex_type), paint(folder, other, tex_type)
        assert a.color.std() > 0.003
        assert ("discard" in a) == ("discard" in b)
        keep = ~a["discard"] if "discard" in a else np.ones(LANES, bool)
        if "discard" in a:
            assert (a["discard"] == b["discard"]).all()
            assert 0 < keep.sum() < LANES
        np.testing.assert_allclose(a.color[keep], b.color[keep], atol=1e-3)


@pytest.mark.parametrize(("mode", "tex_type", "single"), [
    (0.0, 1.0, "e55e50ed30718dcb"), (1.0, 1.0, "9b7a0156625dfef9"), (3.0, 0.0, "d81d8c4a7f497f1b"),
])  # fmt: skip
def test_branches_lead_to_the_single_purpose_shader(folder, mode, tex_type, single):
    whole = paint(folder, "735ec0cd234763e0", tex_type, mode)
    np.testing.assert_allclose(whole.color, paint(folder, single, tex_type, mode).color, atol=1e-4)


def test_stencil_mode_is_white(folder):
    assert (paint(folder, "735ec0cd234763e0", mode=2.0).color == 1).all()
