"""Completion in real shells, manual pages, and schemas of the JSON that commands write."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isakit.cli.app import COMMANDS
from isakit.cli.schema_ import schema, verbs_with_json
from support.clients.command_line import run
from support.oracles.json_schemas import problems
from support.patience import PATIENCE

needs = {s: pytest.mark.skipif(shutil.which(s) is None, reason=f"no {s}") for s in ("bash", "zsh", "fish", "man")}


def place(folder: Path) -> dict[str, str]:
    """An environment in which shells find this isakit."""
    program = folder / "isakit"
    program.write_text(f"#!{sys.executable}\nfrom isakit.cli import main\nmain()\n")
    program.chmod(0o755)
    source = str(Path(__file__).parents[2] / "src")
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": source, "HOME": str(folder)}


def written(folder: Path, shell: str) -> Path:
    path = folder / f"isakit.{shell}"
    path.write_text(run("completion", shell).stdout)
    return path


@needs["bash"]
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["isakit", "di"], {"dis", "diff"}),
        (["isakit", "dis", "-m", ""], {"tesla", "vuc", "usse"}),
        (["isakit", "dis", "-m", "vuc", "-V", ""], {"vp2", "vp3", "vp4"}),
        (["isakit", "export", "-m", "vuc", "--format", "s"], {"schema", "sleigh"}),
        (["isakit", "doc", "-m", "vuc", "set"], {"set_compare", "setzero"}),
        (["isakit", "man", "comp"], {"compare", "completion"}),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], wanted: set[str]) -> None:
    given = " ".join(f"'{w}'" for w in words)
    text = f"source {written(tmp_path, 'bash')}; COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; "
    text += "_isakit_completion isakit; printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", text], env=place(tmp_path), capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == wanted


@needs["fish"]
def test_fish_completes(tmp_path: Path) -> None:
    text = f"source {written(tmp_path, 'fish')}; complete -C 'isakit dis -m vuc -V '"
    done = subprocess.run(["fish", "-c", text], env=place(tmp_path), capture_output=True, text=True, check=True)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} >= {"vp2", "vp3", "vp4"}


@needs["zsh"]
def test_zsh_completes(tmp_path: Path) -> None:
    script = written(tmp_path, "zsh")
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], env={**place(tmp_path), "TERM": "dumb"}, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    try:
        os.write(master, f"autoload -U compinit; compinit -u; source {script}; PS1=ready\n".encode())
        answer(master, b"ready\x1b", b"\nready", b"ready")
        os.write(master, b"isakit dis -m te\t")
        assert answer(master, b"tesla")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
        os.close(slave)


def on_terminal(folder: Path, *args: str) -> str:
    """What isakit writes to a terminal of 24 lines; a pager says `paged` first."""
    pager = folder / "pager"
    pager.write_text("#!/bin/sh\necho paged\nexec cat\n")
    pager.chmod(0o755)
    variables = {**place(folder), "PAGER": str(pager), "TERM": "xterm", "LINES": "24", "COLUMNS": "100"}
    master, slave = pty.openpty()
    with subprocess.Popen([folder / "isakit", *args], env=variables, stdin=slave, stdout=slave, stderr=slave) as done:
        os.close(slave)
        text = b""
        try:
            while some := os.read(master, 1 << 16):
                text += some
        except OSError:
            pass  # its other end is closed
        assert done.wait() == 0
    os.close(master)
    return text.decode()


def test_long_pages_are_paged_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    paged = on_terminal(tmp_path, "doc", "add")
    assert paged.startswith("paged")
    assert "integers" in paged
    assert "paged" not in on_terminal(tmp_path, "doc", "-k", "overflowing")
    assert run("doc", "add").stdout.startswith("# add")


@needs["man"]
def test_a_manual_page_is_drawn_on_a_terminal(tmp_path: Path) -> None:
    drawn = on_terminal(tmp_path, "man", "dis")
    assert "Disassemble a file" in drawn
    assert ".TH" not in drawn
    assert run("man", "dis").stdout.startswith(".TH")


@pytest.mark.parametrize("verb", ["dis", "cfg"])
def test_what_a_verb_shows_can_go_into_a_file(tmp_path: Path, verb: str) -> None:
    source = str(Path(__file__).parents[2] / "examples" / "tesla" / "diverge.s")
    kernel = str(tmp_path / "diverge.cubin")
    run("asm", "-m", "tesla", source, "--format", "elf", "-o", kernel)
    shown = run(verb, kernel)
    written = run(verb, kernel, "-o", str(tmp_path / "out"))
    assert written.stdout == ""
    assert (tmp_path / "out").read_text(encoding="utf-8") == shown.stdout
    run(verb, str(tmp_path / "nothing"), "-o", str(tmp_path / "other"), code=1)
    assert not (tmp_path / "other").exists()


def answer(terminal: int, *wanted: bytes) -> bool:
    """Whether one of the texts appears on a terminal within some seconds."""
    seen = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
        if any(w in seen for w in wanted):
            return True
    return False


def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    run("man", "-o", str(tmp_path))
    assert {p.name for p in tmp_path.iterdir()} == {"isakit.1", *(f"isakit-{c}.1" for c in COMMANDS)}
    page = (tmp_path / "isakit-dis.1").read_text()
    assert '.TH "ISAKIT-DIS"' in page
    assert ".SH EXIT STATUS" in page
    assert "\\-\\-json" in page


@needs["man"]
def test_man_formats_the_pages_without_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "isakit-dis.1"
    page.write_text(run("man", "dis").stdout)
    done = subprocess.run(["man", "--warnings", "-l", page], env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8"},
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode == 0:
        assert not done.stderr
        assert "Disassemble" in done.stdout


def test_schemas_are_listed_and_printed() -> None:
    assert {line.split()[0] for line in run("schema").stdout.splitlines()} == set(verbs_with_json())
    assert json.loads(run("schema", "dis").stdout) == schema("dis")
    assert "cfg" in run("schema", "cfgg", code=1).stderr


def test_every_command_with_json_has_a_schema() -> None:
    without = {"schema", "completion", "lsp", "man", "nvcc", "psp2cgc"}
    assert set(verbs_with_json()) == COMMANDS.keys() - without


def test_a_schema_finds_what_is_wrong() -> None:
    good = json.loads(run("asm", "-m", "tesla", "-", "--json", stdin="nop").stdout)
    assert list(problems(good, schema("asm"), open_=False)) == []
    assert list(problems({**good, "words": ["1"]}, schema("asm"))) == ["$.words[0] is not of type integer"]
    assert list(problems({"kernels": []}, schema("cc"))) == ["$ lacks errors"]
    assert list(problems({**good, "more": 1}, schema("asm"), open_=False)) == ["$.more is not described"]
    assert list(problems({**good, "more": 1}, schema("asm"))) == []


def test_schemas_hold_for_real_files_of_every_kind(shared: Path, tmp_path: Path) -> None:
    """With the validator that others use, on cubins, shaders, PTX and host files."""
    jsonschema = pytest.importorskip("jsonschema", reason="the test compares with jsonschema")
    validators = {v: jsonschema.Draft202012Validator(schema(v)) for v in verbs_with_json()}
    for validator in validators.values():
        validator.check_schema(validator.schema)
    corpus, examples = shared / "corpus", Path(__file__).parents[2] / "examples"
    files = [sorted((corpus / p).glob(q))[0] for p, q in (
        ("tesla/cubins", "*.sm_13.cubin"), ("tesla/textcubins", "*.cubin"), ("usse/gxp", "*.gxp"),
        ("tesla/ptx", "899423eb2a37.ptx"), ("cuda/rodinia", "lud_cuda"),
    ) if any((corpus / p).glob(q))]  # fmt: skip
    saxpy = [str(examples / "tesla/saxpy.s"), "--block", "32"]
    for kind in ("u32:32", "f32:2", "ramp:f32:32", "zeros:f32:32"):
        saxpy += ["--arg", kind]
    lines = [
        *([verb, str(f)] for f in files for verb in ("info", "dis", "cfg")), ["info", "--block", "64", str(files[0])],
        *(["find", *count, "group=memory and not reads=$r9", *map(str, files)] for count in ((), ("--count",))),
        ["diff", str(files[0]), str(files[0])], *([verb, *saxpy] for verb in ("run", "sanitize", "profile", "trace")),
        ["compare", saxpy[0], *saxpy], ["asm", saxpy[0]], ["explain", "-m", "tesla", "20008204", "20008204"],
        ["doc", "-m", "tesla", "add"], ["doc", "-m", "vuc"], ["cache"], ["export", "-m", "vuc", "-V", "vp2"],
        ["draw", str(examples / "tesla-graphics/triangle"), "-o", str(tmp_path / "t.png")],
    ]  # fmt: skip
    for words in lines:
        text = run(*words, "--json").stdout
        assert text.strip(), words
        assert [e.json_path for e in validators[words[0]].iter_errors(json.loads(text))] == [], words
