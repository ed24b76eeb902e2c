"""JSON of untrusted files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isakit.errors import FormatError, LaunchError
from isakit.graphics.scene import Scene
from isakit.json_text import parse_json
from isakit.runtime.npy import load_array


@pytest.mark.parametrize("text", ["[" * 100_000, b'{"a":' * 100_000, "nope", b"\xff\xfe{", "1" * 5000])
def test_what_is_no_json_is_a_value_error(text) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_a_scene_of_brackets_is_no_scene(tmp_path) -> None:
    (tmp_path / "scene.json").write_text("[" * 100_000)
    with pytest.raises(FormatError, match="nested too deep"):
        Scene(tmp_path)


def test_an_array_file_that_claims_too_much_is_refused(tmp_path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(4, np.float32))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"(4,), }" + b" " * 20, b"(1000000000000000,), }" + b" " * 5))
    assert path.read_bytes() != data
    with pytest.raises(FormatError, match=r"elements|array file"):
        load_array(path)


def test_draws_of_impossible_sizes_are_refused() -> None:
    from isakit.graphics.pipeline import Pipeline

    not_used: Any = None
    with pytest.raises(LaunchError, match="vertices are allowed"):
        Pipeline(4, 4).draw("triangles", not_used, not_used, count=3, instances=1 << 31)
