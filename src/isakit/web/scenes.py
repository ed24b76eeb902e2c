"""Scenes of a page: drawn, and looked at pixel by pixel. They may name files of the page's folder only."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from isakit.errors import FormatError, IsakitError
from isakit.json_text import JsonObject, parse_json
from isakit.web.limits import PIXELS, SCENE

if TYPE_CHECKING:
    from isakit.debug import Session
    from isakit.graphics.scene import Scene


def drawn(name: str) -> JsonObject:
    """Draw a scene: PNG in base64, its size, and statistics."""
    from isakit.tesla import png

    scene = _scene(name)
    pipeline = scene.pipeline(threads=1)
    done = [scene.draw(pipeline, n, scene.default_chip) for n in range(len(scene.draws))]
    return {
        "png": base64.b64encode(png(pipeline.picture(0))).decode(), "width": scene.width, "height": scene.height,
        "draws": [{k: v for k, v in vars(d).items() if isinstance(v, (int, float, str))} for d in done],
    }  # fmt: skip


def fragment(name: str, x: int, y: int) -> Session:
    """Start a session in the last fragment program that changed a pixel; rows count from below."""
    from isakit.debug.pixels import pixel

    return pixel(_scene(name), x, y).session()


def _scene(name: str) -> Scene:
    from isakit.tesla import Scene

    path = Path(name)
    if not path.is_file():
        raise IsakitError(f"there is no file {name!r} here")
    if path.stat().st_size > SCENE:
        raise IsakitError(f"{name}: the workbench takes scenes of up to {SCENE >> 20} MB")
    try:
        _check(parse_json(path.read_bytes()))
    except ValueError as e:
        raise FormatError(name, 0, f"is not a scene: {e}") from None
    scene = Scene(name)
    if scene.width * scene.height > PIXELS:
        raise IsakitError(f"{name}: {scene.width} x {scene.height} pixels are too many for a page")
    return scene


def _leads_elsewhere(text: str) -> bool:
    """Return true if a text of a scene could be the name of a file outside of the folder.

    Remarks and programs of several lines hold slashes, too: they lead nowhere, as what stands in front of the first one
    is no folder here.
    """
    first, *more = re.split(r"[/\\]", text)
    if ".." in more or not re.search(r"[ \n]", first) or first.startswith("~") or "\0" in text or ":" in first[:2]:
        return any(c in text for c in "/\\~\0") or ".." in text
    return bool(more) and os.path.exists(first)  # False where the name is too long for one


def _check(value: object) -> None:
    """Raise IsakitError where a text of the scene could name a file outside of the folder."""
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, str) and _leads_elsewhere(v):
            raise IsakitError(f"{v[:60]!r}: files are named as they were dropped, without a folder")
        if isinstance(v, dict):
            stack += [*cast("dict[object, object]", v).values()]
        elif isinstance(v, list):
            stack += cast("list[object]", v)
