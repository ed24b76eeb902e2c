"""Campaign: functions of one float of the CUDA headers; the seeds 0 to 65,535 are all arguments."""

from __future__ import annotations

from collections.abc import Iterator

from support.farm.campaign import Campaign, Case, Wrong
from support.math_accuracy import FUNCTIONS, SINGLES, measure_everywhere
from support.needs import no_clang


def _make(seed: int) -> Case:
    return {"seed": seed % 65536}


def _check(case: Case) -> Iterator[str]:
    got = measure_everywhere([case["seed"]])
    for f in (*FUNCTIONS, *SINGLES):
        error, where = got[f.name]
        if error > f.single + 0.001:
            raise Wrong(f"{f.name}f({where!r}): {error:.3f} ulp, {f.single:g} are allowed")
        yield f.name


HERE = (Campaign("mathematics", "functions of one float, 65,536 arguments each", _make, _check, seconds=900.0,
                 needs=no_clang, fixed=0),)  # fmt: skip
