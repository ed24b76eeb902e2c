"""The C libraries that host programs are given, built with the sanitizers of the compiler, and damaged answers."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from support.clients import cuda_build
from support.farm.campaign import Campaign

SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all"
PROCESSES = 20
"""Host programs of a case; each sends about 30 messages."""


def check_answers(case: dict[str, Any]) -> set[str]:
    """A host program survives damaged answers: no report of a sanitizer, no other end than its own."""
    from property.test_cuda_messages import lie

    with tempfile.TemporaryDirectory() as folder:
        changed = lie(Path(folder), case["seed"], case["processes"], SANITIZERS)
    return {"damaged answers"} if changed else {"answers"}


def _needs() -> str:
    if os.environ.get("LD_PRELOAD"):
        return "its sanitizers want to be loaded first, and look at the heap themselves"
    return "" if cuda_build.has_compiler() else "it needs `cc` on 64-bit x86 Linux"


HERE = (
    Campaign("libraries", f"{PROCESSES} host programs with sanitizers and damaged answers",
             lambda seed: {"seed": seed, "processes": PROCESSES}, check_answers, seconds=600.0, needs=_needs,
             memory=None, fixed=1),  # sanitizers take terabytes of addresses
)  # fmt: skip
