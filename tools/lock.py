#!/usr/bin/env python3
"""Renew what continuous integration installs: `python tools/lock.py [NAME ...]`.

Writes tools/requirements/py3.N.txt for every supported Python: the packages of the extras `dev`, `docs` and `c` and of
the build, for Linux on x86-64, each with its version and the SHA-256 of its wheel, and without the address of an index:
pip takes them from the index it is configured to use, and refuses other bytes. Versions that are there stay as long as
pyproject.toml allows them; those of the packages NAME, or of all with `--all`, become the newest. Commit what changed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bootstrap import LOCKED, ROOT

FOLDER = ROOT / "tools/requirements"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
             "manylinux_2_12_x86_64", "manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64")  # fmt: skip
HEADER = "# Made by tools/lock.py; installed by `./check --locked`.\n"


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="tools/lock.py", description=__doc__)
    parser.add_argument("newer", nargs="*", metavar="NAME", help="packages whose newest version is taken")
    parser.add_argument("--all", action="store_true", help="take the newest version of every package")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    FOLDER.mkdir(exist_ok=True)
    for python in supported(project):
        path = FOLDER / f"py{python}.txt"
        kept = {} if options.all or not path.exists() else versions(path.read_text("utf-8"))
        for name in options.newer:
            kept.pop(plain(name), None)
        text = HEADER + "".join(resolved(python, wanted(project), kept))
        path.write_text(text, "utf-8")
        print(f"{path.relative_to(ROOT)}: {len(versions(text))} packages")
    return 0


def supported(project: dict[str, object]) -> list[str]:
    """Return the versions of Python that pyproject.toml names, such as "3.11"."""
    prefix = "Programming Language :: Python :: 3."
    return [c.rpartition(" ")[2] for c in project["project"]["classifiers"] if c.startswith(prefix)]  # type: ignore[index]


def wanted(project: dict[str, object]) -> list[str]:
    """Return the requirements of the package, its extras and its build; `editables` is what editable builds need."""
    facts: dict[str, list[str]] = project["project"]  # type: ignore[assignment]
    extras: dict[str, list[str]] = facts["optional-dependencies"]  # type: ignore[assignment]
    build: dict[str, list[str]] = project["build-system"]  # type: ignore[assignment]
    return [*facts["dependencies"], *(r for e in LOCKED for r in extras[e]), *build["requires"], "editables"]


def plain(name: str) -> str:
    """Return the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions(text: str) -> dict[str, str]:
    """Return the versions a file names, by package."""
    return {plain(n): v for n, v in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def resolved(python: str, requirements: list[str], kept: dict[str, str]) -> list[str]:
    """Return the lines of a file. Raises SystemExit where pip finds no solution."""
    with tempfile.TemporaryDirectory() as folder:
        asked, constraints, report = (Path(folder, n) for n in ("asked.txt", "constraints.txt", "report.json"))
        asked.write_text("\n".join(requirements))
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in kept.items()))
        line = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        line += ["--ignore-installed", "--target", folder, "--only-binary", ":all:", "--python-version", python]
        line += [word for platform in PLATFORMS for word in ("--platform", platform)]
        line += ["--report", str(report), "--requirement", str(asked), "--constraint", str(constraints)]
        if subprocess.run(line, check=False).returncode:
            raise SystemExit(f"pip found no packages for Python {python}; give the names of those that may be newer")
        found = json.loads(report.read_text("utf-8"))["install"]
    lines = {plain(f["metadata"]["name"]): _line(f) for f in found}
    return [lines[name] for name in sorted(lines)]


def _line(found: dict[str, dict[str, object]]) -> str:
    archive: dict[str, dict[str, str]] = found["download_info"]["archive_info"]  # type: ignore[assignment]
    name, version = found["metadata"]["name"], found["metadata"]["version"]
    return f"{plain(str(name))}=={version} --hash=sha256:{archive['hashes']['sha256']}\n"


if __name__ == "__main__":
    sys.exit(main())
