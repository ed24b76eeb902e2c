"""The folder of libraries that programs load: one that nobody else can put another in the place of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isakit.c_library import private_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no such owners and modes")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, and the cache in one that it holds."""
    for found in map(os.stat, tmp_path.resolve().parents):
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o1002 == 0o2:
            pytest.skip("others can rename folders for temporary files here")
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path / "above" / "cache"))
    (tmp_path / "above" / "cache").mkdir(parents=True)
    return tmp_path.resolve() / "above"


def test_it_lies_in_the_cache_and_is_the_users_alone(place: Path) -> None:
    assert private_folder() == place / "cache" / "libraries"
    assert private_folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("mode", "kept"), [(0o777, False), (0o1777, True), (0o755, True)])
@pytest.mark.parametrize("which", [".", "cache"])
def test_it_is_elsewhere_where_others_can_rename_what_it_lies_in(
    place: Path, which: str, mode: int, kept: bool
) -> None:
    (place / which).chmod(mode)
    assert (place in private_folder().parents) == kept


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give folders away")
@pytest.mark.parametrize("which", [".", "cache", "cache/libraries"])
def test_it_is_elsewhere_where_somebody_else_has_what_it_lies_in(place: Path, which: str) -> None:
    """`sudo` may keep the user's home."""
    (place / which).mkdir(exist_ok=True)
    os.chown(place / which, 65534, -1)
    assert place not in private_folder().parents


def test_a_link_on_the_way_is_not_gone_through_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "link").symlink_to(place / "cache")
    monkeypatch.setenv("ISAKIT_CACHE", str(place / "link"))
    assert private_folder() == place / "cache" / "libraries"
