"""Random kernels leave the same on every engine, tier and number of threads.

Kernels are compiled in a worker process: LLVM can abort on bad input, which must fail one test, not end the run. The
`long` profile runs 10,000 kernels, which cover every item of the instruction coverage; about a second each.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from random import Random
from typing import Any

import pytest

from isakit.debug.coverage import items_of
from support.generators import fuzz
from support.generators.fuzz_instructions import Instructions, walk
from support.generators.fuzz_kernels import CHIPS, WALKED

KEPT = sorted((Path(__file__).parent.parent / "vectors" / "tesla" / "engines").glob("*.s"))
"""Kernels that once showed a difference; as text, because the generator changes."""
COUNTS = {"dev": 3, "ci": 8, "long": 10_000}
WITH_CHOICES = {"dev": 12, "ci": 16, "long": 5_000}
FIRST_WITH_CHOICES = 800_000
IN_TURNS = {"dev": 2, "ci": 4, "long": 1_000}
FIRST_IN_TURNS = 700_000
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
KERNELS_PER_WORKER = 150
"""Compiled code stays in memory: now and then a new process starts."""


@pytest.fixture(scope="module", params=[fuzz.keep_nothing])
def worker(request: pytest.FixtureRequest) -> Iterator[ProcessPoolExecutor]:
    """A process that compiles and runs; the parameter prepares it."""
    pytest.importorskip("llvmlite")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=request.param, max_tasks_per_child=KERNELS_PER_WORKER) as pool:
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


@pytest.mark.parametrize("seed", range(FIRST_WITH_CHOICES, FIRST_WITH_CHOICES + WITH_CHOICES.get(PROFILE, 12)))
def test_random_kernels_with_random_choices(worker: ProcessPoolExecutor, seed: int) -> None:
    """Every answer to an open question is compiled, and gives what the reference machine gives."""
    ways = ALL_WAYS if PROFILE == "long" else ALL_WAYS[:2]
    assert worker.submit(fuzz.compare_choices, seed, ways).result(SECONDS) == []


@pytest.mark.parametrize("worker", [fuzz.in_turns], indirect=True, ids=["turns"])
@pytest.mark.parametrize("seed", range(FIRST_IN_TURNS, FIRST_IN_TURNS + IN_TURNS.get(PROFILE, 2)))
def test_random_kernels_in_turns(worker: ProcessPoolExecutor, seed: int) -> None:
    """Warps that spin yield at any of their backward jumps, and no result depends on it."""
    assert differences(worker, seed, ALL_WAYS + (PORTABLE if seed % 10 == 0 else [])) == []


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
    kernels = [fuzz.kernel(seed) for seed in range(60)]
    text = "\n".join(k.text for k in kernels)
    for what in (
        *("joinat", "breakaddr", "break", "call #", "call lim", "preret", "ret", "bra c15[", "bar inc wait", "quadon"),
        *("exit st", "join nop", "red ", "cas ", " g3[", " l[$a", " s[$a", "++", "vote", "quadop", "cvt", " texfetch "),
    ):
        assert what in text, what
    outcomes = [fuzz.run(k, "reference").fault for k in kernels]
    assert sum(f is None for f in outcomes) > 45
    assert any(f is not None for f in outcomes)


@pytest.mark.parametrize("chip", CHIPS)
def test_the_long_profile_comes_past_everything(chip: str) -> None:
    """Every item can be written, and the seeds of the long profile write all of them."""
    items = walk(chip)
    assert len(items) <= COUNTS["long"] // len(CHIPS) * WALKED
    assert len({item.record for _, item in items}) >= 39
    writer = Instructions(chip, Random(1), alone=True, wild=False)
    sample = [(f, i) for f, i in items if i.part.split("/")[0] != "tail"][::50]
    hit = 0
    for form, item in sample:
        lines = writer.having(form, item)
        assert lines is not None, item
        written = [i for i in map(writer.assembled, lines) if i.form in items_of(writer.view)]
        hit += any(
            item in items_of(writer.view)[i.form] and items_of(writer.view)[i.form][item].holds(i.word) for i in written
        )
    assert hit > 0.95 * len(sample)  # the assembler prefers short forms, which leaves some long ones out
