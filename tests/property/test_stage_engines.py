"""Random vertex, geometry and fragment programs leave the same on every engine.

The `long` profile runs 2,000 programs.
"""

from __future__ import annotations

import os

import pytest

pytest.importorskip("llvmlite")
from support.generators import stage_fuzz

COUNTS = {"dev": 4, "ci": 10, "long": 2_000}
FIRST = {"dev": 10, "ci": 10, "long": 0}
PROFILE = os.environ.get("ISAKIT_PROFILE", "dev")
SEEDS = range(FIRST.get(PROFILE, 0), FIRST.get(PROFILE, 0) + COUNTS.get(PROFILE, 4))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    assert stage_fuzz.differences(seed, ("interp", "jit")) == []


def test_the_comparison_sees_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of a register, and a fault where there is none."""
    good = stage_fuzz.outcome

    def wrong(c: stage_fuzz.Case, engine: str, tier: str) -> dict[str, object]:
        out = good(c, "reference", tier)
        if engine == "llvm":
            out["r"][3, 1] ^= 1
        return out

    monkeypatch.setattr(stage_fuzz, "outcome", wrong)
    assert "['r']" in stage_fuzz.differences(0, ("interp",))[0]
    monkeypatch.setattr(stage_fuzz, "outcome", lambda c, e, t: {"fault": "x"} if e == "llvm" else good(c, e, t))
    assert "['fault']" in stage_fuzz.differences(0, ("interp",))[0]


def test_programs_use_what_stages_have() -> None:
    """Over some seeds everything occurs, and most programs run to their end."""
    cases = [stage_fuzz.case(seed) for seed in range(40)]
    text = "\n".join(c.text for c in cases)
    for what in (
        "texauto",
        "texlod",
        "texfetch",
        "discard",
        "interp",
        "v[$a1",
        "emit",
        "restart",
        "o[",
        "quadon",
        "exit tex",
    ):
        assert what in text, what
    assert sum("fault" not in stage_fuzz.outcome(c, "reference", "auto") for c in cases) > 25
