"""Scenes and captures with impossible values are refused, at once and with a reason."""

from __future__ import annotations

import copy
import json
import os
import shutil
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conftest import ROOT
from isakit.errors import BudgetExceeded, FormatError, FormatWarning, LaunchError
from isakit.graphics.gxm_scene import open_scene
from isakit.graphics.scene import Scene
from isakit.hosts.cuda.replay import Capture, CaptureError
from isakit.hosts.drm import capture as drm
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.replay import Replay
from isakit.web.command import _given  # pyright: ignore[reportPrivateUsage]
from support.farm import samples
from support.farm.containers import check_file
from support.farm.structures import HEAD, capture, numbers, records, with_other_numbers, with_other_values


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"render_targets": 1 << 31}, "2147483648 render targets; there are 0 to 8"),
        ({"render_targets": -1}, "-1 render targets"),
        ({"target_formats": ["rgba8"] * 9}, "9 render targets"),
        ({"clear": [0.0, 0.0, 0.0]}, "`clear` has 3 components, not 4"),
        ({"clear": [float("nan"), 0, 0, 0], "target_formats": ["rgba8ui"]}, "its clear colour is not one of rgba8ui"),
    ],
)
def test_impossible_scenes_are_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({**samples.scenes()[0], **changes}))
    with pytest.raises(FormatError) as e:
        Scene(path).render(engine="reference")
    assert says in str(e.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_scene_does_not_wait_for_a_pipe_in_its_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "indices")
    (tmp_path / "scene.json").write_text(
        json.dumps({"width": 4, "height": 4, "draws": [{"mode": "points", "code": {}}]})
    )
    made = Scene(tmp_path)
    with pytest.raises(FormatError, match="not an ordinary file"):
        made.array({"file": "indices", "shape": [1], "dtype": "u8"})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_capture_does_not_wait_for_a_pipe_nor_read_a_device(tmp_path: Path) -> None:
    entry, blobs = samples.cuda_capture()
    folder = tmp_path / "capture"
    samples.write_cuda_capture(folder, entry, blobs)
    name = folder / "blobs" / entry["module"]
    name.unlink()
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        make(name)
        with pytest.raises(CaptureError, match="not an ordinary file"):
            Capture(folder).replay(1)
        given = _given(str(folder))
        assert not any(entry["module"] in part for part in given)
        assert len(given) == 1 + len(blobs)
        name.unlink()


@pytest.mark.parametrize("divisor", [-1, 1 << 63])
def test_instances_of_an_attribute_are_counted(tmp_path: Path, divisor: int) -> None:
    scene = copy.deepcopy(samples.scenes()[0])
    scene["draws"][0]["attribs"][0]["divisor"] = divisor
    (tmp_path / "scene.json").write_text(json.dumps(scene))
    with pytest.raises(LaunchError, match=f"goes on after {divisor} instances"):
        Scene(tmp_path / "scene.json").render(engine="reference")


@pytest.mark.parametrize("bits", [[], "", [8], [32] * 5, {}, 7, None])
def test_texels_that_a_captured_texture_cannot_have(bits: object) -> None:
    """A texture in a capture of CUDA, whose launches say in JSON what a texel is made of."""
    entry, blobs = copy.deepcopy(samples.cuda_capture())
    assert entry["textures"]
    for texture in entry["textures"].values():
        texture["state"]["channel"]["bits"] = bits
    assert check_file({"kind": "cuda", "data": {"entry": entry, "blobs": blobs}}) == {"cuda refused"}


@pytest.mark.parametrize("scene", ["tests/vectors/tesla/scenes/s10_geom_quads", "examples/usse/scene"])
def test_all_draws_of_a_scene_share_their_instructions(tmp_path: Path, scene: str) -> None:
    """A scene of hundreds of draws ends when it is told to, on every engine after the same instructions."""
    source = ROOT / scene
    data = json.loads((source / "scene.json").read_text())
    shutil.copytree(source, tmp_path, dirs_exist_ok=True)
    (tmp_path / "scene.json").write_text(json.dumps({**data, "draws": data["draws"] * 300}))
    one, needed = open_scene(source), {"s10_geom_quads": 4893, "scene": 139}[source.name]
    many = open_scene(tmp_path)
    for engine in ("reference", "llvm"):
        one.render(engine=engine, max_instructions=needed)
        for found, most in ((one, needed - 1), (one, 0), (many, 2 * needed)):
            with pytest.raises(BudgetExceeded):
                found.render(engine=engine, max_instructions=most)
    with pytest.raises(LaunchError, match="max_instructions is -1"):
        one.render(max_instructions=-1)


def test_large_clear_colours_are_infinite(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({**samples.scenes()[0], "clear": [1e39, 0, 0, 0], "target_formats": ["rgba32f"]}))
    assert Scene(path).pipeline(engine="reference").image()[0, 0, 0] == float("inf")


def test_a_push_whose_segment_is_cut_off_is_refused(tmp_path: Path) -> None:
    made = samples.gl_captures()[0]
    found = [(k, c[:-8] if k == drm.KINDS.index("push") else c) for k, c in records(made)]
    path = tmp_path / "x.glc"
    path.write_bytes(capture(made[:HEAD], found))
    replay = Replay(path, CardSettings(engine="reference"))
    with pytest.raises(FormatError, match="a push of 12 bytes"):
        replay.run()
    replay.close()


def test_a_capture_that_is_cut_off_has_what_is_whole(tmp_path: Path) -> None:
    made = samples.gl_captures()[0]
    path = tmp_path / "x.glc"
    path.write_bytes(made)
    whole = list(drm.read(path)[1])
    for size in (HEAD, HEAD + 40, len(made) // 2, len(made) - 5):
        path.write_bytes(made[:size])
        with pytest.warns(FormatWarning, match="the capture is cut off"):
            found = list(drm.read(path)[1])
        assert found == whole[: len(found)]
        assert (len(found) > 0) == (size > len(made) // 3)


def test_a_capture_whose_last_record_says_more_than_there_is_is_damaged(tmp_path: Path) -> None:
    made = samples.gl_captures()[0]
    path = tmp_path / "x.glc"
    path.write_bytes(made[:HEAD] + zlib.compress(drm.RECORD.pack(0, 100) + bytes(50)))
    with pytest.raises(FormatError, match="a record is longer than the file"):
        list(drm.read(path)[1])


def test_a_capture_that_nobody_closes_has_the_pushes_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drm, "FLUSH_SECONDS", 0.0)
    path, memory = tmp_path / "x.glc", VideoMemory(1 << 20)
    recorder = drm.Recorder(path, 0xA0)
    recorder.channel(1)
    recorder.push(1, [(4096, 8)], memory)
    with pytest.warns(FormatWarning):
        assert [r.kind for r in drm.read(path)[1]] == ["channel", "push"]
    recorder.close()
    memory.close()


def test_a_draw_to_nothing_and_to_a_second_target_writes_the_second_one() -> None:
    """Render target 0 of a program may be unbound while others are drawn to."""
    import numpy as np

    from isakit.graphics.draw_state import DrawState, GraphicsChoices
    from isakit.graphics.merge import Merger, RenderTarget

    nothing, target = RenderTarget("r8", 0, 0), RenderTarget("rgba8", 4, 4)
    color = np.full((2, 4), np.float32(1).view(np.uint32), np.uint32)
    at, z = np.array([1, 3]), np.zeros(2, np.float32)
    Merger([nothing, target], None, DrawState(), GraphicsChoices()).write(at, at, z, z == 0, [color, color])
    assert np.argwhere(target.pixels[..., 0]).tolist() == [[1, 1], [3, 3]]


def test_records_of_a_capture_come_back() -> None:
    made = samples.gl_captures()[0]
    assert records(capture(made[:HEAD], records(made))) == records(made)


def test_numbers_of_structures_are_found_and_changed() -> None:
    for data in samples.images():
        if data[:4] in (b"\x7fELF", b"GXP\0", b"\x50\xed\x55\xba"):
            assert len(numbers(data)) > 40
            assert any(with_other_numbers(data, Random(seed)) != data for seed in range(3))


def test_values_of_json_change_and_the_original_stays() -> None:
    value = {"a": [1, 2, {"b": "c"}], "words": ["1"]}
    others = [with_other_values(value, Random(seed), ("words",)) for seed in range(20)]
    assert any(o != value for o in others)
    assert value == {"a": [1, 2, {"b": "c"}], "words": ["1"]}
    assert all(o.get("words", ["1"]) == ["1"] for o in others)
