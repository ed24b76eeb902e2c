"""A rule of the USSE core has one place: a change of it there changes the reference engine and compiled code alike."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest

pytest.importorskip("llvmlite")

from support.generators import mutated_usse_rules
from support.generators.mutated_usse_rules import MUTATIONS
from support.runners.usse_engines import differences


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_rule_that_is_changed_in_its_place_changes_both_engines(worker: ProcessPoolExecutor, name: str) -> None:
    found = worker.submit(mutated_usse_rules.outcomes, name).result(300)
    assert found["seed"] is not None, "no program shows the rule"
    one, two = found["before"]
    assert not differences(one, two)
    changed, compiled = found["then"]
    assert differences(changed, one)
    assert not differences(changed, compiled)
