"""Compute shaders of OpenGL ES 3.1: storage buffers, atomics, images, indirect launches, against llvmpipe's words.

The capture was made with `isakit gl --capture` on Mesa 22.3.6; the tests marked `mesa` run the program itself.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from isakit.cli.gl_ import _debugged  # pyright: ignore[reportPrivateUsage]
from isakit.debug.attach import AttachServer, RemoteCommands
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.engines.windows import Windows
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.replay import Replay
from isakit.hosts.drm.surface import Surface
from isakit.hosts.drm.tables import COMPUTE
from isakit.machine.tesla.address_spaces import PitchWindow
from support.clients.gl_live import compiled, isakit, on_llvmpipe
from support.patience import PATIENCE
from support.runners.gl import CAPTURES

SOURCE = Path(__file__).parents[1] / "support" / "clients" / "gl_compute.c"
EXPECTED = {
    name: [int(w, 16) for w in words.split()]
    for name, words in (line.split(":") for line in (CAPTURES / "compute_cases.txt").read_text().splitlines())
}
"""What llvmpipe leaves, by case."""
MODE = COMPUTE.by_name["GLOBAL_MODE"].word
"""Words of the mode of a window."""
LONG = [n for n, words in EXPECTED.items() if len(words) > 8]


def cases(text: str) -> dict[str, list[int]]:
    """What the program printed."""
    lines = (line.split(":") for line in text.splitlines()[1:])
    return {name: [int(w, 16) for w in words.split()] for name, words in lines}


@pytest.mark.parametrize("settings", [{}, {"engine": "reference"}, {"threads": 2}])
def test_captured_kernels_leave_llvmpipes_words(settings: dict[str, object]) -> None:
    replay = Replay(CAPTURES / "compute_cases-a3.glc", CardSettings(**settings))  # type: ignore[arg-type]
    replay.run()
    memory = replay.memory.bytes[: 1 << 24].tobytes()
    reported = dict(replay.report.faults), dict(replay.report.unsupported)
    replay.close()
    assert reported == ({}, {})
    assert [n for n in LONG if np.array(EXPECTED[n], "<u4").tobytes() not in memory] == []


def test_a_debugger_stops_in_kernels_and_changes_nothing(short_path: Path) -> None:
    server = AttachServer(str(short_path / "k"), "gt215", waits=True, tell=lambda line: None)
    replay = Replay(CAPTURES / "compute_cases-a3.glc", CardSettings())
    replay.on_channel = partial(_debugged, server)

    def run() -> None:
        replay.run()
        server.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    debugger = RemoteCommands(str(server.place), pauses=False)
    try:
        assert debugger.stopped().lines[0] == "compute begins"
        debugger.run("b compute")
        assert debugger.run("c").lines[0].startswith("breakpoint 1: block (1, 0)")
        before = debugger.run("info registers").lines
        assert debugger.run("si 2").lines[0] == "after 2 steps"
        debugger.run("rsi 2")
        assert debugger.run("info registers").lines == before
        debugger.run("d")
        while "ended" not in (said := debugger.run("c").lines[0]):
            assert "begins" in said or "end" in said
    finally:
        debugger.close()
    thread.join(PATIENCE)
    memory = replay.memory.bytes[: 1 << 24].tobytes()
    faults = dict(replay.report.faults)
    replay.close()
    assert faults == {}
    assert [n for n in LONG if np.array(EXPECTED[n], "<u4").tobytes() not in memory] == []


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("compute"), ["EGL", "GLESv2"])


@pytest.mark.mesa
def test_llvmpipe_leaves_the_words_that_are_expected(program: Path) -> None:
    assert cases(on_llvmpipe(program)) == EXPECTED


@pytest.mark.mesa
@pytest.mark.parametrize(
    "chip", ["a3", pytest.param("a5", marks=pytest.mark.slow), pytest.param("a8", marks=pytest.mark.slow)]
)
def test_compute_shaders_leave_llvmpipes_words(program: Path, chip: str) -> None:
    done = isakit("gl", "--chip", chip, "--unsupported", "--", program)
    assert (done.returncode, done.stderr.strip()) == (0, "nothing was missing")
    assert cases(done.stdout) == EXPECTED


# --- images in blocks -------------------------------------------------------------------------------------------------
def test_an_image_in_blocks_is_rows_for_a_kernel_and_blocks_behind_it() -> None:
    memory = VideoMemory(1 << 22)
    image = memory.allocate(1 << 16, 1)
    surface = Surface(memory, image.address, 128, 32, block_y=1)
    texels = np.random.default_rng(3).integers(0, 256, surface.shape, np.uint8)
    surface.write(texels)
    with Windows(memory) as windows:
        windows.add(2, image.address, 128 * 8, 31 << 16 | 127, MODE(0x100))
        rows = windows.by_number[2]
        assert isinstance(rows, PitchWindow)
        view = memory.bytes[rows.base :][: 32 * rows.pitch].reshape(32, rows.pitch)
        assert np.array_equal(view[:, :128], texels)
        view[5, 70] ^= 0xFF
    texels[5, 70] ^= 0xFF
    assert np.array_equal(surface.read(), texels)
    assert len(memory.objects) == 1
    memory.close()


def test_what_a_launch_leaves_alone_is_not_written_back() -> None:
    memory = VideoMemory(1 << 22)
    image = memory.allocate(1 << 16, 1)
    with Windows(memory) as windows:
        windows.add(0, image.address, 64 * 4, 3 << 16 | 63, MODE(0))
        memory.view(image.address, 1)[:] = 7  # through a window of a buffer, say
    assert memory.view(image.address, 1)[0] == 7
    memory.close()
