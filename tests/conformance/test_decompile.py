"""Shaders as expressions: what they say, computed without the simulator, is what the simulator computes.

The corpus shaders get random inputs. GLSL is compiled by glslang where that is installed, and run by the OpenGL of the
host (llvmpipe on a machine without a graphics card) where moderngl is.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from isakit import usse
from isakit.debug.compare_shaders import random_inputs
from isakit.decompile import expressions, glsl
from isakit.decompile.glsl import Decompiled
from support.farm import campaign
from support.oracles import shader_gl
from support.oracles.term_evaluator import evaluate

COUNT = 256


@pytest.fixture(scope="module")
def shaders(shared: Path) -> dict[str, Any]:
    return {f.name: isakit.load(f) for f in sorted((shared / "corpus" / "usse" / "gxp").glob("*.gxp"))}


def close(a: np.ndarray, b: np.ndarray, of_f16: bool) -> np.ndarray:
    """Equal, or within the roundings that one operation in another order makes."""
    relative = 2e-3 if of_f16 else 2e-5
    with np.errstate(all="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= relative * np.abs(b) + relative)


def inputs_of(shader: Any, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random inputs for `usse.run`, and what the program finds in its registers, by name."""
    given = random_inputs(shader, count=COUNT, seed=seed)
    for values in given["varyings"].values():
        if values.dtype == np.float32:
            values[:] = values.astype(np.float16)
    for p in shader.parameters:
        if p.category == 0 and given["attributes"][p.name].dtype == np.float32:
            given["attributes"][p.name] = given["attributes"][p.name].astype(np.float16).astype(np.float32)
    return given, {**given["uniforms"], **given["attributes"], **given["varyings"]}


def differences(shader: Any, seed: int) -> list[str]:
    """Results that are not what the expressions say."""
    given, values = inputs_of(shader, seed)
    ran = usse.run(shader, **given)
    d = Decompiled(shader, exact=True)
    found = evaluate(d, values, given["textures"], COUNT)
    out = []
    killed = found.pop("discard")[:, 0]
    if not np.array_equal(killed, ran["discard"] if "discard" in ran else np.zeros(COUNT, bool)):
        out.append("discard")
    types = {o.name: o.ty for o in d.interface.outputs()}
    for name, rows in found.items():
        expected = ran[name].reshape(COUNT, -1)
        wrong = ~close(rows[~killed], expected[~killed], types.get(name) == "f16")
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            out.append(f"{name}.{column}: {rows[~killed][row, column]}, not {expected[~killed][row, column]}")
    return out


def test_expressions_of_all_shaders_compute_what_the_shaders_compute(shaders: dict[str, Any]) -> None:
    wrong = {name: found for name, s in shaders.items() for seed in range(2) if (found := differences(s, seed))}
    assert not wrong


def test_sketches_name_every_result(shaders: dict[str, Any]) -> None:
    for name, shader in shaders.items():
        text = expressions(shader)
        for output in Decompiled(shader, exact=False).interface.outputs():
            assert f"{output.name} = " in text, name


@pytest.mark.skipif(not shutil.which("glslangValidator"), reason="needs glslangValidator (glslang-tools)")
def test_glsl_of_all_shaders_compiles(shaders: dict[str, Any], tmp_path: Path) -> None:
    files = []
    for name, shader in shaders.items():
        path = tmp_path / f"{name}.{'vert' if shader.stage == 'vertex' else 'frag'}"
        path.write_text(glsl(shader))
        files.append(path)
    ran = subprocess.run(["glslangValidator", *map(str, files)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[:2000]


@pytest.fixture(scope="module")
def opengl() -> None:
    if why := shader_gl.missing():
        pytest.skip(why)


def of_stage(shaders: dict[str, Any], stage: str) -> list[tuple[str, Any]]:
    return [(name, s) for name, s in shaders.items() if s.stage == stage]


@pytest.mark.mesa
def test_glsl_draws_what_the_fragment_shaders_compute(shaders: dict[str, Any], opengl: None) -> None:
    wrong = []
    for name, shader in of_stage(shaders, "fragment"):
        given = shader_gl.inputs(shader, COUNT, 7)
        expected = usse.run(shader, **given)
        color, killed = shader_gl.fragment_results(shader, given, COUNT)
        dead = expected["discard"] if "discard" in expected else np.zeros(COUNT, bool)
        tolerance = 1 / 255 + 4e-3 * np.abs(expected["color"])
        apart = np.abs(color[:, : expected["color"].shape[1]] - expected["color"]) > tolerance
        bad = (killed != dead) | (apart.any(1) & ~dead)
        if bad.mean() > 0.02:  # a texel's border or a comparison may fall on the other side
            wrong.append((name, int(bad.sum()), color[bad][0], expected["color"][bad][0]))
    assert not wrong


@pytest.mark.mesa
def test_glsl_leaves_what_the_vertex_shaders_compute(shaders: dict[str, Any], opengl: None) -> None:
    wrong = []
    for name, shader in of_stage(shaders, "vertex"):
        given = shader_gl.inputs(shader, COUNT, 7)
        expected = usse.run(shader, **given)
        found = shader_gl.vertex_results(shader, given, COUNT)
        assert list(found) == list(expected)
        wrong += [(name, o) for o in found if not close(found[o], expected[o], of_f16=False).all()]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "seed", "covered"),
    [
        ("glsl-llvmpipe", 424986940108, "packUnorm4x8 of a product that f32 rounds to a tie"),
        ("shader-glsl", 927491652356, "vertex vfrc.f32"),
    ],
)
def test_campaigns_know_where_llvmpipe_rounds_otherwise(name: str, seed: int, covered: str) -> None:
    if why := shader_gl.missing():
        pytest.skip(why)
    one = campaign(name)
    assert covered in set(one.check(one.make(seed)))
