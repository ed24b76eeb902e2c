"""JSON of untrusted files."""

from __future__ import annotations

import json
from typing import Any, cast

JsonObject = dict[str, Any]
"""An object of JSON: names and what JSON has for values."""


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text. Raises ValueError for any other text, and for brackets too deep to read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


def parse_object(text: str | bytes) -> JsonObject:
    """Parse a JSON text that is an object. Raises ValueError."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
    return cast("JsonObject", found)
