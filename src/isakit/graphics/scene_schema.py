"""The JSON of scene files; `check_scene` rejects invalid scenes and names unknown keys."""

from __future__ import annotations

from typing import cast

from isakit.json_text import JsonObject
from isakit.results import mismatches

FORMAT = "isakit-gfx-scene 1"
MOST_TARGETS = 8
_CLEAR = (0.0, 0.0, 0.0, 0.0)

_ARRAY = {"file": str, "dtype": str, "shape": [int], "data": list}
_PROGRAM: dict[str, object] = {
    "words": [str | int], "asm": str, "gxp": str, "max_gpr": int, "local_bytes": int, "position": [int],
    "point_size": int | None,
    "o_words": [{"sem": str, "comp": str, "o_word": int}],
}  # fmt: skip
_PROGRAMS: dict[str, object] = {
    "VERT": {
        **_PROGRAM, "vertex_id": bool, "instance_id": bool,
        "a_words": [{"a_word": int, "attrib": int, "comp": str, "builtin": str | None}],
    },
    "GEOM": {
        **_PROGRAM, "inputs": list, "input": str, "output": str, "max_vertices": int,
        "p_words": {"vp_result_map": [int], "note": str},
    },
    "FRAG": {
        **_PROGRAM, "inputs": list, "colors": list, "depth": int | None, "position_mask": int, "uses_discard": bool,
        "face": str, "v_words": [{"v_word": int, "kind": str, "sem": str, "comp": str, "o_word": int, "interp": str}],
        "results": [{"sem": str, "comp": str, "reg": int}],
    },
    "result_map": [int],
}  # fmt: skip
_DRAW: dict[str, object] = {
    "mode": str, "instances": int, "vertices": int, "count": int | None, "restart_index": int | None,
    "state": {
        "blend": list[object] | None, "cull": str | None, "depth": str | None, "depth_write": bool, "restart": bool,
        "psize": bool | float | None, "seamless": bool,
    },
    "attribs": [{
        **_ARRAY, "normalized": bool, "divisor": int, "name": str, "format": str, "components": int, "offset": int,
        "stride": int, "count": int,
    }],
    "indices": _ARRAY,
    "uniforms": {"*": float | list[object] | JsonObject},
    "constants": {"VERT": _ARRAY, "GEOM": _ARRAY, "FRAG": _ARRAY},
    "textures": [{
        "name": str, "file": str, "unit": int, "target": str, "format": str, "levels": [_ARRAY], "mag": str,
        "min": str, "wrap_s": str, "wrap_t": str, "wrap_r": str, "border": [float], "compare": str | None,
    }],
    "code": {"*": _PROGRAMS},
    # Where a scene came from; nothing here reads it.
    "provoking": str, "glsl": {"*": str}, "tgsi": {"*": str}, "vs_outputs": dict,
}  # fmt: skip
SCENE: dict[str, object] = {
    "format": str, "name": str, "width": int, "height": int, "clear": [float], "render_targets": int,
    "target_formats": [str], "draws": [_DRAW], "row_order": str, "depth_format": str, "suggested_use": str,
}  # fmt: skip
"""The keys of a scene with their types, as `mismatches` takes them."""


def check_scene(data: object) -> tuple[JsonObject, list[str]]:
    """Return a scene, and a line for each of its keys that has no meaning here. Raises ValueError."""
    found = list(mismatches(SCENE, data))
    for m in found:
        if not m.unknown:
            raise ValueError(str(m))
    scene = cast("JsonObject", data)
    said = scene.get("format", FORMAT)
    if said != FORMAT:
        raise ValueError(f"its format is {said!r}, not {FORMAT!r}")
    for key in ("width", "height", "draws"):
        if key not in scene:
            raise ValueError(f"it lacks {key!r}")
    if not scene["draws"]:
        raise ValueError("it draws nothing: `draws` is empty")
    if len(scene.get("clear", _CLEAR)) != len(_CLEAR):
        raise ValueError(f"`clear` has {len(scene['clear'])} components, not {len(_CLEAR)}")
    targets = len(scene.get("target_formats", ())) or scene.get("render_targets", 1)
    if not 0 <= targets <= MOST_TARGETS:
        raise ValueError(f"it has {targets} render targets; there are 0 to {MOST_TARGETS}")
    return scene, [str(m) for m in found]
