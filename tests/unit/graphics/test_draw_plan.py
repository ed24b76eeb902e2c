"""Draws with a plan are those of the pipeline, in what captures have little of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_plan import plan_of
from isakit.graphics.draw_state import DrawState
from isakit.graphics.planes import PrimitiveInput
from isakit.tesla import FragmentShader, Pipeline, VertexShader

VERTEX = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit (never) nop"
FRAGMENT = "interp $r0 flat v[0x0]\n" + "\n".join(f"mov b32 $r{k} $r0" for k in (1, 2, 3)) + "\nexit (never) nop"


@pytest.mark.parametrize("mode", ["quads", "quad_strip", "polygon", "triangles", "triangle_fan"])
def test_primitives_have_the_same_numbers_with_a_plan(mode: str) -> None:
    rng = np.random.default_rng(3)
    corners: Any = rng.uniform(-1, 1, (24, 4)).astype(np.float32)
    corners[:, 2:] = 0, 1
    vertex = VertexShader(VERTEX, inputs=[(0, k) for k in range(4)])
    fragment = FragmentShader(FRAGMENT, inputs=[PrimitiveInput()])
    pictures: list[np.ndarray] = []
    for planned in (True, False):
        p = Pipeline(40, 40, targets=["r32ui"], engine="llvm")
        p.make_all = True
        order = np.arange(24)
        plan = plan_of(p, vertex, fragment, DrawState()) if planned else None
        if plan is not None:
            units: Any = {"vertex": {}, "fragment": {}}
            assert plan.draw(p, mode, order, None, [Attribute(corners)], units, units) is not None
        else:
            p.draw(mode, vertex, fragment, [corners], indices=order)
        pictures.append(p.image())
    assert pictures[0].any() or mode == "polygon"
    assert (pictures[0] == pictures[1]).all()
