"""`editors/vscode`: what it consists of, its grammars in a TextMate tokenizer, and its package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from isakit.export.lexing import textmate
from support.clients.node_tools import needs_node, node
from support.patience import PATIENCE

FOLDER = ROOT / "editors/vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text("utf-8"))
NAMES = ("tesla", "usse", "vuc")
SCOPES = {
    "tesla": [("and", "keyword.mnemonic.isakit"), ("$r1", "variable.language.register.isakit"),
              ("b32", "support.type.operand.isakit"), ("0xffff", "constant.numeric.isakit"),
              (".kernel", "keyword.other.directive.isakit"), ("low", "entity.name.label.isakit")],
    "vuc": [("$r1", "variable.language.register.isakit"), ("bra", "keyword.mnemonic.isakit")],
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_grammars_are_those_of_the_records(name: str) -> None:
    path = FOLDER / f"syntaxes/{name}.tmLanguage.json"
    assert json.loads(path.read_text("utf-8")) == textmate(name)


def test_all_files_that_the_package_names_are_there() -> None:
    contributes = PACKAGE["contributes"]
    named = [PACKAGE["main"], *(g["path"] for g in contributes["grammars"]),
             *(x["configuration"] for x in contributes["languages"])]  # fmt: skip
    assert all((FOLDER / path).is_file() for path in named)
    assert [g["scopeName"] for g in contributes["grammars"]] == [textmate(n)["scopeName"] for n in NAMES]


@needs_node()
def test_the_extension_starts_the_debugger_of_the_command_line() -> None:
    said = node(
        "-e",
        f"""
        const Module = require("module"), load = Module._load;
        Module._load = (name, ...rest) => name === "vscode" ? {{}} : load(name, ...rest);
        const {{ commandLine }} = require({json.dumps(str(FOLDER / "extension.js"))});
        console.log(JSON.stringify(commandLine({{ program: "k.s", arguments: ["--block", "32"] }})));""",
    )
    assert json.loads(said) == {"program": "isakit", "args": ["debug", "k.s", "--dap", "--block", "32"]}


@needs_node("vscode-textmate", "vscode-oniguruma")
@pytest.mark.parametrize(("name", "example"), [("tesla", "tesla/diverge.s"), ("vuc", "vuc/p4_median_mv.s")])
def test_a_textmate_tokenizer_colours_programs(name: str, example: str) -> None:
    grammar = FOLDER / f"syntaxes/{name}.tmLanguage.json"
    script = ROOT / "tests/support/clients/node/tokenize.cjs"
    lines = json.loads(node(str(script), str(grammar), str(ROOT / "examples" / example)))
    pieces = {(text.strip(), scope) for line in lines for text, scope in line}
    assert "".join(text for text, _ in lines[0]).rstrip("\n").startswith("//")
    assert pieces >= set(SCOPES[name])
    assert not any(scope.startswith("invalid") for _, scope in pieces)


@needs_node("@vscode/vsce")
def test_the_extension_is_packaged_as_it_is(tmp_path: Path) -> None:
    copy = tmp_path / "vscode"
    shutil.copytree(FOLDER, copy)
    modules = os.environ["NODE_PATH"]
    out = tmp_path / "isakit.vsix"
    subprocess.run(
        [str(Path(modules, ".bin/vsce")), "package", "--no-dependencies", "--allow-missing-repository", "-o", str(out)],
        cwd=copy, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    files = zipfile.ZipFile(out).namelist()
    assert {"extension/package.json", "extension/extension.js", "extension/syntaxes/usse.tmLanguage.json"} <= set(files)
