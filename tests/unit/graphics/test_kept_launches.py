"""Stages keep their memory from one draw to the next; what a draw sees is its own all the same."""

from __future__ import annotations

import os
import platform
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.graphics import compiled_stage
from isakit.graphics.draw_state import DrawState
from isakit.graphics.kept_launches import return_freed_memory
from isakit.graphics.pipeline import FEW_LANES
from isakit.graphics.stage_engine import StageEngine
from isakit.tesla import FragmentShader, Pipeline, VertexShader
from isakit.texture import Sampler, Texture

VERTEX = "\n".join(
    f"ld b32 $r{k} a[{4 * k:#x}]\nadd f32 $r{k} $r{k} c0[{4 * k:#x}]\nmov b32 o[{4 * k:#x}] $r{k}" for k in range(2)
)
VERTEX += "\n" + "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(2, 8)) + "\nexit (never) nop"
FRAGMENT = """
interp $r0 v[0x0]
interp $r1 v[0x4]
texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1
add f32 $r0 $r0 c0[0x0]
exit nop
"""


def drawn(engine: str, rounds: int = 12) -> list[tuple[np.ndarray, tuple[int, ...]]]:
    """Pictures and counts of draws that differ in size, constants, textures and samplers."""
    rng = np.random.default_rng(5)
    pipeline = Pipeline(48, 40, engine=engine)
    pipeline.make_all = True
    textures = [Texture(rng.integers(0, 256, (8, 8, 4), np.uint8)) for _ in range(3)]
    samplers = [Sampler(), Sampler(mag="linear", min="linear")]
    out: list[tuple[np.ndarray, tuple[int, ...]]] = []
    vertex = VertexShader(VERTEX, constants=bytes(8))
    fragment = FragmentShader(FRAGMENT, inputs=[(4, "linear"), (5, "linear")], constants=bytes(4))
    for k in range(rounds):
        count = (3, 300, 3, 33, FEW_LANES + 30, 6)[k % 6] // 3 * 3
        corners: Any = rng.uniform(-1, 1, (count, 8)).astype(np.float32)
        corners[:, 2:4] = 0, 1
        vertex.constants[0] = rng.uniform(-0.3, 0.3, 2).astype(np.float32).tobytes()
        fragment.constants[0] = np.float32(k / 20).tobytes()
        bound = {0: (textures[k % 3], samplers[k // 2 % 2])}
        stats = pipeline.draw(
            "triangles", vertex, fragment, [corners[:, :4], corners[:, 4:]], textures=bound, state=DrawState()
        )
        out.append((pipeline.image(), (stats.instructions, stats.fragments, stats.samples, stats.vertices)))
    return out


def test_draws_of_the_same_programs_have_their_own_inputs() -> None:
    for k, (mine, reference) in enumerate(zip(drawn("llvm"), drawn("reference"), strict=True)):
        assert (mine[0] == reference[0]).all(), k
        assert mine[1] == reference[1], k


def test_tables_of_as_many_textures_as_a_scene_has_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    table = compiled_stage.TextureTable

    def counted(*given: Any) -> Any:
        made.append(1)
        return table(*given)

    pipeline = Pipeline(8, 8, engine="llvm")
    textures = [Texture(np.full((2, 2, 4), k, np.uint8)) for k in range(40)]
    vertex = VertexShader(VERTEX, constants=bytes(8))
    fragment = FragmentShader(FRAGMENT, inputs=[(4, "linear"), (5, "linear")], constants=bytes(4))
    corners = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)

    def scene() -> None:
        for t in textures:
            pipeline.draw("triangles", vertex, fragment, [corners, corners], textures={0: t})

    scene()
    monkeypatch.setattr(compiled_stage, "TextureTable", counted)
    for _ in range(20):  # code that is made meanwhile begins with launches of its own
        made.clear()
        scene()
        if len(made) <= 1:  # what a launch begins with is its own
            break
    assert len(made) <= 1
    assert pipeline.image().any()


TURNING = """
ld $r4 b32 c0[0x0]
again:
add b32 $r4 $r4 0xffffffff
set $c0 # g u32 $r4 $r9
(lg $c0) bra #again
mov b32 $r0 0x3f800000
exit nop
"""


def test_a_budget_ends_with_the_pipeline_it_was_given_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def handed_over(*_: object) -> None:
        raise AssertionError("the reference machine had to go on")

    monkeypatch.setattr(StageEngine, "finish", handed_over)
    corners = np.array([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]], np.float32)
    vertex = VertexShader("\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit (never) nop")
    fragment = FragmentShader(TURNING, registers=10)
    for turns, most in ((3, 20_000), (10_000, None)):
        pipeline = Pipeline(40, 30, engine="llvm", depth=None, max_instructions=most)
        pipeline.make_all = True
        fragment.constants[0] = turns.to_bytes(4, "little")
        assert pipeline.draw("triangles", vertex, fragment, [corners]).instructions > 1200 * 3 * turns


class _Late(Exception):
    """Raised by the handler of a timer."""


def test_what_a_signal_handler_raises_in_a_short_draw_waits_for_its_end() -> None:
    def late(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is drawn.__code__:  # elsewhere, nobody expects it
                raise _Late
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, late)
    wanted = drawn("llvm", 6)
    struck = 0
    try:
        for _ in range(8):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
                drawn("llvm", 6)
            except _Late:
                struck += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert struck
    for mine, expected in zip(drawn("llvm", 6), wanted, strict=True):
        assert (mine[0] == expected[0]).all()
        assert mine[1] == expected[1]


def _resident() -> int:
    """Bytes of memory that this process has pages for."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no malloc_trim")
def test_memory_that_is_free_again_goes_back() -> None:
    blocks = [bytes(2000) for _ in range(60_000)]
    kept = blocks[::100]
    before = _resident()
    del blocks
    return_freed_memory()
    assert kept
    assert before - _resident() > 60_000_000
