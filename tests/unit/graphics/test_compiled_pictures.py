"""Coverage, inputs and output merger as machine code: the same as arrays, and what is left to them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.llvm import host
from isakit.errors import MachineFault
from isakit.graphics import compiled_draw, compiled_quads, compiled_raster, raster
from isakit.graphics.color_formats import NAMED
from isakit.graphics.compiled_inputs import InputsKey, inputs_function
from isakit.graphics.compiled_setup import CompiledTriangles
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Viewport
from isakit.graphics.planes import PositionInput, PrimitiveFacts
from isakit.graphics.primitives import Drawn, Rasterizer
from isakit.graphics.raster import Quads, Setup, snapped
from isakit.graphics.stage import OUTPUT_WORDS
from isakit.graphics.vertices import Vertices
from isakit.tesla import FragmentShader, Pipeline, VertexShader
from support.generators.picture_fuzz import watched_draws
from support.patience import PATIENCE

VERTEX = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(8)) + "\nexit (never) nop"
COLOURED = "\n".join(f"long interp $r{k} flat v[{4 * k:#x}]" for k in range(4)) + "\nexit nop"
BEYOND = "interp $r0 v[0x0]\nmov b32 $r1 0x50\nshl $a1 $r1 0x2\nadd b32 $r2 $r1 c0[$a1+0x0]\nexit nop"
FULL = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)
COLOURS = np.full((3, 4), 0.25, np.float32)


def setup(window: np.ndarray) -> Setup:
    return Setup(window, snapped(window), np.ones(len(window), bool))


def same(a: Quads, b: Quads) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("x", "y", "covered", "primitive"))


def shapes(kind: str, rng: Any) -> Any:
    """Triangles [n, 3, 2] around a picture of 200 x 200."""
    count = 60
    window: Any = rng.uniform(-20, 220, (count, 1, 2)) + rng.normal(0, 60 if kind != "small" else 2, (count, 3, 2))
    if kind == "slivers":
        window[:, :, 1] = window[:, :1, 1] + rng.normal(0, 1, (count, 3))
    if kind == "on the grid":
        window = (window * 2).round() / 2
    if kind == "far":
        window[::7, 0] *= 1e6
    return window


@pytest.mark.parametrize("kind", ["large", "small", "slivers", "on the grid", "far"])
@pytest.mark.parametrize("room", [1 << 16, 500])
def test_the_loop_finds_the_quads_that_arrays_find(kind: str, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_raster, "AT_ONCE", room)
    rng = np.random.default_rng(len(kind))
    for fill, sample in (("lower", (128, 128)), ("upper", (16, 48))):
        s, chosen = setup(shapes(kind, rng)), rng.random(60) < 0.9
        bounds = 7, 3, 190, 201
        expected = raster.rasterize(s, chosen, bounds, fill, sample)  # type: ignore[arg-type]
        assert len(expected)
        assert same(compiled_raster.rasterize(s, chosen, bounds, fill, sample, whole=True), expected)  # type: ignore[arg-type]


def set_ups(positions: np.ndarray, **state: Any) -> list[list[Drawn]]:
    """Set triangles [n, 3, 4] up with arrays, and with compiled code."""
    words = np.zeros((OUTPUT_WORDS, positions.size // 4), np.uint32)
    words[2:6] = positions.reshape(-1, 4).T.astype(np.float32).view(np.uint32)
    words[7] = np.arange(words.shape[1])
    corners = np.arange(words.shape[1]).reshape(-1, 3)
    vertices = Vertices(words, corners, corners[:, 2], numbers=np.arange(len(corners)) + 5)
    choices = GraphicsChoices(planes=state.pop("planes", "exact"))
    view = Viewport((100, -90, 0.5), (100, 90, 0.5))
    return [
        Rasterizer(DrawState(**state), view, (3, 5, 190, 170), choices, 2.0**-24, (2, 3, 4, 5), None, compiled)(
            vertices
        )
        for compiled in (None, CompiledTriangles(True))
    ]


@pytest.mark.parametrize("planes", ["exact", "snapped"])
@pytest.mark.parametrize("cull", [None, "front", "back"])
def test_compiled_set_up_finds_what_arrays_find(cull: Any, planes: str) -> None:
    rng = np.random.default_rng(3)
    positions: Any = rng.normal(0, 0.7, (101, 3, 4))
    positions[..., 3] = rng.uniform(1.5, 4, (101, 3))
    positions[..., 2] = rng.uniform(0.1, 1.4, (101, 3))
    positions[::9] = positions[::9, :1]  # without an area
    positions[4, 1, 0] = np.nan
    positions[5, :, 3] = -1
    positions[6, :, 2] = 9  # behind the far plane
    (a,), (b,) = set_ups(positions, cull=cull, planes=planes, half_z=True, front="cw", clamp_vertex=(7,))
    assert isinstance(b.rows, np.ndarray)
    assert len(b.rows) == 101
    assert len(a.quads) > 1000
    assert a.triangles == b.triangles
    assert a.rows is not None
    kept = a.rows  # arrays leave triangles out that are outside
    assert same(replace(a.quads, primitive=kept[a.quads.primitive]), b.quads)
    facts = [("front",), ("number",), ("flat", 7), ("origin", 0), ("origin", 1)]
    values = [("depth",), ("over_w",), ("perspective", 7), ("linear", 7), ("perspective", 3), ("linear", 3)]
    planes_of = [("plane", value, k) for value in values for k in range(3)]
    assert b.corners.compiled is not None
    assert b.corners.compiled(values) is not None
    b.corners.make_planes(planes_of)
    for name in (*facts, *planes_of):
        seen = np.unique(b.quads.primitive)
        expected, found = a.corners.column(name)[np.searchsorted(kept, seen)], b.corners.column(name)[seen]
        assert np.array_equal(expected.view(np.uint8), found.view(np.uint8)), name


@pytest.mark.parametrize("where", [(0, -0.5), (3, 0.0), (0, 1e8)])
def test_draws_with_triangles_to_cut_or_far_away_are_set_up_by_arrays(where: tuple[int, float]) -> None:
    positions: Any = np.tile(FULL, (20, 1, 1))
    axis, value = where
    positions[7, 1, axis] = value
    if axis == 0 and value < 0:
        positions[7, 1, 2] = -2  # before the near plane
    (a,), (b,) = set_ups(positions)
    assert same(a.quads, b.quads)
    assert np.array_equal(a.corners.over_w, b.corners.over_w)


def drawn(engine: str, fragment: FragmentShader, form: str = "rgba8", **options: Any) -> Pipeline:
    pipeline = Pipeline(40, 30, targets=(form,), engine=engine)
    pipeline.make_all = True
    pipeline.draw("triangles", VertexShader(VERTEX), fragment, [FULL, COLOURS], **options)
    return pipeline


def coloured() -> FragmentShader:
    return FragmentShader(COLOURED, inputs=[(4 + k, "flat") for k in range(4)])


@pytest.mark.parametrize("name", ["rgba8", "rgba16f", "rgb10a2", "srgba8", "sbgrx8", "r11g11b10f"])
def test_formats_that_cannot_be_traced_are_left_to_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = watched_draws(monkeypatch)
    left = NAMED[name].srgb or name == "r11g11b10f"
    assert (drawn("llvm", coloured(), name).image() == drawn("reference", coloured(), name).image()).all()
    assert done == [not left]


def test_a_program_that_faults_does_so_with_the_reference_engines_words() -> None:
    beyond = FragmentShader(BEYOND, inputs=["x"], constants=b"\0" * 16)
    words: list[str] = []
    for engine in ("reference", "llvm"):
        with pytest.raises(MachineFault) as found:
            drawn(engine, beyond)
        words.append(str(found.value))
    assert words[0] == words[1]


def without_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(kind: str, key: str) -> None:
        """An empty cache."""

    monkeypatch.setattr(compiled_quads, "read_object", nothing)


def asked(place: float) -> InputsKey:
    shape = PrimitiveFacts(False, False, False, False, True)
    return InputsKey((PositionInput("x"),), ((0, False),), False, shape, place)


def test_draws_make_no_code_until_they_have_had_many_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    without_disk(monkeypatch)
    monkeypatch.setattr(compiled_quads, "MAKING", 10_000)
    q = asked(0.0625)
    assert [inputs_function(q, host(), 5000) is not None for _ in range(4)] == [False, True, True, True]


def test_draws_of_few_pixels_make_code_after_some_tens(monkeypatch: pytest.MonkeyPatch) -> None:
    without_disk(monkeypatch)
    q = asked(0.03125)
    made = [inputs_function(q, host(), 3) is not None for _ in range(50)]
    assert 20 <= made.index(True) < 40


FORKED = """
import os, signal
from isakit.engine.llvm import host
from isakit.graphics import compiled_quads
from isakit.graphics.compiled_inputs import InputsKey, inputs_function
from isakit.graphics.planes import PositionInput, PrimitiveFacts
q = InputsKey(
    (PositionInput("x"),), ((0, False),), False, PrimitiveFacts(False, False, False, False, True), 0.125
)
with compiled_quads._lock:
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if inputs_function(q, host()) else 7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_while_a_function_is_made_makes_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_inputs_of_the_last_draw_are_there_when_they_are_asked_for() -> None:
    pipeline = drawn("llvm", coloured())
    assert pipeline.fragments is not None
    assert (pipeline.fragments.depth() == np.float32(0.5)).all()


def test_a_draw_on_several_threads_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_draw, "LANES", 128)
    pictures: list[np.ndarray] = []
    for threads in (1, 4):
        pipeline = Pipeline(40, 30, threads=threads, engine="llvm", depth=None)
        pipeline.make_all = True
        layers = np.tile(FULL, (20, 1))
        colours = np.repeat(np.random.default_rng(1).random((20, 4), np.float32), 3, axis=0)
        pipeline.draw("triangles", VertexShader(VERTEX), coloured(), [layers, colours], state=DrawState())
        pictures.append(pipeline.image())
    assert (pictures[0] == pictures[1]).all()
    assert len(np.unique(pictures[0].reshape(-1, 4), axis=0)) == 1


def test_every_batch_begins_with_cleared_registers_and_local_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_draw, "LANES", 128)
    counting = FragmentShader(
        "ld b32 $r0 l[0x4]\nmov b32 $r1 0x3f800000\nst b32 l[0x4] $r1\nmov b32 $r1 $r2\nmov b32 $r2 0x3f800000\n"
        "mov b32 $r3 $r0\nexit nop", local_bytes=16, registers=4,
    )  # fmt: skip
    pictures = [drawn(engine, counting).image() for engine in ("reference", "llvm")]
    assert (pictures[0] == pictures[1]).all()
    assert not pictures[1][..., :2].any()
