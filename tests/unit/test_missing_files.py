"""A file that is not there: what is said names files that are called alike, and what could be meant instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.errors import FormatError, NoSuchFile


def test_files_that_are_called_alike_are_named(tmp_path: Path) -> None:
    (tmp_path / "tint.gxp").write_bytes(b"")
    with pytest.raises(NoSuchFile, match=r"there is no such file; did you mean `tint\.gxp`\?"):
        isakit.load(tmp_path / "tint.gx")


def test_load_says_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="the path of its file, or as the content of it, in bytes"):
        isakit.load("nope")


@pytest.mark.parametrize("text", ["mov b32 $r0 $r1", "    nop\n", ".isa tesla gt200\nnop\n", "@%p1 bra x\n"])
def test_a_text_in_place_of_a_path_is_recognised(text: str) -> None:
    with pytest.raises(FormatError, match=r"this is a text and not the path of a file; assemble it with") as caught:
        isakit.load(text)
    assert not isinstance(caught.value, NoSuchFile)


def test_the_command_line_names_them_too(tmp_path: Path) -> None:
    (tmp_path / "lost.cubin").write_bytes(b"")
    result = CliRunner().invoke(app, ["dis", str(tmp_path / "lost.cubi")])
    assert result.exit_code == 1
    assert "No such file or directory; did you mean `lost.cubin`?" in result.output
