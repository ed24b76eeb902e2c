"""Draws with a plan are those of the pipeline, in what captures have little of."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.graphics import compiled_draw
from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_plan import plan_of
from isakit.graphics.draw_state import Blend, DrawState
from isakit.graphics.pipeline import LastDraw
from isakit.graphics.planes import FragmentInput, PositionInput, PrimitiveInput, VaryingInput
from isakit.tesla import FragmentShader, Pipeline, Sampler, Texture, VertexShader

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


PASSED = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(8)) + "\nexit (never) nop"
MIXED = """
interp $r0 v[0x4]
interp $r1 v[0x8]
interp $r2 v[0x0]
interp $r3 flat v[0xc]
exit (never) nop
"""


@pytest.mark.parametrize("half_z", [False, True])
@pytest.mark.parametrize("mode", ["triangles", "triangle_strip", "quads"])
def test_triangles_that_are_cut_have_a_plan(mode: str, half_z: bool) -> None:
    """Pixels, counts and what can be looked at are the pipeline's."""
    rng = np.random.default_rng(5)
    vertices: Any = rng.uniform(-1, 1, (36, 8)).astype(np.float32)
    vertices[:, 2] *= 1.5
    vertices[:, 3] = rng.uniform(0.3, 1.2, 36)
    state = DrawState(half_z=half_z, clamp_vertex=(5,), cull=None)
    vertex = VertexShader(PASSED, inputs=[(k // 4, k % 4) for k in range(8)])
    colors = VaryingInput(4), VaryingInput(5, "constant"), VaryingInput(6, "flat")
    inputs: list[FragmentInput] = [PositionInput("z"), *colors]
    fragment = FragmentShader(MIXED, inputs=inputs)
    order = np.arange(36)
    units: Any = {"vertex": {}, "fragment": {}}
    arrays = [Attribute(np.ascontiguousarray(vertices[:, 4 * k : 4 * k + 4])) for k in range(2)]
    found: list[Any] = []
    for planned in (True, False):
        p = Pipeline(48, 40, targets=["rgba32f"], engine="llvm")
        p.make_all = True
        plan = plan_of(p, vertex, fragment, state) if planned else None
        if plan is not None:
            stats = plan.draw(p, mode, order, None, arrays, units, units)
            assert stats is not None
        else:
            stats = p.draw(mode, vertex, fragment, arrays, indices=order, state=state)
        assert p.coverage is not None
        assert p.fragments is not None
        assert p.rows is not None
        z = p.fragments.depth()
        counts = stats.triangles, stats.quads, stats.fragments, stats.samples
        found.append((counts, *(a.tobytes() for a in (p.image(), p.coverage.primitive, p.rows, z))))
    assert found[0][0][0] > 12
    assert found[0] == found[1]


SAMPLED = """
interp $r0 v[0x0]
interp $r1 v[0x4]
texauto all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0
interp $r1 v[0x8]
ld $r2 b32 c0[0x0]
exit (never) nop
"""


def test_a_batch_that_arrays_have_to_shade_is_the_first_of_theirs() -> None:
    """What compiled code has drawn of a draw of several batches is not drawn again, and nothing is left out."""
    size = 160
    big: Any = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)
    corners = np.concatenate([big, big / 2 * [1, 1, 0, 2]]).astype(np.float32)
    places: Any = np.array([[0, 0, 5, 0], [1, 1, 9, 0], [0, 2, 7, 0], [0, 0, 5, 0], [4e9, 1, 9, 0], [0, 4e9, 7, 0]])
    arrays = [Attribute(corners), Attribute(places.astype(np.float32))]
    vertex = VertexShader(PASSED, inputs=[(k // 4, k % 4) for k in range(8)])
    fragment = FragmentShader(SAMPLED, inputs=[VaryingInput(k, "linear") for k in (4, 5, 6)], constants=bytes(16))
    textures = {0: (Texture(np.arange(64, dtype=np.uint8).reshape(4, 4, 4)), Sampler(wrap="repeat"))}
    bound: Any = {"vertex": {}, "fragment": textures}
    state = DrawState(blend=Blend("one", "one"))  # what is drawn twice shows
    found: list[Any] = []
    for planned in (True, False):
        p = Pipeline(size, size, targets=["rgba32f"], engine="llvm")
        p.make_all = True
        plan = plan_of(p, vertex, fragment, state) if planned else None
        if plan is not None:
            banks: Any = {"vertex": {}, "fragment": {0: np.zeros(16, np.uint8)}}
            stats = plan.draw(p, "triangles", np.arange(6), None, arrays, bound, banks)
            assert stats is not None
        else:
            stats = p.draw("triangles", vertex, fragment, arrays, textures=bound, state=state)
        assert stats.fragments > 16384 + size * size // 2
        counts = stats.fragments, stats.samples, stats.instructions
        found.append((counts, p.image().tobytes()))
    assert found[0] == found[1]


def test_fragments_that_arrays_have_to_texture_get_this_draws_constants_and_planes() -> None:
    """Coordinates that repeat and are very large are left to the array code, in the midst of a draw."""
    corners: Any = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)
    places: Any = np.array([[0, 0, 5, 0], [4e9, 1, 9, 0], [0, 4e9, 7, 0]], np.float32)
    arrays = [Attribute(corners), Attribute(places)]
    vertex = VertexShader(PASSED, inputs=[(k // 4, k % 4) for k in range(8)])
    fragment = FragmentShader(SAMPLED, inputs=[VaryingInput(k, "linear") for k in (4, 5, 6)], constants=bytes(16))
    textures = {0: (Texture(np.arange(64, dtype=np.uint8).reshape(4, 4, 4)), Sampler(wrap="repeat"))}
    bound: Any = {"vertex": {}, "fragment": textures}
    pictures: list[np.ndarray] = []
    for planned in (True, False):
        p = Pipeline(16, 16, targets=["rgba32f"], engine="llvm")
        p.make_all = True
        plan = plan_of(p, vertex, fragment, DrawState()) if planned else None
        for k in range(1, 4):
            content = np.full(4, k, np.float32)
            if plan is not None:
                banks: Any = {"vertex": {}, "fragment": {0: content.view(np.uint8)}}
                assert plan.draw(p, "triangles", np.arange(3), None, arrays, bound, banks) is not None
            else:
                fragment.constants[0] = content.tobytes()
                p.draw("triangles", vertex, fragment, arrays, textures=bound, indices=np.arange(3))
            pictures.append(p.image())
    assert pictures[0][3, 5, 1] not in (0, 5)
    assert [float(a[0, 0, 2]) for a in pictures] == [1, 2, 3, 1, 2, 3]
    assert all((a == b).all() for a, b in zip(pictures[:3], pictures[3:], strict=True))


def test_a_large_draw_of_a_plan_is_shared_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    corners: Any = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)
    arrays = [Attribute(corners), Attribute(corners * np.float32(7))]
    vertex = VertexShader(PASSED, inputs=[(k // 4, k % 4) for k in range(8)])
    fragment = FragmentShader(MIXED, inputs=[VaryingInput(k, "linear") for k in (4, 5, 6, 7)])
    pools: list[int] = []
    pool = compiled_draw._pool
    monkeypatch.setattr(compiled_draw, "_pool", lambda n: (pools.append(n), pool(n))[1])
    units: Any = {"vertex": {}, "fragment": {}}
    found: list[Any] = []
    for threads in (1, 3):
        p = Pipeline(300, 260, targets=["rgba32f"], engine="llvm", threads=threads)
        p.make_all = True
        plan = plan_of(p, vertex, fragment, DrawState())
        assert plan is not None
        stats = plan.draw(p, "triangles", np.arange(3), None, arrays, units, units)
        assert stats is not None
        found.append((stats.fragments, stats.samples, stats.instructions, p.image().tobytes()))
        assert bool(pools) == (threads > 1)
    assert found[0][0] == 300 * 260
    assert found[0] == found[1]


def test_a_plan_that_is_dropped_gives_its_memory_back_at_once() -> None:
    """It is megabytes, and the collector of cycles comes rarely."""
    p = Pipeline(8, 8, targets=["r32ui"], engine="llvm")
    p.make_all = True
    vertex = VertexShader(VERTEX, inputs=[(0, k) for k in range(4)])
    plan = plan_of(p, vertex, FragmentShader(FRAGMENT, inputs=[PrimitiveInput()]), DrawState())
    assert plan is not None
    units: Any = {"vertex": {}, "fragment": {}}
    corners: Any = np.array([[-1, -1, 0, 1], [1, -1, 0, 1], [0, 1, 0, 1]], np.float32)
    assert plan.draw(p, "triangles", np.arange(3), None, [Attribute(corners)], units, units) is not None
    assert p.vertices is not None
    p.drawn(LastDraw)
    gc.collect()
    gc.disable()
    try:
        of_plan = weakref.ref(plan._prepared._fragment.stage)  # type: ignore[union-attr]
        del plan
        assert of_plan() is None
    finally:
        gc.enable()
