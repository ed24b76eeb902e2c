"""A Mesa beside the installed one: where a folder has it, and what a program is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit.errors import HostError
from isakit.hosts.drm.mesa import LIBRARY, VENDOR, variables


def unpacked(folder: Path, *, vendor: bool = True) -> Path:
    """A folder as `dpkg -x` leaves it."""
    libraries = folder / "usr" / "lib" / "x86_64-linux-gnu"
    (libraries / "dri").mkdir(parents=True)
    (libraries / LIBRARY).touch()
    if vendor:
        file = folder / "usr" / VENDOR
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    return libraries


def test_a_program_is_told_where_libraries_and_drivers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    libraries = unpacked(tmp_path)
    assert variables(tmp_path) == {
        "LD_LIBRARY_PATH": f"{libraries}:/before",
        "LIBGL_DRIVERS_PATH": str(libraries / "dri"),
        "__EGL_VENDOR_LIBRARY_FILENAMES": str(tmp_path / "usr" / VENDOR),
    }


def test_without_libraries_before_there_is_only_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    libraries = unpacked(tmp_path)
    assert variables(tmp_path)["LD_LIBRARY_PATH"] == str(libraries)


def test_a_folder_without_a_mesa_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=LIBRARY):
        variables(tmp_path)


def test_a_mesa_without_its_vendor_file_is_named(tmp_path: Path) -> None:
    unpacked(tmp_path, vendor=False)
    with pytest.raises(HostError, match="50_mesa"):
        variables(tmp_path)
