"""Servers that are killed or interrupted at any moment, with and without clients, and clients that vanish."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

from support.clients.vanishing import SERVERS, one_end, vanishing_clients
from support.farm.campaign import Campaign, Wrong

SECONDS = 10.0
"""Time after which something counts as left behind. A second is promised; how often it is kept is said as coverage."""
_WAYS = ("SIGKILL", "SIGKILL", "SIGINT", "SIGTERM", "vanish")


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    way = r.choice(_WAYS)
    names = [n for n, s in SERVERS.items() if s.client is not None or way != "vanish"]
    return {"server": r.choice(names), "way": way, "client": r.random() < 0.5, "pause": r.choice((0.0, 0.0, 0.01, 0.3))}


def check_servers(case: dict[str, Any]) -> set[str]:
    """Nothing is left: no process, file, memory file or descriptor more than before."""
    name, way = case["server"], case["way"]
    try:
        if way == "vanish":
            vanishing_clients(name, 5, SECONDS)
            return {f"{name}: clients that vanish"}
        took = one_end(name, signal.Signals[way], case["client"], SECONDS, case["pause"])
    except AssertionError as e:
        raise Wrong(str(e)) from e
    return {f"{name}: {way}", "within a second" if took < 1 else "within ten seconds"}


def _less(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["client"]:
        yield {**case, "client": False}
    if case["pause"]:
        yield {**case, "pause": 0.0}


def _needs() -> str:
    if not sys.platform.startswith("linux"):
        return "processes are looked for in /proc"
    return "" if importlib.util.find_spec("uvicorn") else "the extra `web` is not installed"


HERE = (
    Campaign(
        "servers",
        "servers and vanishing clients: web, cuda, gl, gdb and DAP, killed, interrupted and ended at any moment",
        _make,
        check_servers,
        _less,
        needs=_needs,
        memory=None,
        seconds=120.0,
        fixed=0,
    ),
)
