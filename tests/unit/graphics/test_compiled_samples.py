"""Several samples a pixel on compiled code: what arrays make of the same draws, in every bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.graphics import compiled_draw
from isakit.graphics.draw_state import Blend, DrawState, DrawStats, Multisampling, Stencil
from isakit.graphics.planes import VaryingInput
from isakit.graphics.stage_engine import StageEngine
from isakit.tesla import FragmentShader, Pipeline, VertexShader

POSITIONS, PLACES = ((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1))
SIZE = 24
VERTEX = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(8)) + "\nexit nop")
COLOR = "\n".join(f"interp $r{k} v[{4 * k:#x}]" for k in range(4))
DISCARD = COLOR + "\nset $c0 # ge f32 $r0 $r1\n(lg $c0) discard\nexit nop"
INPUTS = [VaryingInput(4 + k, "constant") for k in range(4)]
PLAIN = Multisampling(POSITIONS, PLACES, 2, 2)
BLENDED = Blend("src_alpha", "one_minus_src_alpha")
SIDES = Stencil("notequal", 3, passed="incr_wrap", depth_fail="invert"), Stencil("always", 1, passed="replace")
STATES = {
    "colors": DrawState(multisampling=PLAIN),
    "depth": DrawState(multisampling=PLAIN, depth="less"),
    "blending": DrawState(multisampling=PLAIN, blend=BLENDED, depth="lequal", depth_write=False),
    "stencil": DrawState(multisampling=PLAIN, stencil=SIDES, depth="greater"),
    "alpha": DrawState(multisampling=PLAIN, alpha_test=("greater", 0.4), depth="less"),
    "mask": DrawState(multisampling=Multisampling(POSITIONS, PLACES, 2, 2, mask=0b1010), depth="less"),
    "not tested": DrawState(multisampling=Multisampling(POSITIONS, PLACES, 2, 2, enabled=False), depth="less"),
}


def drawn(state: DrawState, mode: str, text: str, engine: str) -> tuple[Pipeline, list[DrawStats]]:
    """What two draws leave, and their counts."""
    p = Pipeline(2 * SIZE, 2 * SIZE, targets=("rgba8", "rgba32f"), depth="d24", engine=engine)
    p.make_all = True
    p.depth_buffer.depth[:] = 0x80_0000  # type: ignore[union-attr]
    fragment = FragmentShader(text, inputs=INPUTS, colors=[(0, 1, 2, 3), (3, 2, 1, 0)])
    rng = np.random.default_rng(7)
    stats: list[DrawStats] = []
    for _ in range(2):
        corners: Any = rng.uniform(-1, 1, (36, 8)).astype(np.float32)
        corners[:, 3] = 1
        corners[:, 4:] = np.abs(corners[:, 4:])
        arrays = [np.ascontiguousarray(corners[:, 4 * k : 4 * k + 4]) for k in range(2)]
        stats.append(p.draw(mode, VERTEX, fragment, arrays, state=state))
    return p, stats


@pytest.mark.parametrize("text", [COLOR + "\nexit nop", DISCARD], ids=["all", "some"])
@pytest.mark.parametrize("mode", ["triangles", "lines", "points"])
@pytest.mark.parametrize("name", STATES)
def test_samples_are_those_of_arrays(name: str, mode: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[bool] = []
    draw = compiled_draw.draw

    def noted(d: compiled_draw.DrawArguments, engine: StageEngine, stats: DrawStats) -> bool:
        compiled.append(draw(d, engine, stats))
        return compiled[-1]

    monkeypatch.setattr(compiled_draw, "draw", noted)
    (a, counts), (b, others) = (drawn(STATES[name], mode, text, engine) for engine in ("reference", "llvm"))
    assert compiled
    assert all(compiled)
    for x, y in zip(a.targets, b.targets, strict=True):
        assert x.pixels.any()
        assert np.array_equal(x.pixels, y.pixels)
    assert np.array_equal(a.depth_buffer.depth, b.depth_buffer.depth)  # type: ignore[union-attr]
    assert np.array_equal(a.depth_buffer.stencil, b.depth_buffer.stencil)  # type: ignore[union-attr]
    for one, other in zip(counts, others, strict=True):
        assert (one.fragments, one.samples, one.instructions) == (other.fragments, other.samples, other.instructions)
    assert sum(one.samples for one in counts)
