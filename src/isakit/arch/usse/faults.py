"""Faults of a shader, and the instructions that can raise them. Source: [usse] 2.1, 3.4."""

from __future__ import annotations

from isakit.arch.usse import requests as ask
from isakit.sem.faults import Fault, accesses, asks

FAULTS = (
    Fault("INVALID_ADDRESS", "no buffer is at the address", "", accesses("memory")),
    Fault("INVALID_BRANCH", "the program goes on at an address outside of it", "",
          asks(ask.BRANCH, ask.JUMP, ask.RETURN)),
    Fault("BUDGET", "the instructions allowed to an invocation are used up"),
)  # fmt: skip
