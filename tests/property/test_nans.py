"""NaNs of the host stay in registers only where nobody can tell: kernels leave what the reference engine does."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from isakit.engine.llvm import host
from isakit.machine.tesla.native import lazy
from isakit.sem.fp import f32
from isakit.sem.value import const
from support import fuzz, nan_fuzz

PROFILE = os.environ.get("ISAKIT_PROFILE", "dev")
COUNTS = {"dev": 4, "ci": 20, "long": 3000}
JIT: list[tuple[str, dict[str, Any]]] = [("llvm", {"tier": "jit", "threads": 1})]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("llvm", {"tier": "interp", "threads": 1}),
    ("llvm", {"tier": "jit", "threads": 1, "portable": True}),
]


@pytest.mark.parametrize("seed", range(COUNTS.get(PROFILE, 4)))
def test_kernels_full_of_nans(seed: int) -> None:
    assert nan_fuzz.compare(seed, JIT + (OTHERS if seed % 10 == 0 else [])) == []


NAN_OPERANDS = {
    name: 3 if name == "f32_mad" else 1 if name in ("f32_saturate", "f32_mov2", "f32_flush") else 2
    for name in lazy.BLIND
}


@pytest.mark.parametrize("name", sorted(NAN_OPERANDS))
def test_definitions_are_blind(name: str) -> None:
    """Any NaN gives what the canonical one gives, and a result that is a NaN is the canonical one."""
    r = Random(name)
    for _ in range(150):
        values = [r.choice(fuzz.SPECIAL) if r.random() < 0.6 else r.getrandbits(32) for _ in range(NAN_OPERANDS[name])]
        k = r.randrange(len(values))
        results: list[int] = []
        for nan in (0x7FFFFFFF, 0x7F800001, 0xFFC00000, r.getrandbits(32) | 0x7F800000 | 1):
            values[k] = nan
            results.append(getattr(f32, name)(*(const(v, 32) for v in values)).attr)
        assert len(set(results)) == 1, [f"{v:#x}" for v in values]
        if name in lazy.CANONICAL_RESULTS:
            assert results[0] & 0x7FFFFFFF <= 0x7F800000 or results[0] == 0x7FFFFFFF


MISSED, SAVED = 100_002, 200_046
"""Kernels in which these mistakes are seen; others may not run into them."""


@pytest.mark.skipif(not host().embedded, reason="results are always canonical on this processor")
def test_a_reader_that_was_missed_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", "off")
    monkeypatch.setattr(lazy, "_bit_reads", lambda _: set())
    assert nan_fuzz.compare(MISSED, JIT)


@pytest.mark.skipif(not host().embedded, reason="results are always canonical on this processor")
def test_a_register_saved_as_it_is_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that fault or use up a budget hand their registers over to the reference machine."""
    monkeypatch.setenv("ISAKIT_CACHE", "off")

    def nothing_is_dirty(self: lazy.LazyNans) -> None:
        self.dirty = {pc: set() for pc in self.flow.order}

    monkeypatch.setattr(lazy.LazyNans, "_spread", nothing_is_dirty)
    assert nan_fuzz.compare(SAVED, JIT)
