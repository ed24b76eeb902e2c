"""What continuous integration installs is what pyproject.toml asks for, byte for byte and from any index."""

from __future__ import annotations

import re
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any, cast

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from conftest import ROOT

sys.path.append(str(ROOT / "tools"))
import lock

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RENEW = "renew it: python tools/lock.py"


@pytest.mark.parametrize("python", lock.supported(PROJECT))
def test_versions_are_fixed_for_all_that_is_needed_on_every_supported_python(python: str) -> None:
    text = (lock.FOLDER / f"py{python}.txt").read_text("utf-8")
    fixed = lock.versions(text)
    for needed in map(Requirement, lock.wanted(PROJECT)):
        name = lock.plain(needed.name)
        assert name in fixed, f"py{python}.txt has no {name}; {RENEW}"
        assert needed.specifier.contains(fixed[name]), f"py{python}.txt has {name} {fixed[name]}; {RENEW} {name}"


def missing(python: str, fixed: dict[str, str]) -> list[str]:
    """Requirements of the packages of a file, as far as its versions are installed here, that the file does not meet.

    Without `--locked` others may be installed, and what those need says nothing about the file.
    """
    here = cast("dict[str, str]", default_environment())
    environment = {**here, "python_version": python, "python_full_version": f"{python}.0"}
    waiting, seen, out = list(map(Requirement, lock.wanted(PROJECT))), set[str](), list[str]()
    while waiting:
        needed = waiting.pop()
        name = lock.plain(needed.name)
        if name not in fixed or not needed.specifier.contains(fixed[name]):
            out.append(str(needed))
        if str(needed) in seen:
            continue
        seen.add(str(needed))
        with suppress(PackageNotFoundError):
            if version(name) != fixed.get(name):
                continue
            for r in map(Requirement, requires(name) or ()):
                if r.marker is None or any(
                    r.marker.evaluate({**environment, "extra": e}) for e in ("", *needed.extras)
                ):
                    waiting.append(r)
    return out


@pytest.mark.parametrize("python", lock.supported(PROJECT))
def test_files_are_complete_since_pip_is_told_to_look_for_no_dependencies(python: str) -> None:
    fixed = lock.versions((lock.FOLDER / f"py{python}.txt").read_text("utf-8"))
    assert not missing(python, fixed), RENEW
    if version("pytest") == fixed["pytest"]:
        assert any("iniconfig" in m for m in missing(python, {k: v for k, v in fixed.items() if k != "iniconfig"}))


@pytest.mark.parametrize("path", sorted(lock.FOLDER.iterdir()), ids=lambda p: p.name)
def test_every_package_has_the_digest_of_its_bytes_and_no_address(path: Any) -> None:
    _, *lines = path.read_text("utf-8").splitlines()
    assert len(lines) > 30
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.+!]+ --hash=sha256:[0-9a-f]{64}", line), line
