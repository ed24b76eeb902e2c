"""Buffers and images that CUDA programs share with OpenGL: with the host's, and with that of the simulated card."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.clients import cuda_build, gl_live

pytestmark = pytest.mark.mesa

CHECKS = ("buffers", "first_generation", "images", "driver")


@pytest.fixture(scope="module")
def graphics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that shares with OpenGL."""
    gl_live.require()
    return cuda_build.build("graphics", tmp_path_factory.mktemp("graphics"), flags=["-lEGL", "-lGL"])


@pytest.mark.parametrize("check", CHECKS)
def test_sharing_with_the_hosts_opengl(graphics: Path, check: str) -> None:
    done = cuda_build.run("--", graphics, check, environment={"LIBGL_ALWAYS_SOFTWARE": "1"})
    assert done.stdout == f"no_context ok\n{check} ok\n"
    assert "no context of OpenGL is current" in done.stderr


@pytest.mark.parametrize("check", CHECKS)
def test_sharing_with_the_simulated_card(graphics: Path, check: str) -> None:
    """What is shared is drawn with on the same chip: the program's OpenGL is Mesa's driver for it."""
    done = cuda_build.run("--gl", "--stats", "--", graphics, check)
    assert done.stdout == f"no_context ok\n{check} ok\n"
    assert re.search(r"^ +\d+  pushes$", done.stderr, re.MULTILINE)
    assert "never opened" not in done.stderr
