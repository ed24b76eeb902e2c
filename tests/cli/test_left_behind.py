"""Nothing is left of a server that is killed or interrupted, nor of a client that vanishes: twenty times each."""

from __future__ import annotations

import signal
import sys

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("processes are looked for in /proc", allow_module_level=True)

from support.clients import cuda_build
from support.clients.vanishing import SERVERS, one_end, vanishing_clients
from support.patience import PATIENCE

TIMES = 20


def needed(name: str) -> None:
    """Skip what the server cannot do here."""
    if name == "web":
        pytest.importorskip("uvicorn", reason="needs the extra `web`")
    if name in ("cuda", "gl") and not cuda_build.has_compiler():
        pytest.skip("needs `cc` on 64-bit x86 Linux")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("name", SERVERS)
def test_nothing_is_left_of_a_server(name: str, how: signal.Signals) -> None:
    needed(name)
    for k in range(TIMES):
        one_end(name, how, bool(k % 2), PATIENCE)


@pytest.mark.parametrize("name", [n for n, s in SERVERS.items() if s.client is not None])
def test_nothing_is_left_of_a_client_that_vanishes(name: str) -> None:
    needed(name)
    vanishing_clients(name, TIMES, PATIENCE)
