"""The folder that looks like a toolkit: made anew, made again, and never over another toolkit."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit.errors import HostError
from isakit.hosts.cuda.nvcc import toolkit


@pytest.fixture(autouse=True)
def _libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolkit, "library_folder", lambda: tmp_path / "libraries")


def test_a_folder_of_ours_is_made_again(tmp_path: Path) -> None:
    for _ in range(2):
        toolkit.lay_out(tmp_path / "cuda")
    assert "-m isakit nvcc" in (tmp_path / "cuda/bin/nvcc").read_text()
    stub = tmp_path / "cuda/lib64/stubs/libcuda.so"
    assert stub.readlink() == (tmp_path / "cuda/lib64/libcuda.so").readlink()


@pytest.mark.parametrize("kind", ["file", "link", "headers"])
def test_another_toolkit_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF")
    folder = tmp_path / "cuda"
    (folder / "bin").mkdir(parents=True)
    place = folder / ("include" if kind == "headers" else "bin/nvcc")
    if kind == "file":
        place.write_bytes(b"\x7fELF")
    else:
        place.symlink_to(other)
    with pytest.raises(HostError, match="another toolkit"):
        toolkit.lay_out(folder)
    assert place.read_bytes() == other.read_bytes() == b"\x7fELF"
    assert not (folder / "lib64").exists()
