"""Every fixed function of the pipeline in a small picture: as the driver sent it, against llvmpipe's picture.

The captures were made with `isakit gl --capture`; neither Mesa nor the program is needed for them. The tests marked
`mesa` run the program itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CHIPS
from isakit.hosts.drm.replay import Replay
from support.clients.gl_features import FEATURES, SCENES, SOURCE, TOLERANCE, USUAL
from support.clients.gl_live import compiled, isakit, on_llvmpipe, ppm
from support.runners.gl import SIZE, picture

EXPECTED = np.load(FEATURES / "llvmpipe.npz")
OF_THE_DRIVER = {"draw_feedback": {"50", "84", "86", "92", "98"}, "mipmaps": {"50"}}
"""Scenes that the driver itself cannot draw on some chips: docs/howto/test-your-driver.md."""
SOME = ("blending", "wrap_modes", "transform_feedback", "layered_target", "conditional_rendering", "lines")
"""Scenes that are drawn in every way a replay can be."""


def replayed(scene: str, **settings: object) -> np.ndarray:
    """The picture of a captured scene, upper row first."""
    return picture(FEATURES / f"{scene}-a0.glc", **settings).astype(int)


@pytest.mark.parametrize("scene", SCENES)
def test_a_captured_scene_is_drawn_as_llvmpipe_draws_it(scene: str) -> None:
    off = np.abs(replayed(scene) - EXPECTED[scene]).max()
    assert off <= TOLERANCE.get(scene, USUAL)


@pytest.mark.parametrize("scene", SCENES)
def test_the_expected_picture_shows_something(scene: str) -> None:
    assert len(np.unique(EXPECTED[scene].reshape(-1, 3), axis=0)) > 1


@pytest.mark.parametrize("settings", [{"engine": "reference"}, {"engine": "llvm", "tier": "interp"}, {"threads": 2}])
@pytest.mark.parametrize("scene", SOME)
def test_every_engine_draws_a_scene_the_same(scene: str, settings: dict[str, object]) -> None:
    assert np.array_equal(replayed(scene, **settings), replayed(scene))


# --- on the installed Mesa --------------------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("features"), ["EGL", "OpenGL"])


@pytest.fixture(scope="session")
def expected(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """llvmpipe's pictures."""
    folder = tmp_path_factory.mktemp("llvmpipe")
    on_llvmpipe(program, str(SIZE), folder)
    return folder


@pytest.fixture(scope="session", params=[f"{n:x}" for n in CHIPS])
def drawn(request: pytest.FixtureRequest, program: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A chip, and its pictures of all scenes, from one process."""
    folder = tmp_path_factory.mktemp("card")
    done = isakit("gl", "--chip", request.param, "--unsupported", "--", program, str(SIZE), folder)
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (0, "nothing was missing")
    return request.param, folder


@pytest.mark.mesa
@pytest.mark.slow
def test_all_scenes_are_drawn_as_llvmpipe_draws_them(drawn: tuple[str, Path], expected: Path) -> None:
    chip, folder = drawn
    found = {p.stem: np.abs(ppm(p) - ppm(expected / p.name)).max() for p in folder.glob("*.ppm")}
    off = {n for n, d in found.items() if d > TOLERANCE.get(n, USUAL)}
    assert off == {n for n, chips in OF_THE_DRIVER.items() if chip in chips}
    assert sorted(found) == sorted(p.stem for p in expected.glob("*.ppm"))


@pytest.mark.mesa
def test_replays_of_scenes_are_what_the_program_saw(program: Path, tmp_path: Path) -> None:
    """Live on the card, and from what was captured then, on both engines and two threads."""
    scene = "wrap_modes"
    capture = tmp_path / "scene.glc"
    done = isakit("gl", "--capture", capture, "--", program, str(SIZE), tmp_path, scene)
    assert done.returncode == 0, done.stderr
    live = ppm(tmp_path / f"{scene}.ppm")
    for settings in (CardSettings(engine="reference"), CardSettings(engine="llvm"), CardSettings(threads=2)):
        replay = Replay(capture, settings)
        replay.run()
        found = replay.picture()[:SIZE, :SIZE, :3][::-1]
        replay.close()
        assert np.array_equal(found, live)
