"""Unmodified programs on the installed Mesa, against llvmpipe. Needs Mesa, EGL and GLES headers, and a C compiler."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isakit.hosts.drm.chips import CHIPS
from support.clients.gl_live import compiled, isakit, on_llvmpipe, ppm
from support.patience import PATIENCE, until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "gl"
SIZE = 96
pytestmark = pytest.mark.mesa


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, compiled."""
    folder = tmp_path_factory.mktemp("gl")
    for name in ("triangle", "textured", "gears", "compute"):
        compiled(EXAMPLES / f"{name}.c", folder, ["EGL", "GLESv2", "m"])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["triangle", "textured", "gears"])
@pytest.mark.parametrize("chip", [f"{n:x}" for n in CHIPS])
def test_the_card_draws_what_llvmpipe_draws(programs: Path, tmp_path: Path, name: str, chip: str) -> None:
    mine, other = tmp_path / "card.ppm", tmp_path / "llvmpipe.ppm"
    done = isakit("gl", "--chip", chip, "--unsupported", "--", programs / name, str(SIZE), mine)
    assert done.returncode == 0, done.stderr
    assert f"NV{chip.upper()}" in done.stdout
    on_llvmpipe(programs / name, str(SIZE), other)
    assert np.abs(ppm(mine) - ppm(other)).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["a3", "a5", "a8"])
def test_compute_shaders_give_the_right_words(programs: Path, chip: str) -> None:
    done = isakit("gl", "--chip", chip, "--", programs / "compute")
    assert (done.returncode, "0 of 1025 words are wrong" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_exit_code_is_the_programs(programs: Path) -> None:
    assert isakit("gl", "--", "sh", "-c", "exit 7").returncode == 7


def test_a_replay_gives_the_pixels_of_the_run(programs: Path, tmp_path: Path) -> None:
    from isakit.hosts.drm.replay import Replay

    live, file = tmp_path / "live.ppm", tmp_path / "gears.glc"
    assert isakit("gl", "--capture", file, "--", programs / "gears", str(SIZE), live, "3").returncode == 0
    replay = Replay(file)
    replay.run()
    found = replay.picture()[:SIZE, :SIZE, :3][::-1]
    replay.close()
    assert np.array_equal(found, ppm(live))


def test_two_programs_at_once_have_cards_of_their_own(programs: Path, tmp_path: Path) -> None:
    both = f"{programs}/triangle {SIZE} {tmp_path}/a.ppm & {programs}/gears {SIZE} {tmp_path}/b.ppm & wait"
    assert isakit("gl", "--", "sh", "-c", both).returncode == 0
    alone = isakit("gl", "--", programs / "gears", str(SIZE), tmp_path / "c.ppm")
    assert alone.returncode == 0
    assert np.array_equal(ppm(tmp_path / "b.ppm"), ppm(tmp_path / "c.ppm"))


def test_a_killed_program_leaves_nothing_behind(
    programs: Path, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(short_path))
    done = isakit("gl", "--", "sh", "-c", f"{programs}/gears 64 /dev/null 500 & sleep 0.5; kill -9 $!; exit 3")
    assert done.returncode == 3
    assert not list(short_path.iterdir())


def test_ctrl_c_ends_a_program_that_waits_for_an_endless_draw(tmp_path: Path, short_path: Path) -> None:
    program = compiled(ROOT / "tests" / "support" / "clients" / "gl_endless.c", tmp_path, ["EGL", "GLESv2", "m"])
    running = subprocess.Popen(
        [sys.executable, "-m", "isakit", "gl", "--threads", "2", "--", program, "fragment", "256"],
        env={**os.environ, "TMPDIR": str(short_path)},
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert running.stdout is not None
    assert any("begun" in line for line in iter(running.stdout.readline, ""))
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(PATIENCE) == 128 + signal.SIGINT
    running.stdout.close()
    assert not list(short_path.iterdir())


def debugged(place: Path, *commands: str) -> list[str]:
    """What a debugger that attaches at a place is answered."""
    options = [word for command in commands for word in ("-e", command)]
    done = isakit("debug", "--attach", place, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_debugger_stops_in_the_programs_of_a_draw(programs: Path, tmp_path: Path, short_path: Path) -> None:
    line = [sys.executable, "-m", "isakit", "gl", "--debug", short_path / "g", "--", programs / "triangle", "64"]
    with subprocess.Popen([*line, tmp_path / "a.ppm"], stdout=subprocess.DEVNULL) as running:
        assert until((short_path / "g").exists)
        said = debugged(short_path / "g", "b fragment if block.x == 0", "c", "p $r0", "s", "d", "bt")
        assert any(line.startswith("breakpoint 1: block (0, 0)") for line in said)
        assert running.wait(PATIENCE) == 0
    assert isakit("gl", "--", programs / "triangle", "64", tmp_path / "b.ppm").returncode == 0
    assert np.array_equal(ppm(tmp_path / "a.ppm"), ppm(tmp_path / "b.ppm"))
    assert not list(short_path.iterdir())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_is_ended_while_it_stands_leaves_nothing(
    programs: Path, tmp_path: Path, short_path: Path, how: signal.Signals
) -> None:
    line = [sys.executable, "-m", "isakit", "gl", "--debug", short_path / "g", "--", programs / "triangle", "64"]
    attach = [sys.executable, "-m", "isakit", "debug", "--attach", short_path / "g", "--json"]
    with subprocess.Popen(
        [*line, tmp_path / "a.ppm"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as running:
        assert until((short_path / "g").exists)
        with subprocess.Popen(attach, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as debugger:
            assert debugger.stdout is not None
            assert debugger.stdin is not None
            assert "vertex begins" in debugger.stdout.readline()
            running.send_signal(how)
            assert running.wait(PATIENCE) in (128 + how, -how)
            with contextlib.suppress(BrokenPipeError):
                debugger.stdin.write("s\n")
                debugger.stdin.close()
            assert debugger.wait(PATIENCE) == 1
    assert until(lambda: not (short_path / "g").exists())
    assert until(lambda: not list(tmp_path.glob("isakit-*")))


@pytest.mark.parametrize("flags", [("-fsanitize=address,undefined",)])
def test_the_library_is_clean_under_sanitizers(
    tmp_path: Path, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client in C makes good and bad calls of the node; address and undefined-behaviour sanitizers watch."""
    from isakit.hosts.drm import protocol
    from isakit.hosts.drm.card_settings import CardSettings
    from isakit.hosts.drm.chips import chip_named
    from isakit.hosts.drm.kernel import Client
    from isakit.hosts.drm.report import Report
    from isakit.hosts.drm.server import DrmServer
    from isakit.hosts.drm.session import SOCKET_VARIABLE
    from isakit.hosts.drm.shim_library import LIBRARY

    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    client = tmp_path / "client"
    sources = [*sorted(LIBRARY.folder.glob("*.c")), ROOT / "tests" / "support" / "clients" / "node_client.c"]
    built = subprocess.run(
        ["cc", "-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", *flags, "-I", LIBRARY.folder, "-o", client,
         *sources, "-ldl", "-lpthread"], capture_output=True, text=True,
    )  # fmt: skip
    if built.returncode and "sanitize" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    told: list[tuple[int, ...]] = []
    mapping = Client.mapping
    monkeypatch.setattr(
        Client, "mapping", lambda c, payload: (told.append(protocol.MAPPING.unpack(payload)), mapping(c, payload))[1]
    )
    server = DrmServer(chip_named("a0"), Report(), CardSettings())
    env = {**os.environ, SOCKET_VARIABLE: str(server.path), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([client], env=env, capture_output=True, text=True, timeout=PATIENCE)
    server.close()
    assert (done.returncode, done.stdout.strip()) == (0, "all as expected"), done.stdout + done.stderr
    calls = [(is_mapped, offset, count) for is_mapped, _, offset, count in told]
    assert calls[:5] == [(1, 0, 0x20000), (1, 0, 0x1000), (0, 0, 0x1000), (1, 0, 0x1000), (1, 0, 1 << 40)]
    assert {count for _, _, count in calls[5:-1]} == {0x1000}  # of the signal's handler
    assert calls[-1] == (0, 0, 0x20000)
    assert (told[0][1], told[1][1]) == (told[-1][1], told[2][1])
