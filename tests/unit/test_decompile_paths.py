"""Paths through a program: what they say does not depend on where values lie in memory."""

from __future__ import annotations

from random import Random

import pytest

from isakit.decompile.paths import ALWAYS, NEVER, without
from isakit.sem.value import Value, param


def conditions(seed: int) -> list[Value]:
    """Return conditions in another order than that of their places in memory."""
    made = [param(f"c{k}", 1) for k in range(24)]
    Random(seed).shuffle(made)
    return made


def leaves(v: Value) -> list[Value]:
    """Return what a value is computed from, from left to right."""
    return [v] if v.op == "param" else [x for a in v.args for x in leaves(a)]


@pytest.mark.parametrize("seed", range(4))
def test_conditions_keep_the_order_in_which_they_come_up(seed: int) -> None:
    given = conditions(seed)
    path = ALWAYS
    for c in given:
        path = path.both(c, True)
    assert list(map(id, leaves(path.value()))) == list(map(id, given))


@pytest.mark.parametrize("seed", range(4))
def test_ways_keep_the_order_in_which_they_come_up(seed: int) -> None:
    given = conditions(seed)
    path = NEVER
    for a, b in zip(given[::2], given[1::2], strict=True):
        path = path.either(ALWAYS.both(a, True).both(b, False))
    assert list(map(id, leaves(path.value()))) == list(map(id, given))
    left = without(ALWAYS, ALWAYS.both(given[0], True).both(given[1], True).both(given[2], True))
    assert list(map(id, leaves(left.value()))) == list(map(id, given[:3]))
