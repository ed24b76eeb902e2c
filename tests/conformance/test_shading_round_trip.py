"""GLSL that is made from Sony's shaders means to the front end what the shaders do."""

import numpy as np
import pytest

import isakit
from conftest import shared_dir
from isakit.compile.shading.front import front_end
from isakit.debug.compare_shaders import compare_shaders
from isakit.decompile import glsl
from support.runners.form_evaluator import evaluate

FOLDER = shared_dir()
FILES = sorted((FOLDER / "corpus/usse/gxp").glob("*.gxp")) if FOLDER else []
RESULTS = {"color_out": "color", "gl_Position": "position", "gl_PointSize": "pointsize"}
TEXEL = [64, 128, 191, 255]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_same_results(path):
    shader = isakit.load(path)
    text = glsl(shader)
    made = front_end(text, stage=shader.stage, language="glsl")
    rng = np.random.default_rng(int(path.stem[:6], 16))
    uniforms = {u.name: rng.uniform(-1, 1, (u.array, u.components)).astype(np.float32) for u in made.interface.uniforms}
    inputs = {i.name: rng.uniform(0, 1, 4).astype(np.float32) for i in made.interface.inputs}
    texel = [x / 255 for x in TEXEL]
    got = evaluate(made.function, inputs, uniforms, lambda *asked: texel)
    given = {k: v[None, :] for k, v in inputs.items()}
    want = isakit.usse.run(
        shader,
        **{"attributes" if shader.stage == "vertex" else "varyings": given},
        uniforms={k: v[0] if len(v) == 1 else v for k, v in uniforms.items()},
        textures={s.name: np.full((2, 2, 4), TEXEL, np.uint8) for s in made.interface.samplers},
    )
    gone = bool(want["discard"][0]) if "discard" in want else False
    assert got.discarded == gone
    for o in made.interface.outputs:
        if gone:
            continue
        found = got.outputs[o.name].astype(np.float32)
        expected = np.asarray(want[RESULTS.get(o.name, o.name.removeprefix("v_"))])[0].ravel()[: len(found)]
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-3)
    # What is compiled of it gives the same bits.
    bytes_of_colour = any(line.startswith(".result u8") for line in shader.directives())
    target = "u8x4" if bytes_of_colour else "f16x4"
    compiled = isakit.compile_shader(text, stage=shader.stage, language="glsl", target=target)
    same = compare_shaders(shader, compiled, count=64, seed=3)
    assert same, same.differences
