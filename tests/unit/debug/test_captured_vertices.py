"""A vertex of a captured OpenGL program: its program, step by step, makes the position that was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from isakit.cli.app import app
from isakit.debug.captured_pixels import captured_pixel
from isakit.debug.captured_vertices import captured_vertex
from isakit.errors import LaunchError
from support.clients.command_line import run
from support.runners.gl import CAPTURES

GEARS = str(CAPTURES / "gears-a0.glc")


@pytest.mark.parametrize("number", [0, 7, 40, 1919])
def test_its_program_returns_its_position(number: int) -> None:
    found = captured_vertex(CAPTURES / "gears-a0.glc", number, 1, frame=0)
    session = found.session()
    lane = session.focus
    while not session.finished:
        session.step()
    bits = [session.target.read_register(("o", k), lane) for k in range(4)]
    assert tuple(np.array(bits, np.uint32).view(np.float32).tolist()) == found.position
    assert (found.number, found.lane) == (number, number % 32)


def test_a_vertex_that_is_drawn_twice_has_one_index() -> None:
    """Of two triangles that share an edge, six places of the order name four vertices."""
    path = CAPTURES / "features" / "index_widths-a0.glc"
    with pytest.raises(LaunchError) as e:
        captured_vertex(path, 1 << 20, 1)
    places = [captured_vertex(path, n, 1) for n in range(int(str(e.value).split()[-2]))]
    by_index = {v.index: v.position for v in places}
    assert len(by_index) < len(places)
    assert all(by_index[v.index] == v.position for v in places)


def test_without_a_frame_the_last_one_is_meant() -> None:
    path = CAPTURES / "features" / "array_target-a0.glc"  # four frames
    positions = [captured_vertex(path, 1, 1, frame).position for frame in (None, 3, 0)]
    assert positions[0] == positions[1] != positions[2]
    assert captured_pixel(path, 30, 30).final == captured_pixel(path, 30, 30, 3).final
    with pytest.raises(LaunchError, match="in draw 1; draw 2 of the frame does"):
        _ = captured_pixel(path, 10, 10, draw=1).last


def test_a_place_that_ends_a_strip_is_no_vertex() -> None:
    path = CAPTURES / "features" / "primitive_restart-a0.glc"
    kinds: list[bool] = []
    for number in range(6):
        try:
            kinds.append(captured_vertex(path, number, 1).index >= 0)
        except LaunchError:
            kinds.append(False)
    assert True in kinds
    assert False in kinds


@pytest.mark.parametrize(("given", "said"), [
    (("--draw", "1", "--vertex", "99999"), "draw 1 of frame 0 has no vertex 99999; its order has 1920 places"),
    (("--draw", "9", "--vertex", "0"), "there is no draw 9 of frame 0"),
    (("--draw", "1", "--pixel", "1,1"), "no primitive covers the pixel (1, 1) in draw 1; no draw of the frame does"),
    (("--draw", "3", "--pixel", "30,30"), "in draw 3; draw 1 of the frame does"),
])  # fmt: skip
def test_what_is_not_there_is_said(given: tuple[str, ...], said: str) -> None:
    assert said in run("debug", GEARS, "--frame", "0", *given, "-e", "s", code=1).stderr


@pytest.mark.parametrize("given", [("--vertex", "0"), ("--draw", "1", "--vertex", "0", "--pixel", "1,1")])
def test_a_vertex_needs_a_draw_and_no_pixel(given: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, ["debug", GEARS, *given]).exit_code == 2


def test_the_command_says_what_became_of_a_vertex() -> None:
    out = run("debug", GEARS, "--frame", "0", "--draw", "1", "--vertex", "7", "-e", "info about").stdout
    assert "draw 1 vertex 7: index 7" in out
    assert "(-4.92382, -4.16819, 12.7152, 19.99)" in out


def test_a_capture_is_told_in_numbers() -> None:
    out = run("info", GEARS).stdout
    assert "capture of a GL program on gt200" in out
    assert "7 pushes on 1 channel\n" in out
