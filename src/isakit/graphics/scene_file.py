"""Common parts of scene files of all instruction sets: JSON with arrays in files beside it, state, programs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import FormatError
from isakit.graphics.draw_state import Blend, DrawState
from isakit.graphics.framebuffer import Framebuffer
from isakit.graphics.scene_schema import check_scene
from isakit.json_text import JsonObject, parse_json

_DTYPES = {
    "f32": np.float32, "f16": np.float16, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "s8": np.int8, "s16": np.int16, "s32": np.int32,
}  # fmt: skip
_CHIPS: Mapping[str, str] = {"50": "g80", "84": "g84", "a0": "gt200", "a3": "gt215", "aa": "mcp77"}


class SceneWarning(UserWarning):
    """A scene file has a record that is not known: what it requests is not drawn."""


class SceneFile:
    """A scene file.

    Attributes: `chips` (variants it has programs for), `width`, `height`, `draws` (the JSON objects).
    Raises FormatError for files that are not a scene or lack something; warns (SceneWarning) of records with unknown
    names.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self.path /= "scene.json"
        try:
            data = parse_json(self.path.read_bytes())
        except ValueError as e:
            raise self.wrong(f"is not JSON: {e}") from None
        try:
            self.data, left_out = check_scene(data)
        except ValueError as e:
            raise self.wrong(f"is not a scene: {e}") from None
        for text in left_out:
            warnings.warn(f"left out of {self.path}: {text}", SceneWarning, stacklevel=2)
        self.width: int = self.data["width"]
        self.height: int = self.data["height"]
        self.draws: list[JsonObject] = self.data["draws"]
        self.chips = [chip_of(c) for c in self.draws[0].get("code", ())]

    def wrong(self, reason: str) -> FormatError:
        """Make an error that names the file."""
        return FormatError(str(self.path), 0, reason)

    # --- arrays and files ---------------------------------------------------------------------------------------------
    def beside(self, name: str) -> Path:
        """Return a file of the scene; it must lie in the scene's folder."""
        path = (self.path.parent / name).resolve()
        if self.path.parent.resolve() not in path.parents:
            raise self.wrong(f"names a file outside its folder: {name!r}")
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise self.wrong(f"names what is not an ordinary file: {name!r}")
        return path

    def array(self, what: JsonObject) -> Array:
        """Load an array given by file, dtype and shape, or by `data` in the JSON itself.

        Raises FormatError for an unknown type and for a file of another size.
        """
        kind = _DTYPES.get(str(what.get("dtype", "f32")))
        if kind is None:
            raise self.wrong(f"has an array of type {what.get('dtype')!r}; there are: {', '.join(_DTYPES)}")
        if "data" in what:
            return np.array(what["data"], kind)
        shape = tuple(int(n) for n in what["shape"])
        raw = self.beside(what["file"]).read_bytes()
        need = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        if len(raw) != need:
            raise FormatError(str(self.beside(what["file"])), 0, f"has {len(raw)} bytes, {shape} needs {need}")
        return np.frombuffer(raw, kind).reshape(shape)

    def formats(self, usual: str) -> list[str]:
        """Return the formats of the render targets."""
        return list(self.data.get("target_formats") or [usual] * int(self.data.get("render_targets", 1)))

    def clear(self, targets: Framebuffer) -> None:
        """Clear targets as the scene says. Raises FormatError for a colour that they cannot hold."""
        try:
            targets.clear(self.data.get("clear", (0, 0, 0, 0)))
        except (ValueError, OverflowError) as e:
            raise self.wrong(f"its clear colour is not one of {targets.targets[0].format}: {e}") from None

    def common(self, draw: JsonObject) -> dict[str, object]:
        """Return the arguments of a draw that all pipelines share: items, their number, and state."""
        state = draw.get("state", {})
        return {
            "count": draw.get("count"),
            "indices": self.array(draw["indices"]) if "indices" in draw else None,
            "restart": draw.get("restart_index") if state.get("restart") else None,
            "instances": int(draw.get("instances", 1)),
            "state": self.state(state),
        }

    @staticmethod
    def state(what: JsonObject) -> DrawState:
        """Return the fixed-function state."""
        blend = what.get("blend")
        return DrawState(
            depth=what.get("depth"),
            depth_write=what.get("depth_write", True),
            cull=what.get("cull"),
            blend=None if blend is None else Blend(*blend),
            point_size=float(what.get("psize") or 1.0) if not isinstance(what.get("psize"), bool) else 1.0,
        )


MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


def lacking(e: Exception) -> str:
    """Describe the mistake behind an exception of `MALFORMED` while reading a scene."""
    return f"it lacks {e}" if isinstance(e, KeyError) else f"something in it has another form: {e}"


def chip_of(name: str) -> str:
    """Return a chip by the compiler's number for it, or by name."""
    return _CHIPS.get(name, name)
