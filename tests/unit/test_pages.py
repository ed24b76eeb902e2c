"""What the tutorial and the how-to pages show is what happens: their code and their commands are run."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.machine.tesla import Choices
from isakit.tesla import GraphicsChoices, TextureChoices

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, content) of the code blocks of a page."""
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [
        "tutorial/first-kernel.md",
        "howto/draw-a-picture.md",
        "tutorial/watch-a-warp-diverge.md",
        "tutorial/shared-memory.md",
        "tutorial/first-shader.md",
        "tutorial/microcode-and-host.md",
        "howto/debug-a-program.md",
    ],
)
def test_python_prints_what_the_page_shows(page, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    printed = ""
    for language, content in blocks(page):
        if language == "python":
            assert not printed.strip(), "what the block before printed is not shown"
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(content, page, "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == content
            printed = ""


@pytest.mark.parametrize(
    "page",
    [
        "howto/read-a-file.md",
        "howto/run-a-kernel.md",
        "howto/debug-a-program.md",
        "howto/sanitize-a-program.md",
        "howto/profile-a-kernel.md",
        "howto/trace-a-program.md",
    ],
)
def test_commands_work(page, tmp_path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, content in blocks(page):
        if not language:
            done = subprocess.run(
                ["bash", "-e", "-c", content],
                cwd=tmp_path,
                env=os.environ | {"PATH": path},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
    if page == "howto/run-a-kernel.md":
        assert (np.load(tmp_path / "result.npy") == 2 * np.arange(1000, dtype=np.float32) + 1).all()
    elif page == "howto/read-a-file.md":
        assert (tmp_path / "edited.cubin").read_bytes() == (tmp_path / "saxpy.cubin").read_bytes()


def test_the_readme(tmp_path) -> None:
    """Commands and Python of the front page, in one folder as a reader would run them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, content in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        command = [sys.executable, "-c", content] if language == "python" else ["bash", "-e", "-c", content]
        if language == "python" or (not language and content.startswith("isakit ")):
            done = subprocess.run(
                command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr


def test_every_open_question_is_on_the_page_of_unknowns() -> None:
    page = (DOCS / "explanation" / "unknowns.md").read_text(encoding="utf-8")
    for settings in (Choices, TextureChoices, GraphicsChoices):
        missing = [f.name for f in dataclasses.fields(settings) if f"`{f.name}`" not in page]
        assert not missing, settings.__name__


def test_texture_choices_reach_a_launch() -> None:
    device = isakit.Device("gt200", engine="reference", texturing=TextureChoices(unbound="zero"))
    text = "mov b32 $r0 $r0\ntexfetch live $r0:$r1:$r2:$r3 $t5 $s0 $r0\nexit (never) nop"
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=8)["main"]
    kernel[1, 32]()
    device.texturing = TextureChoices()
    with pytest.raises(isakit.MachineFault, match="UNBOUND_TEXTURE"):
        kernel[1, 32]()


def test_errata_name_records_that_exist() -> None:
    text = (DOCS / "explanation" / "errata.md").read_text(encoding="utf-8")
    for name in ("tesla", "vuc", "usse"):
        section = text.split({"tesla": "## Tesla", "vuc": "## vµc", "usse": "## USSE"}[name])[1].split("\n## ")[0]
        known = {r.name for r in isakit.isa(name).instructions}
        rows = [line.split("|") for line in section.splitlines() if line.startswith("|")][2:]
        assert rows
        for row in rows:
            named = re.findall(r"`(\w+)`", row[-2])
            assert set(named) <= known, f"{row[-2]} is no record of {name}"
