"""Random programs in C, through clang and the compiler, against the same programs on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.farm.compiler import wrong_programs
from support.needs import CLANG

pytestmark = CLANG
BATCH = 10


@pytest.mark.parametrize("chip", ["gt200", "g80"])
def test_random_programs_in_c_compute_what_the_host_computes(tmp_path: Path, chip: str) -> None:
    assert wrong_programs(range(2), tmp_path, chip) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, BATCH))
def test_two_thousand_random_programs_in_c_compute_what_the_host_computes(tmp_path: Path, start: int) -> None:
    assert wrong_programs(range(start, start + BATCH), tmp_path) == []
