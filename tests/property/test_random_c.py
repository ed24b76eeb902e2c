"""Random programs in C, through clang and the compiler, against the same programs on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import NoCompilerError, find_clang
from isakit.runtime import Device
from support.c_random import THREADS, compile_both, inputs, meant

try:
    FOUND = bool(find_clang())
except NoCompilerError:
    FOUND = False

pytestmark = [pytest.mark.clang, pytest.mark.skipif(not FOUND, reason="no clang with the NVPTX target is installed")]
BLOCKS = 2
BATCH = 10


def wrong(seeds: range, folder: Path, chip: str = "gt200") -> list[int]:
    """The programs that do not write what they write on the host."""
    ptx, library = compile_both(seeds, folder)
    compiled = compile_ptx(ptx, chip)
    assert not compiled.failures
    kernels = Device(chip, engine="reference").load(compiled.module)
    out: list[int] = []
    for seed in seeds:
        given = inputs(seed, BLOCKS)
        got = np.zeros_like(given)
        kernels[f"k{seed}"][BLOCKS, THREADS](given, got)
        if not np.array_equal(got, meant(library, seed, given, BLOCKS)):
            out.append(seed)
    return out


@pytest.mark.parametrize("chip", ["gt200", "g80"])
def test_random_programs_in_c_compute_what_the_host_computes(tmp_path: Path, chip: str) -> None:
    assert wrong(range(2), tmp_path, chip) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2000, BATCH))
def test_two_thousand_random_programs_in_c_compute_what_the_host_computes(tmp_path: Path, start: int) -> None:
    assert wrong(range(start, start + BATCH), tmp_path) == []
