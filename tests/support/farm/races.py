"""Warps of a block that race: the same end on every engine, and the analysis knows every race that a run shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import isakit
from isakit.errors import IsakitError
from isakit.machine.tesla import Choices
from isakit.machine.tesla.analysis.racing_accesses import warp_order
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.generators.random_races import BUDGET, SIZE, kernel
from support.generators.warp_races import ENGINES, Launched, launched
from support.oracles.observed_races import overlooked, recorded
from support.runners.compiled import device_on

OBSERVED = 5_000
"""Instructions of a run whose accesses are looked at: that takes ten times as long as running them."""


def _make(seed: int) -> dict[str, Any]:
    k = kernel(seed)
    return {
        "text": k.text,
        "threads": k.threads,
        "budget": BUDGET,
        "order": "until_waiting" if seed % 8 == 7 else "turns",
    }


def check(case: dict[str, Any]) -> set[str]:
    """Memory, counts and faults are the same on every engine.

    Where a budget ends a program that cannot tell the order of its warps, engines are at different instructions.
    """
    text, threads, budget = case["text"], case["threads"], case["budget"]
    choices = Choices(warp_order=case["order"])
    left = [launched(e, text, threads, size=SIZE, choices=choices, max_instructions=budget) for e in ENGINES]
    fault = left[0].fault
    if fault is not None and fault[0] == "TIMEOUT" and not _ordered(text, threads, choices):
        kinds = {None if x.fault is None else x.fault[0] for x in left}
        if kinds != {"TIMEOUT"}:
            raise Wrong(f"a budget ends the program on one engine only: {kinds}")
    else:
        for engine, other in zip(ENGINES, left, strict=True):
            if other != left[0]:
                raise Wrong(f"{engine}: {other.fault}, {other.counts}; {ENGINES[0]}: {fault}, {left[0].counts}")
    found = overlooked(recorded(text, threads, OBSERVED)) if case["order"] == "turns" else []
    if found:
        raise Wrong(f"the analysis does not say that {found[0]}")
    return {case["order"], "a fault" if fault else "an end"}


def _ordered(text: str, threads: int, choices: Choices) -> bool:
    k = Launched(device_on("reference", "gt200", choices=choices), text, SIZE)
    return warp_order(k.kernel.prepare(1, threads, k.out, k.counter, 0)).ordered


def _shorter(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for lines in pieces_left_out(case["text"].splitlines()):
        text = "\n".join(lines) + "\n"
        try:
            isakit.isa("tesla", "gt200").assemble(text)
        except IsakitError:
            continue
        if text.startswith(".kernel k\n.param out ptr\n.param counter ptr\n.param n u32\n"):
            yield {**case, "text": text}


HERE = (
    Campaign("races", "random kernels whose warps race inside a block", _make, check, _shorter, 300.0, fixed=8),
)  # fmt: skip
