"""Scenes of compiled programs that are part of the repository: pictures of another renderer, exactly.

A texture in perspective, discard with derivatives after it, and a geometry program.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from isakit.errors import FormatError, LaunchError
from isakit.graphics.png import png
from isakit.graphics.scene import Scene

FOLDER = Path(__file__).resolve().parents[2] / "vectors" / "tesla" / "scenes"
CASES = [pytest.param(p, chip, id=f"{p.name}-{chip}") for p in sorted(FOLDER.iterdir()) for chip in Scene(p).chips]


def pixels(path: Path) -> np.ndarray:
    """The picture of a PNG as `png` writes them."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(height, 1 + 4 * width)
    return rows[:, 1:].reshape(height, width, 4)


@pytest.mark.parametrize(("folder", "chip"), CASES)
def test_picture(folder: Path, chip: str) -> None:
    got = Scene(folder).render(chip).picture()
    assert (got == pixels(folder / "expected.png")).all()


def test_engines_and_chips_give_the_same_bits() -> None:
    """Unrounded colours of both chips' programs, one warp at a time and all together."""
    from isakit.graphics import pipeline

    for folder in sorted(FOLDER.iterdir()):
        pictures = []
        for chip in Scene(folder).chips:
            for lanes in (32, pipeline.LANES):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(pipeline, "LANES", lanes)
                    pictures.append(Scene(folder).render(chip, targets=["rgba32f"]).image().tobytes())
        assert len(set(pictures)) == 1


def test_wrong_chip_and_wrong_pictures() -> None:
    with pytest.raises(FormatError, match="no programs for mcp77"):
        Scene(sorted(FOLDER.iterdir())[0]).render("mcp77")
    with pytest.raises(LaunchError, match="uint8"):
        png(np.zeros((2, 2, 4), np.float32))
