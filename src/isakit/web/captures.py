"""Captures that were dropped onto a page: launches of CUDA programs to be stepped, frames of GL programs to be seen."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Generator, Hashable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.web.folder import checked
from isakit.web.limits import BUFFER, DRAWS, MESH, PIXELS, TEXTURES, VERTICES, large_files

if TYPE_CHECKING:
    from isakit.cli.launches import Prepared
    from isakit.debug.pixels import Pixel
    from isakit.debug.session import Session
    from isakit.description import Kernel, Module
    from isakit.engine.protocol import Array
    from isakit.hosts.cuda.replay import Capture
    from isakit.hosts.drm.engines.draw3d import Drawing
    from isakit.hosts.drm.replay import Replay

_PART = re.compile(r"capture\.json|libraries\.txt|launches/\d{1,8}\.json|blobs/[0-9a-f]{32}")


def part(name: str, path: str) -> tuple[str, str]:
    """Return the folder and the file of a part of a capture named `name`; raises IsakitError for any other name."""
    if not _PART.fullmatch(path):
        raise IsakitError(f"{path[:60]!r} is not part of a capture")
    folder, _, file = path.rpartition("/")
    return f"{checked(name)}.capture" + (f"/{folder}" if folder else ""), file


def launches(name: str) -> list[tuple[int, Kernel]]:
    """Return the launches of a capture with their kernels, by number. Raises CaptureError and FormatError."""
    from isakit.formats import load_image
    from isakit.hosts.cuda.capture import CaptureError

    capture = _capture(name)
    modules: dict[Hashable, Module] = {}
    out: list[tuple[int, Kernel]] = []
    for number in sorted(capture.launches):
        entry = capture.launch(number)
        blob, kernel = entry.get("module"), entry.get("kernel")
        if not isinstance(blob, str) or not isinstance(kernel, str):
            raise CaptureError(f"launch {number} names no kernel")
        if blob not in modules:
            modules[blob] = load_image(capture.blob(blob))
        if kernel not in modules[blob].kernels:
            raise CaptureError(f"the module of launch {number} has no kernel {kernel[:60]!r}")
        out.append((number, modules[blob].kernels[kernel]))
    return out


def prepared(name: str, number: int) -> Prepared:
    """Prepare the machine of a captured launch at its first instruction. Raises CaptureError and FormatError."""
    from isakit.cli.launches import captured_launch

    with large_files():
        return captured_launch(_capture(name), number)


def _capture(name: str) -> Capture:
    from isakit.hosts.cuda.replay import Capture

    return Capture(Path(f"{checked(name)}.capture"))


@contextlib.contextmanager
def _replay(path: Path) -> Generator[Replay]:
    from isakit.hosts.drm.replay import Replay

    with large_files():
        made = Replay(path)
    try:
        yield made
    finally:
        made.close()


def _file(name: str) -> Path:
    """Return the file of a capture of a GL program."""
    path = Path(checked(name))
    if not path.is_file():
        raise IsakitError(f"there is no file {name!r} here")
    return path


def frame(name: str, draw: int | None = None) -> JsonObject:
    """Return the picture of a GL program after draw number `draw` (from 1; None: its last), as PNG, and all draws.

    Raises FormatError for a damaged capture, HostError if nothing was drawn to.
    """
    taken: list[Array | IsakitError] = []

    def drawn() -> None:
        if len(replay.draws) == draw:
            try:
                taken.append(replay.picture())
            except IsakitError as e:  # raised in here it would count as the program's
                taken.append(e)

    with _replay(_file(name)) as replay:
        replay.lists_changes, replay.on_draw = True, drawn
        replay.run()
        draws = replay.draws[:DRAWS]
        if draw is None:
            taken.append(replay.picture())
        elif not 1 <= draw <= len(draws):
            raise IsakitError(f"the capture has {len(draws)} draws")
    picture = taken[0]
    if isinstance(picture, IsakitError):
        raise picture
    return {**_picture(picture), "draw": draw or len(draws), "draws": [vars(d) for d in draws]}


def details(name: str, frame: int, draw: int) -> JsonObject:
    """Return the vertices, textures and buffers of a draw (from 1) of a frame (from 0), cut to what is shown.

    There are the tables of the stages, a mesh, buffers of constants, textures and targets.

    Raises FormatError for a damaged capture, IsakitError where there is no such draw.
    """
    with _replay(_file(name)) as replay:
        replay.run(frame, draw)
        last = replay.draws[-1] if replay.draws else None
        if last is None or (last.frame, last.draw) != (frame, draw):
            raise IsakitError(f"there is no draw {draw} of frame {frame}")
        drawing = replay.drawing
        targets = [
            {"name": f"target {k}", **_picture(replay.picture(k))}
            for k, image in enumerate(drawing.engine.color_images)
            if image is not None
        ]
        return {
            "stages": _stages(drawing),
            "mesh": _mesh(drawing),
            "buffers": _buffers(drawing),
            "textures": _textures(drawing),
            "targets": [*targets, *_depth(drawing)],
        }


def pixel(name: str, x: int, y: int, frame: int, draw: int) -> Pixel:
    """Return the history of a pixel up to a draw of a frame, whose row 0 is the first one of its memory.

    Raises LaunchError for a place outside.
    """
    from isakit.debug.captured_pixels import captured_pixel

    with large_files():
        return captured_pixel(_file(name), x, y, frame, None, last=draw)


def vertex(name: str, number: int, frame: int, draw: int) -> Session:
    """Start a session in the program of a vertex, by its place in the drawing order. Raises LaunchError."""
    from isakit.debug.captured_vertices import captured_vertex

    with large_files():
        return captured_vertex(_file(name), number, draw, frame).session()


def _picture(image: Array) -> JsonObject:
    """Return uint8 [h, w, 4] as PNG in base64, with its size and how often its colours have each brightness."""
    from isakit.graphics.png import png

    height, width = image.shape[:2]
    counts = [np.bincount(image[..., c].ravel() >> 4, minlength=16).tolist() for c in range(3)]
    encoded = base64.b64encode(png(np.ascontiguousarray(image))).decode()
    return {"png": encoded, "width": width, "height": height, "histogram": counts}


def _stages(drawing: Drawing) -> list[JsonObject]:
    """Return what the programs of the last draw got for each vertex and made of it, as tables of f32."""
    last, engine = drawing.pipeline.last, drawing.engine
    shaded, v = last.shaded, last.vertices
    if last.attributes is None or shaded is None or v is None:
        return []
    fetched = list(range(len(last.attributes)))
    out = [_table("vertex", "a", last.attributes, fetched, {}, shaded.ids)]
    results = [("vertex", shaded, engine.vertex_map)]
    if v is not shaded:
        results.append(("geometry", v, engine.last_map))
    for stage, made, places in results:
        words = sorted({w for w in places.slots if w < len(made.words)})
        position = {places.word(k): "xyzw"[k] for k in range(4)} if places is engine.last_map else {}
        out.append(_table(stage, "o", made.words, words, position, made.ids))
    return out


def _table(
    stage: str, file: str, values: Array, words: list[int], names: dict[int, str], ids: Array | None
) -> JsonObject:
    """Return the rows of vertices: their number, and some words of a[] or o[] [words, vertices], by their `names`."""
    shown = min(values.shape[1], VERTICES)
    numbers = range(shown) if ids is None else ids[:shown].tolist()
    floats: list[list[float]] = values[words, :shown].T.view(np.float32).astype(np.float64).tolist()
    rows = [[int(k), *(f"{n:.6g}" for n in some)] for k, some in zip(numbers, floats, strict=True)]
    columns = [f"{names[w]} ({file}[{4 * w:#x}])" if w in names else f"{file}[{4 * w:#x}]" for w in words]
    name = f"{stage} program: {file}[]"
    return {"name": name, "count": values.shape[1], "columns": ["index", *columns], "rows": rows}


def _mesh(drawing: Drawing) -> JsonObject:
    """Return the corners of primitives, and the positions of vertices: results divided by w, the first words of a[]."""
    last = drawing.pipeline.last
    v, shaded = last.vertices, last.shaded
    if v is None or shaded is None or last.attributes is None:
        return {"primitives": [], "positions": {}}
    x, y, z, w = (v.words[drawing.engine.last_map.word(k)].view(np.float32).astype(np.float64) for k in range(4))
    with np.errstate(divide="ignore", invalid="ignore"):
        positions = {"results, divided by w": np.stack([x, y, z]) / w}
    if v is shaded and len(last.attributes) > 1:
        first = last.attributes[:3].view(np.float32).astype(np.float64)
        positions["inputs: the first words of a[]"] = np.concatenate(
            [first, np.zeros((3 - len(first), first.shape[1]))]
        )
    corners = v.primitives[:MESH]
    named, places = np.unique(corners, return_inverse=True)
    return {
        "primitives": places.reshape(corners.shape).tolist(),
        "count": len(v.primitives),
        "positions": {
            name: [[float(f"{n:.6g}") if np.isfinite(n) else None for n in row] for row in some[:, named].T.tolist()]
            for name, some in positions.items()
        },
    }


def _buffers(drawing: Drawing) -> list[JsonObject]:
    """Return the buffers of constants that are bound to the programs, as words and as f32, four in a row."""
    from isakit.hosts.drm.engines.draw3d import CONSTANTS_OF

    out: list[JsonObject] = []
    for kind, number in CONSTANTS_OF.items():
        for bank, content in sorted(drawing.engine.constants.banks(number).items()):
            words = np.frombuffer(content[: min(len(content), BUFFER) & ~15], np.uint32).reshape(-1, 4)
            floats = words.view(np.float32).astype(np.float64).tolist()
            rows = [
                [f"{16 * k:#x}", *(f"{n:08x}" for n in row), *(f"{n:.6g}" for n in floats[k])]
                for k, row in enumerate(words.tolist())
            ]
            out.append({"name": f"{kind} program: c{bank}[]", "bytes": len(content), "rows": rows})
    return out


def _depth(drawing: Drawing) -> list[JsonObject]:
    """Return the depth target as a picture, black at the nearest and white at the farthest value in it."""
    from isakit.hosts.drm.engines.framebuffer import OpenDepth

    image = drawing.engine.depth_target
    if image is None or image.width * image.height > PIXELS:
        return []
    opened = OpenDepth(image, 0)
    opened.begin()
    opened.load()
    values = np.nan_to_num(opened.buffer.values().astype(np.float64))
    low, high = float(values.min()), float(values.max())
    grey = np.round(255 * (values - low) / ((high - low) or 1.0)).astype(np.uint8)
    picture = np.stack([grey, grey, grey, np.full_like(grey, 255)], axis=-1)
    return [{"name": f"depth, {low:.6g} (black) to {high:.6g} (white)", **_picture(picture)}]


def _textures(drawing: Drawing) -> list[JsonObject]:
    """Return the textures that the programs of the last draw could sample: the first level of each."""
    from isakit.hosts.drm.dump import texture_image

    out: list[JsonObject] = []
    for stage, bound in drawing.bound_textures().items():
        for number, some in bound.items():
            texture, sampler = some if isinstance(some, tuple) else (some, None)
            about = f"{stage} $t{number}: {texture!r}"[:200]
            filters = "" if sampler is None else f"{sampler.mag}, {sampler.min}, mipmaps {sampler.mip}"
            width, height, _ = texture.sizes[0]
            picture = _picture(texture_image(texture)) if width * height <= PIXELS else {}
            out.append({"name": about, "filters": filters, **picture})
    return out[:TEXTURES]
