"""`isakit debug --attach` and a program that `isakit cuda --debug` runs: two processes, each ended in all ways."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clients import cuda_build
from support.clients.command_line import run
from support.patience import PATIENCE, until

pytestmark = pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")
ISAKIT = [sys.executable, "-m", "isakit"]


@pytest.fixture(scope="module")
def repeat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cuda_build.build("repeat", tmp_path_factory.mktemp("repeat"))


class Both:
    """A program at a socket, and debuggers that attach to it."""

    def __init__(self, place: Path, *program: str | Path) -> None:
        self.place = place
        line = [*ISAKIT, "cuda", "--debug", str(place), "--", *map(str, program)]
        self.program = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.debuggers: list[subprocess.Popen[str]] = []
        assert until(place.exists) or self.program.poll() is None

    def attach(self) -> Any:
        """Attach one more debugger; returns where it stands."""
        line = [*ISAKIT, "debug", "--attach", str(self.place), "--json"]
        self.debuggers.append(subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return self.answer()

    def answer(self) -> Any:
        out = self.debuggers[-1].stdout
        assert out is not None
        return json.loads(out.readline())

    def ask(self, line: str) -> Any:
        self.say(line)
        return self.answer()

    def say(self, line: str) -> None:
        to = self.debuggers[-1].stdin
        assert to is not None
        to.write(line + "\n")
        to.flush()

    def ended(self) -> tuple[int, str]:
        """The program's status and what it has written."""
        out, errors = self.program.communicate(timeout=PATIENCE)
        assert "internal error" not in errors
        return self.program.returncode, out


@pytest.fixture
def both(short_path: Path) -> Iterator[list[Both]]:
    made: list[Both] = []
    yield made
    for b in made:
        for p in (b.program, *b.debuggers):
            p.kill()
            p.communicate()
        assert not list(short_path.iterdir())


def test_a_running_program_is_stopped_inspected_and_goes_on(repeat: Path, both: list[Both], short_path: Path) -> None:
    b = Both(short_path / "k", repeat, "sum", "5")
    both.append(b)
    assert b.attach()["lines"][0] == "count begins"
    b.ask("b exit if s[0x10]:u32 == 3 ignore 2")
    assert b.ask("c")["lines"][0].startswith("breakpoint 1: ")
    assert b.ask("p $r2")["data"] == 40 + 3 * 3
    b.ask("set $r2 = 1049")
    b.ask("d")
    b.say("c")
    status, out = b.ended()
    assert (status, "PASSED" in out) == (1, False)  # it counts from what was set


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_debugger_that_ends_lets_the_program_go_on(
    repeat: Path, both: list[Both], short_path: Path, how: signal.Signals
) -> None:
    b = Both(short_path / "k", repeat, "sum", "5")
    both.append(b)
    b.attach()
    b.ask("b count")
    assert b.ask("c")["data"]["position"] == 0
    b.debuggers[-1].send_signal(how)
    b.debuggers[-1].wait(PATIENCE)
    assert b.ended() == (0, "PASSED\n")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_ends_takes_its_debugger_along(
    repeat: Path, both: list[Both], short_path: Path, how: signal.Signals
) -> None:
    """It stands in a kernel meanwhile, and `isakit cuda` gets the signal, as by Ctrl-C."""
    b = Both(short_path / "k", repeat, "sum", "5")
    both.append(b)
    b.attach()
    b.ask("s")
    b.program.send_signal(how)
    assert b.ended()[0] == -how
    b.say("s")
    assert b.debuggers[-1].wait(PATIENCE) == 1
    assert until(lambda: not b.place.exists())


def test_a_kernel_that_never_ends_is_found_where_it_turns(repeat: Path, both: list[Both], short_path: Path) -> None:
    b = Both(short_path / "k", repeat, "endless", "1")
    both.append(b)
    b.attach()
    b.ask("q")
    assert b.program.stdout is not None
    assert b.program.stdout.readline() == "waiting\n"
    seen: list[str] = []

    def in_the_middle() -> bool:
        seen.append(b.attach()["lines"][0])
        if seen[-1] != "interrupted":
            b.ask("q")
        return seen[-1] == "interrupted"

    assert until(in_the_middle), seen
    assert "wait+" in b.ask("info cuda kernels")["lines"][-1] or b.ask("p position")["data"] > 0
    b.say("c")
    b.debuggers[-1].send_signal(signal.SIGINT)
    b.debuggers[-1].wait(PATIENCE)
    b.program.send_signal(signal.SIGTERM)
    assert b.ended()[0] == -signal.SIGTERM


def test_two_processes_are_debugged_one_after_the_other(tmp_path: Path, both: list[Both], short_path: Path) -> None:
    b = Both(short_path / "k", cuda_build.build("checks", tmp_path), "forks")
    both.append(b)
    b.attach()
    b.ask("b kernel")
    for _ in range(4):
        if b.ask("c")["lines"][0] == "the program has ended":
            break
    b.say("d")
    b.say("c")
    assert b.ended() == (0, "forks ok\n")


def test_places_that_cannot_be(repeat: Path, tmp_path: Path) -> None:
    nobody = run("debug", "--attach", str(tmp_path / "none"), code=1)
    assert "no program to attach to" in nobody.stderr
    (tmp_path / "taken").write_text("")
    taken = run("cuda", "--debug", str(tmp_path / "taken"), "--", str(repeat), code=1)
    assert "cannot be had" in taken.stderr
    assert "FILE" in run("debug", "--attach", "x", "y.s", code=2).stderr
