"""A pixel of a captured OpenGL program: which fragments made it, and their programs step by step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isakit.debug.captured_pixels import captured_pixel
from isakit.errors import LaunchError
from isakit.hosts.drm.replay import Replay
from support.runners.gl import CAPTURES

GEARS = CAPTURES / "gears-a0.glc"
FEATURES = CAPTURES / "features"


def drawn(draw: int | None) -> np.ndarray:
    """The picture after a draw of the first frame, row 0 of memory first."""
    replay = Replay(GEARS)
    replay.run(0, draw)
    image = replay.picture()
    replay.close()
    return image


@pytest.mark.parametrize("place", [(30, 30), (20, 40), (12, 33)])
def test_a_pixel_is_what_the_replay_draws(place: tuple[int, int]) -> None:
    found = captured_pixel(GEARS, *place, frame=0)
    assert [round(255 * c) for c in found.final] == drawn(None)[place[1], place[0]].tolist()
    assert found.fragments[found.last].after == found.final


def test_only_the_fragments_of_the_draw_that_was_asked_for_are_told() -> None:
    x, y = 30, 30
    counts = {d: len(captured_pixel(GEARS, x, y, 0, d).fragments) for d in (1, 2)}
    everything = captured_pixel(GEARS, x, y, 0).fragments
    assert counts[1] == sum(f.draw == 1 for f in everything) > 0
    assert counts[2] == sum(f.draw == 2 for f in everything)


def test_the_program_of_a_fragment_returns_its_colour_step_by_step() -> None:
    found = captured_pixel(GEARS, 30, 30, 0, 1)
    session = found.session()
    lane = session.focus
    while not session.finished:
        session.step()
    bits = [session.target.read_register(("r", k), lane) for k in range(4)]
    assert tuple(np.array(bits, np.uint32).view(np.float32).tolist()) == found.fragments[found.last].color


def test_blending_is_between_before_and_after() -> None:
    found = captured_pixel(FEATURES / "blending-a0.glc", 5, 32)
    assert found.fragments
    assert found.final != found.cleared


@pytest.mark.parametrize(("place", "draw"), [((30, 30), 40), ((5000, 1), None)])
def test_a_draw_or_pixel_that_is_not_there_is_named(place: tuple[int, int], draw: int | None) -> None:
    with pytest.raises(LaunchError, match="there is no draw"):
        captured_pixel(GEARS, *place, frame=0, draw=draw)


def test_the_command_says_why_a_pixel_of_a_capture_has_its_colour() -> None:
    command = [sys.executable, "-m", "isakit", "debug", GEARS, "--frame", "0", "--draw", "1", "--pixel", "30,30"]
    done = subprocess.run([*map(str, command), "-e", "info about"], capture_output=True, text=True, check=True)
    assert "fragment 0: draw 1 primitive" in done.stdout


def test_nothing_kept_holds_the_memory_of_a_card_that_is_closed() -> None:
    replay = Replay(GEARS)
    replay.run(draw=2)
    mine = Path("/proc/self/maps").read_text().count("isakit-card")
    replay.close()
    assert Path("/proc/self/maps").read_text().count("isakit-card") < mine
