"""One pattern of exit codes: 0 fine, 1 the input cannot be used, 2 usage, 3 the answer is no."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from isakit import object_cache
from isakit.cli.app import COMMANDS, app
from support.clients.captured_launch import captured_launch
from support.clients.command_line import run
from support.runners.tesla_kernels import SAXPY

MISSING = {
    "dis": ["-m", "vuc", "nowhere.bin"],
    "asm": ["nowhere.s"],
    "cc": ["nowhere.ptx"],
    "psp2cgc": ["-profile", "sce_fp_psp2", "nowhere.cg", "-o", "out.gxp"],
    "nvcc": ["-cubin", "nowhere.cu"],
    "info": ["nowhere.cubin"],
    "cfg": ["nowhere.cubin"],
    "find": ["mov *", "nowhere.cubin"],
    "diff": ["nowhere.cubin", "nowhere.cubin"],
    "run": ["nowhere.s"],
    "debug": ["nowhere.s", "-e", "where"],
    "sanitize": ["nowhere.s"],
    "profile": ["nowhere.s"],
    "trace": ["nowhere.s", "--json"],
    "compare": ["nowhere.gxp", "nowhere.gxp"],
    "draw": ["nowhere.json", "-o", "out.png"],
    "cuda": ["--", "./nowhere"],
    "gl": ["--", "./nowhere"],
    "replay": ["nowhere"],
    "web": ["nowhere.cubin"],
}
"""Arguments of each verb that name a file which is not there."""

NO_INPUT = {"scan", "lesson", "explain", "cache", "export", "doc", "schema", "completion", "man", "lsp"}
"""Verbs that read no file, and `scan`, which needs a package before it looks."""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_verb_is_here() -> None:
    """Give a new verb its row in `MISSING`, or its name in `NO_INPUT` if it reads no file."""
    assert set(MISSING) | NO_INPUT == set(COMMANDS)


@pytest.mark.parametrize("verb", MISSING)
def test_a_file_that_is_not_there_is_an_input_that_cannot_be_used(verb: str) -> None:
    done = run(verb, *MISSING[verb], code=1)
    assert "nowhere" in done.stderr
    assert "Usage" not in done.stderr


@pytest.mark.parametrize("verb", sorted({*COMMANDS} - {"cuda", "gl"}))  # theirs ends where the program's name stands
def test_an_option_that_does_not_exist_is_a_mistake_of_usage(verb: str) -> None:
    assert "no-such-option" in run(verb, "--no-such-option", code=2).stderr


FAULTING = """.isa tesla gt200
.kernel bad
.regs 4
mov b32 $r0 0x0
st b32 g14[$r0] $r0
exit nop
"""


@pytest.mark.parametrize("verb", ["run", "profile"])
def test_a_fault_is_the_answer_no(verb: str) -> None:
    Path("bad.s").write_text(FAULTING)
    assert "fault" in run(verb, "bad.s", code=3).stderr


def test_a_finding_is_the_answer_no() -> None:
    Path("bad.s").write_text(FAULTING)
    assert CliRunner().invoke(app, ["sanitize", "bad.s"]).exit_code == 3


SHOWN = ["--arg", "zeros:f32:32", "--arg", "ramp:f32:32", "--arg", "f32:2", "--block", "32", "--count", "1"]


@pytest.mark.parametrize(("verb", "options"), [("diff", []), ("compare", SHOWN)])
def test_a_difference_is_the_answer_no(verb: str, options: list[str]) -> None:
    source = f".isa tesla gt200\n{SAXPY}"
    Path("a.s").write_text(source)
    changed = source.replace("s[a]", "s[y]")
    assert changed != source
    Path("b.s").write_text(changed)
    assert CliRunner().invoke(app, [verb, "a.s", "a.s", *options]).exit_code == 0
    assert CliRunner().invoke(app, [verb, "a.s", "b.s", *options]).exit_code == 3


def test_a_launch_that_leaves_something_else_is_the_answer_no() -> None:
    for name, data in captured_launch().items():
        path = Path("capture", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    run("replay", "capture")
    assert "differ" in run("replay", "capture", "--check", code=3).stderr


def test_a_damaged_object_is_the_answer_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", str(Path("cache").absolute()))
    object_cache.write_object("shaders", "0123", b"an object")
    run("cache", "verify")
    (path,) = Path("cache").rglob("0123*")
    path.write_bytes(path.read_bytes()[:-1])
    assert CliRunner().invoke(app, ["cache", "verify", "--json"]).exit_code == 3
