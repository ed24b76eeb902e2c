"""Programs with windows of an X server, drawn by the simulated card. They need Mesa, Xvfb, headers of X11 and GLX."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clients.gl_live import compiled
from support.patience import PATIENCE

CLIENT = Path(__file__).parents[1] / "support" / "clients" / "gl_windows.c"
pytestmark = pytest.mark.mesa


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """The name of an X server that nobody sees."""
    if shutil.which("Xvfb") is None:
        pytest.skip("needs an X server without a screen (on Debian: apt install xvfb)")
    read, write = os.pipe()
    line = ["Xvfb", "-displayfd", str(write), "-noreset", "-nolisten", "tcp", "-screen", "0", "320x240x24"]
    with subprocess.Popen(line, pass_fds=(write,), stderr=subprocess.DEVNULL) as server:
        os.close(write)
        with os.fdopen(read) as said:
            number = said.readline().strip()
        if not number:
            pytest.skip("Xvfb does not start")
        yield f":{number}"
        server.terminate()


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with windows."""
    if not Path("/usr/include/GL/glx.h").exists() or not Path("/usr/include/X11/Xlib.h").exists():
        pytest.skip("needs the headers of X11 and GLX (on Debian: apt install libx11-dev libgl-dev)")
    return compiled(CLIENT, tmp_path_factory.mktemp("windows"), ["GL", "X11", "pthread"])


def run(display: str, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """`isakit gl arguments...` on that display; it must end with that exit status."""
    env = {k: v for k, v in os.environ.items() if k != "EGL_PLATFORM"} | {"DISPLAY": display}
    line = [sys.executable, "-m", "isakit", "gl", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=False, env=env)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.mark.parametrize("check", ["two_windows", "intervals", "threads"])
def test_windows_show_what_the_card_draws(display: str, windows: Path, check: str) -> None:
    done = run(display, "--stats", "--", windows, check)
    assert done.stdout.splitlines()[-1] == f"{check} ok"
    assert "frames shown" in done.stderr


def test_the_renderer_of_a_window_is_the_card(display: str, windows: Path) -> None:
    assert run(display, "--chip", "86", "--", windows, "two_windows").stdout.startswith("NV86\n")


def test_a_program_may_end_in_the_middle_of_a_frame(display: str, windows: Path) -> None:
    run(display, "--", windows, "exit", code=7)


def test_indirect_rendering_is_refused_by_name(display: str, windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBGL_ALWAYS_INDIRECT", "1")
    done = run(display, "--", windows, "two_windows", code=1)
    assert "LIBGL_ALWAYS_INDIRECT" in done.stderr
