"""What the JSON of every command looks like: one short definition each, from which the JSON schemas are made.

A definition is a type of JSON (`"integer"`, `"any"`), a list of one definition (an array), a tuple (one of several), or
a dictionary (an object): keys that may be missing end with `?`, and `*` stands for any further key. The number in the
name of a schema grows when something in the output changes its meaning or goes; new keys do not change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

Shape = Any
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PARAM = {"name": "string", "type": "string", "offset": "integer", "size": "integer", "index?": "integer"}
_MAYBE = ("integer", "null")
_ERRORS = [{"line": "integer", "column": "integer", "message": "string", "notes?": ["string"], "path?": "string"}]
_OCCUPANCY = {
    "chip": "string", "blocks": "integer", "warps": "integer", "most": "integer", "limit": "string",
    "occupancy": "number", "threads?": "integer",
}  # fmt: skip
_SAMPLERS = [{"name": "string", "unit": _MAYBE}]
_ATTRIBUTES = [{"number": "integer", "name": "string", "data": "string"}]
_EXPLAINED = {
    "text": "string", "words": ["integer"], "name": "string", "form": "string", "status": "string",
    "reference": "string", "error": ("string", "null"),
    "rows": [
        {"bits": "string", "field": "string", "value": "integer", "meaning": "string", "reference": "string"},
    ],
}  # fmt: skip
_SIDE = ({"address": "integer", "text": "string"}, "null")
_COUNTS = {"*": "number"}
_GL = {"counts": _COUNTS, "seconds": _COUNTS, "unsupported": _COUNTS, "faults": _COUNTS}

SHAPES: dict[str, tuple[int, Shape]] = {
    "asm": (1, {
        "isa?": "string", "variant?": "string", "words?": ["integer"], "tail?": "string",
        "kernels?": [{
            "name": "string", "registers": "integer", "shared_bytes": "integer", "local_bytes": "integer",
            "barriers": "integer", "code": "string", "params": [_PARAM],
        }],
        "errors?": _ERRORS,
    }),
    "cache": (1, {
        "folder": "string", "objects": "integer", "bytes": "integer", "limit": "integer",
        "refused": ("string", "null"), "damaged?": "integer", "removed?": "integer",
    }),
    "cc": (1, {
        "variant?": "string",
        "kernels": [{
            "name": "string", "bytes": "integer", "registers": "integer", "shared_bytes": "integer",
            "local_bytes": "integer", "barriers": "integer", "params": [_PARAM],
        }],
        "errors": _ERRORS,
    }),
    "cfg": (1, {
        "schema": "string",
        "programs": [{
            "name": "string",
            "blocks": [{
                "number": "integer", "address": "integer", "end": "integer",
                "function": _MAYBE, "joins": "boolean",
                "instructions": ["string"],
            }],
            "edges": [{"source": "integer", "target": "integer", "kind": "string"}],
            "functions": [{
                "entry": "integer", "blocks": ["integer"], "calls": ["integer"], "dominators": {"*": _MAYBE},
                "post_dominators": {"*": _MAYBE},
                "loops": [{"head": "integer", "blocks": ["integer"], "parent": _MAYBE, "exits": ["integer"]}],
            }],
            "unresolved": ["integer"],
            "live_ranges": {"*": [["integer"]]},
            "pressure": {"*": "integer"},
            "notes": {
                "uniform": ["integer"], "divergent_branches": ["integer"], "dead": ["integer"],
                "phases": [{"address": "integer", "end": "integer", "text": "string"}],
                "repeats": {"*": "integer"}, "guards": {"*": "string"}, "delay_slots": {"*": "any"},
                "hazards": {"*": ["string"]},
            },
        }],
    }),
    "compare": (1, {
        "equal": "boolean", "results": ["string"], "largest_ulps": _MAYBE,
        "differences": [{
            "name": "string", "count": "integer", "total": "integer", "index": ["integer"], "values": ["string"],
        }],
        "parting?": ({
            "program": "string",
            "instructions": [({"number": "integer", "address": "integer", "text": "string"}, "null")],
            "registers": [{"name": "string", "values": ["string"]}], "why": "string",
        }, "null"),
    }),
    "cuda": (1, {
        "calls": "integer", "faults": "integer", "launches": "integer", "refused": _COUNTS,
        "kernels": {"*": {
            "launches": "integer", "instructions": "integer", "warp_instructions": "integer",
            "engine_seconds": "number", "seconds": "number", "first": "number",
        }},
    }),
    "debug": (1, {"command": "string", "lines": ["string"], "data": "any"}),
    "diff": (1, {
        "schema": "string", "a": "string", "b": "string", "equal": "boolean", "identical": "boolean",
        "kernels": [{
            "a": "string", "b": "string", "equal": "boolean", "identical": "boolean", "counts": {"*": "integer"},
            "facts": [{"what": "string", "a": "any", "b": "any"}],
            "rows": [{"change": "string", "a": _SIDE, "b": _SIDE, "why": ["string"]}],
        }],
        "removed": ["string"], "added": ["string"],
    }),
    "dis": (1, [{
        "name": "string", "isa": "string", "variant": "string", "program_type": "string", "tail": "string",
        "instructions": [{
            "address": "integer", "size": "integer", "words": ["integer"], "text": "string", "mnemonic": "string",
            "operands": ["string"], "reads": ["string"], "writes": ["string"], "error?": "string",
            "unknown_bits?": "integer",
        }],
    }]),
    "doc": (1, [{
        "isa": "string", "name": "string", "summary?": "string", "mnemonics?": ["string"], "doc?": "string",
        "status?": "string", "reference?": "string", "see?": ["string"], "notes?": ["string"], "syntax?": ["string"],
        "meaning?": "any",
    }]),
    "draw": (1, [{
        "vertices": "integer", "primitives": "integer", "triangles": "integer", "quads": "integer",
        "fragments": "integer", "samples": "integer", "instructions": "integer", "seconds": "number",
        "stages": _COUNTS,
    }]),
    "explain": (1, (_EXPLAINED, [_EXPLAINED])),
    "find": (1, {
        "schema": "string", "pattern": "string",
        "found": [{"file": "string", "program": "string", "count?": "integer", "address?": "integer", "text?": "string",
                   "*": "any"}],
    }),
    "gl": (1, _GL),
    "info": (1, [({
        "path": "string", "offset": "integer", "kind": "string", "isa": "string", "variant": "string",
        "kernels": [{
            "name": "string", "code_bytes": "integer", "registers": _MAYBE, "shared_bytes": _MAYBE,
            "local_bytes": _MAYBE, "barriers": _MAYBE, "params": [_PARAM | {"size": _MAYBE}],
            "constants": {"*": "integer"}, "samplers": _SAMPLERS, "attributes": _ATTRIBUTES, "occupancy?": [_OCCUPANCY],
        }],
        "constants": {"*": "integer"},
        "globals": [{"name": "string", "size": "integer", "initialised": "boolean"}],
        "samplers": _SAMPLERS, "attributes": _ATTRIBUTES, "stage?": "string",
        "parameters?": [{"name": "string", "*": "any"}],
    }, {
        "kind": "string", "offset": "integer", "size": "integer", "version": "string", "target": "string",
        "kernels": ["string"],
    })]),
    "profile": (1, {
        "kernel": "string", "chip": "string", "capability": "string", "counters": {"*": "integer"},
        "occupancy": [_OCCUPANCY],
        "instructions": [{
            "address": "integer", "text": "string", "kind": "string", "executions": "integer", "lanes": "integer",
            "possible": "integer", "divergent": "integer", "requests": "integer", "coalesced": "integer",
            "transactions": "integer", "moved": "integer", "used": "integer", "serialized": "integer",
            "sizes": {"*": "integer"}, "spaces": ["string"], "path?": ("string", "null"), "line?": _MAYBE,
            "ptx_line?": _MAYBE,
        }],
        "blocks": [{
            "name": "string", "address": "integer", "end": "integer", "entered": "integer", "instructions": "integer",
            "lanes": "integer", "possible": "integer", "divergent": "integer", "moved": "integer", "used": "integer",
            "serialized": "integer",
        }],
    }),
    "replay": (1, (
        [{
            "launch": "integer", "kernel": "string", "instructions": "integer", "seconds": "number",
            "fault": ("string", "null"), "same?": "boolean", "different?": "integer", "first?": [{"*": "any"}],
        }],
        {
            "chip": "string",
            "draws": [{"frame": "integer", "draw": "integer", "mode": "string", "fragments": "integer"}],
            **_GL,
        },
    )),
    "run": (1, {
        "kernel?": ("string", "null"), "stats?": {"instructions?": "integer", "*": "any"},
        "arguments?": [{"index": "integer", "dtype": "string", "shape": ["integer"], "values?": ["any"], "*": "any"}],
        "outputs?": {"*": "any"}, "fault?": {"kind?": "string", "*": "any"}, "*": "any",
    }),
    "sanitize": (1, {
        "clean": "boolean", "finished": "boolean",
        "findings": [{
            "kind": "string", "address": "integer", "instruction": "string", "count": "integer", "example": "string",
            "other?": "any",
        }],
    }),
    "scan": (1, {
        "schema": "string", "index": "string", "files": "integer", "kernels": "integer", "instructions": "integer",
        "strings": "integer", "bytes": "integer",
    }),
    "trace": (1, {
        "isa": "string", "variant": "string", "unit": "string", "code": ["any"], "start": {"*": "any"},
        "steps": [{"at": "integer", "address": "integer", "*": "any"}], "end": "string", "*": "any",
    }),
    "web": (1, {"url": "string", "port": "integer"}),
}  # fmt: skip
"""Version and shape of the output by verb. `debug` answers every command with one such line."""


def schema(verb: str) -> dict[str, Any]:
    """The JSON schema of a verb's output. Raises KeyError for a verb that writes none."""
    if verb == "export":
        from isakit.export.json_ import SCHEMA

        return SCHEMA
    version, shape = SHAPES[verb]
    return {"$schema": DIALECT, "$id": f"isakit-{verb}-{version}", "title": f"isakit {verb} --json", **_schema(shape)}


def _schema(shape: Shape) -> dict[str, Any]:
    if shape == "any":
        return {}
    if isinstance(shape, str):
        return {"type": shape}
    if isinstance(shape, list):
        (item,) = cast("list[Shape]", shape)
        return {"type": "array", "items": _schema(item)}
    if isinstance(shape, tuple):
        return {"anyOf": [_schema(s) for s in cast("tuple[Shape, ...]", shape)]}
    fields = {str(k): v for k, v in cast("dict[str, Shape]", shape).items()}
    further = fields.pop("*", None)
    out: dict[str, Any] = {
        "type": "object",
        "properties": {k.removesuffix("?"): _schema(v) for k, v in fields.items()},
        "required": [k for k in fields if not k.endswith("?")],
    }
    if further is not None:
        out["additionalProperties"] = _schema(further)
    return out


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def problems(value: Any, given: dict[str, Any], where: str = "$", *, open_: bool = True) -> Iterator[str]:
    """What of a value is not as a schema says; understands what the schemas of this package use.

    `open_` false: keys that the schema does not name are problems, too.
    """
    yield from _problems(value, given, where, given.get("$defs", {}), open_)


def _problems(value: Any, given: dict[str, Any], where: str, shared: dict[str, Any], open_: bool) -> Iterator[str]:
    if "$ref" in given:
        given = shared[given["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in given:
        tried = [list(_problems(value, g, where, shared, open_)) for g in given["anyOf"]]
        if all(tried):
            yield from min(tried, key=len)
        return
    kind = given.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{where} is no {kind}"
        return
    if value != given.get("const", value) or value not in given.get("enum", [value]):
        yield f"{where} is {value!r}"
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        properties, further = given.get("properties", {}), given.get("additionalProperties")
        yield from (f"{where} lacks {k}" for k in given.get("required", ()) if k not in held)
        for k, v in held.items():
            inner = properties.get(k, further)
            if inner is not None:
                yield from _problems(v, inner, f"{where}.{k}", shared, open_)
            elif properties and not open_:
                yield f"{where}.{k} is not described"
    if isinstance(value, list) and "items" in given:
        for k, v in enumerate(cast("list[Any]", value)):
            yield from _problems(v, given["items"], f"{where}[{k}]", shared, open_)
