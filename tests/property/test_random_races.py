"""Random kernels whose warps race: how they end on every engine, and what the analysis knows of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from isakit.machine.tesla.analysis import racing_accesses, thread_values
from isakit.machine.tesla.analysis.racing_accesses import RacingAccesses
from isakit.machine.tesla.analysis.thread_values import Interval, ThreadValues
from isakit.sem.value import mask
from support.farm import campaign
from support.generators.random_races import kernel
from support.oracles.observed_races import Run, overlooked, recorded


@pytest.mark.parametrize("seed", range(100, 103))
def test_random_races_end_alike_and_are_known(seed: int) -> None:
    races = campaign("races")
    races.check(races.make(seed))


@cache
def run(seed: int) -> Run:
    k = kernel(seed)
    return recorded(k.text, k.threads, 5_000)


def narrow(name: str) -> AbstractContextManager[object]:
    """Let a rule of intervals know the lower end only."""
    rule = thread_values.RULES[name]

    def wrong(*args: Any) -> Interval | None:
        found = rule(*args)
        return None if found is None else Interval(found.low, found.low, found.alike)

    return patch.dict(thread_values.RULES, {name: wrong})


def changed(owner: Any, name: str, wrong: Callable[..., Any]) -> AbstractContextManager[object]:
    """Put another function, which gets the right one first, in place of one."""
    right = getattr(owner, name)

    def instead(*args: Any) -> Any:
        return wrong(right, *args)

    return patch.object(owner, name, instead)


def without_divergence(right: Any, analysis: RacingAccesses) -> Any:
    if analysis.values is not None:
        analysis.values.diverged = {}
    return right(analysis)


def only_once(right: Any, values: ThreadValues, node: thread_values.Node, *more: Any) -> bool:
    return node not in values.reached and right(values, node, *more)


def cut(right: Any, low: Any, high: Any, width: int, alike: bool) -> Interval:
    return Interval(low & mask(width), high & mask(width), alike)


WRONG: dict[str, tuple[int, Callable[[], AbstractContextManager[object]]]] = {
    "and": (0, lambda: narrow("and")),
    "or": (0, lambda: narrow("or")),
    "xor": (0, lambda: narrow("xor")),
    "not": (0, lambda: narrow("not")),
    "extract": (0, lambda: narrow("extract")),
    "concat": (0, lambda: narrow("concat")),
    "eq": (8, lambda: narrow("eq")),
    "add": (46, lambda: narrow("add")),
    "shl": (46, lambda: narrow("shl")),
    "zext": (46, lambda: narrow("zext")),
    "wrapping": (46, lambda: changed(thread_values, "_wrapped", cut)),
    "select": (38, lambda: narrow("select")),
    "conditions": (0, lambda: changed(thread_values, "_chosen", lambda right, when, a, b: a)),
    "what is unknown": (
        0, lambda: changed(thread_values, "anything", lambda right, *x: (i := right(*x)) and i._replace(high=0))
    ),
    "ways": (0, lambda: changed(ThreadValues, "_ways", lambda right, *x: list(right(*x))[:1])),
    "where ways meet": (38, lambda: changed(ThreadValues, "_comes_to", only_once)),
    "where lanes part": (0, lambda: changed(ThreadValues, "_decided", lambda right, *x: True)),
    "what lanes do that part": (0, lambda: changed(RacingAccesses, "_made_before", without_divergence)),
    "what was made before": (0, lambda: changed(RacingAccesses, "_made_before", lambda right, a: {})),
    "which threads run": (
        0,
        lambda: changed(
            RacingAccesses, "_reached",
            lambda right, r, a: right(r, dataclasses.replace(a, runs=a.runs & (np.arange(len(a.runs)) % 32 == 0))),
        ),
    ),
    "places": (0, lambda: changed(racing_accesses, "meet", lambda right, *x: False)),
    "intervals": (0, lambda: changed(RacingAccesses, "_same_interval", lambda right, r, a, b: a == b)),
    "stores of one number": (0, lambda: changed(racing_accesses, "_stores_one_number", lambda right, a: True)),
    "what counts": (0, lambda: changed(racing_accesses, "_counts", lambda right, a, b: a.space == "s")),
}  # fmt: skip
"""Rules of the proofs made wrong, each with the seed of a kernel that shows it."""


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_is_made_wrong_is_shown_by_a_run(name: str) -> None:
    seed, wrong = WRONG[name]
    assert run(seed).seen
    assert not overlooked(run(seed))
    with wrong():
        assert overlooked(run(seed))
