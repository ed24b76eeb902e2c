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
from support.needs import CLANG, NVCC

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, content) of the code blocks of a page."""
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


PAGES = sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if not {"generated", "_build"} & set(p.parts))
SAVED = re.compile(r"[Ss]ave this as\s+`([\w.-]+)`")
RUN = (
    "tutorial/first-kernel.md",
    "tutorial/watch-a-warp-diverge.md",
    "tutorial/shared-memory.md",
    "tutorial/first-shader.md",
    "tutorial/microcode-and-host.md",
    "howto/draw-a-picture.md",
    "howto/debug-a-program.md",
)
"""Pages whose Python prints what stands after it."""


def test_every_page_says_in_its_first_line_what_it_is_for() -> None:
    for page in PAGES:
        title, _, rest = (DOCS / page).read_text(encoding="utf-8").partition("\n")
        first = rest.strip().split("\n")[0]
        assert title.startswith("# "), page
        assert len(first) > 20, page
        assert not first.startswith(("#", "|", "```", "-", "{", "!")), f"{page}: {first}"


def has(page: str, *languages: str) -> bool:
    return any(language in languages for language, _ in blocks(page))


def files_of(page: str, folder: Path) -> set[str]:
    """Put the examples into a folder, and the files that the page asks to be saved: their contents."""
    saved: set[str] = set()
    (folder / "examples").symlink_to(ROOT / "examples")
    text = (DOCS / page).read_text(encoding="utf-8")
    for m in SAVED.finditer(text):
        content = BLOCK.search(text, m.end())[2]
        (folder / m[1]).write_text(content, encoding="utf-8")
        saved.add(content)
    return saved


def typed(command: str, page: str, folder: Path) -> None:
    """Run the commands of a block, with the environment's isakit and Python first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in FINDINGS.get(page, (0,)), done.stderr


NEEDS = {"howto/build-a-cu-file.md": NVCC, "howto/bind-textures.md": CLANG}
TYPED = [pytest.param(p, marks=NEEDS.get(p, ())) for p in PAGES if has(p, "", "python")]


@pytest.mark.parametrize("page", TYPED)
def test_what_a_page_shows_can_be_typed(page, tmp_path, monkeypatch) -> None:
    """All of it, one after the other; on the pages of `RUN` what Python prints is what the page shows after it."""
    monkeypatch.chdir(tmp_path)
    saved = files_of(page, tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for language, content in blocks(page):
        if language == "python" and content not in saved:
            assert page not in RUN or not printed.strip(), "what the block before printed is not shown"
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(content, page, "exec"), names)
            printed = out.getvalue()
        elif not language and "./quickstart" not in content:
            typed(content, page, tmp_path)
        elif language in ("text", "tesla", "vuc", "usse") and content not in saved:
            if page in RUN:
                assert printed == content
            printed = ""
    if page == "howto/run-a-kernel.md":
        assert (np.load(tmp_path / "result.npy") == 2 * np.arange(1000, dtype=np.float32) + 1).all()
    elif page == "howto/read-a-file.md":
        assert (tmp_path / "edited.cubin").read_bytes() == (tmp_path / "saxpy.cubin").read_bytes()


FINDINGS = {"tutorial/course.md": (3,), "tutorial/shared-memory.md": (3,)}
"""Pages whose commands report something: exit codes."""


def test_words_in_the_spelling_of_other_tools_are_these_instructions() -> None:
    page = (DOCS / "howto/come-from-another-tool.md").read_text(encoding="utf-8")
    isa = isakit.isa("tesla", "gt200")
    rows = re.findall(r"^\| `([0-9a-f ]+)` \| `[^`]+` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 25
    for words, text in rows:
        assert [i.text for i in isa.disassemble([int(w, 16) for w in words.split()])] == [text]
    for text in re.findall(r"^\| `[^`]+` \| `([a-z][^`]+ [^`]+)` \|$", page, re.MULTILINE):
        assert isa.assemble(text)


def test_the_sources_of_hardware_units_are_there() -> None:
    page = (DOCS / "reference/hardware-units.md").read_text(encoding="utf-8")
    rows = [row.split("|")[4] for row in page.splitlines() if row.startswith("|") and row.count("|") == 5]
    assert len(rows) > 25
    for cell in rows:
        beside = ROOT / "src/isakit"
        for name in re.findall(r"`([\w./]+)`", cell.replace("`src/isakit`", "")):
            found = [p for p in (ROOT / "src/isakit" / name, beside / name) if p.exists()]
            assert found, name
            beside = found[0].parent


def test_the_version_is_the_same_everywhere() -> None:
    cff = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    page = re.search(r"version = \{(\S+)\}", (DOCS / "howto/cite.md").read_text(encoding="utf-8"))
    readme = re.search(r"at version (\S+):", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert cff is not None
    assert page is not None
    assert readme is not None
    project = re.search(r'^version = "(\S+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert project is not None
    assert {cff[1], page[1], readme[1], project[1]} == {isakit.__version__}
    assert f"## [{cff[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_readme(tmp_path) -> None:
    """Commands and Python of the front page, in one folder as a reader would run them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for language, content in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        command = [sys.executable, "-c", content] if language == "python" else ["bash", "-e", "-c", content]
        if language == "python" or (not language and content.startswith(("isakit ", "python "))):
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


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/layers.md"])
def test_every_room_of_the_package_is_named(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    rooms = {p.parent.name for p in Path(isakit.__file__).parent.glob("*/__init__.py")}
    assert {room for room in rooms if not re.search(rf"^(  {room}/|`{room}`$)", text, re.MULTILINE)} == set()


def test_places_that_the_guide_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [p for p in re.findall(r"`([\w/.]+/[\w.]*)`", text)]
    assert len(named) > 10
    package = ROOT / "src" / "isakit"
    assert [p for p in named if not (ROOT / p).exists() and not (package / p).exists()] == []
