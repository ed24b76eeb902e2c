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
from isakit.decompile.glsl import Decompiled, identifier
from support.term_evaluator import evaluate

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


@pytest.mark.mesa
def test_glsl_draws_what_the_fragment_shaders_compute(shaders: dict[str, Any]) -> None:
    moderngl = pytest.importorskip("moderngl", reason="needs moderngl (pip install moderngl) and an OpenGL")
    try:
        context = moderngl.create_standalone_context(backend="egl", require=420)
    except Exception as e:
        pytest.skip(f"no OpenGL 4.2 context: {e}")
    wrong = []
    drawn = 0
    for name, shader in shaders.items():
        if shader.stage != "fragment":
            continue
        given, _ = inputs_of(shader, 7)
        for t in list(given["textures"]):
            texels = np.random.default_rng(3).integers(0, 256, (8, 8, 4)).astype(np.uint8)
            given["textures"][t] = usse.Texture(texels, filter="nearest")
        expected = usse.run(shader, **given)
        color, killed = draw(moderngl, context, shader, given)
        dead = expected["discard"] if "discard" in expected else np.zeros(COUNT, bool)
        tolerance = 1 / 255 + 4e-3 * np.abs(expected["color"])
        apart = np.abs(color[:, : expected["color"].shape[1]] - expected["color"]) > tolerance
        bad = (killed != dead) | (apart.any(1) & ~dead)
        drawn += 1
        if bad.mean() > 0.02:  # a texel's border or a comparison may fall on the other side
            wrong.append((name, int(bad.sum()), color[bad][0], expected["color"][bad][0]))
    assert not wrong
    assert drawn > 20


def draw(moderngl: Any, context: Any, shader: Any, given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """One pixel per row of the varyings, drawn as a point: colours, and where no pixel was written."""
    fragment = glsl(shader)
    d = Decompiled(shader, exact=True)
    inputs = [g for g in d.interface.given if g.kind == "varying" and g.name != "position"]
    declared = [line for line in fragment.splitlines() if line.startswith(("in ", "flat in "))]
    vertex = ["#version 420", "uniform int rows;"]
    body = ["gl_Position = vec4((2.0 * float(gl_VertexID) + 1.0) / float(rows) - 1.0, 0.0, 0.0, 1.0);",
            "gl_PointSize = 1.0;"]  # fmt: skip
    for line, g in zip(declared, inputs, strict=True):
        vertex += [line.replace("flat in", "in").replace("in ", "in ", 1).replace(f" {g.name};", f" a_{g.name};"),
                   line.replace("in ", "out ", 1)]  # fmt: skip
        body.append(f"{g.name} = a_{g.name};")
    program = context.program(vertex_shader="\n".join([*vertex, "void main() {", *body, "}"]), fragment_shader=fragment)
    for name, values in given["uniforms"].items():
        if identifier(name) in program:
            uniform = program[identifier(name)]  # an array may have lost the elements that are not used
            used = values.reshape(-1)[: uniform.dimension * uniform.array_length]
            uniform.write(np.ascontiguousarray(used, np.float32).tobytes())
    program["rows"] = COUNT
    for unit, (name, texture) in enumerate(given["textures"].items()):
        if identifier(name) in program:
            texels = np.rint(texture.levels[0] * 255).astype(np.uint8)
            made = context.texture((8, 8), 4, np.ascontiguousarray(texels).tobytes())
            made.filter = (moderngl.NEAREST, moderngl.NEAREST)
            made.repeat_x = made.repeat_y = False
            made.use(unit)
            program[identifier(name)] = unit
    buffers = []
    for g in inputs:
        if f"a_{g.name}" not in program:
            continue
        dtype, letter = (np.uint32, "u4") if g.ty[0] == "u" else (np.float32, "f4")
        rows = np.ascontiguousarray(given["varyings"][g.name][:, : g.size].astype(dtype))
        buffers.append((context.buffer(rows.tobytes()), f"{g.size}{letter}", f"a_{g.name}"))
    array = context.vertex_array(program, buffers)
    target = context.texture((COUNT, 1), 4, dtype="f4")
    context.enable(moderngl.PROGRAM_POINT_SIZE)
    frame = context.framebuffer([target])
    frame.use()
    frame.clear(-99.0, -99.0, -99.0, -99.0)
    array.render(moderngl.POINTS, vertices=COUNT)
    color = np.frombuffer(target.read(), np.float32).reshape(COUNT, 4)
    return color, (color == -99.0).all(1)
