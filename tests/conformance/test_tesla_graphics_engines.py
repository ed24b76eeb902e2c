"""Scenes and shader records on compiled code: what the reference engine leaves, bit for bit."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from isakit.graphics.scene import Scene
from isakit.graphics.stage import ConstantVaryings, Stage, StageState
from isakit.graphics.stage_program import StageProgram

pytest.importorskip("llvmlite")
scenes = importlib.import_module("conformance.test_tesla_scenes")
shaders = importlib.import_module("conformance.test_tesla_mesa_shaders")
TIERS = ("interp", "jit")


# --- pictures -------------------------------------------------------------------------------------------------------
def left(scene: Scene, chip: str, **how: Any) -> list[bytes]:
    """All targets in 32-bit floats, depth, stencil, outputs of the last vertices, and how much was executed."""
    pipeline = scene.pipeline(targets=["rgba32f"] * scene.data["render_targets"], **how)
    counts = [scene.draw(pipeline, n, chip).instructions for n in range(len(scene.draws))]
    out = [t.pixels.tobytes() for t in pipeline.targets]
    if pipeline.depth_buffer is not None:
        out += [pipeline.depth_buffer.depth.tobytes(), pipeline.depth_buffer.stencil.tobytes()]
    assert pipeline.vertices is not None
    return [*out, pipeline.vertices.words.tobytes(), repr(counts).encode()]


SAMPLE = ("s02_tex_nearest", "s07_mandelbrot", "s09_discard_depth")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("name", "chip"), [c for c in scenes.cases() if not c.values[0] or c.values[0] in SAMPLE])
def test_pictures(name: str, chip: str, tier: str) -> None:
    scene = scenes.scene(name)
    assert left(scene, chip, engine="llvm", tier=tier) == left(scene, chip, engine="reference")


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("name", "chip"), scenes.cases())
def test_all_pictures(name: str, chip: str, tier: str) -> None:
    """All scenes on all chips."""
    test_pictures(name, chip, tier)


# --- shaders of a compiler ------------------------------------------------------------------------------------------
def same(a: StageState, b: StageState) -> None:
    """All registers, outputs and masks."""
    for name in ("r", "o"):
        assert np.array_equal(a.files[name], b.files[name]), name
    assert np.array_equal(a.visible, b.visible)


def check_record(record: dict[str, Any], chip: str, tiers: tuple[str, ...]) -> None:
    code = record["code"][chip]
    constants = {
        int(bank): np.array([[int(v, 16) for v in row] for row in rows], np.uint32).tobytes()
        for bank, rows in record["consts"].items()
    }
    words = [int(w, 16) for w in code["words"].split()]
    program = StageProgram(
        record["stage"], words, shaders.CHIPS[chip], registers=code["maxGPR"] + 1, constants=constants
    )
    lanes = 4 * len(record["vectors"])
    rows = shaders.inputs(record, code, lanes)
    rows[0] = np.float32(1).view(np.uint32) if record["stage"] == "fragment" else rows[0]
    stage = (
        Stage(lanes, varyings=ConstantVaryings(rows))
        if record["stage"] == "fragment"
        else Stage(lanes, attributes=rows)
    )
    expected = program.run(stage)
    for tier in tiers:
        same(program.run(stage, "llvm", tier), expected)


def records(step: int) -> list[Any]:
    found = shaders.records()[::step]
    return [pytest.param(r, chip, id=f"{r['name']}-{shaders.CHIPS[chip]}") for r in found for chip in r["code"]]


@pytest.mark.parametrize(("record", "chip"), records(max(1, len(shaders.records()) // 8)))
def test_shaders(record: dict[str, Any], chip: str) -> None:
    check_record(record, chip, TIERS if chip == "a0" else ("interp",))


@pytest.mark.slow
@pytest.mark.parametrize(("record", "chip"), records(1))
def test_all_shaders(record: dict[str, Any], chip: str) -> None:
    """All records, on the interpreter: compiling each of them takes hours."""
    check_record(record, chip, ("interp",))
