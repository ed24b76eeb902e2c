"""Other people's JavaScript: what the lock file says, and what is made with npm and without."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isakit.errors import HostError
from isakit.web import packages
from isakit.web.files import STATIC, files, page

MADE = "codemirror.js dagre.js dockview.js dockview.css LICENSES.txt"
NODE = f'#!/bin/sh\nfor name in {MADE}; do echo made >"$2/$name"; done\n'
NpmMade = Callable[[str], None]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NpmMade:
    """Return a function that puts a program in the place of npm, and one beside it in that of node."""

    def made(text: str) -> None:
        for name, content in (("npm", f"#!/bin/sh\n{text}\n"), ("node", NODE)):
            (tmp_path / name).write_text(content)
            (tmp_path / name).chmod(0o755)
        monkeypatch.setattr(packages, "node_and_npm", lambda: (str(tmp_path / "node"), [str(tmp_path / "npm")]))

    return made


def locked() -> dict[str, Any]:
    return json.loads((packages.SOURCES / "package-lock.json").read_text())


def test_the_lock_file_has_hashes_and_no_addresses() -> None:
    found = locked()["packages"]
    of_others = {name: about for name, about in found.items() if name}
    assert all(about["integrity"].startswith("sha512-") for about in of_others.values())
    assert not any("resolved" in about for about in of_others.values())
    assert "://" not in re.sub(r'"(funding|url)": .*', "", json.dumps(locked(), indent=1))
    assert "omit-lockfile-registry-resolved=true" in (packages.SOURCES / ".npmrc").read_text()


def test_the_lock_file_is_that_of_the_packages_that_are_asked_for() -> None:
    asked = json.loads((packages.SOURCES / "package.json").read_text())["dependencies"]
    assert locked()["packages"][""]["dependencies"] == asked
    assert {name: locked()["packages"][f"node_modules/{name}"]["version"] for name in asked} == asked


def test_every_bundle_has_a_substitute_and_uses_packages_that_are_asked_for() -> None:
    sources = {p.stem: p.read_text() for p in (packages.SOURCES / "bundles").iterdir()}
    assert sources.keys() == packages.BUNDLES.keys()
    asked = json.loads((packages.SOURCES / "package.json").read_text())["dependencies"]
    used = {name for text in sources.values() for name in re.findall(r'from "([^"]+)"', text)}
    assert used | {"esbuild"} == asked.keys()


def test_what_is_made_is_not_made_again(npm: NpmMade, tmp_path: Path) -> None:
    out = tmp_path / "out"
    npm('test "$1" = ci && test -f package-lock.json && test -f build.mjs')
    packages.build(out)
    assert packages.installed(out) == [*packages.BUNDLES]
    npm("exit 1")
    packages.build(out)
    (out / "made-from.txt").write_text("another lock file\n")
    assert packages.installed(out) == []
    with pytest.raises(HostError, match="npm failed"):
        packages.build(out)
    assert not out.exists(), "what was made from another lock file is not kept"


def test_a_registry_that_cannot_be_reached_is_said(npm: NpmMade, tmp_path: Path) -> None:
    npm("echo ENOTFOUND; exit 3")
    with pytest.raises(HostError, match="npm failed: ENOTFOUND"):
        packages.build(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_npm_that_hangs_is_ended_with_all_it_started(npm: NpmMade, tmp_path: Path) -> None:
    npm(f'sleep 60 & echo $! >"{tmp_path}/child"; wait')
    with pytest.raises(HostError, match="did not end within"):
        packages.build(tmp_path / "out", seconds=1)
    written = (tmp_path / "child").read_text() if (tmp_path / "child").exists() else ""
    if not written:
        return  # on a busy machine it was ended before it had started anything
    child = int(written)
    patience = time.monotonic() + 30
    while _runs(child) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_without_npm_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="there is no npm"):
        packages.build(tmp_path / "out")


def test_the_page_says_which_bundles_are_there() -> None:
    with_them, without = page([*packages.BUNDLES]), page([])
    assert 'data-packages="codemirror dagre dockview"' in with_them
    assert 'data-packages=""' in without
    assert "vendor/" not in without
    assert without.replace(' data-packages=""', "") == (STATIC / "index.html").read_text()


def test_bundles_of_another_lock_file_are_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed", lambda folder=packages.BUILT: [])
    assert not any(name.startswith("vendor/") for name in files())
    assert packages.without().startswith("without the packages of npm the page has a plain text field")


@pytest.mark.skipif(not packages.installed(), reason="the package was installed where npm could not be reached")
def test_licences_travel_with_the_bundles() -> None:
    names = {name.removeprefix("vendor/") for name in files() if name.startswith("vendor/")}
    assert names >= {*(f"{b}.js" for b in packages.BUNDLES), "dockview.css", "LICENSES.txt"}
    licences = (packages.BUILT / "LICENSES.txt").read_text()
    for name, about in locked()["packages"][""]["dependencies"].items():
        assert (f"{name} {about} (MIT)" in licences) == (name != "esbuild"), "esbuild itself is in no bundle"


def test_only_page_scripts_name_the_bundles() -> None:
    """Each is used where the page asks whether it is there: by a dynamic import, or in a module that is."""
    static = {p.name: p.read_text() for p in STATIC.glob("*.js")}
    used = {name for name, text in static.items() if "./vendor/" in text}
    assert used <= {"editor.js", "layout.js", "dock.js"}
    imports = {name for text in static.values() for name in re.findall(r'^import [^;]*"\./(\w+\.js)"', text, re.M)}
    assert not imports & {"editor.js", "dock.js"}
