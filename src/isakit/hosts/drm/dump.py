"""The files of `isakit gl --dump`: listings of programs, textures, constants, pictures of targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.framebuffer import shown
from isakit.graphics.png import png
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.engines.framebuffer import OpenColor, color_image
from isakit.texture import Texture


class Dump:
    """Writes into a folder, one file for each object and draw."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._written: set[str] = set()

    def after_draw(self, engine: Engine3D, frame: int, draw: int, mode: str, stats: DrawStats) -> None:
        """Write the programs, textures and constants of a draw, and the content of its first target after it."""
        drawing, number = engine.drawing, f"{frame:03}-{draw:03}"
        for kind, start, texts in drawing.programs.listings():
            name = f"{kind}-{start:05x}-{abs(hash(tuple(texts))) & 0xFFFF_FFFF:08x}.s"
            self._text(name, f".program {kind}\n" + "\n".join(texts) + "\n")
        for (kind, bank), buffer in sorted(engine.constants.bound.items()):
            if buffer in engine.constants.defined:
                data = engine.constants.banks(kind).get(bank, b"")
                words = np.frombuffer(data[: len(data) // 16 * 16], np.uint32).reshape(-1, 4)
                used = np.flatnonzero(words.any(axis=1))
                rows = [f"{16 * k:#06x}: " + " ".join(f"{w:08x}" for w in words[k].tolist()) for k in used.tolist()]
                self._text(f"draw-{number}-constants-{kind}-{bank}.txt", "\n".join(rows) + "\n")
        for k, texture in enumerate(drawing.images.decoded()):
            name = f"texture-{abs(hash(texture.words)) & 0xFFFF_FFFF:08x}.png"
            self._picture(name, lambda t=texture: texture_image(t))
            del k
        target = color_image(engine, 0)
        if target is not None:
            opened = OpenColor(target, 0)
            opened.begin()
            opened.load()
            self._picture(f"draw-{number}-target-0.png", lambda: shown(opened.target)[::-1])

    def _text(self, name: str, text: str) -> None:
        if name not in self._written:
            self._written.add(name)
            (self.folder / name).write_text(text, "utf-8")

    def _picture(self, name: str, make: Callable[[], Array]) -> None:
        if name in self._written:
            return
        self._written.add(name)
        try:
            image = np.ascontiguousarray(make())
        except IsakitError:
            return
        (self.folder / name).write_bytes(png(image))


def texture_image(texture: Texture) -> Array:
    """Return the first level of a texture as uint8 [h, w, 4], upper row first."""
    width, height, _ = texture.sizes[0]
    planes = [p[: width * height].reshape(height, width) for p in texture.planes(False)]
    if texture.format.integer:
        return np.stack([p & 0xFF for p in planes], axis=2).astype(np.uint8)[::-1]
    values = np.stack([p.view(np.float32) for p in planes], axis=2)
    return np.rint(np.clip(np.nan_to_num(values), 0, 1) * 255).astype(np.uint8)[::-1]
