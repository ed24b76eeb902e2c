"""Random PTX, compiled and run, against a direct interpreter of PTX; mutated PTX gives diagnostics and nothing else."""

from __future__ import annotations

import pytest

from isakit.compile import driver
from support.farm.compiler import compiled_and_meant
from support.farm.containers import check_ptx as check_text
from support.farm.containers import make_ptx as make_text

driver.CHECK_EVERY_PASS = True


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_mean_what_their_ptx_says_on_gt200(seed: int) -> None:
    got, want = compiled_and_meant(seed, "gt200")
    assert got == want


@pytest.mark.parametrize(("seed", "chip"), [(100, "g80"), (101, "g84"), (102, "gt215"), (103, "g84"), (104, "g80")])
def test_random_programs_mean_what_their_ptx_says_on_other_chips(seed: int, chip: str) -> None:
    got, want = compiled_and_meant(seed, chip)
    assert got == want


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 250))
def test_ten_thousand_random_programs_mean_what_their_ptx_says(start: int) -> None:
    wrong = [s for s in range(start, start + 250) if len(set(compiled_and_meant(s, "gt200"))) != 1]
    assert wrong == []


def survive(seeds: range) -> None:
    for seed in seeds:
        check_text(make_text(seed))


def test_mutated_ptx_compiles_or_is_refused_with_a_message() -> None:
    survive(range(300))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 100_000, 5_000))
def test_a_hundred_thousand_mutated_texts_compile_or_are_refused(start: int) -> None:
    survive(range(start, start + 5_000))
