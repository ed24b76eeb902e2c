"""Random draws on compiled code and on arrays: every pixel, depth, stencil number and count."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.graphics import compiled_draw
from support.generators.picture_fuzz import RandomDraw, watched_draws


def compare(seed: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether compiled code drew at least a part of it; fails where something differs."""
    used = watched_draws(monkeypatch)
    monkeypatch.setattr(compiled_draw, "LANES", 256)
    draw = RandomDraw(seed)
    expected = draw.drawn("reference")
    for threads in (1, 2):
        for k, (a, b) in enumerate(zip(expected, draw.drawn("llvm", threads), strict=True)):
            assert np.array_equal(a, b), f"seed {seed}, {threads} threads, output {k}: {draw}"
    return any(used)


@pytest.mark.parametrize("seed", range(8))
def test_random_draws_leave_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(seed, monkeypatch)


@pytest.mark.slow
def test_a_thousand_random_draws_leave_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = sum(compare(seed, monkeypatch) for seed in range(100, 1100))
    assert compiled > 600
