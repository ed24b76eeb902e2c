"""A rule of the vµc core has one place: a change of it there changes the reference core and compiled code alike."""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor

import pytest

from isakit.vuc import Options
from support.generators import mutated_vuc_rules
from support.generators.mutated_vuc_rules import MUTATIONS, SPECIALISED
from support.generators.vuc_programs import VARIANTS, pair, program

QUICK = ("what issues after a branch", "when a load lands", "who wins a register", "what $pred shows")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MUTATIONS])
def test_a_rule_that_is_changed_in_its_place_changes_both_engines(worker: ProcessPoolExecutor, name: str) -> None:
    found = worker.submit(mutated_vuc_rules.outcomes, name).result(300)
    assert found["seed"] is not None, "no program shows the rule"
    one, two = found["before"]
    assert one == two
    changed, compiled = found["then"]
    assert changed != one
    assert compiled != two
    if name not in SPECIALISED:
        assert compiled == changed


def test_every_rule_is_changed_or_held_otherwise() -> None:
    changed = {rule.name for _, rule, _, _ in MUTATIONS.values()}
    assert changed | mutated_vuc_rules.HELD_OTHERWISE.keys() == mutated_vuc_rules.rules()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(4))
def test_instructions_that_issue_in_a_row_do_what_the_rules_say(
    monkeypatch: pytest.MonkeyPatch, variant: str, seed: int
) -> None:
    rnd = random.Random(f"{variant} {seed}")
    one, two = pair(variant, program(rnd, variant, tame=seed % 2 == 0), rnd, Options(unknown_ops="ignore"))
    monkeypatch.setattr(type(two), "_hurry", lambda *_: False)
    slow = mutated_vuc_rules.finished(two)
    monkeypatch.undo()
    assert mutated_vuc_rules.finished(one) == slow
