"""The workbench inside of a page: what the server's worker does, for a worker of the browser. See `isakit.web.site`."""

from __future__ import annotations

import json

from isakit.web.limits import Limits
from isakit.web.verbs import Workbench
from isakit.web.worker import reply


class Page:
    """The state of one page; the browser's worker makes it, and hands it requests as JSON."""

    def __init__(self) -> None:
        self._limits = Limits()
        self._bench = Workbench(self._limits)

    def answer(self, verb: str, fields: str) -> str:
        """Carry out one request; `fields` is a JSON object. Return `{"result": ...}` or `{"error": ...}` as JSON."""
        return reply(self._bench, {"id": 0, "verb": verb, "fields": json.loads(fields)}, self._limits).decode()


__all__ = ["Page"]
