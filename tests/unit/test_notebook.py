"""The magic of notebooks, what cells show, and the lexers that the wheel brings."""

from __future__ import annotations

import importlib
import tomllib
from typing import Any

import pytest

import isakit
from conftest import ROOT
from isakit.description import Module


class Shell:
    """What the extension asks of IPython."""

    def __init__(self) -> None:
        self.magic: dict[str, Any] = {}
        self.variables: dict[str, Any] = {}

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        assert magic_kind == "cell"
        self.magic[magic_name] = function

    def push(self, variables: dict[str, Any]) -> None:
        self.variables |= variables


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    isakit.load_ipython_extension(made)
    return made


def test_a_cell_is_assembled(shell: Shell) -> None:
    got = shell.magic["isakit"]("tesla -V g80 -o program", "add b32 $r0 $r1 $r2\nexit nop\n")
    assert got is shell.variables["program"]
    assert (got.variant, len(got)) == ("g80", 2)
    assert "add b32 $r0 $r1 $r2" in got._repr_html_()


def test_a_cell_is_compiled(shell: Shell) -> None:
    shader = shell.magic["isakit"]("cg", "float4 main(float4 c : COLOR) : COLOR { return c; }")
    assert shader.stage == "fragment"
    got = shell.magic["isakit"]("ptx -o m", ".version 1.4\n.target sm_13\n.entry k () { exit; }")
    assert isinstance(got, Module)
    assert "<td>k</td>" in got._repr_html_()
    assert "exit" in got["k"]._repr_html_()


@pytest.mark.parametrize(
    ("line", "said"),
    [("", "neither an instruction set"), ("arm", "neither an instruction set"),
     ("tesla -X", "not understood"), ("tesla -V vp2", "vp2"),
     ("tesla -o 1x", "not a name")],
)  # fmt: skip
def test_a_wrong_first_line_says_so(shell: Shell, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    assert shell.magic["isakit"](line, "exit nop") is None
    assert said in capsys.readouterr().out


def test_mistakes_of_a_cell_have_their_place(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magic["isakit"]("tesla", "exit nop\nnonsense\n")
    assert "<cell>:2:" in capsys.readouterr().out


def test_names_of_files_cannot_act_on_a_page() -> None:
    module = Module("raw", "tesla", "<script>", None)
    assert "<script>" not in module._repr_html_()


def test_statistics_are_a_table() -> None:
    from isakit.machine.tesla import Stats

    assert "<td>1,000</td>" in Stats(1000, 40, 0.5)._repr_html_()


def test_lexers_of_the_wheel_are_there() -> None:
    pytest.importorskip("pygments")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name, place in project["entry-points"]["pygments.lexers"].items():
        module, _, attribute = place.partition(":")
        lexer = getattr(importlib.import_module(module), attribute)
        assert lexer.aliases == [name]
        assert list(lexer().get_tokens("exit nop\n"))
