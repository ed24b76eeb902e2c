"""Ctrl-C ends the workbench without a traceback, however often it is pressed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from support.patience import PATIENCE

pytest.importorskip("starlette", reason="needs the extra `web`")
pytest.importorskip("uvicorn", reason="needs the extra `web`")


@pytest.mark.parametrize(("wait", "gap"), [(0.5, 0.0), (0.5, 0.03), (0.0, 0.0), (0.01, 0.002)])
def test_two_interrupts_end_the_workbench_as_one_does(wait: float, gap: float) -> None:
    with subprocess.Popen([sys.executable, "-m", "isakit", "web", "--port", "0"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:  # fmt: skip
        assert p.stdout is not None
        assert p.stdout.readline().startswith(b"the workbench is at ")
        time.sleep(wait)  # without: while the server starts
        for _ in range(2):
            p.send_signal(signal.SIGINT)
            time.sleep(gap)
        _, errors = p.communicate(timeout=PATIENCE)
    assert b"Traceback" not in errors
    assert p.returncode in (130, -signal.SIGINT)
