"""A validator of the JSON schemas that the package writes, which can also refuse keys that a schema does not name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

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
        yield f"{where} is not of type {kind}"
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
