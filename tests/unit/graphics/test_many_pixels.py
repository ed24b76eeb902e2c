"""Draws around many pixels: done in portions of bounded memory, and ended by the watchdog where they take too long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isakit.errors import BudgetExceeded, LaunchError
from isakit.graphics import pipeline as pipelines
from isakit.graphics import primitives
from isakit.graphics.draw_state import Multisampling
from isakit.graphics.watchdog import Watchdog
from isakit.tesla import DrawState, FragmentShader, Pipeline, VertexShader

SIZE = 32
PASS = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(8)) + "\nexit (never) nop"
COLOR = "\n".join(f"long interp $r{k} flat v[{4 * k + 4:#x}]" for k in range(3)) + "\nexit interp $r3 flat v[0x10]"
MULTISAMPLED = Multisampling(((4, 4), (12, 12)), ((0, 0), (1, 0)), 2, 1)


def draw(mode: str, count: int, state: DrawState, engine: str = "reference", **options: Any) -> Pipeline:
    rng = np.random.default_rng(7)
    position, color = (rng.uniform(-1, 1, (count, 4)).astype(np.float32) for _ in range(2))
    position[:, 3] = rng.uniform(1, 2, count)
    p = Pipeline(SIZE, SIZE, depth=None, engine=engine, **options)
    fragment = FragmentShader(COLOR, inputs=["w", *((k, "flat") for k in range(4, 8))])
    p.draw(mode, VertexShader(PASS), fragment, [position, color], state=state)
    return p


@pytest.mark.parametrize("engine", ["reference", "llvm"])
@pytest.mark.parametrize(
    ("mode", "state"),
    [
        ("points", DrawState(point_size=9)),
        ("lines", DrawState(line_width=3)),
        ("line_strip", DrawState()),
        ("triangles", DrawState()),
        ("triangle_strip", DrawState(multisampling=MULTISAMPLED)),
        ("triangles", DrawState(polygon_mode=("line", "line"))),
        ("triangle_strip", DrawState(polygon_mode=("fill", "point"))),
    ],
)
def test_portions_are_the_same_picture(
    mode: str, state: DrawState, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    whole = draw(mode, 60, state, engine)
    assert whole.targets[0].pixels.any()
    looked: list[int] = []
    look_at = primitives.Rasterizer.look_at

    def seen(self: primitives.Rasterizer, pixels: int) -> None:
        looked.append(pixels)
        look_at(self, pixels)

    monkeypatch.setattr(primitives, "MOST_PIXELS", 700)
    monkeypatch.setattr(pipelines, "PORTION", 5)
    monkeypatch.setattr(primitives.Rasterizer, "look_at", seen)
    parted = draw(mode, 60, state, engine)
    assert len(looked) > 3
    assert (parted.targets[0].pixels == whole.targets[0].pixels).all()


@pytest.mark.parametrize("modes", [("line", "line"), ("fill", "line"), ("point", "fill"), ("line", "point")])
def test_triangles_of_all_modes_are_drawn_in_their_order(modes: Any) -> None:
    """Each as if it were drawn by itself, whichever way it faces."""
    rng = np.random.default_rng(3)
    corners: Any = rng.uniform(-1, 1, (60, 8)).astype(np.float32)
    corners[:, 2:4] = 0, 1
    fragment = FragmentShader(COLOR, inputs=["w", *((k, "flat") for k in range(4, 8))])
    pictures: list[np.ndarray] = []
    for step in (60, 3):
        p = Pipeline(SIZE, SIZE, depth=None, engine="reference")
        for k in range(0, 60, step):
            some = corners[k : k + step]
            state = DrawState(polygon_mode=modes, point_size=5)
            p.draw("triangles", VertexShader(PASS), fragment, [some[:, :4], some[:, 4:]], state=state)
        pictures.append(p.image())
    assert (pictures[0] == pictures[1]).all()


def test_the_rows_of_portions_are_those_of_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primitives, "MOST_PIXELS", 1)
    rows: list[int] = []
    call = primitives.Rasterizer.__call__

    def seen(self: primitives.Rasterizer, v: Any) -> Any:
        for drawn in call(self, v):
            assert drawn.rows is not None
            rows.extend(drawn.rows.tolist())
            yield drawn

    monkeypatch.setattr(primitives.Rasterizer, "__call__", seen)
    draw("triangles", 30, DrawState())
    assert rows == list(range(10))


@pytest.mark.parametrize("width", [float("inf"), 1e30, 20_000.0])
def test_a_line_of_any_width_takes_the_memory_of_its_target(width: float) -> None:
    assert draw("lines", 2, DrawState(line_width=width)).targets[0].pixels.any()


def test_lines_with_a_pattern_cannot_be_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primitives, "MOST_PIXELS", 1)
    monkeypatch.setattr(primitives, "MOST_UNPARTED", 100)
    with pytest.raises(LaunchError, match="cannot be drawn in parts"):
        draw("line_strip", 60, DrawState(line_stipple=(1, 0x5555)))


def test_triangles_that_turn_too_often_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    dog, state = Watchdog(reference=1 << 10), DrawState(polygon_mode=("fill", "line"), scissor=(0, 0, 0, 0))
    with pytest.raises(BudgetExceeded, match="a draw takes too long"):
        draw("triangles", 900, state, watchdog=dog)
    monkeypatch.setattr(primitives, "TURN", 1)  # it was this that took too long
    draw("triangles", 900, state, watchdog=dog)


@pytest.mark.parametrize("engine", ["reference", "llvm"])
@pytest.mark.parametrize("mode", ["points", "triangles"])
def test_a_draw_that_takes_too_long_is_ended(mode: str, engine: str) -> None:
    """Each of its runs is short; together they would take hours."""
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    dog = Watchdog(compiled=1 << 10, reference=1 << 10)
    few = draw(mode, 3, DrawState(point_size=SIZE), engine, watchdog=dog)
    assert few.targets[0].pixels.any()
    with pytest.raises(BudgetExceeded, match="a draw takes too long"):
        draw(mode, 60_000, DrawState(point_size=SIZE), engine, watchdog=dog)
