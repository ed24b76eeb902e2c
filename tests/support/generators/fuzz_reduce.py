"""Shorten a kernel that engines disagree about, to be kept in tests/vectors/tesla/engines.

Usage: PYTHONPATH=src:tests python -m support.generators.fuzz_reduce SEED tier=jit threads=1 [portable=1] > FILE.s
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isakit.errors import IsakitError
from support.generators import fuzz
from support.generators.fuzz import Fuzzed

ENDS_AFTER = 20_000
"""Instructions of a warp; without a line a loop may have no end."""


def differs(k: Fuzzed, how: dict[str, Any]) -> bool:
    """Whether the llvm engine leaves something else than the reference engine."""
    if (fuzz.run(replace(k, budget=ENDS_AFTER), "reference").fault or [""])[0] == "budget":
        return False
    return bool(fuzz.run(k, "reference").difference(fuzz.run(k, "llvm", **how)))


def reduced(lines: list[str], wrong: Callable[[list[str]], bool]) -> list[str]:
    """The lines without those that can be left out, in pieces that get smaller."""
    size = len(lines) // 2
    while size:
        k, before = 0, len(lines)
        while k < len(lines):
            shorter = lines[:k] + lines[k + size :]
            if wrong(shorter):
                lines = shorter
            else:
                k += size
        if len(lines) == before or size > 1:
            size //= 2
    return lines


def main() -> None:
    """Print the kept form of a seed's kernel."""
    how: dict[str, Any] = {"threads": 1}
    for option in sys.argv[2:]:
        name, value = option.split("=")
        how[name] = value if name == "tier" else int(value)
    k = fuzz.kernel(int(sys.argv[1]))
    facts: dict[str, Any] = {
        "seed": k.seed, "chip": k.chip, "grid": k.grid, "block": k.block, "flags": k.flags, "budget": k.budget,
    }  # fmt: skip

    def wrong(lines: list[str]) -> bool:
        try:
            return differs(fuzz.prepared(text="\n".join(lines) + "\n", **facts), how)
        except IsakitError:
            return False

    lines = k.text.splitlines()
    if not wrong(lines):
        raise SystemExit("no difference")
    print("// " + json.dumps(facts))
    print("\n".join(reduced(lines, wrong)))


if __name__ == "__main__":
    main()
