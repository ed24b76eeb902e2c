"""Random kernels whose warps race: how they end on every engine, and what the analysis knows of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from random import Random
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
from support.generators.warp_races import HEAD, STORE
from support.oracles.observed_races import Run, overlooked, recorded


@pytest.mark.parametrize("seed", range(100, 103))
def test_random_races_end_alike_and_are_known(seed: int) -> None:
    races = campaign("races")
    races.check(races.make(seed))


def columns(seed: int) -> tuple[str, int]:
    """A kernel, and its threads, that stores at sums of shifted data and of the thread's number, on one of two ways."""
    r = Random(seed)
    lines = ["mov b32 $r4 $r1"]
    for k in range(3):
        size, low = r.choice((1, 2, 4)), (1 << r.randrange(1, 6)) - 1
        data = f"mov b32 $r5 {r.randrange(1, 64):#x}, mul $r7 u16 $r1l u16 $r5l, shr u32 $r7 $r7 {r.randrange(6):#x}"
        data += f", ld $r5 b32 s[{4 * r.randrange(64) + 0x40:#x}], add b32 $r7 $r7 $r5"
        column = f"mov b32 $r6 {low:#x}, and b32 $r7 $r7 $r6, shl b32 $r7 $r7 {r.randrange(9):#x}"
        by = f"mov b32 $r6 {r.randrange(1, 65):#x}, {r.choice(('add', 'sub', 'subr'))} b32 $r7 $r7 $r6"
        if r.random() < 0.4:
            column += f", {by}"
        way = f"mov b32 $r5 {r.choice((1, 2, 16, 32)):#x}, and b32 $c0 # $r1 $r5, joinat #met{k}, (lg $c0) bra #met{k}"
        way += f", mov b32 $r6 {1 << r.randrange(9):#x}, add b32 $r7 $r7 $r6"
        lines += data.split(", ") + column.split(", ")
        if r.random() < 0.5:
            lines += [*way.split(", "), f"met{k}:", "join nop"]
        own = f"shl b32 $r6 $r1 {r.choice((0, 1, 2)):#x}, add b32 $r7 $r7 $r6"
        at = f"mov b32 $r6 {0x1FFF & -size:#x}, and b32 $r7 $r7 $r6, shl $a1 $r7 0x0"
        lines += [*own.split(", "), *at.split(", "), f"st b{8 * size} s[$a1+0x140] $r1{'' if size == 4 else 'l'}"]
        if r.random() < 0.5:
            lines.append("bar inc wait 0x0 0xfff")
    text = HEAD.replace(".shared 0x400", ".shared 0x3f00") + "\n".join(lines)
    return f"{text}\nbar inc wait 0x0 0xfff\nmov b32 $r4 $r1\n{STORE}", r.choice((64, 96, 128))


@pytest.mark.parametrize("seed", range(6))
def test_stores_in_random_columns_are_known(seed: int) -> None:
    """The steps of addresses prove many apart, and none that a run shows at one place."""
    for number in range(20 * seed, 20 * seed + 20):
        text, threads = columns(number)
        assert overlooked(recorded(text, threads, 5_000)) == [], number


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


def cut(right: Any, low: Any, high: Any, width: int, alike: bool, step: int = 1) -> Interval:
    return Interval(low & mask(width), high & mask(width), alike, step)


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
