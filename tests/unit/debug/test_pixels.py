"""Fragments of a pixel: what a session of one computes is what the pipeline drew."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from isakit.debug.pixels import pixel
from isakit.errors import LaunchError
from isakit.tesla import Scene
from support.clients.command_line import run

SCENES = ROOT / "examples/tesla-graphics"


@pytest.mark.parametrize(("name", "x", "y"), [("julia", 40, 25), ("flowers", 40, 45), ("floor", 40, 45),
                                               ("triangle", 88, 54)])  # fmt: skip
def test_a_session_computes_the_colour_that_was_drawn(name: str, x: int, y: int) -> None:
    scene = Scene(SCENES / name / "scene.json")
    found = pixel(scene, x, y)
    pixels = scene.render().image()[y, x]
    assert np.allclose(np.array(found.final) * 255, pixels)
    assert found.fragments
    for n, f in enumerate(found.fragments):
        session = found.session(n)
        lane = session.focus
        session.cont()
        assert session.finished
        if f.color is not None:
            bits = [session.target.read_register(("r", k), lane) for k in range(4)]
            assert np.array(bits, np.uint32).view(np.float32).tolist() == [
                pytest.approx(c, nan_ok=True) for c in f.color
            ]


def scene_of(folder: Path, *, discards: bool) -> Scene:
    """The triangle, drawn twice, the second time by a program that discards or returns the same colour."""
    text = (SCENES / "triangle/fragment.s").read_text("utf-8")
    for path in (SCENES / "triangle").iterdir():
        (folder / path.name).write_text(path.read_text("utf-8"), "utf-8")
    if discards:
        (folder / "fragment.s").write_text(re.sub(r"^(\s*)exit\b", r"\1discard\n\1exit", text, flags=re.M), "utf-8")
    data: dict[str, Any] = json.loads((folder / "scene.json").read_text("utf-8"))
    data["draws"] = data["draws"] * 2
    (folder / "scene.json").write_text(json.dumps(data), "utf-8")
    return Scene(folder / "scene.json")


def test_fragments_come_in_drawing_order_and_say_what_became_of_them(tmp_path: Path) -> None:
    found = pixel(scene_of(tmp_path, discards=False), 88, 54)
    first, second = found.fragments
    assert (first.draw, second.draw) == (0, 1)
    assert first.before == found.cleared
    assert first.after == second.before == second.after == found.final
    assert "the pixel became" in first.meaning
    assert "left the pixel as it was" in second.meaning
    assert found.last == 0


def test_a_fragment_that_was_discarded_says_so(tmp_path: Path) -> None:
    found = pixel(scene_of(tmp_path, discards=True), 88, 54)
    assert [f.meaning for f in found.fragments] == ["its program discarded it"] * 2
    assert found.final == found.cleared
    session = found.session()
    session.cont()
    session.reverse_step()
    assert session.instruction is not None


def test_places_that_nothing_covers_are_errors() -> None:
    scene = Scene(SCENES / "triangle/scene.json")
    with pytest.raises(LaunchError, match="is none of them"):
        pixel(scene, scene.width, 0)
    with pytest.raises(LaunchError, match="no primitive covers"):
        pixel(scene, 0, scene.height - 1).session()
    with pytest.raises(LaunchError, match="no fragment 7"):
        pixel(scene, 88, 54).session(7)


def test_going_back_in_a_fragment_gives_the_same_registers() -> None:
    session = pixel(Scene(SCENES / "julia/scene.json"), 40, 25).session()
    session.step(30)
    there = session.registers()
    session.step(100)
    session.goto(30)
    assert session.registers() == there


def test_the_command_stops_in_the_program_of_a_pixel() -> None:
    out = run("debug", str(SCENES / "julia/scene.json"), "--pixel", "40,25", "-e", "info about", "-e", "s", "-e", "c",
              "-e", "wrote $r0").stdout.splitlines()  # fmt: skip
    assert out[0].startswith("pixel (40, 25) was cleared to (0, 0, 0, 0) and is ")
    assert "after 1 step" in out
    assert "$r0 is written here" in out
    run("debug", str(SCENES / "julia/scene.json"), "--pixel", "40", code=2)
