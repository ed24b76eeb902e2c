"""Random kernels leave the same on every engine, tier and number of threads.

Kernels are compiled in a worker process: LLVM can abort on bad input, which must fail one test, not end the run. The
`long` profile runs 10,000 kernels.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from support import fuzz

KEPT = sorted((Path(__file__).parent.parent / "vectors" / "tesla" / "engines").glob("*.s"))
"""Kernels that once showed a difference; as text, because the generator changes."""
COUNTS = {"dev": 3, "ci": 20, "long": 10_000}
FIRST = {"dev": 500_000, "ci": 500_000, "long": 0}
PROFILE = os.environ.get("ISAKIT_PROFILE", "dev")
ALL_WAYS: list[tuple[str, dict[str, Any]]] = [
    ("llvm", {"tier": "interp", "threads": 1}),
    ("llvm", {"tier": "jit", "threads": 1}),
    ("llvm", {"tier": "interp", "threads": 2}),
    ("llvm", {"tier": "jit", "threads": 2}),
]
PORTABLE: list[tuple[str, dict[str, Any]]] = [
    ("llvm", {"tier": "interp", "threads": 1, "portable": True}),
    ("llvm", {"tier": "jit", "threads": 1, "portable": True}),
]
SECONDS = 300


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessPoolExecutor]:
    """A process that compiles and runs."""
    pytest.importorskip("llvmlite")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def differences(worker: ProcessPoolExecutor, which: int | Path, ways: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """What `fuzz.compare` says, from another process."""
    try:
        return worker.submit(fuzz.compare, which, ways).result(SECONDS)
    except BrokenProcessPool:
        return [f"{which}: the process that compiled it died"]
    except TimeoutError:
        return [f"{which}: not finished in {SECONDS} seconds"]


@pytest.mark.parametrize("path", KEPT, ids=lambda p: p.stem)
def test_kept_kernels(worker: ProcessPoolExecutor, path: Path) -> None:
    assert differences(worker, path, ALL_WAYS + PORTABLE) == []


@pytest.mark.parametrize("seed", range(FIRST.get(PROFILE, 0), FIRST.get(PROFILE, 0) + COUNTS.get(PROFILE, 3)))
def test_random_kernels(worker: ProcessPoolExecutor, seed: int) -> None:
    ways = ALL_WAYS if PROFILE == "long" else ALL_WAYS[:2]
    assert differences(worker, seed, ways + (PORTABLE if seed % 10 == 0 else [])) == []


def test_the_comparison_sees_a_wrong_word() -> None:
    """Memory, counts and faults all count."""
    k = fuzz.kernel(7)
    good = fuzz.run(k, "reference")
    assert good.fault is None
    bad = fuzz.Outcome(bytes([good.memory[0] ^ 1]) + good.memory[1:], good.counts)
    assert "words of memory" in good.difference(bad)
    assert "counts" in good.difference(fuzz.Outcome(good.memory, (good.counts[0] + 1, good.counts[1])))
    assert "fault" in good.difference(fuzz.Outcome(fault=("STACK_OVERFLOW",)))


def test_kernels_use_what_they_claim() -> None:
    """Over some seeds every kind of statement occurs and most kernels run to their end."""
    kernels = [fuzz.kernel(seed) for seed in range(40)]
    text = "\n".join(k.text for k in kernels)
    for what in ("joinat", "breakaddr", "call", "ret", "bar inc wait", "quadon", "g14[", "l[$a2]", "join ", "red "):
        assert what in text, what
    outcomes = [fuzz.run(k, "reference").fault for k in kernels]
    assert sum(f is None for f in outcomes) > 25
    assert any(f is not None for f in outcomes)
