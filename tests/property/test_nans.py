"""NaNs of the host stay in registers only where no result depends on it: results are the reference engine's."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from isakit.engine.llvm import host
from isakit.machine.tesla.analysis import nan_canonicalisation as lazy
from isakit.machine.tesla.compiled.launch import compiled_launch as run
from isakit.sem.fp import f32
from isakit.sem.value import const
from support.generators import fuzz, nan_fuzz

PROFILE = os.environ.get("ISAKIT_PROFILE", "dev")
COUNTS = {"dev": 4, "ci": 8, "long": 3000}
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


MISSED = 100_018
"""A kernel in which the mistake is seen; others may not run into it."""


@pytest.mark.skipif(not host().embedded, reason="results are always canonical on this processor")
def test_a_reader_that_was_missed_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", "off")
    monkeypatch.setattr(lazy, "_bit_reads", lambda _: set())
    assert nan_fuzz.compare(MISSED, JIT)


HANDED_OVER = """
    mov b32 $r15 b32 s[0x10]
    ld b32 $r1 g14[$r15]
    add rn f32 $r2 $r1 neg $r1
    mov b32 $r14 0x4
    st b32 g14[$r15] $r14
    ld b32 $r3 g14[$r14]
    add rn f32 $r2 $r2 $r2
    st b32 g14[$r15] $r2
    exit nop
"""


@pytest.mark.skipif(not host().embedded, reason="results are always canonical on this processor")
def test_registers_are_canonical_where_another_engine_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel faults while $r2 holds a NaN of the host."""
    k = fuzz.prepared(1, "gt200", HANDED_OVER, 1, 32, {}, None)
    k.inputs[:] = 0xFF812345
    raw: set[Any] = set()
    seen: list[int] = []
    decide, adopt = lazy.NanTracking._conflicts, run.CompiledLaunch.adopt

    def spied(self: lazy.NanTracking) -> Any:
        raw.update(self.raw)
        return decide(self)

    def adopted(self: run.CompiledLaunch, *given: Any) -> Any:
        machine = adopt(self, *given)
        seen.extend(int(v) for v in machine.state.files["r"][2])
        return machine

    monkeypatch.setenv("ISAKIT_CACHE", "off")
    monkeypatch.setattr(lazy.NanTracking, "_conflicts", spied)
    monkeypatch.setattr(run.CompiledLaunch, "adopt", adopted)
    outcome = fuzz.run(k, "llvm", tier="jit", threads=1)
    assert outcome.fault is not None
    assert outcome.fault[0] == "UNMAPPED_ADDRESS"
    assert (16, ("r", 2)) in raw
    assert seen == [0x7FFFFFFF] * 32
