"""Fragment programs that run for every sample, against the places of the samples."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from isakit.graphics.draw_state import DrawState, Multisampling
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.tesla import Pipeline

ENGINES = [
    "reference",
    pytest.param("llvm", marks=pytest.mark.skipif(find_spec("llvmlite") is None, reason="llvmlite is not installed")),
]
POSITIONS, PLACES = ((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1))
PLACED = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit nop", chip="gt215")
TRIANGLE = np.array([[-0.8, -0.7, 0, 1], [0.9, -0.5, 0, 1], [-0.1, 0.9, 0, 1]], np.float32)
SIZE = 8


def drawn(text: str, engine: str, **how: bool) -> tuple[np.ndarray, int]:
    """A target with the samples of each pixel side by side, and how many fragments there were."""
    pipeline = Pipeline(2 * SIZE, 2 * SIZE, targets=("rg32f",), depth=None, engine=engine)
    pipeline.targets[0].pixels[:] = -1
    fragment = FragmentShader(text, "gt215", inputs=["x", "y"], colors=[(0, 1, 2, 3)])
    state = DrawState(multisampling=Multisampling(POSITIONS, PLACES, 2, 2, **how))
    stats = pipeline.draw("triangles", PLACED, fragment, [TRIANGLE], state=state)
    return pipeline.targets[0].pixels, stats.fragments


@pytest.mark.parametrize("engine", ENGINES)
def test_inputs_at_the_centroid_are_those_of_the_sample(engine: str) -> None:
    text = "long interp $r0 cent v[0x0]\nlong interp $r1 cent v[0x4]\nexit nop"
    found, fragments = drawn(text, engine, shading=True)
    covered = found[..., 0] >= 0
    assert 20 < covered.sum() == fragments
    for y, x in np.argwhere(covered):
        dx, dy = POSITIONS[PLACES.index((x & 1, y & 1))]
        assert tuple(found[y, x]) == (x // 2 + dx / 16, y // 2 + dy / 16)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_samples_are_covered_as_when_pixels_are_shaded(engine: str) -> None:
    text = "interp $r0 v[0x0]\nmov $r1 $sampleid\ncvt rn f32 $r1 u32 $r1\nexit nop"
    found, _ = drawn(text, engine, shading=True)
    pixels, fragments = drawn(text, engine)
    covered = found[..., 0] >= 0
    assert np.array_equal(covered, pixels[..., 0] >= 0)
    assert fragments < covered.sum()
    assert (found[covered][:, 0] % 1 == 0.5).all()  # what is not at the centroid is at the centre
    for k, (x, y) in enumerate(PLACES):
        assert set(found[y::2, x::2][covered[y::2, x::2]][:, 1].tolist()) == {float(k)}
    assert set(pixels[covered][:, 1].tolist()) == {0.0}
