"""JSON of untrusted files."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The content of a JSON text. Raises ValueError for what is none, brackets too deep to read among it."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
