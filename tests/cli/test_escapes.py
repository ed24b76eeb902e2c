"""No text of a file acts on the terminal it is shown on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.programs import write

SOURCES = Path(isakit.__file__).parent
PLAIN = {
    "cli/common.py": "`echo` and `echo_json` themselves, and bytes of `-o -`",
    "cli/app.py": "messages, each `printable` at its place",
    "cli/scan_.py": "the counter, which goes back to the beginning of its line",
}
"""Files that call click.echo, and why."""
NAME = b"_Z11111111111Xvv"
HOSTILE = [b"_Z\x1b[2J\x08\x07\x1b]0;vvv", b"_Z\xc2\x9b31m\x7fXvv"]
SOURCE = ".kernel {}\n.param out ptr\nmov b32 $r1 b32 s[out]\nexit st b32 g14[$r1] $r1\n"
VERBS = {
    "info": ["{}"], "dis": ["{}"], "dis live": ["{}", "--live"], "cfg": ["{}"], "cfg dot": ["{}", "--format", "dot"],
    "cfg notes": ["{}", "--notes"], "find": ["st *", "{}"], "diff": ["{}", "{other}"], "diff other": ["{other}", "{}"],
    "compare": ["{}", "{other}"], "run": ["{}", "--arg", "out:u32:1", "--stats"], "run wrong": ["{}", "--kernel", "x"],
    "debug": ["{}", "--arg", "out:u32:1", "-e", "info about", "-e", "layout", "-e", "c"],
    "debug json": ["{}", "--arg", "out:u32:1", "--json", "-e", "layout"],
    "profile": ["{}", "--arg", "out:u32:1"], "sanitize": ["{}", "--arg", "out:u32:1"],
    "trace": ["{}", "--arg", "out:u32:1"], "info json": ["{}", "--json"], "find json": ["st *", "{}", "--json"],
}  # fmt: skip


def cubin(path: Path, name: bytes, register: str = "$r1") -> Path:
    """A file whose kernel has a name; of the same length as NAME, so that it stays an ELF file."""
    text = SOURCE.format(NAME.decode()).replace("$r1", register)
    data = write(isakit.isa("tesla", "g80").assemble(text), "elf")
    path.write_bytes(data.replace(NAME, name.ljust(len(NAME), b"x")))
    return path


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_lets_a_name_act_on_the_terminal(tmp_path: Path, verb: str, name: bytes) -> None:
    first, second = cubin(tmp_path / "k.cubin", name), cubin(tmp_path / "other.cubin", name, "$r2")
    arguments = [a.format(first, other=second) for a in VERBS[verb]]
    shown = CliRunner().invoke(app, [verb.split()[0], *arguments]).output
    assert shown
    assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), shown


@pytest.mark.parametrize("path", sorted(p.relative_to(SOURCES).as_posix() for p in (SOURCES / "cli").glob("*.py")))
def test_texts_are_written_by_the_function_that_escapes_them(path: str) -> None:
    if path in PLAIN:
        return
    found = [
        node.lineno
        for node in ast.walk(ast.parse((SOURCES / path).read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("click.echo", "click.secho", "sys.stdout.write")
    ]
    assert not found, f"{path}:{found}: use isakit.cli.common.echo, or say in PLAIN why not"
