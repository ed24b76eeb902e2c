"""Captures that were dropped onto a page: launches of CUDA programs to be stepped, frames of GL programs to be seen."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Generator, Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.web.folder import checked
from isakit.web.limits import DRAWS, large_files

if TYPE_CHECKING:
    from isakit.cli.launches import Prepared
    from isakit.description import Kernel, Module
    from isakit.hosts.cuda.replay import Capture
    from isakit.hosts.drm.replay import Replay

GL = b"isakit gl capture"
"""The first bytes of captures of GL programs."""
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


def frame(name: str, draw: int | None = None) -> JsonObject:
    """Return the picture of a GL program after draw number `draw` (from 1; None: its last), as PNG, and all draws.

    Raises FormatError for a damaged capture, HostError if nothing was drawn to.
    """
    from isakit.graphics.png import png

    path = Path(checked(name))
    if not path.is_file():
        raise IsakitError(f"there is no file {name!r} here")
    with _replay(path) as everything:
        everything.run()
        draws = everything.draws[:DRAWS]
        picture = everything.picture() if draw is None else None
    if draw is not None:
        if not 1 <= draw <= len(draws):
            raise IsakitError(f"the capture has {len(draws)} draws")
        with _replay(path) as some:
            some.run(draws[draw - 1].frame, draws[draw - 1].draw)
            picture = some.picture()
    assert picture is not None
    height, width = picture.shape[:2]
    return {
        "png": base64.b64encode(png(picture)).decode(), "width": width, "height": height, "draw": draw or len(draws),
        "draws": [vars(d) for d in draws],
    }  # fmt: skip
