"""Debuggers that attach to the programs of draws: the drawing side is a thread with a pipeline."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from isakit.debug.attach import AttachServer, RemoteCommands
from isakit.debug.debugged_stages import DebuggedStages
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.tesla import Pipeline
from support.patience import PATIENCE, until

VERTEX = """
    mov b32 o[0x0] a[0x0]
    mov b32 o[0x4] a[0x4]
    mov b32 o[0x8] a[0x8]
    exit mov b32 o[0xc] a[0xc]
"""
FRAGMENT = """
    mov b32 $r0 0x3e800000
    mov b32 $r1 0x3f000000
    mov b32 $r2 0x3f800000
    mov b32 $r3 0x3f800000
    exit nop
"""
CORNERS = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)


class Drawing:
    """Draws in a thread of its own, `times` over, where debuggers can attach."""

    def __init__(self, place: Path, times: int = 1, waits: bool = True) -> None:
        self.pipeline = Pipeline(16, 16, depth=None)
        self.said: list[str] = []
        self.server = AttachServer(str(place), "gt200", waits=waits, tell=self.said.append)
        self.stages = DebuggedStages(self.pipeline.engine, self.server)
        self.pipeline.engine = self.stages
        self.times, self.raised = times, ""
        self.pipeline.make_all = True  # compiled code as soon as nobody looks
        self.thread = threading.Thread(target=self._draw, daemon=True)
        self.thread.start()

    def _draw(self) -> None:
        try:
            for _ in range(self.times):
                self.pipeline.draw("triangles", VertexShader(VERTEX), FragmentShader(FRAGMENT), [CORNERS])
        except KeyboardInterrupt:
            self.raised = "KeyboardInterrupt"
        except BaseException as e:
            self.raised = repr(e)
        self.server.close()  # as `isakit gl` does: debuggers hear that the program has ended

    def attach(self) -> RemoteCommands:
        return RemoteCommands(str(self.server.place), pauses=False)

    def colour(self) -> list[int]:
        """Wait for the end; returns the colour of all pixels."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        assert self.raised == ""
        (colour,) = np.unique(self.pipeline.image().reshape(-1, 4), axis=0)
        return colour.tolist()


@pytest.fixture
def drawings(short_path: Path) -> Iterator[list[Drawing]]:
    made: list[Drawing] = []
    yield made
    for d in made:
        d.stages.cancel()
        d.server.close()
        d.thread.join(PATIENCE)
        assert not d.thread.is_alive()
    assert not list(short_path.iterdir())


def test_programs_of_a_draw_are_stopped_in_and_changed(drawings: list[Drawing], short_path: Path) -> None:
    d = Drawing(short_path / "d")
    drawings.append(d)
    debugger = d.attach()
    assert debugger.stopped().lines[0] == "vertex begins"
    debugger.run("b fragment")
    assert "breakpoint 1" in debugger.run("c").lines[0]
    debugger.run("s")
    assert debugger.run("p f32($r0)").data == 0.25
    debugger.run("d")
    debugger.run("b 0x10")
    debugger.run("c")
    debugger.run("set $r1 = 0x3f800000")
    debugger.run("d")
    assert "ended" in debugger.run("c").lines[0]
    debugger.close()
    d.thread.join(PATIENCE)
    colours = {tuple(c) for c in d.pipeline.image().reshape(-1, 4).tolist()}
    assert colours == {(64, 128, 255, 255), (64, 255, 255, 255)}
    assert d.said == [f"the program waits: isakit debug --attach {d.server.place}"]


def test_a_debugger_that_goes_leaves_the_picture_as_it_is_without_one(
    drawings: list[Drawing], short_path: Path
) -> None:
    d = Drawing(short_path / "d", times=3)
    drawings.append(d)
    debugger = d.attach()
    debugger.stopped()
    debugger.run("b fragment")
    debugger.run("c")
    debugger.close()
    assert d.colour() == [64, 128, 255, 255]
    assert not d.server.wanted


def test_a_program_that_goes_while_it_stands_ends_its_draw(drawings: list[Drawing], short_path: Path) -> None:
    d = Drawing(short_path / "d")
    drawings.append(d)
    debugger = d.attach()
    debugger.stopped()
    d.stages.cancel()
    assert until(lambda: d.raised == "KeyboardInterrupt")
    debugger.close()


def test_a_draw_that_waits_for_a_debugger_ends_with_its_program(drawings: list[Drawing], short_path: Path) -> None:
    d = Drawing(short_path / "d")
    drawings.append(d)
    assert until(lambda: bool(d.said))
    d.stages.cancel()
    assert until(lambda: d.raised == "KeyboardInterrupt")


def test_without_a_debugger_compiled_code_draws(drawings: list[Drawing], short_path: Path) -> None:
    d = Drawing(short_path / "d", waits=False)
    drawings.append(d)
    assert d.colour() == [64, 128, 255, 255]
    assert d.said == []
