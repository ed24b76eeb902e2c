"""The packages' descriptions say what the project says, and their scripts do what they are told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import isakit
from conftest import ROOT
from isakit.registry import ARCH_TO_VARIANT
from support.patience import PATIENCE

PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def wanted(dependencies: list[str]) -> set[str]:
    return {d.replace(" ", "") for d in dependencies}


def listed(text: str, head: str) -> set[str]:
    """The dependencies of a section of the conda recipe."""
    section = re.search(rf"^  {head}:\n((?:    .*\n)+)", text, re.MULTILINE)
    assert section is not None
    return wanted(re.findall(r"^    - (.*)$", section[1], re.MULTILINE))


def test_the_conda_recipe_needs_what_the_project_needs() -> None:
    text = (PACKAGING / "conda/meta.yaml").read_text("utf-8")
    assert f'version: "{isakit.__version__}"' in text
    python = {"python" + PROJECT["project"]["requires-python"]}
    assert listed(text, "run") == wanted(PROJECT["project"]["dependencies"]) | python
    assert listed(text, "host") == wanted(PROJECT["build-system"]["requires"]) | python | {"pip"}


SECTIONS = {
    "package": {"name", "version"}, "source": {"path"}, "build": {"script", "entry_points"},
    "requirements": {"build", "host", "run"}, "test": {"commands"}, "about": {"summary", "license", "license_file"},
}  # fmt: skip
"""Keys that conda-build knows and the recipe uses."""


def test_the_conda_recipe_is_one() -> None:
    """It is rendered as conda-build does, whose packages cannot be had everywhere; it was never built by it."""
    yaml, jinja = pytest.importorskip("yaml"), pytest.importorskip("jinja2")
    text = (PACKAGING / "conda/meta.yaml").read_text("utf-8")
    made = jinja.Template(text, undefined=jinja.StrictUndefined).render(PYTHON="$PYTHON", compiler="{}_linux-64".format)
    recipe = yaml.safe_load(made)
    assert {k: set(v) for k, v in recipe.items()} == SECTIONS
    assert recipe["build"]["script"].startswith("$PYTHON -m pip install .")
    (entry,) = recipe["build"]["entry_points"]
    name, _, target = entry.partition(" = ")
    assert PROJECT["project"]["scripts"][name] == target
    folder = PACKAGING / "conda"
    assert (folder / recipe["source"]["path"]).resolve() == ROOT
    assert (ROOT / recipe["about"]["license_file"]).is_file()


def test_the_container_file_names_one_command() -> None:
    text = (PACKAGING / "Containerfile").read_text("utf-8")
    assert "podman run --rm -v $PWD:/work isakit cuda -- ./vectorAdd" in text
    words = [line.split()[0] for line in text.splitlines() if line and line[0] not in "# "]
    assert words == ["ARG", "FROM", "RUN", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"]


def test_the_debian_package_needs_what_the_project_needs() -> None:
    (line,) = re.findall(r"^Depends: (.*)$", (PACKAGING / "deb").read_text("utf-8"), re.MULTILINE)
    names = {re.match(r"[\w-]+", d)[0] for d in PROJECT["project"]["dependencies"]}  # type: ignore[index]
    given = {d.strip().removeprefix("python3-") for d in line.split(",")}
    # Without llvmlite, whose version in Debian may be too old, the reference engine runs.
    assert given == {"python3 (>= 3.11)"} | names - {"llvmlite"}


@pytest.mark.parametrize("name", ["packaging/deb", "packaging/compiler-explorer/isakit-ce", "editors/vscode/package"])
def test_scripts_are_scripts(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    if shutil.which("sh") is not None:
        subprocess.run(["sh", "-n", str(ROOT / name)], check=True, timeout=PATIENCE)


def test_the_action_is_one() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    texts = [s["run"] for s in action["runs"]["steps"] if "run" in s]
    assert not any("inputs." in t for t in texts)  # what a user writes is no part of a command line


@pytest.mark.skipif(shutil.which("sh") is None, reason="no sh")
def test_compiler_explorer_s_command_line_becomes_ours(tmp_path: Path) -> None:
    said = tmp_path / "isakit"
    said.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    said.chmod(0o755)
    given = (
        "-V",
        "g80",
        "-g",
        "-o",
        "out file.s",
        "-S",
        "-fcolor-diagnostics",
        "-masm=intel",
        "-O2",
        "-D",
        "A=1",
        "x.cu",
    )
    done = subprocess.run([str(PACKAGING / "compiler-explorer/isakit-ce"), *given], text=True, capture_output=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True, timeout=PATIENCE)  # fmt: skip
    ours = ["cc", "--emit", "asm", "-V", "g80", "-o", "out file.s", "-O2", "-D", "A=1", "x.cu"]
    assert done.stdout.splitlines() == ours


def test_compiler_explorer_knows_all_chips() -> None:
    text = (PACKAGING / "compiler-explorer/cuda.local.properties").read_text("utf-8")
    chips = dict(re.findall(r"^compiler\.isakit(\w+)\.options=-V (\w+)$", text, re.MULTILINE))
    assert set(chips.values()) == set(ARCH_TO_VARIANT.values())
    assert all(name == chip for name, chip in chips.items())
    assert re.search(r"^group\.isakit\.compilers=(.*)$", text, re.MULTILINE)[1].split(":") == [  # type: ignore[index]
        f"isakit{chip}" for chip in chips
    ]


READ_BY_COMPILER_EXPLORER = {
    "compilers", "groupName", "compilerType", "exe", "supportsBinary", "supportsExecute", "versionFlag", "name",
    "options", "defaultCompiler",
}  # fmt: skip
"""Of the properties that its `lib/compiler-finder.ts` and `lib/options-handler.ts` ask for, those that are ours."""


def test_compiler_explorer_reads_every_property() -> None:
    text = (PACKAGING / "compiler-explorer/cuda.local.properties").read_text("utf-8")
    rows = [line.partition("=")[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert {row.rpartition(".")[2] for row in rows} <= READ_BY_COMPILER_EXPLORER
    assert all(re.fullmatch(r"compilers|defaultCompiler|(group\.isakit|compiler\.isakit\w+)\.\w+", row) for row in rows)
