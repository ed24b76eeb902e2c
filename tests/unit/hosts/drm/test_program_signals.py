"""Signals that reach the command while a program of the host runs are the program's."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from isakit.hosts.drm.shim_library import LIBRARY
from isakit.hosts.program_signals import ProgramSignals
from support.clients import cuda_build
from support.patience import PATIENCE


@pytest.mark.skipif(not cuda_build.has_compiler(), reason="needs `cc` on 64-bit x86 Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_alone_ends_the_program(short_path: Path, number: signal.Signals) -> None:
    line = [sys.executable, "-m", "isakit", "gl", "--", "sh", "-c", "trap - INT; echo begun; exec sleep 600"]
    environment = {**os.environ, "TMPDIR": str(short_path)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "begun\n"
        parent.send_signal(number)
        try:
            assert parent.wait(PATIENCE) == 128 + number
        finally:
            parent.kill()
    assert list(short_path.iterdir()) == []


def test_before_there_is_a_program_a_signal_ends_the_command() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as e, ProgramSignals():
        signal.raise_signal(signal.SIGTERM)
    assert e.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_while_the_program_starts_is_the_programs() -> None:
    """It would leave an orphan behind if it ended the command here."""

    def started() -> subprocess.Popen[bytes]:
        child = subprocess.Popen(["sleep", "600"])
        signal.raise_signal(signal.SIGTERM)
        return child

    with ProgramSignals() as signals:
        child = signals.start(started)
        try:
            assert signals.wait(child) == -signal.SIGTERM
        finally:
            child.kill()
            child.wait()


@pytest.mark.skipif(not cuda_build.has_compiler() or shutil.which("nm") is None, reason="needs `cc` and `nm`")
def test_a_call_takes_no_memory_that_a_handler_could_wait_for(tmp_path: Path) -> None:
    """A handler that makes a call of the card may have interrupted its own thread in malloc."""
    line = ["cc", "-std=c11", "-c", "-I", str(LIBRARY.folder), str(LIBRARY.folder / "session.c"), "-o", "session.o"]
    subprocess.run(line, check=True, cwd=tmp_path)
    wanted = subprocess.run(["nm", "-u", "session.o"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "pthread_sigmask" in wanted
    assert not {"malloc", "calloc", "realloc", "free"} & set(wanted.split())
