"""The files that `isakit nvcc` writes: whole under their names, and nothing else is written over."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from isakit.hosts.cuda.nvcc import build

_write = build._write  # pyright: ignore[reportPrivateUsage]


def test_a_link_that_somebody_else_has_laid_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of all users, such as /tmp, names that can be foreseen may be links already."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    monkeypatch.setattr("secrets.token_hex", lambda *_: "f" * 8)
    for name in (f".k.o.{os.getpid()}", ".k.o.ffffffff"):
        (tmp_path / name).symlink_to(precious)
    with pytest.raises(build.BuildError, match="exists"):
        _write(tmp_path / "k.o", b"code")
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "k.o").exists()
    monkeypatch.undo()
    _write(tmp_path / "k.o", b"code")
    assert (tmp_path / "k.o").read_bytes() == b"code"
    assert precious.read_bytes() == b"precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no such pipes")
def test_devices_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    """Build systems try a compiler out with `-o /dev/null`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    _write(pipe, b"code")
    assert pipe.is_fifo()
    reader.join()
    assert got == [b"code"]


@pytest.mark.skipif(os.name == "nt", reason="the system has no such modes")
def test_files_have_the_mode_that_the_user_gives_new_ones(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        _write(tmp_path / "k", b"", executable=True)
        _write(tmp_path / "k.o", b"")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("k", "k.o")] == [0o750, 0o640]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "k.o"]
