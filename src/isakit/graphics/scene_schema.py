"""Schema of scene files; `problem` finds what a scene cannot be, `unknown` what nothing here reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from isakit.errors import did_you_mean

FORMAT = "isakit-gfx-scene 1"
MOST_TARGETS = 8
_CLEAR = (0.0, 0.0, 0.0, 0.0)

_ARRAY = {"file": str, "dtype": str, "shape": [int], "data": list}
_PROGRAM: dict[str, Any] = {
    "words": [(str, int)], "asm": str, "gxp": str, "max_gpr": int, "local_bytes": int, "position": [int],
    "point_size": (int, None),
    "o_words": [{"sem": str, "comp": str, "o_word": int}],
}  # fmt: skip
_PROGRAMS: dict[str, Any] = {
    "VERT": {
        **_PROGRAM, "vertex_id": bool, "instance_id": bool,
        "a_words": [{"a_word": int, "attrib": int, "comp": str, "builtin": (str, None)}],
    },
    "GEOM": {
        **_PROGRAM, "inputs": list, "input": str, "output": str, "max_vertices": int,
        "p_words": {"vp_result_map": [int], "note": str},
    },
    "FRAG": {
        **_PROGRAM, "inputs": list, "colors": list, "depth": (int, None), "position_mask": int, "uses_discard": bool,
        "face": str, "v_words": [{"v_word": int, "kind": str, "sem": str, "comp": str, "o_word": int, "interp": str}],
        "results": [{"sem": str, "comp": str, "reg": int}],
    },
    "result_map": [int],
}  # fmt: skip
_NUMBER = (int, float)
_DRAW: dict[str, Any] = {
    "mode": str, "instances": int, "vertices": int, "count": (int, None), "restart_index": (int, None),
    "state": {
        "blend": (list, None), "cull": (str, None), "depth": (str, None), "depth_write": bool, "restart": bool,
        "psize": (bool, int, float, None), "seamless": bool,
    },
    "attribs": [{
        **_ARRAY, "normalized": bool, "divisor": int, "name": str, "format": str, "components": int, "offset": int,
        "stride": int, "count": int,
    }],
    "indices": _ARRAY,
    "uniforms": {"*": (int, float, list, dict)},
    "constants": {"VERT": _ARRAY, "GEOM": _ARRAY, "FRAG": _ARRAY},
    "textures": [{
        "name": str, "file": str, "unit": int, "target": str, "format": str, "levels": [_ARRAY], "mag": str,
        "min": str, "wrap_s": str, "wrap_t": str, "wrap_r": str, "border": [_NUMBER], "compare": (str, None),
    }],
    "code": {"*": _PROGRAMS},
    # Where a scene came from; nothing here reads it.
    "provoking": str, "glsl": {"*": str}, "tgsi": {"*": str}, "vs_outputs": dict,
}  # fmt: skip
SCENE: dict[str, Any] = {
    "format": str, "name": str, "width": int, "height": int, "clear": [_NUMBER], "render_targets": int,
    "target_formats": [str], "draws": [_DRAW], "row_order": str, "depth_format": str, "suggested_use": str,
}  # fmt: skip
"""Keys with the type of what they hold: a dict for objects (`*`: any key), a list for arrays of one thing."""

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list",
          dict: "an object", None: "null"}  # fmt: skip


def problem(scene: Any) -> str | None:
    """Return the first thing in a scene that no scene has, or None."""
    wrong = next((p.text for p in _problems(scene, SCENE, "the scene") if not p.unknown), None)
    if wrong is not None:
        return wrong
    said = scene.get("format", FORMAT)
    if said != FORMAT:
        return f"its format is {said!r}, not {FORMAT!r}"
    if not scene.get("draws"):
        return "it draws nothing: `draws` is empty"
    if len(scene.get("clear", _CLEAR)) != len(_CLEAR):
        return f"`clear` has {len(scene['clear'])} components, not {len(_CLEAR)}"
    targets = len(scene.get("target_formats", ())) or scene.get("render_targets", 1)
    if not 0 <= targets <= MOST_TARGETS:
        return f"it has {targets} render targets; there are 0 to {MOST_TARGETS}"
    return None


def unknown(scene: object) -> list[str]:
    """Return a line for each record of a scene that has a name without a meaning here."""
    return [p.text for p in _problems(scene, SCENE, "the scene") if p.unknown]


class _Problem(NamedTuple):
    """Something in a scene: an `unknown` record, or something of another type."""

    text: str
    unknown: bool = False


def _problems(value: object, wanted: object, where: str) -> Iterator[_Problem]:
    if isinstance(wanted, dict):
        table = cast("dict[str, Any]", wanted)
        if not isinstance(value, Mapping):
            yield _Problem(f"{where} is not {_NAMES[dict]}")
            return
        for key, inner in cast("Mapping[str, Any]", value).items():
            kind = table.get(key, table.get("*"))
            if kind is None:
                (hint,) = did_you_mean(key, table) or (f"there are {', '.join(table)}",)
                yield _Problem(f"{where} has {key!r}; {hint}", unknown=True)
            else:
                yield from _problems(inner, kind, f"{where} > {key}")
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            yield _Problem(f"{where} is not {_NAMES[list]}")
            return
        (kind,) = cast("list[Any]", wanted)
        for k, inner in enumerate(cast("list[Any]", value)):
            yield from _problems(inner, kind, f"{where}[{k}]")
    else:
        kinds = cast("tuple[Any, ...]", wanted if isinstance(wanted, tuple) else (wanted,))
        fits = any(value is None if k is None else isinstance(value, k) for k in kinds)
        if not fits or (isinstance(value, bool) and bool not in kinds):
            yield _Problem(f"{where} is not {' or '.join(_NAMES[k] for k in kinds)}")
