"""Programs of examples/gl as the driver sent them to the card, against the pictures of another renderer (llvmpipe).

The captures were made with `isakit gl --capture` on Mesa 22.3.6; neither Mesa nor the programs are needed here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isakit.errors import FormatError, FormatWarning
from isakit.graphics.watchdog import Watchdog
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.engines.compute import ComputeEngine
from isakit.hosts.drm.memory import BASE
from isakit.hosts.drm.replay import Replay
from support.runners.gl import CAPTURES, picture

EXPECTED = np.load(CAPTURES / "llvmpipe.npz")
DRAWN = sorted(p for p in CAPTURES.glob("*.glc") if not p.name.startswith(("compute", "endless")))


@pytest.mark.parametrize("path", DRAWN, ids=lambda p: p.stem)
def test_no_pixel_is_off_by_more_than_one(path: Path) -> None:
    expected = EXPECTED[path.stem.split("-")[0]].astype(int)
    assert np.abs(picture(path) - expected).max() <= 1


@pytest.mark.parametrize("path", DRAWN[-3:], ids=lambda p: p.stem)
def test_the_same_pixels_are_covered(path: Path) -> None:
    name = path.stem.split("-")[0]
    background = picture(path)[0, 0]
    assert np.array_equal(
        (picture(path) != background).any(axis=2), (EXPECTED[name] != EXPECTED[name][0, 0]).any(axis=2)
    )


@pytest.mark.parametrize("settings", [{"engine": "reference"}, {"engine": "llvm", "tier": "interp"}, {"threads": 2}])
def test_every_engine_draws_the_same(settings: dict[str, object]) -> None:
    path = CAPTURES / "gears-a0.glc"
    assert np.array_equal(picture(path, **settings), picture(path))


def test_a_replay_stops_behind_the_draw_that_was_asked_for() -> None:
    replay = Replay(CAPTURES / "gears-a0.glc")
    replay.run(0, 2)
    replay.close()
    assert [(d.frame, d.draw) for d in replay.draws] == [(0, 1), (0, 2)]


def test_a_closed_replay_gives_its_memory_back() -> None:
    replay = Replay(CAPTURES / "triangle-86.glc")
    replay.run()
    replay.close()
    assert replay.memory.map.closed


def test_a_compute_shader_leaves_what_it_should() -> None:
    replay, engines = Replay(CAPTURES / "compute-a3.glc"), list[ComputeEngine]()
    replay.on_channel = lambda channel: engines.append(channel.compute)
    replay.run()
    windows = [(e.address("GLOBAL_ADDRESS", i), e.get("GLOBAL_LIMIT", i)) for e in engines for i in range(16)]
    i = np.arange(1024, dtype=np.uint32)
    other = i // 64 * 64 + 63 - i % 64
    expected = (other * other + 7) * 3 + i // 64
    words = replay.memory.words
    whole = words[: (1 << 24) // 4].tobytes()
    found = whole.find(expected.astype("<u4").tobytes())
    assert replay.report.faults == {}
    assert found >= 0
    assert any(a <= BASE + found < a + n for a, n in windows)
    replay.close()


@pytest.mark.parametrize("engine", ["reference", "auto", "llvm"])
@pytest.mark.parametrize("where", ["fragment", "compute"])
def test_a_program_that_does_not_end_is_ended(where: str, engine: str) -> None:
    """Nor is what follows drawn, as the channel is given up; but what is no program is still done."""
    replay = Replay(CAPTURES / f"endless_{where}.glc", CardSettings(engine, watchdog=Watchdog(1 << 10, 1 << 9)))
    replay.run()
    ended, refused = sorted(replay.report.faults, key=lambda f: "ChannelStopped" in f)
    assert ended.startswith(f"{'3d' if where == 'fragment' else 'compute'}: BudgetExceeded: TIMEOUT")
    assert refused.startswith("3d: ChannelStopped")
    assert (replay.picture()[..., :3] == (0, 255, 0)).all()
    replay.close()


@pytest.mark.parametrize("cut", [0, 10, 18, 25])
def test_a_capture_without_its_head_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.glc"
    path.write_bytes((CAPTURES / "triangle-a0.glc").read_bytes()[:cut])
    with pytest.raises(FormatError):
        Replay(path).run()


@pytest.mark.parametrize("cut", [300, 900, -1])
def test_a_capture_that_is_cut_off_is_drawn_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.glc"
    path.write_bytes((CAPTURES / "triangle-a0.glc").read_bytes()[:cut])
    replay = Replay(path)
    with pytest.warns(FormatWarning, match="cut off"):
        replay.run()
    assert len(replay.draws) == (cut == -1)
    replay.close()


def test_a_capture_with_damage_is_refused_or_drawn(tmp_path: Path) -> None:
    whole = (CAPTURES / "triangle-a0.glc").read_bytes()
    path = tmp_path / "damaged.glc"
    rng = np.random.default_rng(17)
    for _ in range(20):
        data = bytearray(whole)
        data[int(rng.integers(30, len(data)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            replay = Replay(path, CardSettings(engine="reference"))
            replay.run()
            replay.close()
        except FormatError:
            pass
