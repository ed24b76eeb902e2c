"""A rule of control has one place: a change of it there changes every engine."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import product

import pytest

from isakit.machine.tesla import Choices
from isakit.machine.tesla.stack import Entry, Kind
from support.generators import mutated_rules
from support.generators.mutated_rules import MUTATIONS

ALL = 0xFFFF_FFFF
QUICK = (
    "which side goes first",
    "who is active after a join",
    "when a barrier opens",
    "who gets a lock",
    "what is inside",
)
ENGINES = ("reference", "interp", "jit")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MUTATIONS])
def test_a_rule_that_is_changed_in_its_place_changes_all_engines(worker: ProcessPoolExecutor, name: str) -> None:
    found = worker.submit(mutated_rules.outcomes, name).result(120)
    before, behind = ([pair[k] for pair in found.values()] for k in (0, 1))
    assert before == [before[0]] * len(found)
    assert behind == [behind[0]] * len(found)
    assert behind[0] != before[0]


def test_every_rule_is_changed_or_held_otherwise() -> None:
    changed = {rule.name for _, rule, _, _ in MUTATIONS.values()}
    others = {name for names in mutated_rules.HELD_OTHERWISE for name in names.split()}
    assert changed | others == mutated_rules.rules()
    assert not changed & others


# --- an experiment, step by step -------------------------------------------------------------------
EXPERIMENT = """
    mov b32 $r2 0x8
    set $c0 # l u32 $r0 $r2
    joinat #end
    (l $c0) bra #other
    mov b32 $r1 0x1
    bra #end
other:
    join nop
end:
    join nop
    exit nop
"""
"""Which of two sides goes first, and what a join does before the one that is named: [tesla] 9.2, 14."""
TOKEN = Entry(Kind.JOINAT, 0x38, ALL)
LOW, HIGH = 0xFF, ALL ^ 0xFF


def test_the_default_answers_step_by_step() -> None:
    """As [tesla] 9.2 says: the taken side first, its early join finds the other side, which goes on to the join."""
    steps = pytest.importorskip("support.runners.single_steps").steps
    seen = list(steps(EXPERIMENT, Choices(), "reference"))
    assert [tuple(s) for s in seen[2:]] == [
        (0x18, ALL, (TOKEN,)),
        (0x30, LOW, (TOKEN, Entry(Kind.BRANCH, 0x20, HIGH))),
        (0x20, HIGH, (TOKEN,)),
        (0x28, HIGH, (TOKEN,)),
        (0x38, HIGH, (TOKEN,)),
        (0x40, ALL, ()),
        (0, 0, ()),
    ]


ANSWERS = [
    Choices(first=first, join=join, early_join=early)
    for first, join, early in product(("taken", "fallthrough"), ("before", "after"), ("wait", "complete"))
]


@pytest.mark.parametrize("choices", ANSWERS, ids=lambda c: f"{c.first}-{c.join}-{c.early_join}")
def test_all_engines_have_the_same_stack_after_every_instruction(choices: Choices) -> None:
    steps = pytest.importorskip("support.runners.single_steps").steps
    seen = {engine: list(steps(EXPERIMENT, choices, engine)) for engine in ENGINES}
    assert len(seen["reference"]) >= 6
    assert seen["interp"] == seen["reference"]
    assert seen["jit"] == seen["reference"]


def test_the_experiment_tells_the_answers_apart() -> None:
    steps = pytest.importorskip("support.runners.single_steps").steps
    taken, other, complete = (
        list(steps(EXPERIMENT, choices, "reference"))
        for choices in (Choices(), Choices(first="fallthrough"), Choices(first="fallthrough", early_join="complete"))
    )
    assert taken[3] != other[3]
    assert other != complete
