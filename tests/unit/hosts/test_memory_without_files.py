"""Captures without files that have no name, as in a page of a browser: memory of this process stands for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit.hosts.cuda.replay as cuda
import isakit.hosts.drm.replay as drm
from isakit.errors import HostError
from isakit.hosts import mappings
from isakit.hosts.drm.capture import extent
from isakit.hosts.drm.memory import PAGE, VideoMemory
from support.clients.captured_launch import captured_launch
from support.runners.gl import CAPTURES, picture


@pytest.fixture
def without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (mappings, cuda, drm):
        monkeypatch.setattr(module, "SPARSE", False)


def test_a_gl_program_is_drawn_as_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    path = CAPTURES / "triangle-92.glc"
    with_files = picture(path, engine="reference")
    for module in (mappings, drm):
        monkeypatch.setattr(module, "SPARSE", False)
    assert np.array_equal(picture(path, engine="reference"), with_files)
    assert with_files.any()


@pytest.mark.usefixtures("without_files")
def test_only_what_a_capture_uses_is_taken() -> None:
    replay = drm.Replay(CAPTURES / "triangle-92.glc")
    assert replay.memory.size == extent(replay.path) < 1 << 24
    assert replay.memory.size % PAGE == 0
    replay.close()
    replay.close()
    assert replay.memory.map.closed


@pytest.mark.usefixtures("without_files")
def test_a_captured_launch_is_run_again(tmp_path: Path) -> None:
    for path, data in captured_launch().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    capture = cuda.Capture(tmp_path)
    device, kernel, launch = capture.prepare(1, engine="reference")
    assert device.memory.memory.size < 1 << 20
    kernel.launch(**launch)
    y = device.memory.memory.bytes[0x10100:0x10200].view(np.float32)
    assert y.tolist() == (1 + 2 * np.arange(64, dtype=np.float32)).tolist()


def test_memory_that_is_not_there_is_an_error_that_says_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> VideoMemory:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(drm, "VideoMemory", refused)
    with pytest.raises(HostError, match=r"no 3072 MiB of addresses for the card's memory"):
        drm.Replay(CAPTURES / "triangle-92.glc")
