"""Kernels compiled from PTX leave the memory that NVIDIA's code of the same PTX leaves, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import shared_dir
from support.oracles.compiled_pairs import SHAPES, Pair, arguments, launch, modules, pairs

NOT_THE_SAME = {"sev1mul": "NVIDIA's file multiplies signed numbers, its PTX unsigned ones"}
SLOW = {"723e5444ed62", "63a0368be006", "75a55d7786ed", "334be76b4abc", "738a15a3bcd0", "023d4fdb31e2", "2bfc49841053"}
"""Kernels whose code takes the engine long to prepare: they run in the long suite only."""


def corpus() -> list[object]:
    shared = shared_dir()
    if shared is None:
        return [pytest.param(None, marks=pytest.mark.skip("no conformance data"))]
    out: list[object] = []
    for p in pairs(shared):
        marks = [pytest.mark.skip(NOT_THE_SAME[p.name])] if p.name in NOT_THE_SAME else []
        out.append(pytest.param(p, id=p.name, marks=marks))
    return out


def compare(pair: Pair, shapes: range) -> None:
    theirs, ours = modules(pair)
    assert list(ours) == [n for n in ours if n in theirs.kernels]
    for name in theirs:
        for k in shapes:
            params, memory = arguments(ours[name], k)
            want = launch(theirs, name, SHAPES[k], params, memory, k, 0x400)
            if want.error:
                continue
            got = launch(ours, name, SHAPES[k], params, memory, k, 0x400)
            assert not got.error, f"{name} on {SHAPES[k]}"
            assert (got.memory == want.memory).all(), f"{name} on {SHAPES[k]}"


@pytest.mark.parametrize("pair", corpus())
def test_memory_is_what_nvidias_code_leaves(pair: Pair) -> None:
    if pair.name in SLOW:
        pytest.skip("in the long suite")
    compare(pair, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("pair", corpus())
def test_memory_is_what_nvidias_code_leaves_on_every_shape(pair: Pair) -> None:
    compare(pair, range(len(SHAPES)))


def test_all_ptx_of_the_corpora_compiles(shared: Path) -> None:
    from isakit.compile import compile_ptx

    texts: list[Path] = sorted((shared / "corpus/tesla/textcubins").glob("*.ptx"))
    failed = [p.stem for p in texts if compile_ptx(p.read_text("latin-1")).failures]
    assert failed == []
