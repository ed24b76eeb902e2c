"""What continuous integration installs is what pyproject.toml asks for, byte for byte and from any index."""

from __future__ import annotations

import re
import sys
import tomllib
from typing import Any

import pytest
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


@pytest.mark.parametrize("path", sorted(lock.FOLDER.iterdir()), ids=lambda p: p.name)
def test_every_package_has_the_digest_of_its_bytes_and_no_address(path: Any) -> None:
    _, *lines = path.read_text("utf-8").splitlines()
    assert len(lines) > 30
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.+!]+ --hash=sha256:[0-9a-f]{64}", line), line
