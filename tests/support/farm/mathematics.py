"""Campaign: the functions of the CUDA headers; the seeds 0 to 65,535 are all floats."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.farm.campaign import Campaign, Case, Wrong
from support.math_accuracy import FUNCTIONS, PAIRS, SINGLES
from support.math_on_host import Largest, Programs, build
from support.needs import no_host_math


@cache
def _programs() -> Programs:
    folder = tempfile.mkdtemp(prefix="isakit-math-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build(Path(folder))


def _make(seed: int) -> Case:
    return {"seed": seed}


def _check(case: Case) -> Iterator[str]:
    seed, programs = int(case["seed"]), _programs()
    for f in (*FUNCTIONS, *SINGLES):
        _within(f"{f.name}f", programs.largest_of_floats(f.name, first=seed % 65536, step=65536), f.single)
        doubles = programs.largest_of_random("double", f.name, f.ranges_of_doubles, 65536, seed)
        _within(f.name, doubles, f.double)
        yield f.name
    for f in PAIRS:
        for kind, bound in (("float", f.single), ("double", f.double)):
            _within(
                f"{f.name} of {kind}s",
                programs.largest_of_random(kind, f.name, f.ranges_of_doubles, 65536, seed),
                bound,
            )
        yield f.name


def _within(name: str, got: Largest, bound: float) -> None:
    if got.error > bound:
        raise Wrong(f"{name}{got.at!r}: {got.error:.3f} ulp, {bound:g} are allowed")


HERE = (Campaign("mathematics", "functions of the CUDA headers, 65,536 arguments each", _make, _check, seconds=900.0,
                 needs=no_host_math, fixed=0),)  # fmt: skip
