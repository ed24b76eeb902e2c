"""The workbench inside of a page: what the server's worker does, for a worker of the browser. See `isakit.web.site`."""

from __future__ import annotations

import contextlib
import json
import warnings

from isakit.web.limits import Limits
from isakit.web.verbs import Workbench
from isakit.web.worker import reply, warm_up


class Page:
    """The state of one page; the browser's worker makes it, and hands it requests as JSON."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")  # that the reference engine runs: there is no other here
        self._limits = Limits()
        self._parts = warm_up()
        self._bench = Workbench(self._limits)

    def answer(self, verb: str, fields: str) -> str:
        """Carry out one request; `fields` is a JSON object. Return `{"result": ...}` or `{"error": ...}` as JSON."""
        return reply(self._bench, {"id": 0, "verb": verb, "fields": json.loads(fields)}, self._limits).decode()

    def prepare(self) -> bool:
        """Do a part of the preparation of a first launch; return whether there is more."""
        with contextlib.suppress(Exception):  # who launches something is told what is wrong
            for _ in self._parts:
                return True
        return False


__all__ = ["Page"]
